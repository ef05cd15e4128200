"""MMR: maximal marginal relevance over Dense (Carbonell and Goldstein, SIGIR 1998).

    next = argmax over the candidates of λ similarity(entry, question) - (1 - λ) max similarity(entry, taken)

The paper leaves λ and the number of candidates to the user. They are LangChain's defaults here, which most who use MMR
have: λ = 0.5 (`lambda_mult`), and the first 20 of the dense ranking (`fetch_k`). Behind these the ranking goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.memory import Bench, Entry, MemoryFactory, method

WEIGHT = 0.5
CANDIDATES = 20


class MMR:
    """A baseline: what is returned says different things. It resolves nothing, and separates what says the same."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._entries: list[Entry] = []
        self._matrix: NDArray[np.float32] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._matrix = None

    def prepare(self) -> None:
        self._vectors()

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        vectors = self._vectors()
        relevance = vectors @ self._bench.embed_query(query)
        ranking = self._bench.rank(relevance)
        first = ranking[:CANDIDATES]
        order = diverse(relevance[first], vectors[first] @ vectors[first].T)
        return [self._entries[position].id for position in [*first[order], *ranking[CANDIDATES:]][:k]]

    def _vectors(self) -> NDArray[np.float32]:
        if self._matrix is None:
            self._matrix = self._bench.embed([entry.text for entry in self._entries])
        return self._matrix


def diverse(relevance: NDArray[np.float32], alike: NDArray[np.float32]) -> list[int]:
    """Places of n candidates in the order in which MMR takes them; of equals, the first.

    Args:
        relevance: similarity of each to the question, shape (n,), best first.
        alike: similarity of each to each, shape (n, n).
    """
    taken: list[int] = []
    nearest = np.zeros_like(relevance)  # similarity to the nearest one taken: of none, the first is the most relevant
    left = np.ones(len(relevance), np.bool_)
    while left.any():
        marginal = np.where(left, WEIGHT * relevance - (1 - WEIGHT) * nearest, -np.inf)
        place = int(marginal.argmax())
        nearest = np.maximum(nearest, alike[place]) if taken else alike[place]
        taken.append(place)
        left[place] = False
    return taken


@method(label="MMR", role="control", embeds=True)
def mmr() -> MemoryFactory:
    return MMR
