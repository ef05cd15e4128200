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

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_engram.development import devdata
from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench, Dropped, Entry, MemoryFactory, method
from pytest_engram.methods.calibrated import settings_for
from pytest_engram.methods.loom_reading import Reading, differ, read, same_subject
from pytest_engram.retrieval import graph

CACHED_FROM = 256  # entries; below, computing support is quicker than reading it
PROJECTED = 32  # dimensions of Loom, sampled: few enough that its neighbours differ between seeds

Strength: TypeAlias = tuple[float, float]
Resolution: TypeAlias = "tuple[list[int], NDArray[np.intp], list[tuple[int, int, int]]]"


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
        self._index: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        self._seen: dict[int, Reading] = {}
        self._last: tuple[str, Resolution] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._index = self._last = None

    def prepare(self) -> None:
        """Build the support, which a large haystack keeps for all workers."""
        self._indexed()

    def support(self) -> dict[str, float]:
        """Support of each entry, by id."""
        _, support = self._indexed()
        return {entry.id: float(value) for entry, value in zip(self._entries, support, strict=True)}

    def search(self, query: str, k: int) -> list[str]:
        stays, rest, _ = self._resolved(query)
        return [self._entries[position].id for position in [*stays, *rest[: max(0, k - len(stays))]][:k]]

    def trace(self, query: str, k: int) -> list[Dropped]:
        """The conflicts that were settled in favour of the first k, in the order of the ranks that were lost."""
        stays, _, dropped = self._resolved(query)
        shown = set(stays[:k])
        return [
            Dropped(self._entries[loser].id, self._entries[winner].id, self._why(loser, winner), rank + 1)
            for rank, loser, winner in dropped
            if winner in shown
        ]

    def strength(self, position: int) -> Strength:
        """What decides a conflict: support, then the earlier time."""
        return float(self._indexed()[1][position]), -self._entries[position].time

    def compute_support(self, vectors: NDArray[np.float32], settings: Settings) -> NDArray[np.float32]:
        return graph.support(vectors, settings.neighbours)

    def support_name(self, settings: Settings) -> str:
        """Names all that `compute_support` depends on, besides the texts and the encoder."""
        return f"support neighbours={settings.neighbours}"

    def _indexed(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Embeddings (n, d) and support (n,) of the entries."""
        if self._index is None:
            texts = [entry.text for entry in self._entries]
            vectors = self._bench.embed(texts)
            if len(texts) < CACHED_FROM:
                support = self.compute_support(vectors, self.settings)
            else:
                support = self._bench.cached(
                    self.support_name(self.settings),
                    texts,
                    lambda: {"support": self.compute_support(vectors, self.settings)},
                )["support"]
            self._index = vectors, support
        return self._index

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
        """Positions that stay, best first; the ranking beyond the depth; (rank lost, who lost it, to whom)."""
        if not self._entries:
            return [], np.empty(0, np.intp), []
        vectors, _ = self._indexed()
        ranking = self._bench.rank(vectors @ self._bench.embed_query(query))
        window, rest = ranking[: self.settings.depth].tolist(), ranking[self.settings.depth :]
        rivals = self._rivals(window, vectors)
        strength = {rank: self.strength(window[rank]) for rank in rivals}
        lost: dict[int, int] = {}
        for rank in sorted(rivals, key=lambda rank: (-strength[rank][0], -strength[rank][1], rank)):
            if rank not in lost:
                lost.update({rival: rank for rival in rivals[rank] if rival not in lost})
        place = {rank: rank for rank in range(len(window)) if rank not in lost}
        for loser, winner in lost.items():
            place[winner] = min(place[winner], loser)
        stays = [window[rank] for rank in sorted(place, key=place.__getitem__)]
        return stays, rest, [(rank, window[rank], window[lost[rank]]) for rank in sorted(lost)]

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

    def _why(self, loser: int, winner: int) -> str:
        vectors, _ = self._indexed()
        return f"{self.reason(loser, winner)}, similarity {float(vectors[loser] @ vectors[winner]):.2f}"

    def reason(self, loser: int, winner: int) -> str:
        """What decided, for a trace."""
        _, support = self._indexed()
        return f"support {support[loser]:.2f} {'<' if support[loser] < support[winner] else '='} {support[winner]:.2f}"


class LoomRecency(Loom):
    """Loom with support off: the later entry wins; of equal times the one that ranks better."""

    def strength(self, position: int) -> Strength:
        return self._entries[position].time, 0.0

    def reason(self, loser: int, winner: int) -> str:
        return f"time {self._entries[loser].time:g} <= {self._entries[winner].time:g}"


class LoomNoRegex(Loom):
    """Loom without the subject test: similar and different in content is conflict enough."""

    tests_subject = False


class LoomDistinct(Loom):
    """Loom whose support counts what is said again only once."""

    def compute_support(self, vectors: NDArray[np.float32], settings: Settings) -> NDArray[np.float32]:
        return graph.distinct_support(vectors, settings.neighbours, settings.duplicate)

    def support_name(self, settings: Settings) -> str:
        return f"distinct support neighbours={settings.neighbours} duplicate={settings.duplicate}"


class LoomSampled(Loom):
    """Loom on neighbours that a random projection estimates: quicker to find, and different for every seed."""

    def compute_support(self, vectors: NDArray[np.float32], settings: Settings) -> NDArray[np.float32]:
        return graph.sampled_support(vectors, settings.neighbours, PROJECTED, self._bench.seed)

    def support_name(self, settings: Settings) -> str:
        return f"sampled support neighbours={settings.neighbours} dimensions={PROJECTED} seed={self._bench.seed}"


@method(
    label="Loom",
    role="experiment",
    controls=["loom-recency", "loom-no-regex", "loom-distinct", "tide", "dense", "bm25"],
    trained_on=devdata.learnt(),
    embeds=True,
)
def loom() -> MemoryFactory:
    return Loom


@method(name="loom-recency", label="Loom, recency", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_recency() -> MemoryFactory:
    return LoomRecency


@method(name="loom-no-regex", label="Loom, no regex", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_no_regex() -> MemoryFactory:
    return LoomNoRegex


@method(name="loom-distinct", label="Loom, distinct", role="ablation", trained_on=devdata.learnt(), embeds=True)
def loom_distinct() -> MemoryFactory:
    return LoomDistinct


@method(
    name="loom-sampled",
    label="Loom, sampled",
    role="ablation",
    stochastic=True,
    trained_on=devdata.learnt(),
    embeds=True,
)
def loom_sampled() -> MemoryFactory:
    return LoomSampled
