"""Results as headings, paragraphs and tables of text, which Markdown and LaTeX then only have to set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_engram.report import baselines, bounds, captions, frontier_table
from pytest_engram.report.blocks import Block, Grid, Heading, Items, Plot, Text, drop_empty
from pytest_engram.report.gated import gates
from pytest_engram.report.judged import NOT_JUDGED
from pytest_engram.report.log import DECIDED, whole
from pytest_engram.report.pairs import ALPHA
from pytest_engram.report.verdicts import grouped
from pytest_engram.report.wording import (
    NONE,
    all_undecided,
    by_cluster,
    count,
    difference,
    estimate,
    findable,
    flip_points,
    interval,
    milliseconds,
    number,
    p_value,
    seconds,
    size,
    tested,
    used,
    with_encoding,
)
from pytest_engram.runs.outcome import READ

Row: TypeAlias = dict[str, Any]
TITLES = {"subem": "SubEM"}
INTERVALS = "Square brackets: 95% interval (Wilson for 0/1 metrics, else bootstrap); round ones: range over the seeds."


def document(results: Row) -> Iterator[Block]:
    """The whole report, in the order in which it is read."""
    yield Heading("Results", 1)
    yield Text(_lead(results))
    if results["frontier"]:
        yield Heading(frontier_table.TITLE)
        yield Plot(frontier_table.PLOT, frontier_table.ALT)
        yield Text(frontier_table.HOW)
        yield from frontier_table.grids(results)
    for grid in gates(results):
        yield Heading(grid.title)
        yield grid
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
    shown = [(column["suite"], column["metric"]) for column in table["columns"]]
    grid.below = [INTERVALS, *clustered(results, [suite for suite, _ in shown]), *_sizes(results, shown)]
    return grid


def clustered(results: Mapping[str, Any], shown: Sequence[str] | None = None) -> list[str]:
    """A sentence for each suite whose intervals and tests go by what its questions were drawn with."""
    return [
        f"{suite['suite']}: intervals and tests {by_cluster(suite['cluster'], suite['clusters'])}."
        for suite in results["suites"]
        if suite["cluster"] and (shown is None or suite["suite"] in shown)
    ]


def _intervals(suite: Row) -> str:
    if suite["cluster"] is None:
        return INTERVALS
    by = by_cluster(suite["cluster"], suite["clusters"])
    return f"Square brackets: 95% interval {by}; round ones: range over the seeds."


def reader_label(reader: str) -> str:
    """A reader's name; the one without a model says so."""
    return "newest (no LLM)" if reader == "newest" else reader


def _sizes(results: Row, shown: Sequence[tuple[str, str]]) -> list[str]:
    """n, and what the paired tests could have found."""
    parts = [
        f"{p['suite']} {_title(p['metric'])} {findable(p)}"
        for p in results["power"]
        if (p["suite"], p["metric"]) in shown
    ]
    lead = "Smallest difference that a paired test finds with 80% power, where questions differ as much as they did"
    return [f"{lead} here: {'; '.join(parts)}."] * bool(parts)


def _suite(results: Row, suite: Row) -> Iterator[Block]:
    rows = {
        (r["method"], r["metric"], r["without"]): r
        for r in results["rows"]
        if r["suite"] == suite["suite"] and r["group"] is None
    }
    units = {metric: row["unit"] for (_, metric, _), row in rows.items()}
    grid = Grid(
        suite["suite"], suite["caption"], ["method", "role", *(_title(m, units.get(m, "")) for m in suite["metrics"])]
    )
    grid.headers += ["n", "ids returned", "lost", "≠ Dense"]
    for method in results["methods"]:
        for label, role, form in _forms(suite, method):
            cells = [rows[method["method"], metric, form] for metric in suite["metrics"]]
            if cells:
                extra = [str(max(c["n"] for c in cells)), count(cells[0]["effective_k"]), count(cells[0]["lost"])]
                extra.append(count(cells[0]["differs"]))
                grid.rows.append([label, role, *(grid.cell(c, c["unit"]) for c in cells), *extra])
    for label, floor in bounds.floors(results, suite["suite"]):
        grid.rows.append([label, "", *bounds.cells(floor, suite["metrics"], units), *[NONE] * 4])
    if best := bounds.best(results, suite["suite"]):
        label, values, n = best
        grid.rows.append([label, "", *bounds.cells(values, suite["metrics"], units), count(n), *[NONE] * 3])
    for ceiling in results["ceilings"]:
        if ceiling["suite"] == suite["suite"] and ceiling["of"] != "k entries":
            grid.rows.append(_ceiling(suite, units, ceiling))
    grid.below = [
        _intervals(suite),
        "Lost: questions whose answer a method had ranked in its first k and then dropped in a conflict. "
        "≠ Dense: questions for which it returned other entries than Dense, or in another order.",
    ]
    if suite["excluded"]:
        left = ", ".join(f"{count} {reason}" for reason, count in suite["excluded"].items())
        grid.below.append(f"Left out by the official rules: {left}.")
    grid.below += key_errors(results, suite)
    yield grid
    yield from baselines.grids(results, suite["suite"])
    yield from categories(results, suite)
    yield from states(results, suite["suite"])
    yield from judges(results, suite["suite"])
    yield from _pairs(results, suite)


def _forms(suite: Row, method: Row) -> Iterator[tuple[str, str, str | None]]:
    """Label, role and `without` of a method's lines: as published and, where keys are disputed, without these."""
    yield method["label"], method["role"], None
    if suite["disputed"]:
        yield without(suite), "", "disputed"


def without(suite: Row) -> str:
    """What the second line of a method leaves out."""
    return f"without the {suite['disputed']} wrong key{'s' * (suite['disputed'] > 1)}"


def _ceiling(suite: Row, units: Mapping[str, str], ceiling: Row) -> list[str]:
    if ceiling["of"] == "entry":
        label, limited = "any entry of the haystack (ceiling)", suite["metrics"][:1]
    else:
        # A right answer still shares words with a wrong key's.
        label, limited = "right answers alone (ceiling of the key)", [m for m in suite["metrics"] if m in READ - {"f1"}]
    cells = [estimate(ceiling, units.get(m, "")) if m in limited else NONE for m in suite["metrics"]]
    return [label, "", *cells, count(ceiling["n"]), NONE, NONE, NONE]


def key_errors(results: Mapping[str, Any], suite: Row) -> list[str]:
    """What is known of the errors of a benchmark's own answers."""
    found = ((results["manifest"].get("suites") or {}).get(suite["suite"]) or {}).get("key_errors") or {}
    if found.get("ceiling") is None:
        return []
    wrong = f"{count(found.get('answers'))} of {count(found.get('questions'))} answers are wrong"
    cited = f", and the evidence of {found['citations']} questions" if found.get("citations") else ""
    source = f" ({found['source']})" if found.get("source") else ""
    return [f"The answer key: {wrong}{cited}{source}. Right answers alone are given {number(found['ceiling'])} by it."]


def categories(results: Mapping[str, Any], suite: Row, metrics: Sequence[str] | None = None) -> Iterator[Grid]:
    """A table for each metric, or for these: a line a method, a column a category."""
    rows = {
        (r["metric"], r["method"], r["group"], r["without"]): r for r in results["rows"] if r["suite"] == suite["suite"]
    }
    pooled = ((results["manifest"].get("suites") or {}).get(suite["suite"]) or {}).get("pooled") or {}
    groups = [None, *(suite["groups"] or ())]
    forms = (None, "disputed") if suite["disputed"] else (None,)
    for metric in suite["metrics"] if metrics is None else metrics:
        known = [row for (name, *_), row in rows.items() if name == metric and row["value"] is not None]
        if not suite["groups"] or not known:
            continue
        unit = known[0]["unit"]
        title = f"{suite['suite']}, {_title(metric)} by category"
        grid = Grid(title, f"{_title(metric, unit)}, by category.", ["method"])
        for group in groups:
            sizes = [[r["n"] for r in known if (r["group"], r["without"]) == (group, form)] for form in forms]
            told = " / ".join(str(max(ns, default=0)) for ns in sizes)
            grid.headers.append(f"{group or 'all'}, n = {told}")
        for method in results["methods"]:
            for label, _, form in _forms(suite, method):
                cells = [rows[metric, method["method"], group, form] for group in groups]
                grid.rows.append([label, *(grid.cell(cell, unit) for cell in cells)])
        grid.below = [_intervals(suite), *(f"{label}: {', '.join(names)}." for label, names in pooled.items())]
        if suite["disputed"]:
            grid.below.append(f"After the stroke: n {without(suite)}.")
        fewer = {r["group"]: r["clusters"] for r in known if (r["clusters"] or 0) < (suite["clusters"] or 0)}
        fewer = {group: clusters for group, clusters in fewer.items() if group and clusters}
        if fewer:
            told = ", ".join(f"{group} {clusters}" for group, clusters in fewer.items())
            grid.below.append(f"Fewer {suite['cluster']}s: {told}.")
        yield grid


STATES = {"new": "new alone", "old": "old alone", "both": "both", "neither": "neither"}


def states(results: Mapping[str, Any], suite: str) -> Iterator[Grid]:
    """Which versions of contradicted facts each method returned: of answers and, where there are several, by hop."""
    told = [row for row in results["states"] if row["suite"] == suite]
    sizes = {hop: max(row["n"] for row in told if row["hop"] == hop) for hop in dict.fromkeys(r["hop"] for r in told)}
    if not sizes.get("last"):
        return
    grid = Grid(
        f"{suite}, versions",
        f"Of {count(sizes['last'])} questions whose answer was contradicted earlier: the version that came back among "
        f"the first {told[0]['metric'].partition('@')[2]}.",
        ["method", *STATES.values(), "n"],
    )
    hops = [*(hop for hop in sizes if isinstance(hop, int)), None] if 2 in sizes else []
    grid.headers += [f"{'all hops' if hop is None else f'hop {hop}'}, n = {count(sizes[hop])}" for hop in hops]
    for method in dict.fromkeys(row["method"] for row in told):
        rows = {row["hop"]: row for row in told if row["method"] == method}
        last = rows["last"]
        by_hop = [" / ".join(count(rows[hop][state]) for state in STATES) if hop in rows else NONE for hop in hops]
        grid.rows.append([last["label"], *(count(last[state]) for state in STATES), count(last["n"]), *by_hop])
    if hops:
        grid.below.append(
            "By hop: of the contradicted ones among the facts that lead to the answer, in their order, "
            f"{' / '.join(STATES.values())}."
        )
    yield grid


def judges(results: Mapping[str, Any], suite: str) -> Iterator[Grid]:
    """For each judge of a suite: what it accepted, how often it errs on known answers, and what that leaves."""
    told = [row for row in results["judges"] if row["suite"] == suite]
    for judge in dict.fromkeys(row["judge"] for row in told):
        errors = [row for row in told if row["judge"] == judge]
        prompt = f", {errors[0]['prompt']}" if errors[0]["prompt"] else ""
        headers = ["answers", "judged right, %", "corrected, %", "single runs of the judge, %"]
        grid = Grid(f"{suite}, judge {judge}", f"Judge {judge}{prompt}.", [*headers, "wrong accepted, %", "n"])
        grid.headers += ["right refused, %", "n of right"]
        for row in results["rows"]:
            mine = row["suite"] == suite and row["metric"] == "judged" and row.get("judge") == judge
            if mine and row["value"] is not None and row["without"] is None:
                grid.rows.append(_judged(grid, row))
        told_above = bool(grid.rows)  # a figure whose judge was not judged has a mark that says so
        for row in (row for row in errors if row["status"] != "not run" or not told_above):
            kind = "known answers" if row["kind"] == "all" else f"known answers: {row['kind']}"
            note = f" {grid.mark(row['reason'])}" if row["reason"] else ""
            grid.rows.append([kind + note, *[NONE] * 3, *_errors(row)])
        by = {row["correction"] for row in results["rows"] if row["suite"] == suite and row.get("judge") == judge}
        grid.below = [
            "Known answers are known to be wrong (another question's; vague: the right kind of thing, unspecific; "
            "superseded), or right (reworded).",
            *[_CORRECTIONS[name] for name in _CORRECTIONS if name in by],
        ]
        drop_empty(grid)
        yield grid


_CORRECTIONS = {
    "rogan-gladen": "Corrected for both error rates (Rogan and Gladen 1978; interval: Lang and Reiczigel 2014), as far "
    "as a method's wrong answers are like the known ones.",
    "ppi": "Corrected by people's verdicts on some of the answers (prediction-powered inference, Angelopoulos et al. "
    "2023).",
}


def _judged(grid: Grid, row: Row) -> list[str]:
    label = row["label"] if row["group"] is None else f"{row['label']}, {row['group']}"
    corrected = {"value": row["corrected"], "low": row["corrected_low"], "high": row["corrected_high"]}
    told = row["correction_reason"] if row["correction_reason"] != NOT_JUDGED else ""  # which the figure itself says
    shown = [estimate(corrected, "%")] + [grid.mark(told)] * bool(told)
    spread = NONE if row["spread"] is None else " to ".join(number(share, "%") for share in row["spread"])
    return [label, grid.cell(row, "%"), " ".join(shown), spread, NONE, str(row["n"]), NONE, NONE]


def _errors(row: Row) -> list[str]:
    refused = {"value": row["right_rejected"], "low": row["right_low"], "high": row["right_high"]}
    accepted = {"value": row["wrong_accepted"], "low": row["low"], "high": row["high"]}
    return [estimate(accepted, "%"), str(row["n"] or NONE), estimate(refused, "%"), str(row["right_n"] or NONE)]


def _pairs(results: Row, suite: Row) -> Iterator[Grid]:
    rows = [row for row in results["paired"] if row["suite"] == suite["suite"]]
    if not rows:
        return
    headers = ["method", "against", "metric", "difference", "better", "worse", "test", "p", "p (Holm)"]
    grid = Grid(f"{suite['suite']}, paired", "The same questions, method minus baseline.", headers)
    family = [row for row in rows if row["p_holm"] is not None]
    shown = [row for row in rows if row["p_holm"] is not None or row["p"] is None] if family else rows
    for row in shown:
        flag = "" if row["status"] == "ok" else f" {row['status']} {grid.mark(row['reason'])}"
        grid.rows.append(
            [
                row["label"],
                row["baseline_label"],
                _title(row["metric"]),
                difference(row) + flag,
                str(row["better"]),
                str(row["worse"]),
                tested(row),
                p_value(row["p"]),
                p_value(row["p_holm"]),
            ]
        )
    how = "Newcombe for 0/1 metrics, else bootstrap"
    if suite["cluster"]:
        how = f"what sign flips {by_cluster(suite['cluster'], suite['clusters'])} do not reject"
    which = "tests of this table" if len(family) == len(rows) else "tests of the named methods"
    holm = f"Holm: over the {len(family)} {which}" + "; categories are not tested" * bool(suite["groups"])
    grid.below = [
        f"Differences are fractions, with their 95% interval ({how}); several seeds "
        f"count as their mean a question. {holm}."
        + f" {len(rows) - len(shown)} more tests, of other methods, are in results.csv."
        * (len(rows) > len(shown)),
        *_least(family),
        *_sizes(results, [(suite["suite"], metric) for metric in suite["metrics"]]),
    ]
    yield grid


def _least(rows: Sequence[Row]) -> list[str]:
    """How small a p can be at all, where so few clusters are flipped that no adjusted one can be significant."""
    few = next((row for row in rows if row["clusters"]), None)
    if few is None:
        return []
    least = 2.0 ** (1 - few["clusters"])
    if least * len(rows) < ALPHA:
        return []
    told = f"With {few['clusters']} {few['cluster']}s no p is below {p_value(least)}"
    return [f"{told}, and none of {len(rows)} tests is significant once adjusted, however large its difference."]


def _micro(results: Row) -> Iterator[Block]:
    suites = [suite for suite in results["suites"] if suite["kind"] == "micro"]
    if not suites:
        return
    yield Heading("Micro-tests")
    yield Text(
        f"Hand-built cases: {captions.SUGGESTIVE}. What was made of one template is not independent: intervals and "
        "tests go by template where a suite has several levels or names for one."
    )
    folded, told = telling_nothing(results)
    yield from map(Text, told)
    for suite in (suite for suite in suites if suite["suite"] not in folded):
        yield Heading(f"Micro-test {suite['suite']}", 3)
        yield _family(results, suite)
        yield from _pairs(results, suite)
        yield from categories(results, suite)
        flip_grid = _flips(results, suite)
        if flip_grid is not None:
            yield flip_grid


def telling_nothing(results: Mapping[str, Any]) -> tuple[set[str], list[str]]:
    """The micro-tests that tell no method apart, and what is said of them in place of their tables: a sentence each."""
    micro = [suite for suite in results["suites"] if suite["kind"] == "micro"]
    alike = {suite["suite"]: told for suite in micro if (told := _alike(results, suite))}
    sentences = []
    for told in dict.fromkeys(alike.values()):
        names = [f"{name} ({_cases(results, name)} cases)" for name, value in alike.items() if value == told]
        tell = "they tell" if len(names) > 1 else "it tells"
        sentences.append(f"{', '.join(names)}: every method {told}; {tell} no method apart.")
    return set(alike), sentences


def _alike(results: Mapping[str, Any], suite: Row) -> str | None:
    """What every method has on a suite that tells none apart. Deciding, by itself, is no score."""
    rows = [r for r in results["rows"] if r["suite"] == suite["suite"] and whole(r) and r["metric"] != DECIDED]
    if len({row["method"] for row in rows}) < 2 or any(row["status"] != "ok" or row["sides"] for row in rows):
        return None
    values = {row["value"] for row in rows}
    return number(*values) if len(values) == 1 else None


def _cases(results: Mapping[str, Any], suite: str) -> int:
    return max(int(line["cases"]) for line in results["families"] if line["suite"] == suite)


def _family(results: Row, suite: Row) -> Grid:
    lines = [line for line in results["families"] if line["suite"] == suite["suite"]]
    rows = {(r["method"], r["metric"]): r for r in results["rows"] if r["suite"] == suite["suite"] and whole(r)}
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
    for label, floor in bounds.floors(results, suite["suite"]):
        told = bounds.cells(floor, ["decided", "correct", *own], {})
        grid.rows.append([label, *[NONE] * 3, *told[:2], *[NONE] * conflicts, *told[2:]])
    drop_empty(grid)
    grid.below = [_intervals(suite), "Decided: one of the two sides came back without the other. A tie is a miss."]
    return grid


def _flips(results: Row, suite: Row) -> Grid | None:
    summary = [row for row in results["flip_summary"] if row["suite"] == suite["suite"]]
    if not summary:
        return None
    webs = sorted({row["web"] for row in summary})
    what = "backers" if summary[0]["axis"] == "backers" else "repetitions"
    grid = Grid(
        f"{suite['suite']}, flip points",
        f"Smallest number of {what} at which the update wins, median (range) over the cases in which a conflict was "
        f"seen, by the number of facts that back the belief; {captions.SUGGESTIVE}.",
        ["method", "conflict seen", *(f"web {web}" for web in webs), "Kendall's tau", "flips back", "loses both"],
    )
    points = {(row["method"], row["web"]): row for row in summary}
    for trend in (row for row in results["flip_trend"] if row["suite"] == suite["suite"]):
        cells = [flip_points(point) if (point := points.get((trend["method"], web))) else NONE for web in webs]
        tau = f"{number(trend['tau'])} {interval(trend)}" if trend["tau"] is not None else NONE
        counts = [str(trend["flips_back"]), str(trend["loses_both"])]
        grid.rows.append([trend["label"], f"{trend['seen']} of {trend['cases']} cases", *cells, tau, *counts])
    grid.below = [
        "Conflict seen: at some level one side came back without the other. Where that never happened nobody can tell "
        "what the memory made of the case, and it is left out of all that follows. "
        f"> {max(row['most'] for row in summary)}: held, up to the largest number tried. "
        "Kendall's tau of flip point and web size has a 95% interval "
        f"by {summary[0]['cluster'] or 'case'} (jackknife); there is none where all flip points, or all web sizes, are "
        "equal. At a number larger than the flip point, flips back: the belief wins again; loses both: neither side "
        "comes back (cases at one web size).",
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
