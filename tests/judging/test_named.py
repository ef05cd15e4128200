"""Metrics by name, where a memory has texts of its own, several entries behind a place, or none known: by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_engram.judging import METRICS, metrics, named
from pytest_engram.judging.named import NO_EVIDENCE, UNTRACED, Found, Unmeasured
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold
from pytest_engram.suites.locomo.protocol import Evidence


def line(ids: list[str], recalled: list[dict[str, Any]] | None = None, **fields: Any) -> Outcome:
    return Outcome("s", "q", "m", 0, 7, ids, {}, "ok", recalled=recalled or [], **fields)


GOLD = Gold(answers=("Rome",), relevant=("a", "c"))


def test_without_texts_of_its_own_the_ids_are_what_is_seen() -> None:
    found = Found.of(line(["x", "a"], answer="in Rome", fields={"verdicts": [True]}), GOLD)
    assert found == Found(["x", "a"], 7, GOLD, "in Rome", [True], (), ())
    assert Found.of(line(["x"]), GOLD) == Found(["x"], 7, GOLD, None, (), (), ())


def test_in_place_of_a_text_stands_the_entry_behind_it_that_answers_else_the_first_else_nothing() -> None:
    places = [
        {"id": "x"},
        {"text": "one", "sources": ["y", "c", "a"]},
        {"text": "two", "sources": ["y", "z"]},
        {"text": "three", "sources": []},
    ]
    found = Found.of(line(["x", "y", "c", "a", "z"], places, answer="?", fields={"verdicts": [False]}), GOLD)
    assert found.ids == ["x", "c", "y", ""]
    assert found.texts == [None, "one", "two", "three"]
    assert found.behind == [["x"], ["y", "c", "a"], ["y", "z"], []]
    assert (found.k, found.gold, found.answer, found.verdicts) == (7, GOLD, "?", [False])


def test_what_is_behind_a_place_within_the_depth_must_be_known() -> None:
    found = Found(["a", "", "b"], 7, GOLD, behind=[["a"], [], ["b"]])
    assert found.traced(1) == ["a", "", "b"]
    assert found.reached(1) == ["a"]
    for depth in (2, 3):
        for ask in (found.traced, found.reached):
            with pytest.raises(Unmeasured, match=f"^{UNTRACED}$"):
                ask(depth)


def test_all_entries_behind_the_first_places_are_reached() -> None:
    found = Found(["a", "b", "c"], 7, GOLD, behind=[["a", "x"], ["b", "y"], ["c"]])
    assert found.reached(2) == ["a", "x", "b", "y"]
    assert Found(["a", "b", "c"], 7, GOLD).reached(2) == ["a", "b"]


def measured(name: str, depth: int | None, *ids: str, gold: Gold = GOLD, **fields: Any) -> float:
    metric: named.Metric = vars(named)[name]
    return metric.measure(Found(list(ids), 7, gold, **fields), depth)


def test_answer_is_of_the_own_text_where_there_is_one_and_of_the_entry_else() -> None:
    def answer(depth: int, *places: tuple[str, str | None]) -> float:
        ids, texts = [id_ for id_, _ in places], [text for _, text in places]
        return measured("answer", depth, *ids, texts=texts, behind=[[id_] for id_ in ids])

    assert answer(1, ("a", None)) == 1.0  # an entry that answers
    assert answer(1, ("x", None)) == 0.0
    assert answer(1, ("x", "It is Rome.")) == 1.0  # the text answers, whatever is behind it
    assert answer(1, ("a", "It is Oslo.")) == 0.0  # the entry behind it would answer, and the text does not
    assert answer(1, ("x", None), ("a", None)) == 0.0  # too deep
    assert answer(2, ("x", "Oslo"), ("y", "Rome")) == 1.0
    assert answer(2, ("x", "Oslo"), ("y", None)) == 0.0


def test_recall_all_asks_for_each_among_what_is_behind_the_first_places() -> None:
    assert measured("recall_all", 1, "a", behind=[["a", "c"]]) == 1.0
    assert measured("recall_all", 1, "a", behind=[["a"]]) == 0.0
    assert measured("recall_all", 1, "a", "c") == 0.0
    assert measured("recall_all", 2, "a", "c") == 1.0
    assert measured("recall_all", 2) == 0.0


def test_recall_any_and_ndcg_look_no_deeper_than_they_say() -> None:
    assert measured("recall_any", 1, "x", "a") == 0.0
    assert measured("recall_any", 2, "x", "a") == 1.0
    assert measured("recall_any", 1, "a", "") == 1.0  # what is behind the second place is not asked
    # Of a and c at places 2 and 4 of 4: (0 + 1/log2(2) + 0 + 1/log2(4)) over the best, (1 + 1/log2(2)).
    assert measured("ndcg_any", 4, "x", "a", "y", "c") == 0.75
    assert measured("ndcg_any", 1, "a", "") == 1.0
    for name in ("recall_any", "ndcg_any", "recall_all", "recall"):
        with pytest.raises(Unmeasured, match=f"^{UNTRACED}$"):
            measured(name, 2, "a", "")


def test_recall_is_the_share_of_the_evidence_as_the_benchmark_lists_it() -> None:
    # Four pieces of evidence, of which one stands twice and one names no entry: a, a, c of a, a, c, nowhere; 3 of 4.
    listed = Gold(relevant=("a", "c"), detail=Evidence(("a", "a", "c", "nowhere")))
    assert measured("recall", 3, "x", "a", "c", gold=listed) == 0.75
    assert measured("recall", 2, "x", "a", "c", gold=listed) == 0.5
    assert measured("recall", 1, "x", "a", "c", gold=listed) == 0.0
    assert measured("recall", 1, "x", gold=listed, behind=[["x", "c"]]) == 0.25
    # Without such a list, of the entries that answer.
    assert measured("recall", 2, "x", "c") == 0.5
    assert measured("recall", 2, "c", "a") == 1.0
    with pytest.raises(Unmeasured, match=f"^{NO_EVIDENCE}$"):
        measured("recall", 2, "x", gold=Gold(relevant=(), detail=Evidence(())))


def test_recall_of_plain_lists_by_hand() -> None:
    assert metrics.recall(["x", "a", "b"], ["a", "b", "c"], 2) == pytest.approx(1 / 3, abs=1e-15)
    assert metrics.recall(["x", "a", "b"], ["a", "b", "c"], 3) == pytest.approx(2 / 3, abs=1e-15)
    assert metrics.recall(["a"], ["a", "a"], 1) == 1.0
    assert metrics.recall([], ["a"], 1) == 0.0
    assert metrics.recall(["a"], [], 1) == 1.0  # of no evidence all is found, as in the official code
    with pytest.raises(ValueError, match="k is 0"):
        metrics.recall(["a"], ["a"], 0)


def test_f1_goes_by_the_category() -> None:
    # "a red cat" against "red dog": one word of two is common, so that precision = recall = F1 = 1/2 in the plain one.
    answers = Gold(answers=("red dog",))
    assert measured("f1", None, gold=answers, answer="a red cat") == 0.5
    assert measured("f1", None, gold=answers, answer=None) == 0.0
    # Category 1 parts at commas and takes the best for each answer's part: (1 + 0) / 2, where the plain one has
    # 2 * (1/1 * 1/2) / (1/1 + 1/2) = 2/3.
    several = {"answers": ("oslo, rome",)}
    assert measured("f1", None, gold=Gold(**several), answer="oslo") == pytest.approx(2 / 3, abs=1e-15)  # type: ignore[arg-type]
    by_parts = Gold(**several, prompt={"category": 1})  # type: ignore[arg-type]
    assert measured("f1", None, gold=by_parts, answer="oslo") == 0.5


def test_subem_and_judged_are_of_the_answer() -> None:
    assert measured("subem", None, answer="It is Rome!") == 1.0
    assert measured("subem", None, answer=None) == 0.0
    assert measured("judged", None, verdicts=[True, False, False, True]) == 0.5


@pytest.mark.parametrize("name", ["answer", "recall_any", "recall_all", "recall", "ndcg_any"])
def test_a_metric_of_places_needs_a_depth(name: str) -> None:
    with pytest.raises(Unmeasured, match="needs a depth, such as @10"):
        measured(name, None, "a")


@pytest.mark.parametrize(
    ("name", "told"), [("session", "LongMemEval's turns"), ("backed", "one side of a contradiction")]
)
def test_what_a_judge_of_its_own_measures_is_measured_nowhere_else(name: str, told: str) -> None:
    with pytest.raises(Unmeasured, match=told):
        measured(name, 5, "a")


def test_which_metrics_are_of_an_answer_and_which_of_a_verdict() -> None:
    shipped = {name: vars(named)[name] for name in METRICS if name in vars(named)}
    assert {name for name, metric in shipped.items() if metric.reads} == {"subem", "f1", "judged"}
    assert {name for name, metric in shipped.items() if metric.judged} == {"judged"}
    plain, told = named.metric(), named.metric(reads=True, judged=True)
    assert plain(metrics.recall_any) == named.Metric(metrics.recall_any, reads=False, judged=False)  # type: ignore[arg-type]
    assert told(metrics.recall_any) == named.Metric(metrics.recall_any, reads=True, judged=True)  # type: ignore[arg-type]
