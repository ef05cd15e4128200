"""The first screen after a run: the overview, what differs, the micro-tests, costs and verdicts, at any width."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from pytest_engram.report import baselines, captions, frontier_table
from pytest_engram.report.blocks import Grid, drop_empty
from pytest_engram.report.document import categories, clustered, judges, shown_costs, telling_nothing
from pytest_engram.report.gated import gates
from pytest_engram.report.log import whole
from pytest_engram.report.pairs import GRADED
from pytest_engram.report.verdicts import grouped
from pytest_engram.report.wording import (
    NONE,
    all_undecided,
    always,
    difference,
    flip_points,
    milliseconds,
    number,
    p_value,
    plain,
    seconds,
    used,
    with_encoding,
)

Row = dict[str, Any]

NARROW = 24  # columns; below that nothing can be read, and lines are as long as they must be
_COLOURS = {"bold": "1", "dim": "2", "yes": "32", "no": "31", "can't tell": "33", "not run": "33"}


def render(results: Row, width: int, colour: bool) -> str:
    """The results for a terminal.

    Args:
        results: of `pytest_engram.report.aggregate`.
        width: columns. Tables that are wider are cut into several.
        colour: whether to use ANSI colours.

    Returns:
        Lines, none longer than `width` (where that is at least 24).
    """
    page = Page(max(width, NARROW), colour)
    manifest = results["manifest"]
    named = [m["label"] for m in results["methods"] if m["named"]] or [m["label"] for m in results["methods"]]
    page.text(f"{', '.join(named)}: {captions.overall(manifest)}", "bold")
    if manifest.get("complete") is False:
        page.text(f"Incomplete: {manifest.get('ran', 0)} of {manifest.get('planned', 0)} items ran.", "can't tell")
    grid, nothing = _overview(results)
    if len(grid.headers) > 1:
        page.table(grid, keep=1)
        page.reasons(grid)
    page.not_run(nothing)
    for line in [*clustered(results), *_disputed(results)]:
        page.text(line, "dim")
    answers = [grid for suite in results["suites"] for grid in baselines.grids(results, suite["suite"])]
    summaries = frontier_table.summaries(results)
    for grid in (*gates(results), *summaries, *answers, *_categories(results), *_judges(results)):
        page.heading(grid.title)
        page.table(grid, keep=1)
        page.reasons(grid)
    differences = _differences(results)
    if differences.rows:
        page.heading(differences.title)
        page.table(differences, keep=1)
        page.reasons(differences)
    folded, told = telling_nothing(results)
    micro, nothing = _micro(results, folded)
    if micro.rows or nothing or told:
        page.heading(f"Micro-tests, correct ({captions.SUGGESTIVE})")
    if micro.rows:
        page.table(micro, keep=2)
        page.reasons(micro)
    for line in told:
        page.text(line, "dim")
    page.not_run(nothing)
    for flips in _flips(results)[:1]:
        page.heading(flips.title)
        page.table(flips, keep=1)
        for line in flips.below:
            page.text(line, "dim")
    costs = _costs(results)
    if costs.rows:
        page.heading("Costs: tokens returned a question, and time of the median search")
        page.table(costs, keep=1)
        page.reasons(costs)
    if results["verdicts"]:  # last, where a reader's eye is when a run has ended
        page.heading("Verdicts")
        for title, _, rows in grouped(results["verdicts"]):
            page.text(title, "dim")
            for verdict in rows:
                page.verdict(verdict)
    return "\n".join(page.lines).rstrip() + "\n"


class Page:
    """Lines of a screen that is `width` columns wide."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = width
        self.colour = colour
        self.lines: list[str] = []

    def paint(self, text: str, style: str) -> str:
        code = _COLOURS.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text

    def text(self, text: str, style: str = "", indent: str = "") -> None:
        wrapped = textwrap.wrap(
            plain(text), self.width, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False
        )
        # Wide characters take two columns; textwrap counts them as one.
        lines = [piece for line in wrapped for piece in _pieces(line, self.width)]
        self.lines += [self.paint(line, style) for line in lines]

    def heading(self, text: str) -> None:
        self.lines.append("")
        self.text(text, "bold")

    def verdict(self, verdict: Row) -> None:
        before = len(self.lines)
        self.text(f"{verdict['answer']}: {verdict['name']}", indent="  ")
        if self.colour and len(self.lines) > before:
            painted = self.paint(verdict["answer"], verdict["answer"])
            self.lines[before] = self.lines[before].replace(verdict["answer"], painted, 1)
        self.text(verdict["text"], "dim", indent="      ")

    def not_run(self, suites: dict[str, list[str]]) -> None:
        for reason, names in suites.items():
            self.text(f"not run: {', '.join(dict.fromkeys(names))}: {reason}", "can't tell", indent="  ")

    def reasons(self, grid: Grid) -> None:
        for at, reason in enumerate(grid.reasons, 1):
            self.text(reason, "dim", indent=f"  ({at}) ")

    def table(self, grid: Grid, *, keep: int) -> None:
        """Columns from `keep` on go into further tables where they don't fit; the first ones stand in each of them."""
        rows = [[plain(cell) for cell in row] for row in (grid.headers, *grid.rows)]
        first = max(8, self.width // 3)
        for row in rows:
            row[0] = _cut(row[0], first)
        widths = [max(_width(row[at]) for row in rows) for at in range(len(grid.headers))]
        while keep > 1 and sum(widths[:keep]) + 2 * keep > self.width // 2:
            keep -= 1
        fixed = list(range(keep))
        for columns in self._chunks(widths, keep):
            shown = fixed + columns
            for number_, row in enumerate(rows):
                room = self.width - sum(widths[at] + 2 for at in shown[:-1])
                cells = [_pad(row[at], widths[at]) for at in shown[:-1]] + [_cut(row[shown[-1]], room)]
                self.lines.append(self.paint("  ".join(cells).rstrip(), "" if number_ else "dim"))
            self.lines.append("")
        self.lines.pop()

    def _chunks(self, widths: Sequence[int], keep: int) -> Iterator[list[int]]:
        room = self.width - sum(width + 2 for width in widths[:keep])
        chunk: list[int] = []
        for at in range(keep, len(widths)):
            if chunk and sum(widths[c] + 2 for c in chunk) + widths[at] > room:
                yield chunk
                chunk = []
            chunk.append(at)
        if chunk:
            yield chunk


def _only_reason(cells: Sequence[Row]) -> str | None:
    """Why nothing of this ran, where there is one reason for every method."""
    reasons = {cell["reason"] for cell in cells}
    return reasons.pop() if len(reasons) == 1 and all(cell["status"] == "not run" for cell in cells) else None


def _overview(results: Row) -> tuple[Grid, dict[str, list[str]]]:
    """Every pilot suite's first metric, and SubEM where somebody answered; and by reason what ran for no method."""
    cells = {(r["suite"], r["metric"], r["method"]): r for r in results["rows"] if whole(r)}
    answered = {r["suite"] for r in results["rows"] if r["metric"] == "subem" and r["value"] is not None}
    columns = [
        (suite["suite"], metric)
        for suite in results["suites"]
        if suite["kind"] == "pilot"
        for metric in suite["metrics"]
        if metric == suite["metrics"][0] or (metric == "subem" and suite["suite"] in answered)
    ]
    nothing: dict[str, list[str]] = {}
    for suite, metric in list(columns):
        reason = _only_reason([cells[suite, metric, method["method"]] for method in results["methods"]])
        if reason is not None:
            columns.remove((suite, metric))
            nothing.setdefault(reason, []).append(suite)
    titles = [f"{suite} {'SubEM, %' if metric == 'subem' else metric}" for suite, metric in columns]
    grid = Grid("", "", ["method", *titles])
    for method in results["methods"]:
        line = [cells[suite, metric, method["method"]] for suite, metric in columns]
        grid.rows.append([method["label"], *(grid.cell(cell, cell["unit"]) for cell in line)])
    return grid, nothing


def _categories(results: Row) -> Iterator[Grid]:
    """Of every pilot suite that has categories, the first metric; as published."""
    for suite in results["suites"]:
        if suite["kind"] == "pilot":
            yield from categories(results, suite | {"disputed": None}, suite["metrics"][:1])


def _judges(results: Row) -> Iterator[Grid]:
    for suite in results["suites"]:
        yield from judges(results, suite["suite"])


def _disputed(results: Row) -> list[str]:
    return [
        f"{suite['suite']}: {suite['disputed']} of its questions {'has' if suite['disputed'] == 1 else 'have'} a wrong "
        f"key; the report has every figure without {'it' if suite['disputed'] == 1 else 'them'}, too."
        for suite in results["suites"]
        if suite["disputed"]
    ]


def _differences(results: Row) -> Grid:
    """The named methods against everything that they were compared with, on each suite's first metric."""
    first = {suite["suite"]: suite["metrics"][0] for suite in results["suites"] if suite["metrics"]}
    named = {m["method"]: m["label"] for m in results["methods"] if m["named"]}
    alone = len(named) == 1
    title = f"Paired differences: {next(iter(named.values()))} minus …" if alone else "Paired differences"
    grid = Grid(title, "", ["", "on", "n", "difference", "p", "p (Holm)"])
    for row in results["paired"]:
        if row["method"] in named and row["metric"] == first[row["suite"]]:
            who = row["baseline_label"] if alone else f"{row['label']} − {row['baseline_label']}"
            p, holm = p_value(row["p"]), p_value(row["p_holm"])
            flag = "" if row["status"] == "ok" else f" {row['status']} {grid.mark(row['reason'])}"
            grid.rows.append([who, row["suite"], str(row["n"]), difference(row) + flag, p, holm])
    return grid


def _micro(results: Row, folded: Collection[str]) -> tuple[Grid, dict[str, list[str]]]:
    nothing: dict[str, list[str]] = {}
    lines = {(line["suite"], line["method"]): line for line in results["families"]}
    floors = {row["suite"]: number(row["value"]) for row in results["floors"] if row["metric"] == "correct"}
    grid = Grid("", "", ["micro-test", "cases", *(method["label"] for method in results["methods"])])
    grid.headers += [f"{results['manifest']['k']} random"] * bool(floors)
    for suite in results["suites"]:
        if suite["kind"] != "micro" or suite["suite"] in folded:
            continue
        mine = [lines[suite["suite"], method["method"]] for method in results["methods"]]
        reason = _only_reason(mine)
        if reason is not None:
            nothing.setdefault(reason, []).append(suite["suite"])
            continue
        shown = []
        for line in mine:
            if line["correct"] is None:
                shown.append(f"{line['status']} {grid.mark(line['reason'])}" if line["status"] != "ok" else NONE)
            else:
                flag = "" if line["status"] == "ok" else f" {line['status']} {grid.mark(line['reason'])}"
                told = always(line["sides"]) if line["sides"] else number(line["correct"]["value"])
                shown.append(told + flag)
        shown += [floors.get(suite["suite"], NONE)] * bool(floors)
        grid.rows.append([suite["suite"], str(max(line["cases"] for line in mine)), *shown])
    return grid, nothing


def _flips(results: Row) -> list[Grid]:
    """The flip points of every suite with several web sizes, the headline first."""
    grids: list[Grid] = []
    for suite in sorted(results["suites"], key=lambda suite: suite["family"] != GRADED):
        rows = [row for row in results["flip_summary"] if row["suite"] == suite["suite"]]
        webs = sorted({row["web"] for row in rows})
        if len(webs) < 2:
            continue
        by = {(row["method"], row["web"]): row for row in rows}
        grid = Grid(
            f"{suite['suite']}: {rows[0]['axis']} until the update wins, median (range)",
            "",
            ["method", *(f"web {web}" for web in webs)],
        )
        for method in results["methods"]:
            if any((method["method"], web) in by for web in webs):
                points = [by.get((method["method"], web)) for web in webs]
                grid.rows.append([method["label"], *(flip_points(p) if p else NONE for p in points)])
        grid.below = all_undecided(rows)
        grids.append(grid)
    return grids


def _costs(results: Row) -> Grid:
    """One line a method: what it returned and took on each suite, and what it took over all of them."""
    rows = shown_costs(results)
    by = {(row["method"], row["suite"]): row for row in rows}
    suites = list(dict.fromkeys(row["suite"] for row in rows))
    grid = Grid("", "", ["method", *suites, "writing 1,000", "used", "errors", "retries"])
    for method in results["methods"]:
        mine = [row for row in rows if row["method"] == method["method"]]
        if not mine:
            continue
        cells = []
        for suite in suites:
            row = by.get((method["method"], suite))
            cells.append(NONE if row is None else _cost(grid, row))
        entries = sum(row["entries"] for row in mine)
        writing = sum((row["write_seconds"] or 0.0) * row["entries"] for row in mine) / entries if entries else None
        usage: dict[str, float] = {}
        for row in mine:
            for name, amount in row["usage"].items():
                usage[name] = usage.get(name, 0.0) + amount
        counts = [str(sum(row[name] for row in mine) or NONE) for name in ("errors", "retries")]
        cells += [seconds(writing), used(usage), *counts]
        grid.rows.append([method["label"], *cells])
    drop_empty(grid)
    return grid


def _cost(grid: Grid, row: Row) -> str:
    tokens = "" if row["tokens_returned"] is None else f"{row['tokens_returned']:,.0f} tokens"
    search = "" if row["search_p50"] is None else f"{milliseconds(row['search_p50'])} ms"
    note = with_encoding(row) if search else None
    told = ", ".join(filter(None, (tokens, search))) or NONE
    return told if note is None else f"{told} {grid.mark(note)}"


def _width(text: str) -> int:
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    kept = next(iter(_pieces(text, max(width - 1, 1))), "")
    return f"{kept}…"


def _pieces(text: str, width: int) -> Iterator[str]:
    piece, used = "", 0
    for character in text:
        if piece and used + _columns(character) > width:
            yield piece
            piece, used = "", 0
        piece += character
        used += _columns(character)
    if piece:
        yield piece


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
