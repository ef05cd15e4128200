"""LlamaIndex: a `VectorStoreIndex` in memory, with an embedding model that asks the bench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_engram.memory import Bench, Entry, MemoryFactory, method


def _embedding(bench: Bench) -> Any:
    """LlamaIndex's own interface to an encoder, which tells queries from passages."""
    from llama_index.core.embeddings import BaseEmbedding

    class Encoder(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [[float(x) for x in row] for row in bench.embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return [float(x) for x in bench.embed_query(query)]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Encoder(model_name=bench.encoder.name, embed_batch_size=2048)


class LlamaIndex:
    """One node an entry, whole. The index compares the question with every node by cosine."""

    def __init__(self, bench: Bench) -> None:
        from llama_index.core import VectorStoreIndex

        model = _embedding(bench)
        # Nothing is split, so no splitter, with its tokenizer, needs to be made: any transformation stands in.
        self._index = VectorStoreIndex([], embed_model=model, transformations=[model])

    def write(self, entries: Sequence[Entry]) -> None:
        from llama_index.core.schema import TextNode

        self._index.insert_nodes([TextNode(id_=entry.id, text=entry.text) for entry in entries])

    def search(self, query: str, k: int) -> list[str]:
        found = self._index.as_retriever(similarity_top_k=k).retrieve(query)
        return [str(hit.node.node_id) for hit in found]


@method(label="LlamaIndex", role="control", embeds=True, packages=["llama-index-core"])
def llamaindex() -> MemoryFactory:
    import llama_index.core  # noqa: F401  # to load it is no part of writing

    return LlamaIndex
