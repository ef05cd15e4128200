"""RRF: BM25 and Dense as one ranking, by reciprocal ranks (Cormack, Clarke and Büttcher, SIGIR 2009).

    score(entry) = sum over the rankings that hold it of 1 / (60 + its rank), ranks from 1

60 is the paper's constant. A ranking holds what it found: BM25's ends where its scores are 0, as they are without any
word of the question, so that an entry gets nothing for an order that is none; Dense's holds everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.memory import Bench, Entry, MemoryFactory, method
from pytest_engram.retrieval.okapi import Lexical

CONSTANT = 60


class RRF:
    """A baseline: whether two ways of finding are together more than each. It resolves nothing."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._entries: list[Entry] = []
        self._made: tuple[Lexical, NDArray[np.float32]] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._made = None

    def prepare(self) -> None:
        self._indexes()

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        lexical, vectors = self._indexes()
        rankings = found(lexical, query), self._bench.rank(vectors @ self._bench.embed_query(query))
        scores = fused(rankings, len(self._entries))
        return [self._entries[position].id for position in self._bench.rank(scores)[:k]]

    def _indexes(self) -> tuple[Lexical, NDArray[np.float32]]:
        if self._made is None:
            texts = [entry.text for entry in self._entries]
            self._made = self._bench.lexical(texts), self._bench.embed(texts)
        return self._made


def fused(rankings: Iterable[NDArray[np.intp]], size: int) -> NDArray[np.float64]:
    """The fused score of each of `size` entries, shape (size,).

    Args:
        rankings: positions, best first; not every one needs to stand in each.
        size: how many entries there are.
    """
    scores = np.zeros(size)
    for ranking in rankings:
        scores[ranking] += 1 / (CONSTANT + np.arange(1, len(ranking) + 1))
    return scores


def found(lexical: Lexical, query: str) -> NDArray[np.intp]:
    """Positions of the texts to which BM25 gives a score at all, best first."""
    scores = lexical.scores(lexical.tokenize(query))
    order = lexical.ranking(scores, None)
    scored: NDArray[np.intp] = order[scores[order] != 0]
    return scored if lexical.places is None else lexical.places[scored]


@method(label="RRF", role="control", embeds=True)
def rrf() -> MemoryFactory:
    return RRF
