"""The table of answers: each method's between what the reader has without any memory, and with all that it could have.

The rows that no memory is behind are no methods: they have no k, or know the evidence. They stand in no comparison, no
test and no plot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_engram.report.blocks import Grid
from pytest_engram.report.captions import tokenizer
from pytest_engram.report.judged import JUDGED, Judges
from pytest_engram.report.log import WHOLE, Log, Part, reasons, whole
from pytest_engram.report.wording import NONE
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import READ, Outcome

Row: TypeAlias = dict[str, Any]
Measure: TypeAlias = Callable[..., Row]  # a row of `aggregate`: of log, suite, method, metric, marks and part

BELOW = ("full-context", "oracle")  # what stands below the methods: what could be had at most
_OF_METHODS = ("method", "role", "effective_k", "lost", "differs", "seeds", "sides")


def rows(
    lines: Iterable[Outcome], manifest: Mapping[str, Any], known: Iterable[KnownAnswer], measure: Measure
) -> list[Row]:
    """One a baseline, suite, metric and part; see `aggregate`. None where the run did not ask for any."""
    told = manifest.get("answer_baselines") or {}
    if not told:
        return []
    methods = {name: {"label": about.get("label"), "role": "baseline"} for name, about in told.items()}
    log = Log(lines, {**manifest, "methods": methods, "named": []})
    judges = Judges(log, known)
    found = []
    for suite in log.suites:
        there = {metric for group in log.of_suite(suite) for o in group for metric in o.metrics or o.left_out}
        read = [metric for metric in log.metrics(suite) if metric in (there or READ)]
        for part in [WHOLE, *log.parts(suite)] if read else []:
            for metric in read:
                found += [_row(log, judges, suite, name, metric, part, told[name], measure) for name in log.methods]
    return found


def _row(
    log: Log, judges: Judges, suite: str, name: str, metric: str, part: Part, about: Mapping[str, Any], measure: Measure
) -> Row:
    group = log.of_part(suite, name, part)
    left = [o.left_out[metric] for o in group if metric in o.left_out]
    marks = [f"{len(left)} of {len(group)} questions are not in it: {reasons(left)}"] if left else []
    row = measure(log, suite, name, metric, marks, part)
    if metric == JUDGED:
        judges.correct(row, part)
    counted = [o.tokens for o in group if o.tokens is not None and metric not in o.left_out]
    kept = {key: value for key, value in row.items() if key not in _OF_METHODS}
    return {
        "baseline": name,
        **kept,
        "apart": about.get("apart") or "",
        "tokens": sum(counted) / len(counted) if counted else None,
    }


def grids(results: Mapping[str, Any], suite: str) -> Iterator[Grid]:
    """Of a suite whose baselines of answers were asked for: they and the methods, from the least to the most.

    A metric of which nobody has a figure is no column, unless it is all there is; nor is a suite that was not run a
    table: other tables say why.
    """
    if any(info["not_run"] for info in results["suites"] if info["suite"] == suite):
        return
    mine = [row for row in results["answer_baselines"] if row["suite"] == suite and whole(row)]
    if not mine:
        return
    metrics = list(dict.fromkeys(row["metric"] for row in mine))
    metrics = [m for m in metrics if any(row["value"] is not None for row in mine if row["metric"] == m)] or metrics
    units = {row["metric"]: row["unit"] for row in mine}
    reader = (results["manifest"].get("reader") or {}).get("label") or "the reader"
    grid = Grid(
        f"{suite}, answers",
        f"What {reader} answers from what each memory returned, and where no memory has a part in it. "
        f"Tokens: {tokenizer(results['manifest'])}.",
        ["answers from", "set apart by", "tokens", *(_title(metric, units[metric]) for metric in metrics), "n"],
    )
    named = dict.fromkeys(row["baseline"] for row in mine)
    for name in (name for name in named if name not in BELOW):
        grid.rows.append(_line(grid, [row for row in mine if row["baseline"] == name], metrics))
    tokens = {row["method"]: row["tokens_returned"] for row in results["costs"] if row["suite"] == suite}
    for method in results["methods"]:
        own = [r for r in results["rows"] if (r["suite"], r["method"]) == (suite, method["method"]) and whole(r)]
        about = {"apart": "", "tokens": tokens.get(method["method"])}
        if there := [{**row, **about} for row in own if row["metric"] in metrics]:
            grid.rows.append(_line(grid, there, metrics))
    for name in (name for name in BELOW if name in named):
        grid.rows.append(_line(grid, [row for row in mine if row["baseline"] == name], metrics))
    grid.below = [
        "What is set apart is no method: it has no k, or knows which entries answer. It bounds what a memory can give "
        "this reader, and is compared with none. Tokens: those of what the reader was given, mean a question."
    ]
    yield grid


def _line(grid: Grid, cells: Sequence[Row], metrics: Sequence[str]) -> list[str]:
    by_metric = {cell["metric"]: cell for cell in cells}
    tokens = cells[0]["tokens"]
    shown = [grid.cell(by_metric[m], by_metric[m]["unit"]) if m in by_metric else NONE for m in metrics]
    given = NONE if tokens is None else f"{tokens:,.0f}"
    return [cells[0]["label"], cells[0]["apart"], given, *shown, str(max(cell["n"] for cell in cells))]


def _title(metric: str, unit: str) -> str:
    return {"subem": "SubEM"}.get(metric, metric) + (f", {unit}" if unit else "")
