"""LanceDB, embedded: vectors and full text in one table on the disk, fused by its own reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_engram.memory import Bench, Entry, MemoryFactory, method

_TABLE = "entries"


class LanceDB:
    """Hybrid search as LanceDB's documentation has it, with the bench's encoder.

    Each of two searches gives k candidates: by cosine over all vectors, and by BM25 over LanceDB's own tokens (stems,
    without stop words). Reciprocal rank fusion, its default reranker, makes one list of them.
    """

    def __init__(self, bench: Bench) -> None:
        import lancedb
        from lancedb.index import FTS
        from lancedb.rerankers import RRFReranker

        self._bench = bench
        self._store: Any = lancedb.connect(bench.folder)
        self._words = FTS()
        self._reranker = RRFReranker()
        self._table: Any = None

    def write(self, entries: Sequence[Entry]) -> None:
        vectors = self._bench.embed([entry.text for entry in entries])
        rows = [
            {"id": entry.id, "text": entry.text, "time": entry.time, "vector": vector}
            for entry, vector in zip(entries, vectors, strict=True)
        ]
        if self._table is None:
            self._table = self._store.create_table(_TABLE, rows)
        else:
            self._table.add(rows)

    def prepare(self) -> None:
        """Index the words. Vectors need no index: all of them are compared."""
        if self._table is not None:
            self._table.create_index("text", config=self._words, replace=True)

    def search(self, query: str, k: int) -> list[str]:
        if self._table is None:
            self._table = self._store.open_table(_TABLE)
        found = self._table.search(query_type="hybrid").vector(self._bench.embed_query(query)).text(query)
        found = found.distance_type("cosine").rerank(self._reranker).limit(k)
        return [str(id_) for id_ in found.to_arrow()["id"].to_pylist()]

    def close(self) -> None:
        """Let go of both: LanceDB closes its files with the last reference."""
        self._table = self._store = None


@method(label="LanceDB hybrid", role="control", embeds=True, shared=True, packages=["lancedb"])
def lancedb() -> MemoryFactory:
    import lancedb.rerankers  # noqa: F401  # to load it is no part of writing

    return LanceDB
