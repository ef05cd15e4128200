"""What the gates of a run decided, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_engram.report.blocks import Grid, drop_empty
from pytest_engram.report.wording import NONE, difference, number, p_value, signed

TITLE = "Gates"
_ANSWERS = {True: "passed", False: "failed", None: "not compared"}


def gates(results: Mapping[str, Any]) -> Iterator[Grid]:
    """One table, where there was a gate: every figure that it looked at, passed or failed."""
    grid = Grid(
        TITLE,
        "What had to hold for this run not to fail.",
        ["gate", "method", "on", "bound", "value", "n", "difference", "p (Holm)", "result"],
    )
    for row in results["gates"]:
        why = f" {grid.mark(row['reason'])}" if row["passed"] is not True else ""
        grid.rows.append(
            [
                row["name"],
                row["label"] or NONE,
                f"{row['suite']} {row['metric']}" if row["suite"] else NONE,
                number(row["threshold"]),
                number(row["value"]),
                NONE if row["n"] is None else str(row["n"]),
                signed(row["difference"]) if row["low"] is None else difference(row),
                p_value(row["p_holm"]),
                _ANSWERS[row["passed"]] + why,
            ]
        )
    if not grid.rows:
        return
    kinds = {row["gate"] for row in results["gates"]}
    grid.below = [text for kind, text in _RULES.items() if kind in kinds]
    drop_empty(grid)
    yield grid


_RULES = {
    "fail-under": "fail-under: the value must reach the bound, and nothing of it may have ended in an error.",
    "fail-worse-than": "fail-worse-than: bound is the earlier run's value; fails where the later one is lower and the "
    "paired test of the two significant, p < 0.05 after Holm over the tests of the gate; or where that can't be told.",
}
