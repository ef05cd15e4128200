"""mem0, in a local store: verbatim (`mem0`), or rewriting by a language model (`mem0-infer`).

The model of `mem0-infer` is any behind OPENAI_BASE_URL, with OPENAI_API_KEY where it needs one; its name is
OPENAI_MODEL, else what mem0 takes for itself.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.memory import Bench, Entry, MemoryFactory, Recalled, method

_SOURCES = "engram_sources"  # in a memory's metadata: the ids of the entries that it was made from
_NO_KEY = "none"  # OpenAI's client wants one, even where it is never used


def _load() -> Any:
    """The package, told before its import, which is when it asks, to send nothing and to write nothing at home."""
    with tempfile.TemporaryDirectory() as home:
        told = {"MEM0_TELEMETRY": "False", "MEM0_DIR": home}
        before = {name: os.environ.get(name) for name in told}
        os.environ.update(told)
        try:
            import mem0.embeddings.openai
            import mem0.llms.openai
            import mem0.memory.main
            import mem0.vector_stores.qdrant  # here, so that to load them is no part of writing
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
    logging.getLogger("mem0").setLevel(logging.ERROR)  # it warns of every package that it could use and does not need
    return mem0.memory.main


def _embedder(bench: Bench) -> Any:
    """mem0's own interface to an encoder. It says what it embeds for: "add", "update" or "search"."""
    from mem0.embeddings.base import EmbeddingBase

    class Encoder(EmbeddingBase):  # type: ignore[misc]
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            if memory_action == "search":
                return [float(x) for x in bench.embed_query(text)]
            return [float(x) for x in bench.embed([text])[0]]

    return Encoder()


class Mem0:
    """Entries as mem0 stores them: as they are, or as memories that a model makes of them.

    The store is Qdrant's local one, which only one process can open: whoever searches in what another has written opens
    a copy of its own, beside it in the folder.

    Args:
        bench: as every memory.
        infer: whether a model rewrites.
        together: how many entries one call gives to the model, as one conversation. All of them are the sources of
            every memory that it makes of them; with 1 the source is exact, but for what the model took from older
            memories, which mem0 does not tell.
        model: that rewrites; default: mem0's own choice.
    """

    def __init__(self, bench: Bench, *, infer: bool = False, together: int = 1, model: str | None = None) -> None:
        self._bench = bench
        self._infer = infer
        self._together = together
        self._model = model
        self._copy: Path | None = None
        self._memory: Any = None
        self._written: set[str] = set()
        self._used = {"tokens": 0, "calls": 0}

    def write(self, entries: Sequence[Entry]) -> None:
        if self._memory is None:
            self._memory = self._open(self._bench.folder / "store")
        entries = [entry for entry in entries if entry.id not in self._written]  # where a call failed and is repeated
        if not self._infer:
            self._bench.embed([entry.text for entry in entries])  # at once; mem0 asks for one after another
        for start in range(0, len(entries), self._together):
            part = entries[start : start + self._together]
            messages = [{"role": "user", "content": entry.text} for entry in part]
            told = {_SOURCES: [entry.id for entry in part]}
            self._memory.add(messages, user_id=self._bench.namespace, metadata=told, infer=self._infer)
            self._written.update(entry.id for entry in part)

    def search(self, query: str, k: int) -> list[str | Recalled]:
        if self._memory is None:
            self._copy = Path(tempfile.mkdtemp(dir=self._bench.folder, prefix="copy-"))
            shutil.copytree(self._bench.folder / "store", self._copy / "store")
            (self._copy / "store" / "qdrant" / ".lock").unlink(missing_ok=True)
            self._memory = self._open(self._copy / "store")
        found = self._memory.search(query, top_k=k, filters={"user_id": self._bench.namespace})["results"]
        if self._infer:
            return [Recalled(hit["memory"], tuple(hit["metadata"][_SOURCES])) for hit in found]
        return [hit["metadata"][_SOURCES][0] for hit in found]

    def usage(self) -> dict[str, int]:
        return self._used if self._infer else {}

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory.vector_store.client.close()  # which it leaves open
            self._memory = None
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def _open(self, folder: Path) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        # mem0 makes clients for a model and for embeddings in any case; what they are to be is put in below.
        model = {"api_key": os.environ.get("OPENAI_API_KEY") or _NO_KEY, "model": self._model}
        store = {
            "collection_name": self._bench.namespace,
            "embedding_model_dims": self._bench.encoder.dimensions,
            "path": str(folder / "qdrant"),
        }
        memory = _load().Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
                "llm": {"provider": "openai", "config": model | {"response_callback": self._count}},
                "embedder": {"provider": "openai", "config": {"api_key": _NO_KEY}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        memory.embedding_model = _embedder(self._bench)
        return memory

    def _count(self, _model: Any, response: Any, _request: Any) -> None:
        self._used["calls"] += 1
        self._used["tokens"] += getattr(response.usage, "total_tokens", 0) or 0


@method(label="mem0", role="control", embeds=True, shared=True, packages=["mem0ai", "qdrant-client"])
def mem0() -> MemoryFactory:
    _load()
    return Mem0


@method(
    name="mem0-infer",
    label="mem0 (rewriting)",
    role="control",
    embeds=True,
    shared=True,
    packages=["mem0ai", "qdrant-client"],
)
def mem0_infer() -> MemoryFactory:
    if not (os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")):
        raise pytest.UsageError(
            "mem0-infer: a model rewrites: set OPENAI_BASE_URL (such as http://127.0.0.1:8000/v1) or OPENAI_API_KEY, "
            "and OPENAI_MODEL"
        )
    _load()
    return lambda bench: Mem0(bench, infer=True, model=os.environ.get("OPENAI_MODEL"))
