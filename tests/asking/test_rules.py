"""The standing rules bite: each breach is found, named, and told with its numbers."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.asking.near import Near, nearly
from pytest_engram.asking.rules import Violation, check_recalled, check_trace, check_training
from pytest_engram.memory import Dropped, Recalled
from pytest_engram.runs.outcome import covers
from pytest_engram.suites.fingerprints import Scored, fingerprint, normalise

KNOWN = {str(n): n for n in range(50)}


def check(ids: object, k: int = 3) -> list[str]:
    places = check_recalled(ids, k=k, known=KNOWN, method="greedy", question="fc:q1")
    assert all(place.text is None and len(place.ids) == 1 for place in places)
    return [place.ids[0] for place in places]


@pytest.mark.parametrize("ids", [[], ["1"], ["3", "1", "2"], ("1", "2"), iter(["1", "2"])])
def test_at_most_k_different_known_ids_pass(ids: object) -> None:
    expected = list(ids) if not hasattr(ids, "__next__") else ["1", "2"]  # type: ignore[call-overload]
    assert check(ids) == expected


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["0", "1", "2", "3"], "4 ids returned, k is 3"),
        (map(str, itertools.count()), "more than 3 ids returned, k is 3"),
        (["1", "2", "1"], "id '1' is returned twice, at ranks 1 and 3"),
        (["1", "99"], "id '99' is unknown: no entry of the haystack (50 entries) has it"),
        ([1], "id 1 is int, not str"),
        ([None], "id None is NoneType, not str"),
        ([["1"]], "id ['1'] is list, not str"),
        ({"1", "2"}, "search returned a set, which has no order; return a list, best first"),
        (frozenset({"1"}), "search returned a frozenset, which has no order; return a list, best first"),
        ({"1": 0.5}.keys(), "search returned a dict_keys, which has no order; return a list, best first"),
        (iter({"1", "2"}), "search returned a set_iterator, which has no order; return a list, best first"),
        (
            [Recalled("both", {"1", "2"})],  # type: ignore[arg-type]
            "the sources of a Recalled are a set, which has no order; give a list",
        ),
        ("123", "search returned str, not a list of ids"),
        (None, "search returned NoneType, not a list of ids"),
        (7, "search returned int, not a list of ids"),
    ],
)
def test_anything_else_is_a_violation_that_names_method_question_rule_and_numbers(ids: object, told: str) -> None:
    with pytest.raises(Violation) as broken:
        check(ids)
    assert str(broken.value) == f"greedy on fc:q1: equal k: {told}"


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (42, "returned int"),
        ("e1", "returned str"),
        ([("e1", "e2", "later")], "holds tuple"),
        ({Dropped("e1", "e2", "later")}, "returned a set, which has no order"),
        ([Dropped("e1", "e9", "later")], "names 'e9', which is no entry of the haystack"),
        ([Dropped(["e1"], "e2", "later")], "names ['e1'], which is no entry of the haystack"),  # type: ignore[arg-type]
        ([Dropped("e1", "e2", None)], "`why` is NoneType, not str"),  # type: ignore[arg-type]
        ([Dropped("e1", "e2", "later", "first")], "`rank` is str, neither int nor None"),  # type: ignore[arg-type]
        (
            (Dropped("e1", "e2", "later") for _ in itertools.count()),
            "more than 2 conflicts, which is the number of entries",
        ),
    ],
)
def test_a_trace_that_no_report_could_repeat_is_a_violation(trace: object, told: str) -> None:
    with pytest.raises(Violation) as broken:
        check_trace(trace, known={"e1", "e2"}, method="loud", question="fc:q1")
    assert str(broken.value) == f"loud on fc:q1: trace: {told}; return a list of Dropped(id, by, why, rank)"


def test_a_trace_is_plain_data_whatever_numbers_it_came_in() -> None:
    trace = (Dropped("e1", "e2", "later", np.int64(3)), Dropped("e2", "e1", "later"))  # type: ignore[arg-type]
    found = check_trace(trace, known={"e1", "e2"}, method="m", question="q")
    assert json.loads(json.dumps(found)) == [
        {"id": "e1", "by": "e2", "why": "later", "rank": 3},
        {"id": "e2", "by": "e1", "why": "later", "rank": None},
    ]
    assert check_trace(None, known=(), method="m", question="q") == []


@given(st.lists(st.integers(0, 60).map(str), max_size=8), st.integers(1, 8))
def test_check_ids_passes_exactly_what_the_rule_allows(ids: list[str], k: int) -> None:
    allowed = len(ids) <= k and len(set(ids)) == len(ids) and set(ids) <= set(KNOWN)
    try:
        assert check(ids, k) == ids
        assert allowed
    except Violation:
        assert not allowed


def test_a_string_that_lies_about_equality_can_not_stand_for_many_ids() -> None:
    class Chameleon(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    with pytest.raises(Violation):
        check([Chameleon("1"), Chameleon("1")])


class Masked(str):
    """A text whose `__str__` tells another one, of yet another class."""

    __slots__ = ()

    def __str__(self) -> str:
        return Masked("7")


def test_a_string_counts_by_its_own_characters_and_not_by_what_it_says_of_itself() -> None:
    with pytest.raises(Violation, match="id 'no such entry' is unknown"):
        check([Masked("no such entry")])
    assert check([Masked("1"), Masked("2"), np.str_("3")]) == ["1", "2", "3"]
    assert {type(id_) for id_ in check([Masked("1"), np.str_("3")])} == {str}
    (place,) = check_recalled([Recalled(Masked("seen"), [Masked("1")])], k=3, known=KNOWN, method="m", question="q")
    assert (place.text, place.ids, type(place.text)) == ("seen", ("1",), str)


def test_a_trace_is_of_the_characters_that_its_texts_have() -> None:
    (dropped,) = check_trace(
        [Dropped(Masked("e1"), "e2", Masked("later"))], known={"e1", "e2"}, method="m", question="q"
    )
    assert dropped == {"id": "e1", "by": "e2", "why": "later", "rank": None}
    assert {type(dropped[name]) for name in ("id", "by", "why")} == {str}
    with pytest.raises(Violation, match="which is no entry"):
        check_trace([Dropped(Masked("7"), "e2", "later")], known={"e2"}, method="m", question="q")


@pytest.mark.parametrize(("k", "n", "covered"), [(10, 10, True), (10, 11, False), (11, 10, True), (1, 1, True)])
def test_k_as_large_as_the_haystack_covers_it(k: int, n: int, covered: bool) -> None:
    assert covers(k, n) is covered


WROTE = "Who wrote “Our Mutual Friend”?"
PILOT = [Scored("fc_mh_6k", "mh_6k_no3", fingerprint(WROTE), WROTE)]


@pytest.mark.parametrize(
    "learnt",
    [
        {"id": "mh_6k_no3", "text": "something else"},
        {"id": "mh_32k_no71", "text": "who wrote our mutual friend"},
        {"id": "mh_32k_no71", "question": "Who   wrote OUR MUTUAL FRIEND??"},
        {"id": "mh_6k_no3"},
        "Who wrote “Our Mutual Friend”?",
        SimpleNamespace(id="x", query="who wrote: our mutual-friend"),
        "Who wr\u200bote Our Mutual Friend?",
        "Who wr\u00adote Our Mutual Friend?",
        "Who wro\u0301te Our Mutual Friend?",
        "Please: who wrote Our Mutual Friend?",
        "Who wrote Mutual Friend?",
    ],
)
def test_a_pilot_question_is_found_by_id_and_by_text_under_another_id(learnt: object) -> None:
    with pytest.raises(
        Violation, match=r"cheat: no training on scored data: 1 of its 2 training questions are scored: "
    ):
        check_training("cheat", [{"id": "other", "text": "Where was Ada born?"}, learnt], PILOT)


def test_a_near_copy_is_found_of_a_committed_question_whose_suite_is_loaded() -> None:
    committed = Scored("fc_mh_6k", "mh_6k_no3", fingerprint(WROTE))  # by its fingerprint alone
    with pytest.raises(Violation, match="nearly the text of fc_mh_6k:mh_6k_no3"):
        check_training("cheat", ["Please: who wrote Our Mutual Friend?"], [committed, *PILOT])


def test_training_on_other_questions_passes() -> None:
    check_training("honest", [{"id": "a", "text": "Who wrote Emma?"}, "Where is Pisa?"], PILOT)


@pytest.mark.parametrize(
    "twin",
    [
        "Who wrote “Our Mutual Enemy”?",  # another word in one place
        "Who wrote the preface of “Our Mutual Friend” and its sequel?",  # much more than that question
        "Who?",
    ],
)
def test_a_question_that_differs_in_what_it_asks_is_another_one(twin: str) -> None:
    check_training("honest", [twin], PILOT)


@pytest.fixture
def official_questions(shared_data: Path) -> list[str]:
    """All different questions of FactConsolidation."""
    rows = json.loads((shared_data / "memoryagentbench" / "Conflict_Resolution.json").read_text(encoding="utf-8"))
    return list(dict.fromkeys(question for row in rows for question in row["questions"]))


def test_near_copies_are_told_from_twins_among_the_official_questions(official_questions: list[str]) -> None:
    """How often the rule takes two different official questions for one: counted, so that its price is known."""
    words = [normalise(question).split() for question in official_questions]
    pairs = sum(nearly(one, other) for at, one in enumerate(words) for other in words[:at])
    assert (len(words), pairs) == (400, 0)


WORDS = st.lists(st.sampled_from("abcde"), max_size=6)


@given(st.lists(WORDS, max_size=8), WORDS)
def test_the_index_finds_the_first_that_comparing_with_each_finds(questions: list[list[str]], asked: list[str]) -> None:
    one_by_one = next((place for place, words in enumerate(questions) if words and nearly(asked, words)), None)
    assert Near(questions).first(asked) == (one_by_one if asked else None)


@pytest.mark.parametrize("odd", [42, "", " \u200b ", {"id": "mine"}, {"id": "mine", "text": "?!"}])
def test_what_can_not_be_checked_is_refused_with_the_cure(odd: object) -> None:
    with pytest.raises(ValueError, match="give the question's text"):
        check_training("odd", [odd], PILOT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ｗho?", "who"),
        ("straße", "STRASSE"),
        ("a_b", "a b"),
        ("0:_0", "0 0"),
        ("  x\u00a0y ", "X y"),
        ("naïve", "NAI\u0308VE"),
    ],
)
def test_normalised_texts_are_equal(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@given(st.text(max_size=40))
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
