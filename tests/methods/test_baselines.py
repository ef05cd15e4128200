"""The baselines of retrieval: each by hand, and by its published definition on drawn numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.memory import Bench, Entry
from pytest_engram.methods.mmr import MMR, diverse
from pytest_engram.methods.recency_dense import RecencyDense, recency, scaled
from pytest_engram.methods.rrf import RRF, fused

ASKED = "where is the red boat"


class Store:
    """Embeddings by hand: for each text its similarity to the question, or a vector."""

    def __init__(self, given_: dict[str, float | Sequence[float]]) -> None:
        self.spec = SimpleNamespace(name="hand", hash="hand", dimensions=3)
        self._given = given_

    def embed_query(self, text: str) -> np.ndarray:
        return np.array([1, 0, 0], np.float32)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._vector(self._given[text]) for text in texts], np.float32).reshape(len(texts), 3)

    def _vector(self, of: float | Sequence[float]) -> Sequence[float]:
        return (of, np.sqrt(1 - of * of), 0) if isinstance(of, float) else of


def make(tmp_path: Path, kind: Any, given_: dict[str, Any], times: Sequence[float] | None = None) -> Any:
    store = Store(given_)
    made = kind(Bench(k=10, seed=0, embeddings=lambda: store, cache_dir=tmp_path))  # type: ignore[arg-type, return-value]
    times = range(len(given_)) if times is None else times
    made.write([Entry(f"e{n}", text, float(time)) for n, (text, time) in enumerate(zip(given_, times, strict=True))])
    return made


# BM25 finds e1 (two words of the question, in a shorter text than e2's) before e2; e0 and e3 share none with it.
# Dense: e3, e0, e2, e1, e4.
FOUND = {"a cat": 0.8, "red boat": 0.1, "red boat of an old man": 0.2, "some ship": 0.9, "a dog": -0.5}


def test_rrf_by_hand(tmp_path: Path) -> None:
    # e1: 1/61 + 1/64 = 0.03202; e2: 1/62 + 1/63 = 0.03200; e3: 1/61 = 0.01639; e0: 1/62; e4: 1/65
    made = make(tmp_path, RRF, FOUND)
    assert made.search("red boat", 10) == ["e1", "e2", "e3", "e0", "e4"]
    assert made.search("red boat", 2) == ["e1", "e2"]


def test_an_entry_without_a_word_of_the_question_gets_nothing_of_bm25(tmp_path: Path) -> None:
    # With a rank from BM25's order of entries that it did not find, e0 (1/62 + 1/61) would pass e3 (1/61 + 1/64).
    assert make(tmp_path, RRF, FOUND).search("nothing at all", 10) == ["e3", "e0", "e2", "e1", "e4"]


@given(st.lists(st.permutations(range(7)), min_size=1, max_size=4), st.lists(st.integers(0, 7), min_size=4, max_size=4))
def test_rrf_is_the_sum_over_rankings(rankings: list[list[int]], ends: list[int]) -> None:
    """Cormack et al., equation 1, in fractions: sum over r of 1 / (60 + r(d)), over the rankings that hold d."""
    cut = [ranking[:end] for ranking, end in zip(rankings, ends, strict=False)]
    exact = [
        sum((Fraction(1, 60 + ranking.index(d) + 1) for ranking in cut if d in ranking), Fraction()) for d in range(7)
    ]
    scores = fused([np.array(ranking, np.intp) for ranking in cut], 7)
    assert scores == pytest.approx([float(score) for score in exact], abs=1e-15)


def test_recency_by_hand() -> None:
    # Three are newer than the first; the two of one time are of one age.
    assert recency([1, 5, 5, 9]).tolist() == pytest.approx([0.995**3, 0.995, 0.995, 1.0])


def test_recency_dense_by_hand(tmp_path: Path) -> None:
    # Recency 0.995^2 .. 1 scaled: e0 0, e1 (0.995 - 0.990025) / 0.009975 = 0.498747, e2 1.
    # Relevance 0.2 .. 0.9 scaled: e0 1, e1 0.857143, e2 0. Sums: 1, 1.355890, 1: of equals the earlier entry first.
    made = make(tmp_path, RecencyDense, {"a": 0.9, "b": 0.8, "c": 0.2})
    assert made.search(ASKED, 10) == ["e1", "e0", "e2"]
    # All of one time: relevance alone.
    assert make(tmp_path, RecencyDense, {"a": 0.2, "b": 0.9, "c": 0.8}, [7, 7, 7]).search(ASKED, 2) == ["e1", "e2"]
    # All as relevant: the newest first, whatever order they were written in.
    assert make(tmp_path, RecencyDense, {"a": 0.5, "b": 0.5, "c": 0.5}, [2, 9, 4]).search(ASKED, 3) == [
        "e1",
        "e2",
        "e0",
    ]


def test_what_is_equal_everywhere_is_scaled_to_nothing() -> None:
    assert scaled(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert scaled(np.array([1.0, 2.0, 5.0])).tolist() == [0.0, 0.25, 1.0]


def test_mmr_by_hand(tmp_path: Path) -> None:
    """Unit vectors: of two that are as relevant, the one that is less like the first comes first."""
    places = {"a": (0.8, 0.6, 0.0), "b": (0.6, 0.8, 0.0), "c": (0.6, 0.0, 0.8)}
    # Relevance: a 0.8, b 0.6, c 0.6. a first. b: 0.5 * 0.6 - 0.5 * (0.48 + 0.48) = -0.18; c: 0.3 - 0.24 = 0.06.
    made = make(tmp_path, MMR, places)
    assert made.search(ASKED, 10) == ["e0", "e2", "e1"]
    assert made.search(ASKED, 2) == ["e0", "e2"]


def test_mmr_leaves_what_lies_behind_its_candidates(tmp_path: Path) -> None:
    given_ = {f"text {n}": 0.99 - n / 100 for n in range(30)}
    found = make(tmp_path, MMR, given_).search(ASKED, 30)
    assert set(found[:20]) == {f"e{n}" for n in range(20)}
    assert found[20:] == [f"e{n}" for n in range(20, 30)]


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_mmr_is_the_published_argmax(size: int, seed: int) -> None:
    """Carbonell and Goldstein's definition, candidate by candidate."""
    drawn = np.random.default_rng(seed).standard_normal((size + 1, 4))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    relevance = np.sort(drawn[:size] @ drawn[size])[::-1]
    vectors = drawn[:size][np.argsort(-(drawn[:size] @ drawn[size]), kind="stable")]
    alike = vectors @ vectors.T
    taken: list[int] = []
    while len(taken) < size:
        left = [d for d in range(size) if d not in taken]
        marginal = {d: 0.5 * relevance[d] - 0.5 * max((alike[d, t] for t in taken), default=0.0) for d in left}
        taken.append(max(left, key=marginal.__getitem__))
    assert diverse(relevance, alike) == taken


@pytest.mark.parametrize("kind", [RRF, RecencyDense, MMR])
def test_every_baseline_keeps_to_the_contract(tmp_path: Path, kind: Any) -> None:
    assert make(tmp_path, kind, {}).search(ASKED, 10) == []
    made = make(tmp_path, kind, FOUND)
    first = made.search(ASKED, 3)
    assert len(set(first)) == 3
    assert made.search(ASKED, 3) == first  # asking changes nothing
    assert made.search(ASKED, 10)[:3] == first
    made._bench._embeddings()._given["one more red boat"] = 0.95
    made.write([Entry("e5", "one more red boat", 5.0)])
    assert "e5" in made.search("red boat", 3)  # what is written later counts


@pytest.fixture
def listed(pytester: pytest.Pytester) -> Callable[..., list[str]]:
    """The methods that a run asks, in the order of its items."""

    def collect(*arguments: str) -> list[str]:
        found = pytester.runpytest("--co", "-q", "--engram-suite=demo_fc", *arguments)
        assert found.ret == 0, found.stdout.str()
        names = [line.rpartition("[")[2].rstrip("]") for line in found.outlines if line.endswith("]")]
        return sorted({name.partition("-s2")[0] for name in names})

    return collect


def test_a_baseline_runs_where_it_is_named_and_no_other_run_grows(listed: Callable[..., list[str]]) -> None:
    assert listed("--engram-method=mmr") == ["bm25", "dense", "mmr"]
    assert listed("--engram-method=baselines") == ["bm25", "dense", "mmr", "recency-dense", "rrf"]
    baselines = {"mmr", "recency-dense", "rrf"}
    assert baselines.isdisjoint(listed("--engram-method=loom"))
    assert baselines.isdisjoint(listed("--engram-method=all"))
    assert baselines.isdisjoint(listed())
