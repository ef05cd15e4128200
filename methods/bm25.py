"""BM25 (Robertson and Zaragoza 2009), in the Okapi form and with the defaults of rank-bm25."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_engram.memory import Bench, Entry, MemoryFactory, method
from pytest_engram.retrieval.living import Counted


class BM25:
    """The lexical anchor: the words that question and entry share, rare ones counting more. It resolves nothing."""

    def __init__(self, bench: Bench) -> None:
        self._entries: list[Entry] = []
        self._counted = Counted(bench.lexical)

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries

    def search(self, query: str, k: int) -> list[str]:
        if not self._entries:
            return []
        ranking = self._counted.of(self._entries).rank(query, k)
        return [self._entries[position].id for position in ranking]


@method(label="BM25", role="anchor", embeds=False)
def bm25() -> MemoryFactory:
    return BM25
