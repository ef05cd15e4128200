"""The file of facts that back a side: what is wrong with one is said with file, line, field and cure."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import backing as written
import pytest

from pytest_engram.suites.backed import backing
from pytest_engram.suites.base import SuiteError


def test_what_it_holds(tmp_path: Path) -> None:
    path = written.write(tmp_path / "facts.yaml")
    found = backing.read(path)
    assert list(found.relations) == list(written.RELATIONS)
    assert found.relations[written.SPORT].implied.keys() == {"cricket", "basketball"}
    assert found.relations["{s} is employed by {v}"].implied == {}
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_line_ends_do_not_change_its_hash(tmp_path: Path) -> None:
    path = written.write(tmp_path / "facts.yaml")
    before = backing.read(path).sha256
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert backing.read(path).sha256 == before


@pytest.mark.parametrize(
    ("where", "value", "problem"),
    [
        (["ask"], "Which sport?", r"ask: lacks \{s\}: 'Which sport\?'; write the text with it"),
        (["ask"], "Is {s} of {v}?", r"ask: holds \{v\}, and may hold \{s\} alone"),
        (["backs", 1], "{s} likes it.", r"backs\[1\]: lacks \{v\}"),
        (["backs", 1], "{v} is liked.", r"backs\[1\]: lacks \{s\}"),
        (["backs", 1], "{s} and {v} and {w}.", r"backs\[1\]: holds \{w\}, and may hold \{s\} and \{v\} alone"),
        (["backs", 1], "{s} and {v} {.", r"backs\[1\]: holds \{, and may hold"),
        (["repeats", 0], written.RELATIONS[written.SPORT]["backs"][2], r"repeats\[0\]: the same text as .*backs\[2\]"),
        (["repeats"], ["{s} {v}"], r"repeats: list should have at least 5 items and has 1; add one"),
        (["implied", "cricket", 0], "{s} of {v}.", r"implied\.cricket\[0\]: holds \{v\}, and may hold \{s\} alone"),
        (["implied", "cricket", 0], "{s} gave up Basketball.", r"implied\.cricket\[0\]: names 'basketball'"),
        (["implied", "cricket", 0], "Cricket, says {s}.", r"implied\.cricket\[0\]: names 'cricket': .*; say what is"),
        (["query"], "x", r"query: no such field"),
    ],
)
def test_a_text_that_can_t_be_filled_or_backs_nothing(
    tmp_path: Path, where: list[Any], value: Any, problem: str
) -> None:
    content = written.document()
    at = content["relations"][written.SPORT]
    for part in where[:-1]:
        at = at[part]
    at[where[-1]] = value
    path = written.write(tmp_path / "facts.yaml", content)
    with pytest.raises(SuiteError, match=problem) as caught:
        backing.read(path)
    shown = value if isinstance(value, str) else next(iter(value))
    lines = path.read_text().splitlines()
    named = [number for number, line in enumerate(lines, 1) if json.dumps(shown) in line or '"repeats": [' in line]
    assert any(f"facts.yaml:{number}: " in str(caught.value) for number in named)


def test_a_relation_that_is_none_of_the_official_ones(tmp_path: Path) -> None:
    content = written.document()
    content["relations"]["{s} is employed with {v}"] = content["relations"].pop("{s} is employed by {v}")
    path = written.write(tmp_path / "facts.yaml", content)
    with pytest.raises(
        SuiteError, match=r"no relation of the official facts; did you mean '\{s\} is employed by \{v\}'"
    ):
        backing.read(path)


def test_no_relation_at_all(tmp_path: Path) -> None:
    path = tmp_path / "facts.yaml"
    path.write_text("relations: {}\n")
    with pytest.raises(SuiteError, match=r"facts\.yaml:1: relations: "):
        backing.read(path)


def test_names_may_hold_braces() -> None:
    assert backing.filled("{s} and {v} of {s}", "{v}", "{s}") == "{v} and {s} of {v}"
