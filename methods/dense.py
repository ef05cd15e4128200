"""Dense retrieval: cosine similarity between the embeddings of question and entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.memory import Bench, Entry, MemoryFactory, method
from pytest_engram.retrieval.living import Embedded


class Dense:
    """The dense anchor, and what Tide and Loom start from. It resolves nothing."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._entries: list[Entry] = []
        self._embedded = Embedded(bench.embed)

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries

    def prepare(self) -> None:
        self._vectors()

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        scores = self._vectors() @ self._bench.embed_query(query)
        return [self._entries[position].id for position in self._bench.rank(scores, k)]

    def _vectors(self) -> NDArray[np.float32]:
        """Embeddings (n, d) of the entries."""
        return self._embedded.of(self._entries)


@method(label="Dense", role="anchor", embeds=True)
def dense() -> MemoryFactory:
    return Dense
