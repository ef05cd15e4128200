"""What embedding one query takes is measured where the model is loaded, and kept beside its embeddings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_engram.encoding import embeddings as module
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.modelfolder import EncoderSpec

SPEC = EncoderSpec("stub", "/nowhere", "ab" * 32, 4, query_prefix="ask: ")
SECONDS = 0.02


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the model was asked. It takes a second for the first text, and 20 ms for each call after that."""
    calls: list[list[str]] = []

    def load(spec: EncoderSpec) -> Any:
        def encode(texts: list[str]) -> Any:
            time.sleep(0.2 if not calls else SECONDS)
            calls.append(texts)
            return np.eye(4, dtype=np.float32)[[0] * len(texts)]

        return encode

    monkeypatch.setattr(module, "load", load)
    return calls


def test_the_median_of_single_queries_is_kept(tmp_path: Path, asked: list[list[str]]) -> None:
    store = EmbeddingStore(SPEC, tmp_path)
    assert store.query_seconds is None
    store.prepare(["a", "b"], [f"q{i}" for i in range(20)])
    assert asked[1:] == [["ask: q0"], *([f"ask: q{i}"] for i in range(8))]
    assert store.query_seconds == pytest.approx(SECONDS, rel=0.5)
    assert EmbeddingStore(SPEC, tmp_path).query_seconds == store.query_seconds


def test_it_is_measured_once(tmp_path: Path, asked: list[list[str]]) -> None:
    EmbeddingStore(SPEC, tmp_path).prepare(["a"], ["q"])
    first = EmbeddingStore(SPEC, tmp_path).query_seconds
    before = len(asked)
    again = EmbeddingStore(SPEC, tmp_path)
    again.prepare(["another"], ["q"])
    assert asked[before:] == [["another"]]
    assert again.query_seconds == first


def test_without_a_query_or_a_model_nothing_is_measured(tmp_path: Path, asked: list[list[str]]) -> None:
    store = EmbeddingStore(SPEC, tmp_path)
    store.prepare(["a"])
    assert asked == [["a"]]
    given = EmbeddingStore(SPEC, tmp_path, None, lambda texts: np.eye(4, dtype=np.float32)[[0] * len(texts)])
    given.prepare(["b"], ["q"])
    assert given.query_seconds is None


@pytest.mark.parametrize("content", [b"", b"[]", b'{"query_seconds": -1}', b'{"query_seconds": NaN}', b"\x9c"])
def test_what_is_damaged_is_not_known(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "embeddings" / SPEC.hash[:16]
    folder.mkdir(parents=True)
    (folder / "query.json").write_bytes(content)
    assert EmbeddingStore(SPEC, tmp_path).query_seconds is None
