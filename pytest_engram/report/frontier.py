"""The frontier: how often a method follows a backed update, and how often it resists one that another side is backed
against.

A suite with a frontier asks about pairs of statements that contradict each other, an older and a newer one, of which
one is backed by `b` facts, and the other perhaps said again `m` times in other words. Which one is backed is balanced,
and each pair stands in both orders of time: always newer, always older and whoever goes by the value lie on the line
from (0, 1) to (1, 0), and so does everybody where nothing is backed and nothing is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_engram.report.estimates import estimate
from pytest_engram.report.log import Log
from pytest_engram.runs.outcome import Outcome

Row = dict[str, Any]

BACKED = 3  # backers at which the other side's repetitions are counted
SIDES = {"followed": ("newer", "update"), "resisted": ("older", "belief")}  # the side that is backed, what comes back
_NOTHING = {"value": None, "low": None, "high": None, "cluster": None, "clusters": None}


def frontier(log: Log) -> list[Row]:
    """The rows of `frontier`: one a suite, method and point, in the order in which they are shown.

    None of a suite of which nothing was asked. A method without figures there has rows that say why.
    """
    return [row for suite, info in log.suites.items() if info.get("frontier") for row in _suite(log, suite)]


def _suite(log: Log, suite: str) -> list[Row]:
    asked = [o for group in log.of_suite(suite) for o in group if o.status == "ok" and _b(o) is not None]
    points = [("b", count) for count in sorted({_b(o) for o in asked if _m(o) == 0})]
    points += [("m", count) for count in sorted({_m(o) for o in asked if _b(o) == BACKED})]
    how = kind(log, suite)
    return [
        {"suite": suite, "kind": how, **_row(log, suite, method, axis, count)}
        for method in log.methods
        for axis, count in points
    ]


def kind(log: Log, suite: str) -> str | None:
    """How the backers of a suite with a frontier back: "named" or "implied"; None where nothing says so."""
    told = (o.fields.get("kind") for group in log.of_suite(suite) for o in group)
    return next((str(how) for how in told if how), None)


def _b(outcome: Outcome) -> Any:
    return outcome.fields.get("b")


def _m(outcome: Outcome) -> Any:
    return outcome.fields.get("m") or 0


def _row(log: Log, suite: str, method: str, axis: str, count: int) -> Row:
    told = log.measured(suite, method, log.metrics(suite)[0])
    level = (count, 0) if axis == "b" else (BACKED, count)
    lines = [o for o in log.groups.get((suite, method), []) if o.status == "ok" and (_b(o), _m(o)) == level]
    row: Row = {
        "method": method,
        "label": log.label(method),
        "role": log.methods[method]["role"],
        "axis": axis,
        "count": count,
    }
    found = []
    for name, (backed, winner) in SIDES.items():
        # Where nothing is backed, what comes back alone tells what a method does by itself: the zero of the scale.
        of_side = [o for o in lines if level == (0, 0) or o.fields.get("backed") == backed]
        values = {} if told.values is None else _won(of_side, winner)
        one = _NOTHING | (estimate(log, suite, values, binary=_binary(values.values())) if values else {})
        row |= {name: one["value"], f"{name}_low": one["low"], f"{name}_high": one["high"], f"{name}_n": len(values)}
        found.append(one)
    drawn = max(found, key=lambda one: one["clusters"] or 0)
    why = {"status": told.status, "reason": told.reason}
    return {**row, "cluster": drawn["cluster"], "clusters": drawn["clusters"], **why}


def _won(lines: Sequence[Outcome], winner: str) -> dict[str, float]:
    """How often a side came back alone, by question: 0 or 1, or the mean over the seeds, where all have one."""
    by_question: dict[str, list[float]] = defaultdict(list)
    for outcome in lines:
        by_question[outcome.question_id].append(float(outcome.winner == winner))
    seeds = len({outcome.seed for outcome in lines})
    return {question: sum(won) / seeds for question, won in by_question.items() if len(won) == seeds}


def _binary(values: Iterable[float]) -> bool:
    return set(values) <= {0.0, 1.0}
