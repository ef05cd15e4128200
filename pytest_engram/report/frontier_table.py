"""The numbers under `frontier.svg`, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_engram.report.blocks import Grid
from pytest_engram.report.frontier import BACKED, SIDES
from pytest_engram.report.log import whole
from pytest_engram.report.wording import NONE, by_cluster

Row = dict[str, Any]

PLOT = "frontier.svg"
TITLE = "Who deserves to win"
HOW = (
    "Two statements contradict each other, and facts back one of them. Followed: of the questions in which the newer "
    "one is backed, the share in which it came back alone; resisted: the same of the older one, where that is backed. "
    "Whoever returns both statements, or neither, neither follows nor resists; always newer, always older, and whoever "
    "goes by the value itself, lie on the line of chance from (0, 1) to (1, 0); with no backer (b = 0) both shares are "
    "over all questions, which is the zero of the scale; and a good memory is at the top right."
)
ALT = (
    "To the right how often each method follows a backed update, upwards how often it resists one against a backed "
    "belief: a curve over the number of backers and one over the number of repetitions. The tables below hold the same "
    "numbers."
)
_AXES = {
    "b": ("backers", "by the number of facts that back one side (b), when nobody says the other again"),
    "m": ("repetitions", f"when {BACKED} facts back one side, by how often the other is said again (m)"),
}
_KINDS = {"named": "The backers name the value", "implied": "The backers imply the value and do not name it"}


def grids(results: Mapping[str, Any]) -> Iterator[Grid]:
    """Two tables a suite: by backers and by repetitions, followed and resisted, a line a method."""
    rows: list[Row] = results["frontier"]
    for suite in dict.fromkeys(row["suite"] for row in rows):
        for axis in _AXES:
            mine = [row for row in rows if (row["suite"], row["axis"]) == (suite, axis)]
            if mine:
                yield _grid(suite, axis, mine)


def _grid(suite: str, axis: str, rows: list[Row]) -> Grid:
    what, told = _AXES[axis]
    counts = list(dict.fromkeys(row["count"] for row in rows))
    kind = next((row["kind"] for row in rows if row["kind"]), None)
    lead = f"{_KINDS[kind]}. " if kind in _KINDS else ""
    grid = Grid(f"{suite}, {what}", f"{suite}, {told}. {lead}".rstrip(), ["method"])
    grid.headers += [f"{side}, {axis} = {count}" for side in SIDES for count in counts]
    for method in dict.fromkeys(row["method"] for row in rows):
        points = {row["count"]: row for row in rows if row["method"] == method}
        cells = [_cell(grid, points[count], side) for side in SIDES for count in counts]
        grid.rows.append([points[counts[0]]["label"], *cells])
    cluster = next(((row["cluster"], row["clusters"]) for row in rows if row["cluster"]), None)
    by = f" {by_cluster(*cluster)}" if cluster else ""
    sizes = [
        f"{side} {', '.join(str(max(r[f'{side}_n'] for r in rows if r['count'] == count)) for count in counts)}"
        for side in SIDES
    ]
    grid.below = [f"Square brackets: 95% interval{by}. n: {'; '.join(sizes)}."]
    return grid


def _cell(grid: Grid, row: Row, side: str) -> str:
    found = {"value": row[side], "low": row[f"{side}_low"], "high": row[f"{side}_high"]}
    return grid.cell(found | {"status": row["status"], "reason": row["reason"]}) or NONE


def summaries(results: Mapping[str, Any]) -> Iterator[Grid]:
    """Of each suite, followed and resisted over all its levels with three backers or more: for a terminal."""
    for suite in dict.fromkeys(row["suite"] for row in results["frontier"]):
        cells = {
            (row["method"], row["metric"]): row
            for row in results["rows"]
            if row["suite"] == suite and row["metric"] in SIDES and whole(row)
        }
        grid = Grid(f"{suite}: what is followed and what is resisted, with {BACKED} backers or more", "", ["method"])
        grid.headers += SIDES
        for method in results["methods"]:
            mine = [cells.get((method["method"], side)) for side in SIDES]
            grid.rows.append([method["label"], *(NONE if cell is None else grid.cell(cell) for cell in mine)])
        yield grid
