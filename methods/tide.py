"""Tide: newest wins. The control that Loom must be told apart from; it shares no code with it.

The dense ranking is walked to a depth. An entry that speaks of the same name as one already taken, is close to it in
meaning and names something else is another version of it: the newer of the two keeps the place, whatever else the
memory holds. Of equal times the one that ranks better stays.
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
from pytest_engram.methods.tide_reading import differ, read
from pytest_engram.retrieval.living import Embedded

Walk: TypeAlias = "tuple[list[int], list[int], list[Dropped]]"


class Tide:
    """The control: of two versions the newer one."""

    def __init__(self, bench: Bench, settings: Settings | None = None) -> None:
        self._bench = bench
        self._settings = settings
        self._entries: list[Entry] = []
        self._embedded = Embedded(bench.embed)
        self._last: tuple[str, Walk] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._last = None

    def prepare(self) -> None:
        self._vectors()

    def search(self, query: str, k: int) -> list[str]:
        taken, rest, _ = self._walked(query)
        return [self._entries[position].id for position in [*taken, *rest[:k]][:k]]

    def trace(self, query: str, k: int) -> list[Dropped]:
        """The versions that were given up for one of the first k."""
        taken, _, dropped = self._walked(query)
        shown = {self._entries[position].id for position in taken[:k]}
        return [drop for drop in dropped if drop.by in shown]

    def _walked(self, query: str) -> Walk:
        """The last walk is kept: a trace asks what its search asked."""
        if self._last is None or self._last[0] != query:
            self._last = query, self._walk(query)
        return self._last[1]

    def _walk(self, query: str) -> Walk:
        """Positions taken, best first; the ranking beyond the depth; what was dropped."""
        if not self._entries:
            return [], [], []
        if self._settings is None:
            self._settings = settings_for(self._bench)
        vectors = self._vectors()
        ranking = self._bench.rank(vectors @ self._bench.embed_query(query)).tolist()
        window = ranking[: self._settings.depth]
        alike = vectors[window] @ vectors[window].T >= self._settings.tide
        facts = [read(self._entries[position].text) for position in window]
        taken: list[int] = []  # ranks; a newer version stands where the older one stood
        lost: dict[int, int] = {}
        for rank, position in enumerate(window):
            versions = [
                other
                for other in taken
                if alike[rank, other] and facts[rank].name == facts[other].name and differ(facts[rank], facts[other])
            ]
            newer = [other for other in versions if self._time(window[other]) >= self._time(position)]
            if newer:
                lost[rank] = max(newer, key=lambda other: self._time(window[other]))
            elif versions:
                taken[taken.index(versions[0])] = rank
                taken = [other for other in taken if other not in versions]
                lost.update(dict.fromkeys(versions, rank))
            else:
                taken.append(rank)
        for rank in lost:  # a version that was newer for a while: name the one that stayed
            while lost[rank] in lost:
                lost[rank] = lost[lost[rank]]
        return (
            [window[rank] for rank in taken],
            ranking[self._settings.depth :],
            [self._dropped(window[rank], window[lost[rank]], rank) for rank in sorted(lost)],
        )

    def _dropped(self, old: int, new: int, rank: int) -> Dropped:
        one, other = self._entries[old], self._entries[new]
        return Dropped(one.id, other.id, f"time {one.time:g} <= {other.time:g}", rank + 1)

    def _time(self, position: int) -> float:
        return self._entries[position].time

    def _vectors(self) -> NDArray[np.float32]:
        """Embeddings (n, d) of the entries."""
        return self._embedded.of(self._entries)


@method(label="Tide", role="control", trained_on=devdata.learnt(), embeds=True)
def tide() -> MemoryFactory:
    return Tide
