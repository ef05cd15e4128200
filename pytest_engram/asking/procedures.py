"""How a question is asked: one search, or what a family of micro-tests asks besides. A new way is one new function.

Each gives what its askings found beyond the first search, as JSON: a judge reads it from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_engram.suites.base import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_engram.asking.runner import Probing

Procedure: TypeAlias = "Callable[[Probing, Question, Mapping[str, Any]], dict[str, Any]]"


def search(probe: Probing, question: Question, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """Once."""
    probe.search()
    return {}


def one_by_one(probe: Probing, question: Question, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """A memory that was written in one call, then one that was written entry by entry."""
    probe.search()
    return {"one_by_one": probe.search(one_by_one=True)}


def support(probe: Probing, question: Question, settings: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """The support of the entries that the question is about; nothing is searched."""
    found = probe.support()
    return {"support": None if found is None else {id_: float(found[id_]) for id_ in question.about}}


def hub(probe: Probing, question: Question, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Percentiles of one entry's support: the method's own, and over plain and over mutual neighbours beside it.

    And, to tell hubs from crowds, over all facts that count it among their nearest (its k-occurrences, the usual
    measure of a hub: Radovanović et al. 2010).
    """
    found = probe.support()
    if found is None:
        return {"hub": None}
    from pytest_engram.retrieval import graph

    neighbours, (entry,) = settings["neighbours"], question.about
    vectors = probe.bench.embed([entry.text for entry in probe.entries])
    near, similarity = graph.nearest(vectors, neighbours)
    ids = list(probe.haystack.plain)
    place = ids.index(entry)
    incoming = [float(similarity[near == i].sum()) for i in range(len(near))]
    measured = {
        "percentile_mutual": percentile(graph.support(vectors, neighbours), place),
        "percentile_plain": percentile(graph.knn_support(vectors, neighbours), place),
        "percentile_incoming": percentile(incoming, place),
        "percentile_method": percentile([found[id_] for id_ in ids], place),
        "in_lists": int((near == place).sum()),
    }
    return {"hub": measured}


def percentile(values: Sequence[float] | NDArray[Any], position: int) -> float:
    """Share of the other values below the one at `position`, ties counted half: 0 to 100."""
    others = [float(value) for i, value in enumerate(values) if i != position]
    own = float(values[position])
    below = sum(value < own for value in others) + sum(value == own for value in others) / 2
    return round(100 * below / len(others), 2)


SEARCHES = ("search", "one by one")  # those that ask by a query
PROCEDURES: dict[str, Procedure] = {"search": search, "one by one": one_by_one, "support": support, "hub": hub}
