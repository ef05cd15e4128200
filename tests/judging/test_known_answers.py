"""Answers known to be wrong or right: what each rule makes, by hand, and what no rule may ever make."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.basics.texts import normalise
from pytest_engram.judging import forms, known
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.suites.base import Gold, Key


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("7 May 2023", "May 7, 2023"),
        ("May 7th, 2023", "7 May 2023"),
        ("2023-05-07", "7 May 2023"),
        ("The week before 9 June 2023", "The week before June 9, 2023"),
        ("June 2023", "June of 2023"),
        ("3", "three"),
        ("Three times.", "3 times"),
        ("21 days", "twenty-one days"),
        ("ninety-nine", "99"),
        ("pottery, camping and painting", "painting, camping and pottery"),
        ("Coco, Shadow, Max", "Max, Shadow and Coco"),
        ("Austin, Texas", "I think it was Austin, Texas."),  # no list
        ("between Monday and Friday", "I think it was between Monday and Friday."),
        ("2022", "I think it was 2022."),
        ("abstract art", "I think it was abstract art."),
        ("keep trying until something sparks joy", "As far as I know: keep trying until something sparks joy."),
    ],
)
def test_the_same_in_other_words(answer: str, other: str) -> None:
    assert forms.reworded(answer) == other


@pytest.mark.parametrize(
    ("question", "answer", "vague"),
    [
        ("When did she go?", "7 May 2023", "Sometime in the spring"),
        ("When did she go?", "January 2022", "Sometime in the winter"),
        ("What year did she go?", "2022", "A few years back"),
        ("When did she go?", "last Friday", "A while ago"),
        ("How many dogs does she have?", "three", "Quite a number"),
        ("How long was it?", "two weeks", "For quite a while"),
        ("Who taught her?", "Ann Bell", "Someone they know"),
        ("Who came?", "Ann, Bob and Cy", "Several people"),
        ("What does she like?", "pottery, camping, painting", "A couple of different things"),
        ("Which new yoga pose did she learn?", "tree", "Some pose or other"),
        ("What kind of art does she make?", "abstract", "Some art or other"),
        ("What is the sport of the country whose ruler is Ann?", "judo", "Some sport or other"),
        ("To whom does she write?", "Ann", "Someone they know"),
        ("What is the capital of Avaria?", "Rome", "Some capital or other"),
        ("Where does she live?", "Rome", "At a place they know"),
        ("Why did she go?", "to rest", "They had their reasons"),
        ("How did she feel?", "calm", "In one way or another"),
        ("Would she go?", "Likely no", "It could be either way"),
        # What says no more itself, or shares the telling word, is not known to be wrong.
        ("How many dogs does she have?", "several", None),
        ("What kind of art does she make?", "street art", None),
        ("When did she go?", "in the spring of May 2023", None),
    ],
)
def test_the_right_kind_of_thing_unsaid(question: str, answer: str, vague: str | None) -> None:
    assert forms.vague(question, answer) == vague


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("Rome", "Oslo", True),
        ("Rome", "the Rome.", False),
        ("New Rome", "Rome", False),
        ("Roma", "Romania", False),  # a part of it
        ("7 May 2023", "May 7, 2023", False),
        ("7 May 2023", "21 May 2023", False),  # "the Sunday before", and the like, could be either
        ("7 May 2023", "7 June 2023", True),
        ("summer 2023", "July 2023", False),
        ("last week", "7 May 2023", False),
        ("2022", "July 2023", True),
        ("Yes", "Likely no; she is shy", True),
        ("Yes", "Likely, she said so", False),
        ("Yes", "Rome", False),
        ("no shoes", "red hats", True),
    ],
)
def test_what_can_be_taken_for_an_accepted_answer_is_not_another(one: str, other: str, differ: bool) -> None:
    assert known.differs(one, [other]) is known.differs(other, [one]) is differ


def suite(golds: dict[str, Gold], prompts: str | None = None) -> tuple[Key, dict[str, str]]:
    key = Key("s", Path("s.yaml"), ["judged"], golds)
    key.prompts = prompts
    return key, {id_: f"What does {id_} like?" for id_ in golds}


def made(golds: dict[str, Gold], prompts: str | None = None) -> list[KnownAnswer]:
    return known.of(*suite(golds, prompts))


WORDS = [f"{a}{b}" for a in ("alba", "bruno", "cinde", "dorna") for b in ("kell", "mora", "tin", "vex", "zu")]


def test_another_s_is_of_the_same_category_and_cluster() -> None:
    golds = {
        f"{group}{cluster}{number}": Gold((word,), group=group, cluster=cluster)
        for (group, cluster, number), word in zip(
            [(g, c, n) for g in "xy" for c in "12" for n in range(5)], WORDS, strict=True
        )
    }
    of = {gold.answers[0]: id_[:2] for id_, gold in golds.items()}
    others = [one for one in made(golds) if one.kind == "another"]
    assert len(others) == 20
    for one in others:
        assert of[one.answer] == one.question_id[:2]
        assert one.answer != golds[one.question_id].answers[0]
        assert one.cluster == golds[one.question_id].cluster
        assert one.truth == "wrong"


def test_the_superseded_value_and_what_is_not_asked_about() -> None:
    golds = {
        "a": Gold(("Rome",), superseded=("Oslo",)),
        "b": Gold(("Paris",), superseded=("paris",)),  # no other value
        "c": Gold(("Bonn",), disputed="it was Berlin"),
        "d": Gold(),
        "e": Gold(("not mentioned",), prompt={"category": 5}),
        "f": Gold(("it was never said",), prompt={"abstention": True}),
    }
    found = made(golds, "locomo")
    assert {one.question_id for one in found} == {"a", "b"}
    assert [one.answer for one in found if one.kind == "superseded"] == ["Oslo"]
    rubric = {"a": Gold(("would like jazz",), prompt={"type": "single-session-preference", "abstention": False})}
    assert made(rubric, "longmemeval") == []


def test_the_set_is_the_same_whatever_part_is_asked_and_stays_when_others_come() -> None:
    golds = {f"q{n}": Gold((word,)) for n, word in enumerate(WORDS)}
    key, questions = suite(golds)
    whole = known.of(key, questions)
    assert known.of(key, dict(reversed(questions.items()))) == whole
    fewer = {id_: gold for id_, gold in golds.items() if id_ != "q3"}
    kept = {one.place: one for one in made(fewer)}
    same = [one for one in whole if one.question_id != "q3" and one.kind in ("vague", "reworded")]
    assert all(kept[one.place] == one for one in same)


def test_there_are_at_most_forty_of_a_kind() -> None:
    golds = {f"q{n}": Gold((f"{a} {b}",)) for n, (a, b) in enumerate((a, b) for a in WORDS for b in WORDS if a != b)}
    assert Counter(one.kind for one in made(golds)) == {"another": 40, "vague": 40, "reworded": 40}


@given(st.lists(st.sampled_from([*WORDS, "7 May 2023", "three", "Ann, Bob", "Yes", "2021"]), min_size=2, max_size=12))
def test_no_wrong_one_says_the_accepted_answer_and_no_right_one_is_it(answers: list[str]) -> None:
    golds = {f"q{n}": Gold((answer,)) for n, answer in enumerate(answers)}
    for one in made(golds):
        accepted = normalise(golds[one.question_id].answers[0])
        if one.truth == "wrong":
            assert accepted not in normalise(one.answer)
            assert normalise(one.answer) not in accepted
        else:
            assert one.answer != golds[one.question_id].answers[0]


def test_of_locomo_there_are_forty_each_and_none_is_right_by_accident(shared_data: Path) -> None:
    samples: list[dict[str, Any]] = json.loads((shared_data / "locomo/locomo10.json").read_text(encoding="utf-8"))
    golds = {
        f"{sample['sample_id']}/{number}": Gold(
            (str(qa.get("answer", "")),),
            group=str(qa["category"]),
            cluster=sample["sample_id"],
            prompt={"category": qa["category"]},
        )
        for sample in samples
        for number, qa in enumerate(sample["qa"])
    }
    key, _ = suite(golds, "locomo")
    questions = {f"{s['sample_id']}/{n}": qa["question"] for s in samples for n, qa in enumerate(s["qa"])}
    found = known.of(key, questions)
    assert Counter(one.kind for one in found) == {"another": 40, "vague": 40, "reworded": 40}
    assert "5" not in {golds[one.question_id].group for one in found}
    for one in found:
        if one.truth == "wrong":
            assert normalise(golds[one.question_id].answers[0]) not in normalise(one.answer)
