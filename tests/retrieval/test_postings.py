"""BM25 over texts that keep coming: scores that equal rank-bm25's in every bit, after every one of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from pytest_engram.retrieval.postings import Postings

# Few words, so that they repeat and stand in more than half of the texts, where rank-bm25 floors their idf.
WORDS = st.sampled_from(["the", "a", "of", "", "ø", "日本", "\ud800", "\U0001f600"]) | st.text(max_size=2)
TEXTS = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=12)


@given(st.lists(st.tuples(TEXTS, st.lists(st.lists(WORDS, max_size=6), max_size=3)), min_size=1, max_size=5))
@settings(deadline=None)
def test_after_every_batch_scores_are_those_of_rank_bm25(rounds: list[tuple[list[list[str]], list[list[str]]]]) -> None:
    living = Postings()
    texts: list[list[str]] = []
    for more, queries in rounds:
        living.extend(iter(more))
        texts += more
        assert len(living) == len(texts)
        asked = [*queries, ["the", "the"], [*texts[0], "never seen"]]
        for query in [*asked, *asked]:  # the second time its words are known
            found = living.scores(query)
            # rank-bm25 divides by the number of words
            expected = BM25Okapi(texts).get_scores(query) if any(texts) else np.zeros(len(texts))
            assert found.dtype == np.float64
            assert found.tobytes() == np.asarray(expected, np.float64).tobytes()


@pytest.mark.parametrize("texts", [[], [[]], [[], []]])
def test_without_texts_or_words_nothing_scores(texts: list[list[str]]) -> None:
    living = Postings()
    living.extend(texts)
    assert living.scores(["a"]).tolist() == [0.0] * len(texts)
    living.extend([["a"], ["b"], ["c"]])
    expected = BM25Okapi([*texts, ["a"], ["b"], ["c"]]).get_scores(["a"])
    assert living.scores(["a"]).tolist() == expected.tolist()
