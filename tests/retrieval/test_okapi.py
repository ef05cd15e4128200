"""Scores that equal rank-bm25's in every bit."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from pytest_engram.retrieval.okapi import Okapi

# Few words, so that they repeat and stand in more than half of the documents, where rank-bm25 floors their idf.
WORDS = st.sampled_from(["the", "a", "of", "", "ø", "日本", "x" * 300, "\ud800", "\U0001f600"]) | st.text(max_size=2)
Case: TypeAlias = tuple[list[list[str]], list[int], list[str]]  # a pool, positions in it, a query
TEXTS = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=12)


def reference(documents: list[list[str]], query: list[str]) -> NDArray[np.float64]:
    return np.asarray(BM25Okapi(documents).get_scores(query))


def assert_same_bits(ours: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    assert ours.dtype == np.float64
    assert ours.tobytes() == expected.tobytes()


@st.composite
def searches(draw: st.DrawFn) -> Case:
    texts = draw(TEXTS)
    positions = draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=20))
    seen = st.sampled_from(["never seen", *(word for text in texts for word in text)])
    return texts, positions, draw(st.lists(seen | WORDS, max_size=10))


@given(searches())
@settings(deadline=None)
def test_any_haystack_of_a_pool_scores_as_rank_bm25_does(case: Case) -> None:
    texts, positions, query = case
    documents = [texts[position] for position in positions]
    okapi = Okapi.build(texts)
    scores = okapi.scores(query, positions)
    assert_same_bits(okapi.scores_once(query, positions, okapi.haystack(positions).average_idf), scores)
    if any(documents):
        assert_same_bits(scores, reference(documents, query))
    else:  # rank-bm25 divides by zero
        assert_same_bits(scores, np.zeros(len(positions)))


@given(st.lists(searches(), min_size=1, max_size=3))
@settings(deadline=None)
def test_haystacks_of_one_pool_do_not_disturb_each_other(
    cases: list[Case],
) -> None:
    pool, at = [text for texts, _, _ in cases for text in texts], 0
    okapi = Okapi.build(pool)
    made = []
    for texts, positions, query in cases:
        made.append((okapi.haystack([at + position for position in positions]), [texts[p] for p in positions], query))
        at += len(texts)
    for haystack, documents, query in made * 2:
        if any(documents):
            assert_same_bits(haystack.scores(query), reference(documents, query))
        assert_same_bits(haystack.scores(query[::-1]), okapi_alone(documents, query[::-1]))


def okapi_alone(documents: list[list[str]], query: list[str]) -> NDArray[np.float64]:
    return Okapi.build(documents).scores(query, range(len(documents)))


@given(st.lists(st.text(alphabet=" ab\t\n\u00a0\u3000é\ud800", max_size=30), max_size=12), st.integers(1, 5))
@settings(deadline=None)
def test_build_split_is_build_of_texts_split_at_each_space(texts: list[str], batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_engram.retrieval.okapi._BATCH", batch)
        split = Okapi.build_split(iter(texts)).to_arrays()
    expected = Okapi.build(text.split(" ") for text in texts).to_arrays()
    assert split.keys() == expected.keys()
    for name, values in expected.items():
        assert split[name].dtype == values.dtype
        assert split[name].tolist() == values.tolist()


def test_a_large_haystack_with_more_words_than_16_bits_number() -> None:
    rng = np.random.default_rng(11)
    documents = [
        [f"w{n}" for n in rng.zipf(1.3, 400) % 200_000] + [f"only{i}-{j}" for j in range(150)] for i in range(500)
    ]
    query = [*documents[7][:9], "w1", "w1", "only3-4", "nowhere"]
    assert_same_bits(okapi_alone(documents, query), reference(documents, query))


def test_a_haystack_without_documents_or_words_scores_nothing() -> None:
    okapi = Okapi.build([["a", "b"], []])
    assert okapi.scores(["a"], []).shape == okapi.scores_once(["a"], [], 0.0).shape == (0,)
    assert okapi.scores(["a"], [1, 1]).tolist() == [0.0, 0.0]
    assert Okapi.build([]).scores(["a"], []).shape == (0,)
    assert len(okapi) == 2


def test_arrays_survive_being_saved_and_mapped(tmp_path: Path) -> None:
    texts = [["Ärger", "im", "im", "Büro"], [], ["im", "Haus", "日本"]]
    for name, values in Okapi.build(iter(texts)).to_arrays().items():
        np.save(tmp_path / f"{name}.npy", values)
    arrays = {path.stem: np.load(path, mmap_mode="r") for path in tmp_path.glob("*.npy")}
    for query in (["im"], ["日本", "Ärger"], ["Haus", "nein"]):
        assert_same_bits(Okapi.from_arrays(arrays).scores(query, [2, 0, 1]), reference([texts[2], *texts[:2]], query))


@pytest.mark.parametrize("position", [3, -1])
def test_a_position_outside_the_pool_is_an_error(position: int) -> None:
    with pytest.raises(IndexError):
        Okapi.build([["a"], ["b"], ["c"]]).haystack([0, position])
