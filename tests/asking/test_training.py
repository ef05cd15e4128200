"""What a method says that it learnt from, and what nobody can check of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.asking import training
from pytest_engram.basics.registry import Registry
from pytest_engram.memory import Method
from pytest_engram.suites import SOURCES
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
