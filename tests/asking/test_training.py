"""What a method says that it learnt from, and what nobody can check of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.asking import training
from pytest_engram.asking.rules import Violation
from pytest_engram.basics.registry import Registry
from pytest_engram.memory import Method, TrainingQuestion
from pytest_engram.suites import SOURCES
from pytest_engram.suites.base import Lists, Question, Suite
from pytest_engram.suites.fingerprints import Scored, fingerprint

SHIPPED: Any = Registry("data source", SOURCES)
ASKED = "What is the capital of the country of Kai's birth?"
PILOT = [Scored("fc", "fc_no1", fingerprint(ASKED), ASKED)]


@dataclass
class Learner:
    """As much of a method as the rule looks at."""

    trained_on: list[Any] = field(default_factory=list)
    name: str = "learner"


def refusal(*learnt: Any) -> str | None:
    method: Method = Learner(list(learnt))  # type: ignore[assignment]
    return training.refusal(method, None, lambda: PILOT, SHIPPED)


@pytest.mark.parametrize(
    ("learnt", "told"),
    [
        ("factconsolidaton_mh_32k", "no data source has questions named 'factconsolidaton_mh_32k'"),
        ("factconsolidaton_mh_32k", "Did you mean factconsolidation?"),
        ("wikipedia", "no data source has questions named 'wikipedia'"),
        ("demo_fc", "no data source has questions named 'demo_fc' that a method may learn from"),
        ("longmemeval", "no data source has questions named 'longmemeval' that a method may learn from"),
        ("", "give the question's text"),
        ({"id": "somewhere_else_no7"}, "give the question's text"),
    ],
)
def test_what_can_not_be_checked_is_refused(learnt: Any, told: str) -> None:
    found = refusal("How many moons has Mars?", learnt)
    assert found is not None
    assert found.startswith("learner: no training on scored data: what it was trained on can't be checked: ")
    assert told in found


def test_a_near_copy_is_told_by_its_own_name_and_the_scored_one() -> None:
    found = refusal("How many moons has Mars?", f"Please: {ASKED}")
    assert found is not None
    assert "1 of its 2 training questions are scored: " in found
    assert "(nearly the text of fc:fc_no1)" in found


def test_other_questions_are_no_reason() -> None:
    assert refusal("How many moons has Mars?", {"id": "x", "text": "Who is Kai?"}) is None
    assert refusal() is None


def test_a_split_that_no_source_may_give_is_an_error_of_the_method(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no data source has questions named 'demo_fc'"):
        training.split("demo_fc", tmp_path, PILOT, SHIPPED)


class Gives:
    """A source of questions to learn from."""

    @staticmethod
    def training(name: str, _: Path | None) -> list[TrainingQuestion]:
        return [TrainingQuestion(f"{name}_no{number}", f"Who is number {number}?", ("x",)) for number in range(2)]


class GivesNone:
    """A source without any."""


SOURCE_KINDS: Any = {"mute": GivesNone, "gives": Gives}


def test_a_source_is_found_by_how_the_name_begins_and_by_nothing_else() -> None:
    found = training.split("gives_row", None, PILOT, SOURCE_KINDS)
    assert [question.id for question in found] == ["gives_row_no0", "gives_row_no1"]
    for unknown in ("other", "xgives", "mute", "mute_gives"):
        with pytest.raises(ValueError, match=f"no data source has questions named '{unknown}' that a method may learn"):
            training.split(unknown, None, PILOT, SOURCE_KINDS)
    with pytest.raises(
        ValueError, match=r"known are the rows of gives\. Did you mean gives\?|known are the rows of gives\."
    ):
        training.split("mute", None, PILOT, SOURCE_KINDS)


def test_a_split_that_holds_a_scored_question_is_refused_by_its_name() -> None:
    told = (
        "training split gives_row: no training on scored data: 1 of its 2 training questions are scored: gives_row_no1"
    )
    with pytest.raises(Violation, match=told):
        training.split("gives_row", None, [Scored("fc", "gives_row_no1", "0" * 16)], SOURCE_KINDS)


def test_a_name_is_one_word_and_what_has_more_is_a_question() -> None:
    method: Any = Learner(["gives_row", {"id": "own", "text": "Who is number 1?"}])
    scored = [Scored("fc", "fc_no7", fingerprint("Who is number 1?"), "Who is number 1?")]
    told = training.refusal(method, None, lambda: scored, SOURCE_KINDS)
    assert told is not None
    assert told.startswith("learner: no training on scored data: ")
    assert "2 of its 3 training questions are scored: gives_row_no1 (same text as fc:fc_no7), own (same text" in told


def test_the_data_folder_reaches_the_source(tmp_path: Path) -> None:
    asked: list[Any] = []

    class Asked:
        @staticmethod
        def training(name: str, data: Path | None) -> list[TrainingQuestion]:
            asked.append((name, data))
            return []

    sources: Any = {"asked": Asked}
    assert training.split("asked_1", tmp_path, PILOT, sources) == []
    method: Any = Learner(["asked_2"])
    assert training.refusal(method, tmp_path, lambda: PILOT, sources) is None
    assert asked == [("asked_1", tmp_path), ("asked_2", tmp_path)]


def test_what_was_read_to_learn_from_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[bool] = []
    monkeypatch.setattr("pytest_engram.suites.locations.forget", lambda: forgotten.append(True))
    training.split("gives_row", None, PILOT, SOURCE_KINDS)
    assert forgotten == [True]


def suite(name: str, kind: Any, *queries: str) -> Suite:
    questions = [Question(f"{name}_no{at}", f"q{at}", query, "h") for at, query in enumerate(queries)]
    return Suite(name, Path(f"{name}.yaml"), questions, Lists({"h": ()}), kind=kind)


def test_of_loaded_suites_the_pilot_sets_alone_are_scored_by_their_texts(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(
        "engram: pilot\nname: set\nsource: x\nquestions:\n  - {id: set_no0, text: '0123456789abcdef'}\n"
    )
    (tmp_path / "micro.yaml").write_text("engram: micro\nname: micro\nquestions:\n  - {id: micro_no0, text: x}\n")
    loaded = [suite("pilot", "pilot", "Who is Ann?", ""), suite("cases", "micro", "Who is Bob?")]
    assert training.scored([tmp_path], loaded) == [
        Scored("set", "set_no0", "0123456789abcdef", None),
        Scored("pilot", "pilot_no0", fingerprint("Who is Ann?"), "Who is Ann?"),
    ]
