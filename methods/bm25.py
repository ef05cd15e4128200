"""BM25 (Robertson and Zaragoza 2009), in the Okapi form and with the defaults of rank-bm25."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_engram.memory import Bench, Entry, MemoryFactory, method
from pytest_engram.retrieval.okapi import Lexical


class BM25:
    """The lexical anchor: the words that question and entry share, rare ones counting more. It resolves nothing."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._entries: list[Entry] = []
        self._lexical: Lexical | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._lexical = None

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        if self._lexical is None:
            self._lexical = self._bench.lexical([entry.text for entry in self._entries])
        return [self._entries[position].id for position in self._lexical.rank(query)[:k]]


@method(label="BM25", role="anchor", embeds=False)
def bm25() -> MemoryFactory:
    return BM25
