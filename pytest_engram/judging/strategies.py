"""What strategies get that read no text: the older of two statements, the newer, and the one that places speak for.

A test of who is believed must not be won without reading. Where a suite is balanced, each of these gets the chance of
a coin; where it is not, they tell how much of a figure is worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean
from typing import TYPE_CHECKING, TypeAlias

from pytest_engram.suites.microtests.winners import Side, correct

if TYPE_CHECKING:
    from pytest_engram.judging.chance import Sided
    from pytest_engram.suites.base import Key, Suite


# From the places of the belief's first and the update's last statement, from 0 on, and the number of entries.
Strategy: TypeAlias = Callable[[int, int, int], Side]


def _by_position(belief: int, update: int, entries: int) -> Side:
    """The side behind which more stands: up to the other statement, less what stood before; and up to the end.

    Where facts are written behind the statement that they back, and half of all else before it, this counts them.
    """
    return "belief" if update - belief - 1 - belief > entries - update - 1 else "update"


STRATEGIES: Mapping[str, Strategy] = {
    "always older": lambda *_: "belief",
    "always newer": lambda *_: "update",
    "by position": _by_position,
}


def strategies(suite: Suite, key: Key) -> dict[str, dict[str, float]]:
    """By strategy and metric, its mean over the questions of a suite that asks for one of two sides.

    Nothing where a suite asks for something else, or its data can't be had.
    """
    found: dict[str, dict[str, list[float]]] = {name: {} for name in STRATEGIES}
    for question in suite.runnable() if key.judged_by in ("sides", "backed") else ():
        gold = key.gold(question.id)
        sides: Sided = gold.detail
        if sides.expected is None:
            continue
        place = {entry.id: at for at, entry in enumerate(suite.haystack(question.haystack))}
        where = place[sides.belief[0]], place[sides.update[-1]], len(place)
        for name, strategy in STRATEGIES.items():
            hit = float(correct(sides.expected, strategy(*where)))
            for metric in key.metrics:
                if metric not in gold.left_out:
                    found[name].setdefault(metric, []).append(hit)
    return {name: {metric: mean(hits) for metric, hits in by.items()} for name, by in found.items() if by}
