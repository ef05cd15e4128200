"""The metrics against hand calculations, plain implementations of their definitions, and the reference values."""

from __future__ import annotations

import json
import math
import re
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_engram.basics.texts import contains, searchable
from pytest_engram.judging import metrics
from pytest_engram.suites.base import parse_metric

SHARED = Path(__file__).parents[2] / "../shared/data"


# LongMemEval, written anew from its definition, over positions of the haystack as the official protocol states it.
def plain_longmemeval(ranking: list[int], corpus: list[str], gold: list[str], k: int) -> tuple[float, ...]:
    def dcg(rels: list[int]) -> float:
        rels = rels[:k]
        if not rels:
            return 0.0
        array = np.array(rels, dtype=float)
        return array[0] + (array[1:] / np.log2(np.arange(2, len(rels) + 1))).sum()

    rels = [int(id_ in gold) for id_ in corpus]
    ideal = dcg(sorted(rels)[::-1])
    ndcg = dcg([rels[position] for position in ranking]) / ideal if ideal else 0.0
    seen = {corpus[position] for position in ranking[:k]}
    return float(any(g in seen for g in gold)), float(all(g in seen for g in gold)), float(ndcg)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[int], list[str], list[str], int]:
    ids = [f"s{i}" for i in range(40)] + [f"answer_{i}" for i in range(6)]
    corpus = draw(st.lists(st.sampled_from(ids), max_size=60))
    gold = sorted({id_ for id_ in corpus if "answer" in id_})
    return draw(st.permutations(range(len(corpus)))), corpus, gold, draw(st.sampled_from([1, 3, 5, 10, 30, 50]))


@given(rankings())
@settings(deadline=None)
def test_longmemeval_metrics_equal_the_official_protocol_to_the_last_digit(case) -> None:
    ranking, corpus, gold, k = case
    ids = [corpus[position] for position in ranking]
    expected = plain_longmemeval(ranking, corpus, gold, k)
    assert (
        metrics.recall_any(ids[:k], gold, k),
        metrics.recall_all(ids[:k], gold, k),
        metrics.ndcg_any(ids[:k], gold, k, haystack=corpus),
    ) == expected
    # Without the haystack: the whole ranking says the same, and so do k ids with gold repeated as in the haystack.
    assert metrics.ndcg_any(ids, gold, k) == expected[2]
    if len(corpus) >= k:
        assert metrics.ndcg_any(ids[:k], [id_ for id_ in corpus if id_ in gold], k) == expected[2]


def test_ndcg_by_hand() -> None:
    assert metrics.ndcg_any(["a", "x", "y"], ["a"], 3) == 1.0
    assert metrics.ndcg_any(["x", "a", "y"], ["a"], 3) == 1.0  # the second place costs nothing
    assert metrics.ndcg_any(["x", "y", "a"], ["a"], 3) == pytest.approx(1 / math.log2(3), abs=1e-15)
    # Ranks 1 and 4 of ideally 1 and 2: (1 + 1/2) / (1 + 1).
    assert metrics.ndcg_any(["a", "x", "y", "b"], ["a", "b"], 5) == 0.75
    assert metrics.ndcg_any(["a", "x"], ["a", "b", "c"], 2) == 0.5  # the ideal fills k with gold not returned
    assert metrics.ndcg_any(["x", "y", "z", "a"], ["a"], 3) == 0.0


def test_a_gold_id_that_stands_twice_counts_twice_in_the_ideal() -> None:
    assert metrics.ndcg_any(["a", "x", "y", "a"], ["a"], 4, haystack=["x", "a", "y", "a"]) == 0.75
    assert metrics.ndcg_any(["a", "x", "y", "a"], {"a"}, 4) == 0.75
    assert metrics.ndcg_any(["a", "x", "y", "z"], ["a", "a"], 4) == 0.5


def test_no_gold_and_no_ids() -> None:
    assert metrics.recall_any(["x"], [], 5) == 0.0
    assert metrics.recall_all(["x"], [], 5) == 1.0  # all of nothing, as in the official code
    assert metrics.ndcg_any(["x"], [], 5) == 0.0
    assert metrics.recall_any([], ["a"], 5) == metrics.recall_all([], ["a"], 5) == metrics.ndcg_any([], ["a"], 5) == 0.0


def test_recall_by_hand() -> None:
    assert metrics.recall_any(["x", "a"], ["a", "b"], 2) == 1.0
    assert metrics.recall_any(["x", "a"], ["a", "b"], 1) == 0.0
    assert metrics.recall_all(["x", "a", "b"], ["a", "b"], 2) == 0.0
    assert metrics.recall_all(["x", "a", "b"], ["a", "b", "a"], 3) == 1.0


@pytest.mark.parametrize("function", [metrics.recall_any, metrics.recall_all, metrics.ndcg_any, metrics.answer_at])
def test_k_below_one_is_refused(function) -> None:
    with pytest.raises(ValueError, match="k is 0"):
        function(["a"], ["a"], 0)


# SubEM, written anew: character by character, token by token.
def plain_normalise(text: str) -> str:
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    words = re.split(r"(\W+)", kept)
    return " ".join("".join(" " if word in ("a", "an", "the") else word for word in words).split())


TRICKY = st.text(alphabet=st.sampled_from(list("aAnNtThHeE bB1,.-_'’“—é\u00a0\n\t\u3000İß½٣")), max_size=25)


@given(TRICKY, st.lists(TRICKY | st.sampled_from(["", " ", "the", "A", "...", "a b"]), max_size=4))
@settings(deadline=None)
def test_sub_em_equals_a_plain_implementation(prediction: str, answers: list[str]) -> None:
    found = any(plain_normalise(a) in plain_normalise(prediction) for a in answers if plain_normalise(a))
    assert metrics.sub_em(prediction, answers) is found


@given(st.lists(TRICKY, max_size=6), st.lists(TRICKY, max_size=3), st.integers(1, 7))
@settings(deadline=None)
def test_answer_at_is_sub_em_of_any_of_the_first_k_texts(texts: list[str], answers: list[str], k: int) -> None:
    expected = any(metrics.sub_em(text, answers) for text in texts[:k])
    assert metrics.answer_at(texts, answers, k) is expected
    assert contains(searchable(texts[:k]), answers) is expected


@pytest.mark.parametrize(
    ("prediction", "answers", "found"),
    [
        ("The answer is: Paris.", ["paris"], True),
        ("pari", ["Paris"], False),
        ("Parisian", ["Paris"], True),  # a substring, not a word
        ("It sold 1,500,000 copies", ["1500000"], True),
        ("1500", ["1,500"], True),
        ("L'Oréal", ["LOréal"], True),
        ("L’Oréal", ["L'Oréal"], False),  # a typographic apostrophe is no ASCII punctuation
        ("theatre an", ["theatre"], True),  # articles inside words stay
        ("Bank of America", ["Bank of the America"], True),
        ("rock-n-roll", ["rocknroll"], True),
        ("rock n roll", ["rock-n-roll"], False),
        ("A\u00a0 new\n\tday", ["new day"], True),
        ("anything", [""], False),
        ("anything", ["The", "?!", " "], False),
        ("anything", [], False),
        ("", ["x"], False),
        ("x marks", ["nothing", "Marks!"], True),
        ("Paris", "Rome", False),  # one string is one answer, not its letters
    ],
)
def test_sub_em_on_adversarial_strings(prediction: str, answers: list[str], found: bool) -> None:
    assert metrics.sub_em(prediction, answers) is found


def test_an_answer_is_not_found_across_two_texts() -> None:
    assert not metrics.answer_at(["New", "York"], ["New York"], 2)
    assert not metrics.answer_at(["New", "York"], ["New\nYork"], 2)


@pytest.mark.parametrize("pilot", ["fc_sh_6k", "fc_mh_6k"])
@pytest.mark.parametrize("method", ["bm25", "dense"])
def test_answer_at_10_reaches_the_reference(pilot: str, method: str) -> None:
    path = SHARED / "reference/fc_6k.json"
    if not path.exists():
        pytest.skip(f"needs {path.name} of the shared data folder")
    reference = json.loads(path.read_text(encoding="utf-8"))[pilot]
    rows = json.loads((SHARED / "memoryagentbench/Conflict_Resolution.json").read_text(encoding="utf-8"))
    row = next(r for r in rows if r["metadata"]["source"] == pilot.replace("fc", "factconsolidation"))
    facts = {int(line.split(".", 1)[0]): line for line in row["context"].splitlines()[1:] if line}
    hits = [
        metrics.answer_at([facts[serial] for serial in serials], answers, 10)
        for serials, answers in zip(reference["ids"][method], row["answers"], strict=True)
    ]
    assert sum(hits) / len(hits) == reference["answer@10"][method]


def test_parse() -> None:
    assert parse_metric("recall_any@5") == ("recall_any", 5)
    assert parse_metric("subem") == ("subem", None)


@pytest.mark.parametrize("name", ["", "@5", "recall_any@", "recall_any@0", "recall_any@-1", "ndcg@5@6", "Recall @5"])
def test_parse_refuses_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="no metric's name"):
        parse_metric(name)
