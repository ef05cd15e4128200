"""What `docs/own-case.md` shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from micro import load

from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.microtests.winners import RULES

PAGE = (Path(__file__).parents[2] / "docs" / "own-case.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if block.startswith("engram:")]


def test_the_files_of_the_page_are_suites(tmp_path: Path) -> None:
    first, many = (load(tmp_path, block) for block in BLOCKS)
    assert len(first.questions) == 12
    assert "mara-web2-backers1" in [question.name for question in first.questions]
    assert many.cases == 3
    assert many.questions[0].name.startswith("home-mara-lindqvist")
    assert len(first.haystack("mara-web0-backers0")) == 62


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("registered with a doctor in {old}", "registered with a doctor in {town}"),
        ("backers: [0, 1, 2, 3]", "backers: [0, 1, 2, 4]"),
    ],
)
def test_the_errors_of_the_page_are_those_that_are_told(tmp_path: Path, right: str, wrong: str) -> None:
    with pytest.raises(SuiteError) as error:
        load(tmp_path, BLOCKS[1].replace(right, wrong), "moves.yaml")
    assert str(error.value).removeprefix(f"{tmp_path}/") in PAGE


def test_the_rules_of_the_page_are_those_that_a_case_can_use() -> None:
    told = set(re.findall(r"^\| `([a-z-]+)` \| ", PAGE.split("## 5.")[0], re.MULTILINE))
    assert told == set(RULES) - {"same-either-way", "denser-original", "mutual-limits-hubs"}
