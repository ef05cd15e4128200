"""Memories that are written to while they are asked: the same as ones that got everything at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench, Entry
from pytest_engram.methods import bm25, count, dense, loom, tide
from pytest_engram.retrieval import neighbours

LOOMS = [loom.Loom, loom.LoomRecency, loom.LoomNoRegex, loom.LoomDistinct, loom.LoomSided, loom.LoomSampled]
EVERY = [*LOOMS, tide.Tide, dense.Dense, bm25.BM25, count.Count]
SETTINGS = Settings(depth=8, neighbours=3, sided=4, similarity=0.9, duplicate=0.97, tide=0.9)

# Said again and again, of few people and towns: copies, ties and conflicts are the rule.
FACTS = st.builds(
    "{} {} in {}".format,
    st.sampled_from(["Ada", "Bo", "Cleo"]),
    st.sampled_from(["lives", "works"]),
    st.sampled_from(["Rome", "Oslo", "Bonn", "Graz"]),
)


class Store:
    """Embeddings on a coarse grid by the words of a text; it remembers what it was asked for."""

    def __init__(self) -> None:
        self.spec = SimpleNamespace(name="hand", hash="hand", dimensions=4)
        self.asked: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        vector = sum(np.random.default_rng(list(word.encode())).integers(-1, 2, 4) for word in text.split())
        return (vector / max(1, np.linalg.norm(vector))).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.empty((0, 4), np.float32)


def make(kind: Any, folder: Path, store: Store) -> Any:
    on = Bench(k=5, seed=3, embeddings=lambda: store, cache_dir=folder)  # type: ignore[arg-type, return-value]
    return kind(on) if kind in (dense.Dense, bm25.BM25, count.Count) else kind(on, SETTINGS)


@pytest.fixture(params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything by definition, or by blocks, from the cache on."""
    if request.param == "large":
        monkeypatch.setattr(neighbours, "SMALL", 0)
        monkeypatch.setattr(neighbours, "BLOCK", 4)
        monkeypatch.setattr(loom, "CACHED_FROM", 2)


@pytest.mark.parametrize("kind", EVERY)
@given(st.lists(FACTS, min_size=1, max_size=24), st.lists(st.integers(1, 24), max_size=5), st.permutations(range(24)))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_written_in_any_order_and_batches_and_asked_in_between(
    tmp_path: Path, size: None, kind: Any, facts: list[str], ends: list[int], order: list[int]
) -> None:
    entries = [Entry(f"e{i}", facts[i], float(i)) for i in order if i < len(facts)]
    store = Store()
    living = make(kind, tmp_path, store)
    start = 0
    for end in sorted({min(end, len(entries)) for end in ends} | {len(entries)}):
        living.write(entries[start:end])
        start = end
        fresh = make(kind, tmp_path, Store())
        fresh.write(entries[:end])
        for query in ("Ada lives in Rome", "Bo works"):
            assert living.search(query, 5) == fresh.search(query, 5)
            if hasattr(living, "trace"):
                assert living.trace(query, 5) == fresh.trace(query, 5)
        if hasattr(living, "support"):
            assert living.support() == fresh.support()
    assert store.asked in ([], [entry.text for entry in entries])  # each once


def drawn(store: Store, text: str) -> np.ndarray:
    return np.random.default_rng(list(text.encode())).standard_normal(8).astype(np.float32)


def test_one_more_fact_is_embedded_and_compared_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "SMALL", 0)
    entries = [Entry(f"e{i}", f"Ada lives in {i}", float(i)) for i in range(300)]
    store = Store()
    monkeypatch.setattr(Store, "embed_query", drawn)
    memory = make(loom.Loom, tmp_path, store)
    memory.write(entries)
    memory.prepare()
    before = memory.support()
    rows: list[int] = []
    product = neighbours._Rough.product

    def counted(*args: Any) -> np.ndarray:
        made = product(*args)
        rows.append(len(made))
        return made

    monkeypatch.setattr(neighbours._Rough, "product", counted)
    memory.write([Entry("new", "Bo works in Graz", 300.0)])
    after = memory.support()
    assert store.asked[300:] == ["Bo works in Graz"]
    assert set(rows) == {1}
    assert len(after) == len(before) + 1
