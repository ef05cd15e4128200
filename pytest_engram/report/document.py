"""Results as headings, paragraphs and tables of text, which Markdown and LaTeX then only have to set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_engram.report import captions
from pytest_engram.report.verdicts import grouped
from pytest_engram.report.wording import (
    NONE,
    all_undecided,
    count,
    difference,
    estimate,
    flag,
    flip_points,
    interval,
    milliseconds,
    number,
    p_value,
    seconds,
    size,
    used,
    with_encoding,
)

Row: TypeAlias = dict[str, Any]
TITLES = {"subem": "SubEM"}
INTERVALS = "Square brackets: 95% interval (Wilson for 0/1 metrics, else bootstrap); round ones: range over the seeds."
TESTS = {"mcnemar": "exact McNemar", "paired bootstrap": "paired bootstrap"}


@dataclass(frozen=True, slots=True)
class Heading:
    """Of a section (level 1 is the document's)."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list: what stands out, and what it says."""

    items: list[tuple[str, str]]


@dataclass(slots=True)
class Grid:
    """A table: what it is, with what it was measured, what stands in it, numbered reasons, and remarks below."""

    title: str
    caption: str
    headers: list[str]
    rows: list[list[str]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """The number of a reason, from 1, in brackets; the same reason has one number."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"({self.reasons.index(reason) + 1})"

    def cell(self, row: Mapping[str, Any], unit: str = "") -> str:
        """A value with its interval and, where it is none to rely on, why."""
        status = row["status"]
        if status == "copied":
            return f"{row['printed']} copied"
        if status == "not reported":
            return NONE
        shown = [] if row["value"] is None else [estimate(row, unit)]
        shown += [] if status == "ok" else [flag(row), self.mark(row["reason"])]
        if row["value"] is not None:
            shown += [self.mark(mark) for mark in row.get("marks", ())]
        return " ".join(shown)


Block: TypeAlias = Heading | Text | Items | Grid


def document(results: Row) -> Iterator[Block]:
    """The whole report, in the order in which it is read."""
    yield Heading("Results", 1)
    yield Text(_lead(results))
    tables = [("The experiment", results["experiment"]), ("Other suites", results["others"])]
    for title, table in tables if captions.of_the_experiment(results) else tables[1:]:
        if table["columns"] and table["rows"]:
            yield Heading(title)
            yield _overview(results, title, table)
    if results["verdicts"]:
        yield Heading("Verdicts")
        for title, lead, rows in grouped(results["verdicts"]):
            yield Heading(title, 3)
            yield Text(lead)
            yield Items([(f"{v['name']}: {v['answer']}.", v["text"]) for v in rows])
    for suite in results["suites"]:
        if suite["kind"] == "pilot":
            yield Heading(f"Suite {suite['suite']}")
            yield from _suite(results, suite)
    yield from _micro(results)
    if results["costs"]:
        yield Heading("Costs")
        yield costs(results)


def _lead(results: Row) -> str:
    manifest = results["manifest"]
    named = [m["label"] for m in results["methods"] if m["named"]] or [m["label"] for m in results["methods"]]
    others = len(results["methods"]) - len(named)
    who = ", ".join(named) + (f" and {others} methods to compare with" if others else "")
    text = f"{who}. {captions.overall(manifest)} pytest-engram {manifest.get('engram', '')}".rstrip() + "."
    if manifest.get("complete") is False:
        text += f" This run is incomplete: {manifest.get('ran', 0)} of {manifest.get('planned', 0)} items ran."
    return text


def _title(metric: str, unit: str = "") -> str:
    return TITLES.get(metric, metric) + (f", {unit}" if unit else "")


def _overview(results: Row, title: str, table: Row) -> Grid:
    headers = ["method", *(", ".join(filter(None, (c["title"], c["unit"]))) for c in table["columns"])]
    grid = Grid(title, captions.overall(results["manifest"]), headers)
    for line in table["rows"]:
        label = line["label"] + (f" {grid.mark('copied from ' + line['source'])}" if line["source"] else "")
        cells = []
        for column, cell in zip(table["columns"], line["cells"], strict=True):
            reader = f", {reader_label(cell['reader'])}" if cell.get("reader") and cell["value"] is not None else ""
            cells.append(grid.cell(cell, column["unit"]) + reader)
        grid.rows.append([label, *cells])
    grid.below = [INTERVALS, *_sizes(results, [(column["suite"], column["metric"]) for column in table["columns"]])]
    return grid


def reader_label(reader: str) -> str:
    """A reader's name; the one without a model says so."""
    return "newest (no LLM)" if reader == "newest" else reader


def _sizes(results: Row, shown: Sequence[tuple[str, str]]) -> list[str]:
    """n, and what the paired tests could have found."""
    parts = [
        f"{p['suite']} {_title(p['metric'])} {number(p['smallest_difference'])} (n = {p['n']})"
        for p in results["power"]
        if (p["suite"], p["metric"]) in shown
    ]
    return [f"Smallest difference that a paired test finds with 80% power: {'; '.join(parts)}."] * bool(parts)


def _suite(results: Row, suite: Row) -> Iterator[Block]:
    rows = {(r["method"], r["metric"]): r for r in results["rows"] if r["suite"] == suite["suite"]}
    units = {metric: row["unit"] for (_, metric), row in rows.items()}
    grid = Grid(
        suite["suite"], suite["caption"], ["method", "role", *(_title(m, units.get(m, "")) for m in suite["metrics"])]
    )
    grid.headers += ["n", "ids returned", "lost", "≠ Dense"]
    for method in results["methods"]:
        cells = [rows[method["method"], metric] for metric in suite["metrics"]]
        if cells:
            extra = [str(max(c["n"] for c in cells)), count(cells[0]["effective_k"]), count(cells[0]["lost"])]
            extra.append(count(cells[0]["differs"]))
            grid.rows.append([method["label"], method["role"], *(grid.cell(c, c["unit"]) for c in cells), *extra])
    for ceiling in results["ceilings"]:
        if ceiling["suite"] == suite["suite"]:
            blank = [NONE] * (len(suite["metrics"]) - 1)
            line = ["any entry of the haystack (ceiling)", "", estimate(ceiling), *blank, str(ceiling["n"])]
            grid.rows.append([*line, NONE, NONE, NONE])
    grid.below = [
        INTERVALS,
        "Lost: questions whose answer a method had ranked in its first k and then dropped in a conflict. "
        "≠ Dense: questions for which it returned other entries than Dense, or in another order.",
    ]
    if suite["excluded"]:
        left = ", ".join(f"{count} {reason}" for reason, count in suite["excluded"].items())
        grid.below.append(f"Left out by the official rules: {left}.")
    yield grid
    yield from _pairs(results, suite)


def _pairs(results: Row, suite: Row) -> Iterator[Grid]:
    rows = [row for row in results["paired"] if row["suite"] == suite["suite"]]
    if not rows:
        return
    headers = ["method", "against", "metric", "difference", "better", "worse", "test", "p", "p (Holm)"]
    grid = Grid(f"{suite['suite']}, paired", "The same questions, method minus baseline.", headers)
    for row in rows:
        flag = "" if row["status"] == "ok" else f" {row['status']} {grid.mark(row['reason'])}"
        grid.rows.append(
            [
                row["label"],
                row["baseline_label"],
                _title(row["metric"]),
                difference(row) + flag,
                str(row["better"]),
                str(row["worse"]),
                TESTS[row["test"]],
                p_value(row["p"]),
                p_value(row["p_holm"]),
            ]
        )
    grid.below = [
        "Differences are fractions, with their 95% interval (Newcombe for 0/1 metrics, else bootstrap); several seeds "
        "count as their mean a question. "
        f"Holm: over the {len(rows)} tests of this table.",
        *_sizes(results, [(suite["suite"], metric) for metric in suite["metrics"]]),
    ]
    yield grid


def _micro(results: Row) -> Iterator[Block]:
    suites = [suite for suite in results["suites"] if suite["kind"] == "micro"]
    if not suites:
        return
    yield Heading("Micro-tests")
    yield Text(
        f"Hand-built cases: {captions.SUGGESTIVE}. Levels of one case are not independent, so that the intervals are "
        "narrower than they should be."
    )
    for suite in suites:
        yield Heading(f"Micro-test {suite['suite']}", 3)
        yield _family(results, suite)
        flip_grid = _flips(results, suite)
        if flip_grid is not None:
            yield flip_grid


def _family(results: Row, suite: Row) -> Grid:
    lines = [line for line in results["families"] if line["suite"] == suite["suite"]]
    rows = {(r["method"], r["metric"]): r for r in results["rows"] if r["suite"] == suite["suite"]}
    own = [metric for metric in suite["metrics"] if metric not in ("decided", "correct")]
    conflicts = any(line["false_conflicts"] for line in lines)
    headers = ["method", "cases", "levels", "scored", "decided", "correct"]
    grid = Grid(suite["suite"], suite["caption"], headers + ["false conflicts"] * conflicts + own)
    for line in lines:
        cells = [
            grid.cell(row) if (row := rows.get((line["method"], name))) else NONE
            for name in ("decided", "correct", *own)
        ]
        if conflicts:
            cells.insert(2, estimate(line["false_conflicts"]))
        grid.rows.append([line["label"], str(line["cases"]), str(line["levels"]), str(line["scored"]), *cells])
    drop_empty(grid)
    grid.below = [INTERVALS, "Decided: one of the two sides came back without the other. A tie is a miss."]
    return grid


def drop_empty(grid: Grid) -> None:
    """Leave out columns that say nothing for any method."""
    kept = [at for at in range(len(grid.headers)) if any(row[at] != NONE for row in grid.rows)]
    grid.headers = [grid.headers[at] for at in kept]
    grid.rows = [[row[at] for at in kept] for row in grid.rows]


def _flips(results: Row, suite: Row) -> Grid | None:
    summary = [row for row in results["flip_summary"] if row["suite"] == suite["suite"]]
    if not summary:
        return None
    webs = sorted({row["web"] for row in summary})
    what = "backers" if summary[0]["axis"] == "backers" else "repetitions"
    grid = Grid(
        f"{suite['suite']}, flip points",
        f"Smallest number of {what} at which the update wins, median (range) over "
        f"cases, by the number of facts that back the belief; {captions.SUGGESTIVE}.",
        ["method", *(f"web {web}" for web in webs), "Kendall's tau", "flips back"],
    )
    points = {(row["method"], row["web"]): row for row in summary}
    for trend in (row for row in results["flip_trend"] if row["suite"] == suite["suite"]):
        cells = [flip_points(point) if (point := points.get((trend["method"], web))) else NONE for web in webs]
        tau = f"{number(trend['tau'])} {interval(trend)}" if trend["tau"] is not None else NONE
        grid.rows.append([trend["label"], *cells, tau, str(trend["flips_back"])])
    grid.below = [
        f"> {max(row['most'] for row in summary)}: never, up to the largest number tried. "
        "Kendall's tau of flip point and web size has a 95% bootstrap interval; there is none where all flip "
        "points, or all web sizes, are equal. Flips back: cases where the belief wins again at a larger number.",
        *all_undecided(summary),
    ]
    return grid


def costs(results: Mapping[str, Any]) -> Grid:
    """What each method took on each pilot suite; on micro-tests, where there is nothing else."""
    tokenizer = captions.tokenizer(results["manifest"])
    grid = Grid(
        "Costs",
        f"{captions.overall(results['manifest'])} Tokens: {tokenizer}. Times are those of the machine of this run.",
        [
            "method",
            "suite",
            "tokens returned",
            "search p50, ms",
            "p95, ms",
            "writing",
            "size",
            "used",
            "errors",
            "retries",
            "embeds with",
        ],
    )
    encoders = {method["method"]: method["encoder"] for method in results["methods"]}
    for row in shown_costs(results):
        search = milliseconds(row["search_p50"])
        if (note := with_encoding(row)) is not None and row["search_p50"] is not None:
            search += f" {grid.mark(note)}"
        entries = row["entries"] or 1
        grid.rows.append(
            [
                row["label"],
                row["suite"],
                NONE if row["tokens_returned"] is None else f"{row['tokens_returned']:,.0f}",
                search,
                milliseconds(row["search_p95"]),
                seconds(row["write_seconds"]),
                NONE if row["bytes"] is None else size(1000 * row["bytes"] / entries),
                used(row["usage"]),
                str(row["errors"] or NONE),
                str(row["retries"] or NONE),
                _encoder(grid, encoders.get(row["method"])),
            ]
        )
    drop_empty(grid)
    grid.below = [
        "Tokens returned: mean a question. Writing and size: per 1,000 entries; none stands where another suite had "
        "the same haystack written before. Used: in all, as the memory itself says."
    ]
    return grid


def _encoder(grid: Grid, encoder: str | None) -> str:
    """Its name, and below the table what it puts before a query."""
    name, prefix = (encoder or NONE).partition(", queries behind ")[::2]
    return f"{name} {grid.mark(f'queries behind {prefix}')}" if prefix else name


def shown_costs(results: Mapping[str, Any]) -> list[Row]:
    """The rows of `costs` that tables show."""
    pilots = {suite["suite"] for suite in results["suites"] if suite["kind"] == "pilot"}
    rows: list[Row] = results["costs"]
    return [row for row in rows if row["suite"] in pilots] or rows
