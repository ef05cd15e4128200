"""Dense retrieval weighted by recency, in the manner of generative agents (Park et al., UIST 2023, section 4.1).

    score(entry) = recency + importance + relevance, each scaled to 0 .. 1 over the memory, all with the weight 1

- Recency: 0.995 ** age, the paper's decay. Its age is hours since a memory was last retrieved. Entries here have times
  of whatever unit their data has, so age is the number of entries that are newer; and a question changes nothing, so
  that the same question gets the same answer.
- Importance: there is none. The paper has a model give each memory a mark from 1 to 10, and this baseline asks no
  model; equal importance of all adds nothing to an order.
- Relevance: cosine similarity of question and entry.

The weights and the decay are the paper's. Its published code differs: weights 0.5, 3 and 2, decay 0.99.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.memory import Bench, Entry, MemoryFactory, method

DECAY = 0.995


class RecencyDense:
    """A baseline: newer entries first among those that are as relevant. It resolves nothing."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._entries: list[Entry] = []
        self._made: tuple[NDArray[np.float32], NDArray[np.float64]] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._made = None

    def prepare(self) -> None:
        self._indexed()

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        vectors, recent = self._indexed()
        relevance = (vectors @ self._bench.embed_query(query)).astype(np.float64)
        scores = scaled(recent) + scaled(relevance)
        return [self._entries[position].id for position in self._bench.rank(scores)[:k]]

    def _indexed(self) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Embeddings (n, d), and recency (n,)."""
        if self._made is None:
            vectors = self._bench.embed([entry.text for entry in self._entries])
            self._made = vectors, recency([entry.time for entry in self._entries])
        return self._made


def recency(times: Sequence[float]) -> NDArray[np.float64]:
    """`DECAY` to the power of the number of entries that are newer, shape (n,): 1.0 for the newest."""
    ordered = np.sort(np.asarray(times, np.float64))
    newer = len(ordered) - np.searchsorted(ordered, times, side="right")
    return np.asarray(DECAY**newer)


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Min-max scaled to 0 .. 1; all 0 where they are equal."""
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low)) if high > low else np.zeros_like(values)


@method(name="recency-dense", label="Dense (recency)", role="control", embeds=True)
def recency_dense() -> MemoryFactory:
    return RecencyDense
