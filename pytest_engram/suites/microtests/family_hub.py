"""`hub`: how much support does a fact collect that sits near everything, with and without mutuality?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from pytest_engram.memory import Entry
from pytest_engram.suites.base import Probe, Question, Score, SuiteError
from pytest_engram.suites.files import Lines, dotted
from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.family_density import NO_SUPPORT, support_of
from pytest_engram.suites.microtests.levels import check_background, rule_of, slug
from pytest_engram.suites.microtests.model import Header, Strict, Text
from pytest_engram.suites.microtests.suite import MicroSuite

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Hub(Strict):
    """One fact that sits near everything."""

    name: Text = Field(pattern=r"\w")
    text: Text


class Spec(Header):
    """A suite of hubs, each alone among the background's facts."""

    family: Literal["hub"]
    rule: Literal["mutual-limits-hubs"] = "mutual-limits-hubs"
    neighbours: int = Field(10, ge=1, strict=True, description="How many nearest neighbours each fact has.")
    background: Literal["people"] | list[Text] = Field("people", description="The facts that the hub sits near.")
    hubs: list[Hub] = Field(min_length=1)


class Hubs(MicroSuite):
    """Every hub is an item. It is measured, not searched."""

    spec: Spec

    def __init__(self, spec: Spec, path: Path, lines: Lines) -> None:
        self.spec, self.path, self.name, self.family = spec, path, spec.name, spec.family
        self.rule = rule_of(spec.rule, path, lines)
        self._background = people() if spec.background == "people" else tuple(spec.background)
        check_background(self._background, path, lines)
        self._hubs: dict[str, str] = {}
        for i, hub in enumerate(spec.hubs):
            name, at = slug(hub.name), ("hubs", i)
            if name in self._hubs:
                raise SuiteError(path, lines[at], dotted(at), f"{name!r} names a hub already; rename one")
            if hub.text in self._background:
                raise SuiteError(path, lines[at], dotted(at), "the background has this text; write another")
            self._hubs[name] = hub.text
        self.cases = len(self._hubs)
        fields = {"family": self.family, "expected": None, "neighbours": spec.neighbours}
        self.questions = [
            Question(name, name, "", name, (text,), fields=fields | {"case": name}) for name, text in self._hubs.items()
        ]

    def shared_texts(self) -> Sequence[str]:
        """The shipped background, where the suite uses it."""
        return self._background if self.spec.background == "people" else ()

    def haystack(self, key: str) -> Sequence[Entry]:
        """The background, and the hub behind it."""
        texts = [*self._background, self._hubs[key]]
        return [Entry(f"e{number:03d}", text, float(number)) for number, text in enumerate(texts, 1)]

    def texts(self) -> tuple[list[str], list[str]]:
        """Background and hubs, and no query: nothing is searched."""
        return [*self._background, *self._hubs.values()], []

    def examine(self, question: Question, probe: Probe) -> Score:  # noqa: ARG002 (its haystack says it all)
        """Percentiles of the hub's support: over mutual neighbours, over plain ones, and the method's own.

        And, to tell hubs from crowds, over all facts that count it among their nearest (its k-occurrences, the usual
        measure of a hub: Radovanović et al. 2010).
        """
        found = support_of(probe.memory())
        if found is None:
            return Score(metrics={"correct": None}, missing={"correct": NO_SUPPORT})
        from pytest_engram.retrieval import graph

        vectors = probe.bench.embed([entry.text for entry in probe.entries])
        near, similarity = graph.nearest(vectors, self.spec.neighbours)
        hub = len(probe.entries) - 1
        mutual = percentile(graph.support(vectors, self.spec.neighbours), hub)
        plain = percentile(graph.knn_support(vectors, self.spec.neighbours), hub)
        incoming = [float(similarity[near == i].sum()) for i in range(len(near))]
        own = percentile([found[entry.id] for entry in probe.entries], hub)
        fields: dict[str, Any] = {
            "percentile_mutual": mutual,
            "percentile_plain": plain,
            "percentile_incoming": percentile(incoming, hub),
            "percentile_method": own,
            "in_lists": int((near == hub).sum()),
        }
        return Score(metrics={"correct": float(mutual < plain)}, hit=mutual < plain, fields=fields)


def percentile(values: Sequence[float] | NDArray[Any], position: int) -> float:
    """Share of the other values below the one at `position`, ties counted half: 0 to 100."""
    others = [float(value) for i, value in enumerate(values) if i != position]
    own = float(values[position])
    below = sum(value < own for value in others) + sum(value == own for value in others) / 2
    return round(100 * below / len(others), 2)


def load(spec: Spec, path: Path, lines: Lines, prepared: Path | None) -> Hubs:  # noqa: ARG001
    """The suite; nothing needs to be prepared."""
    return Hubs(spec, path, lines)
