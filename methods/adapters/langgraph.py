"""LangGraph's long-term memory: its `InMemoryStore`, with an index that asks the bench for embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_engram.memory import Bench, Entry, MemoryFactory, method


def _embeddings(bench: Bench) -> Any:
    """LangChain's interface to an encoder: a plain function in its place would embed queries as passages."""
    from langchain_core.embeddings import Embeddings

    class Encoder(Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(x) for x in row] for row in bench.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return [float(x) for x in bench.embed_query(text)]

    return Encoder()


class LangGraph:
    """One item an entry, under its id. The store compares the question with every item by cosine."""

    def __init__(self, bench: Bench) -> None:
        from langgraph.store.memory import InMemoryStore

        self._bench = bench
        self._space = (bench.namespace,)
        index: Any = {"dims": bench.encoder.dimensions, "embed": _embeddings(bench), "fields": ["text"]}
        self._store = InMemoryStore(index=index)

    def write(self, entries: Sequence[Entry]) -> None:
        self._bench.embed([entry.text for entry in entries])  # at once; each of the calls below then finds its own
        for entry in entries:  # one by one: a batch that holds one text twice is refused
            self._store.put(self._space, entry.id, {"text": entry.text})

    def search(self, query: str, k: int) -> list[str]:
        return [str(item.key) for item in self._store.search(self._space, query=query, limit=k)]


@method(label="LangGraph store", role="control", embeds=True, packages=["langgraph-checkpoint"])
def langgraph() -> MemoryFactory:
    import langgraph.store.memory  # noqa: F401  # to load it is no part of writing

    return LangGraph
