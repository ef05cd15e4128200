"""Which versions of the facts that a question needs came back: `resolved@k`, and the four states of each fact.

Where an answer was contradicted earlier, a memory may return the new version alone, the old one alone, both or neither.
Only the first of these resolves the contradiction; a tie is a miss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_engram.basics.texts import contains, normalise
from pytest_engram.judging.named import Found, Unmeasured, depth_of, metric
from pytest_engram.runs.outcome import NEW, STATES
from pytest_engram.suites.base import Version

NO_HOPS = "which facts the question needs is not known"


@metric()
def resolved(found: Found, depth: int | None) -> float:
    """Whether, of every fact that the question needs, the valid version is among the first and no superseded one is.

    A question of which nothing was contradicted is resolved where its facts are there.
    """
    return float(all(hop["state"] == NEW for hop in states(found, depth_of(depth))))


def states(found: Found, depth: int) -> list[dict[str, Any]]:
    """What came back of each fact that the question needs, in their order.

    A memory's own text tells a version where the version's entry is behind it and its value stands in it: one that was
    made of both versions and tells the new value alone has resolved them.

    Args:
        found: what the memory returned, and what is right.
        depth: of how many places.

    Returns:
        {"state", "valid", "superseded"} each: "new", "old", "both" or "neither", and the ids of the entries that tell
        the valid version, and of those that tell a superseded one (none: nothing was contradicted).

    Raises:
        Unmeasured: the facts are not known, or nobody can tell which entries are behind what came back.
    """
    if not found.gold.hops:
        raise Unmeasured(NO_HOPS)
    ids = found.traced(depth)[:depth]
    behind = found.behind[:depth] or [[id_] for id_ in ids]
    own = found.texts[:depth] or [None] * len(ids)
    places = [
        (set(sources), None if text is None else normalise(text)) for sources, text in zip(behind, own, strict=True)
    ]

    def told(versions: Iterable[Version]) -> bool:
        return any(
            version.id in sources and (text is None or contains(text, [version.value]))
            for version in versions
            for sources, text in places
        )

    return [
        {
            "state": STATES[told(hop.valid), told(hop.superseded)],
            "valid": [version.id for version in hop.valid],
            "superseded": [version.id for version in hop.superseded],
        }
        for hop in found.gold.hops
    ]
