"""Loom: of two facts in conflict, the one that more of the memory stands behind stays.

Support, conflict and resolution are those of the design:

- support: summed similarity to the mutual nearest neighbours (`pytest_engram.retrieval.graph`);
- conflict: two entries among the first `depth` of the dense ranking, similar over a threshold, different in content
  (`loom_reading.differ`: they name different values) and, by default, with the same subject, which a regular
  expression finds;
- resolution: the stronger entry takes the better of the two ranks, the other is dropped; the list refills from the
  ranking to k, beyond `depth` as it stands.

Where conflicts form a chain, they are settled from the strongest entry down: an entry is dropped only for one that
stays, so that a conflict never costs both sides, and the outcome does not depend on the order of comparison. Each
entry that stays takes the best rank of those that were dropped for it. Of equal support the earlier entry stays
(nothing is overturned without more behind it), of equal times too the one that ranks better.

All numbers come from `pytest_engram.development.calibrate`, which knows generated development data only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_engram.development import devdata
from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench, Dropped, Entry, MemoryFactory, method
from pytest_engram.methods.calibrated import settings_for
from pytest_engram.methods.loom_reading import Reading, differ, read, same_subject
from pytest_engram.methods.settling import settle
from pytest_engram.retrieval import graph
from pytest_engram.retrieval.living import Embedded, Rows
from pytest_engram.retrieval.neighbours import Neighbours

CACHED_FROM = 256  # entries; below, finding who is near is quicker than reading it
PROJECTED = 32  # dimensions of Loom, sampled: few enough that its neighbours differ between seeds

Strength: TypeAlias = tuple[float, float]
Resolution: TypeAlias = "tuple[list[int], NDArray[np.intp], list[tuple[int, int, int]], dict[int, Strength]]"


class Loom:
    """The experiment.

    Args:
        bench: embeddings and ranking.
        settings: depth, neighbours and thresholds; by default those calibrated for the bench's encoder.
    """

    tests_subject = True

    def __init__(self, bench: Bench, settings: Settings | None = None) -> None:
        self._bench = bench
        self._settings = settings
        self._entries: list[Entry] = []
        self._embedded = Embedded(bench.embed)
        self._found: dict[int, Neighbours] = {}
        self._seen: dict[int, Reading] = {}
        self._last: tuple[str, Resolution] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        """Take entries; what is known of those that came before is kept, and added to when it is next needed."""
        self._entries += entries
        self._last = None

    def prepare(self) -> None:
        """Find who is near to whom, which a large haystack keeps for all workers."""
        self._near(self.settings.neighbours)

    def support(self) -> dict[str, float]:
        """Support of each entry, by id."""
        values = self.compute_support(np.arange(len(self._entries)))
        return {entry.id: float(value) for entry, value in zip(self._entries, values, strict=True)}

    def search(self, query: str, k: int) -> list[str]:
        stays, rest, *_ = self._resolved(query)
        return [self._entries[position].id for position in [*stays, *rest[: max(0, k - len(stays))]][:k]]

    def trace(self, query: str, k: int) -> list[Dropped]:
        """The conflicts that were settled in favour of the first k, in the order of the ranks that were lost."""
        stays, _, dropped, strength = self._resolved(query)
        shown = set(stays[:k])
        return [
            Dropped(self._entries[loser].id, self._entries[winner].id, self._why(loser, winner, strength), rank + 1)
            for rank, loser, winner in dropped
            if winner in shown
        ]

    def strength(self, position: int, rivals: Sequence[int]) -> Strength:  # noqa: ARG002 (a variant asks for them)
        """What decides a conflict: support, then the earlier time.

        Args:
            position: of the entry.
            rivals: positions of all that it is in conflict with.
        """
        return float(self.compute_support(np.array([position]))[0]), -self._entries[position].time

    def compute_support(self, positions: NDArray[np.intp]) -> NDArray[np.float32]:
        """Support of some entries."""
        return graph.support_in(self._near(self.settings.neighbours), positions)

    def placed(self) -> tuple[str, NDArray[np.floating[Any]]]:
        """Where the entries lie for it to be told who is near, shape (n, any), and a name for that."""
        return "near", self._vectors()

    def _vectors(self) -> NDArray[np.float32]:
        """Embeddings (n, d) of the entries."""
        return self._embedded.of(self._entries)

    def _near(self, count: int) -> Neighbours:
        """The `count` nearest of each entry. Of a large haystack what was found first is stored."""
        name, places = self.placed()
        if count not in self._found:
            kept = None
            if len(places) >= CACHED_FROM:
                texts = [entry.text for entry in self._entries]
                kept = self._bench.cached(f"{name}={count}", texts, lambda: Neighbours(count).extend(places).arrays())
            self._found[count] = Neighbours(count, kept)
        return self._found[count].extend(places)

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = settings_for(self._bench)
        return self._settings

    def _resolved(self, query: str) -> Resolution:
        """The resolution of the query asked last is kept, as a trace follows its search."""
        if self._last is None or self._last[0] != query:
            self._last = query, self._resolve(query)
        return self._last[1]

    def _resolve(self, query: str) -> Resolution:
        """Positions that stay, best first; the rest of the ranking; (rank lost, who lost it, to whom); strengths."""
        if not self._entries:
            return [], np.empty(0, np.intp), [], {}
        vectors = self._vectors()
        ranking = self._bench.rank(vectors @ self._bench.embed_query(query))
        window, rest = ranking[: self.settings.depth].tolist(), ranking[self.settings.depth :]
        rivals = self._rivals(window, vectors)
        strength = {
            rank: self.strength(window[rank], [window[other] for other in against]) for rank, against in rivals.items()
        }
        strongest = sorted(rivals, key=lambda rank: (-strength[rank][0], -strength[rank][1], rank))
        kept, lost = settle(len(window), rivals, strongest)
        stays = [window[rank] for rank in kept]
        dropped = [(rank, window[rank], window[lost[rank]]) for rank in sorted(lost)]
        return stays, rest, dropped, {window[rank]: value for rank, value in strength.items()}

    def _rivals(self, window: list[int], vectors: NDArray[np.float32]) -> dict[int, list[int]]:
        """For each rank of the window that is in conflict, the ranks that it is in conflict with."""
        near = vectors[window]
        close = np.triu(near @ near.T >= self.settings.similarity, 1)
        rivals: dict[int, list[int]] = {}
        for one, other in zip(*(ranks.tolist() for ranks in close.nonzero()), strict=True):
            if self._conflict(window[one], window[other]):
                rivals.setdefault(one, []).append(other)
                rivals.setdefault(other, []).append(one)
        return rivals

    def _conflict(self, one: int, other: int) -> bool:
        """Whether two similar entries differ in content and speak of the same subject."""
        a, b = self._read(one), self._read(other)
        return differ(a, b) and (not self.tests_subject or same_subject(a.subject, b.subject))

    def _read(self, position: int) -> Reading:
        """An entry is read once, and only where it gets that far."""
        reading = self._seen.get(position)
        if reading is None:
            reading = self._seen[position] = read(self._entries[position].text)
        return reading

    def _why(self, loser: int, winner: int, strength: Mapping[int, Strength]) -> str:
        vectors = self._vectors()
        told = self.reason(strength[loser], strength[winner])
        return f"{told}, similarity {float(vectors[loser] @ vectors[winner]):.2f}"

    def reason(self, loser: Strength, winner: Strength) -> str:
        """What decided, for a trace."""
        return f"support {loser[0]:.2f} {'<' if loser[0] < winner[0] else '='} {winner[0]:.2f}"


class LoomRecency(Loom):
    """Loom with support off: the later entry wins; of equal times the one that ranks better."""

    def prepare(self) -> None:
        self._vectors()

    def strength(self, position: int, rivals: Sequence[int]) -> Strength:  # noqa: ARG002 (as in the base)
        return self._entries[position].time, 0.0

    def reason(self, loser: Strength, winner: Strength) -> str:
        return f"time {loser[0]:g} <= {winner[0]:g}"


class LoomNoRegex(Loom):
    """Loom without the subject test: similar and different in content is conflict enough."""

    tests_subject = False


class LoomDistinct(Loom):
    """Loom whose support counts what is said again only once."""

    def compute_support(self, positions: NDArray[np.intp]) -> NDArray[np.float32]:
        return graph.distinct_support_in(
            self._near(self.settings.neighbours), self._vectors(), self.settings.duplicate, positions
        )


class LoomSided(Loom):
    """Loom whose support knows its side: a neighbour counts only where it is nearer to the entry than to every rival.

    Plain support does not ask whose side a neighbour is on. Two statements that differ in one word are near to the same
    facts, so that what backs one of them backs the other, too.
    """

    def prepare(self) -> None:
        super().prepare()
        self._near(self.settings.sided)

    def strength(self, position: int, rivals: Sequence[int]) -> Strength:
        """Summed similarity to the mutual neighbours that are nearer to it than to any of its rivals; earlier time."""
        vectors, found = self._vectors(), self._near(self.settings.sided)
        own = vectors[found.near[position][graph.mutual(found, np.array([position]))[0]]]
        here, there = own @ vectors[position], (own @ vectors[list(rivals)].T).max(axis=1)
        # A rival is nearest to itself, so that it never counts.
        return float(here[here > there].sum()), -self._entries[position].time


class LoomSampled(Loom):
    """Loom on neighbours that a random projection estimates: quicker to find, and different for every seed."""

    def __init__(self, bench: Bench, settings: Settings | None = None) -> None:
        super().__init__(bench, settings)
        self._projected = Rows(np.empty((0, PROJECTED)))

    def compute_support(self, positions: NDArray[np.intp]) -> NDArray[np.float32]:
        return graph.estimated_support_in(self._near(self.settings.neighbours), self._vectors(), positions)

    def placed(self) -> tuple[str, NDArray[np.floating[Any]]]:
        seed, more = self._bench.seed, self._vectors()[len(self._projected) :]
        if len(more):
            self._projected.extend(graph.projected(more, PROJECTED, seed))
        return f"near, sampled, dimensions={PROJECTED} seed={seed}", self._projected.all


@method(
    label="Loom",
    role="experiment",
    controls=["loom-recency", "loom-no-regex", "loom-distinct", "loom-sided", "tide", "count", "dense", "bm25"],
    trained_on=devdata.learnt(),
    embeds=True,
)
def loom() -> MemoryFactory:
    return Loom


@method(name="loom-recency", label="Loom (recency)", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_recency() -> MemoryFactory:
    return LoomRecency


@method(name="loom-no-regex", label="Loom (no regex)", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_no_regex() -> MemoryFactory:
    return LoomNoRegex


@method(name="loom-distinct", label="Loom (distinct)", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_distinct() -> MemoryFactory:
    return LoomDistinct


@method(name="loom-sided", label="Loom (sided)", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_sided() -> MemoryFactory:
    return LoomSided


@method(
    name="loom-sampled",
    label="Loom (sampled)",
    role="ablation",
    stochastic=True,
    trained_on=devdata.learnt(),
    embeds=True,
)
def loom_sampled() -> MemoryFactory:
    return LoomSampled
