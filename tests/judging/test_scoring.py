"""The judges of a kind of suite, by hand: what a line of the log is worth where no metric by name can tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_engram.judging import scoring
from pytest_engram.judging.named import UNTRACED
from pytest_engram.judging.scoring import NO_SUPPORT, BeyondTheLog, Score
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold


def level(expected: str | None = "update", also: tuple[str, ...] = ()) -> Gold:
    """Belief b1 or b2, update u1, and what the rule names."""
    return Gold(detail=SimpleNamespace(belief=("b1", "b2"), update=("u1",), also=also, expected=expected))


def line(*ids: str, recalled: list[dict[str, Any]] | None = None, k: int = 10, **asked: Any) -> Outcome:
    return Outcome("s", "q", "m", 0, k, list(ids), {}, "ok", recalled=recalled or [], asked=asked)


@pytest.mark.parametrize(
    ("ids", "expected", "winner", "correct"),
    [
        (("u1", "x"), "update", "update", 1.0),
        (("b2",), "update", "belief", 0.0),
        (("b1", "u1"), "update", "both", 0.0),
        (("x",), "update", "neither", 0.0),
        (("b2",), "belief", "belief", 1.0),
        (("b1", "u1"), "both", "both", 1.0),
        (("u1",), "both", "update", 0.0),
        (("x",), "either", "neither", 0.0),
        (("u1",), "either", "update", 1.0),
        (("b1", "u1"), "either", "both", 1.0),
    ],
)
def test_sides(ids: tuple[str, ...], expected: str, winner: str, correct: float) -> None:
    score = scoring.sides(level(expected), line(*ids))
    assert score == Score({"correct": correct}, bool(correct), {}, {"winner": winner})


def test_a_level_without_an_expected_side_is_told_and_not_scored() -> None:
    assert scoring.sides(level(None), line("u1")) == Score(fields={"winner": "update"})


def test_where_nothing_may_be_dropped_further_values_count_too() -> None:
    gold = level("both", also=("a1", "a2"))
    for ids, lost in ((("b1", "u1", "a1", "a2"), 0), (("b1", "u1", "a2"), 1), (("b1", "u1"), 2)):
        score = scoring.sides(gold, line(*ids))
        assert score.fields == {"winner": "both", "also_lost": lost}
        assert (score.metrics, score.hit) == ({"correct": float(not lost)}, not lost)
    # Where another side is expected, what else is lost costs nothing.
    assert scoring.sides(level("update", also=("a1",)), line("u1")).hit is True


UNTRACEABLE = [{"text": "said", "sources": []}]


def test_a_text_of_which_nobody_knows_what_is_behind_takes_no_side() -> None:
    told = Score({"correct": None}, None, {"correct": UNTRACED}, {})
    assert scoring.sides(level(), line("u1", recalled=UNTRACEABLE)) == told
    assert scoring.sides(level(None), line("u1", recalled=[{"id": "u1"}, *UNTRACEABLE])) == told
    known = [{"id": "x"}, {"text": "said", "sources": ["u1"]}]
    assert scoring.sides(level(), line("x", "u1", recalled=known)).hit is True


def test_backed_has_its_three_metrics_of_one_value() -> None:
    names = ("correct", "followed", "resisted")
    assert scoring.backed(level(), line("u1")).metrics == dict.fromkeys(names, 1.0)
    assert scoring.backed(level(), line("b1")).metrics == dict.fromkeys(names, 0.0)
    assert scoring.backed(level(), line("u1")).missing == {}
    untraced = scoring.backed(level(), line("u1", recalled=UNTRACEABLE))
    assert untraced.metrics == dict.fromkeys(names)
    assert untraced.missing == dict.fromkeys(names, UNTRACED)
    assert scoring.backed(level(None), line("u1")) == Score(fields={"winner": "update"})


def test_sites_compares_both_ways_of_writing() -> None:
    same = scoring.sites(level(None), line("a", "u1", one_by_one=["a", "u1"]))
    assert same == Score({"correct": 1.0}, True, {}, {"winner": "update"})
    other = scoring.sites(level(None), line("a", "u1", one_by_one=["u1", "a"]))
    assert other == Score({"correct": 0.0}, False, {}, {"winner": "update", "one_by_one": ["u1", "a"]})
    # Of texts of its own, the texts are compared.
    texts = [{"text": "said", "sources": ["u1"]}]
    assert scoring.sites(level(None), line("u1", recalled=texts, one_by_one=texts)).hit is True
    assert scoring.sites(level(None), line("u1", recalled=texts, one_by_one=["u1"])).hit is False


def test_density_asks_for_more_support_and_not_for_as_much() -> None:
    gold = Gold(detail=("o", "u"))
    for original, update, right in ((2.0, 1.0, True), (1.0, 1.0, False), (1.0, 2.0, False)):
        score = scoring.density(gold, line(support={"o": original, "u": update}))
        fields = {"support_original": original, "support_update": update}
        assert score == Score({"correct": float(right)}, right, {}, fields)
    third = scoring.density(gold, line(support={"o": 2 / 3, "u": 1 / 3}))
    assert third.fields == {"support_original": 0.666667, "support_update": 0.333333}
    none = scoring.density(gold, line(support=None))
    assert none == Score({"correct": None}, None, {"correct": NO_SUPPORT}, {})


def test_hub_asks_for_a_lower_percentile_than_with_plain_neighbours() -> None:
    for method, plain, right in ((10.0, 20.0, True), (20.0, 20.0, False), (30.0, 20.0, False)):
        measured = {"percentile_method": method, "percentile_plain": plain, "in_lists": 3}
        assert scoring.hub(Gold(), line(hub=measured)) == Score({"correct": float(right)}, right, {}, measured)
    assert scoring.hub(Gold(), line(hub=None)) == Score({"correct": None}, None, {"correct": NO_SUPPORT}, {})


@pytest.mark.parametrize(
    ("name", "judge"), [("sites", scoring.sites), ("density", scoring.density), ("hub", scoring.hub)]
)
def test_a_line_of_an_earlier_version_lacks_what_it_is_measured_by(name: str, judge: scoring.Scorer) -> None:
    with pytest.raises(BeyondTheLog):
        judge(level(None), line("a"))
    assert scoring.SCORERS[name] is judge


def test_longmemeval_is_scored_by_the_places_in_the_ids() -> None:
    gold = Gold(detail=(["answer_1", "noans_2", "noans_3"], "session"))
    score = scoring.ranked(gold, line("s0002", "s0000", k=3))
    # Gold at place 2 of 2: recall from there on; its NDCG is 1, as the second place costs nothing.
    assert (score.metrics["recall_any@1"], score.metrics["recall_any@3"], score.metrics["ndcg_any@3"]) == (
        0.0,
        1.0,
        1.0,
    )
    assert score.metrics["recall_any@5"] is None
    assert score.missing["recall_any@5"] == "needs 5 ids, k is 3: raise --engram-k for every method"
    assert score.hit is None
    many = Gold(detail=([f"noans_{at}" for at in range(1000)] + ["answer_1000"], "session"))
    assert scoring.ranked(many, line("s1000", k=1)).metrics["recall_any@1"] == 1.0
    assert scoring.ranked(many, line("s0000", k=1)).metrics["recall_any@1"] == 0.0
    turns = Gold(detail=(["answer_1_1", "noans_1_3"], "turn"))
    assert scoring.ranked(turns, line("t0000", k=1)).metrics["session_recall_any@1"] == 1.0
    untraced = scoring.ranked(gold, line("s0000", recalled=UNTRACEABLE, k=3))
    assert set(untraced.metrics.values()) == {None}
    assert set(untraced.missing.values()) == {UNTRACED}
    assert len(untraced.metrics) == len(untraced.missing) == 18
    traced = [{"text": "said", "sources": ["s0001", "s0000"]}]
    own = Gold(relevant=("s0000",), detail=gold.detail)
    assert scoring.ranked(own, line("s0001", "s0000", recalled=traced, k=3)).metrics["recall_any@1"] == 1.0
