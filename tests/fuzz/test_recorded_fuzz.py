"""Whatever the file of a recorded method or judge holds: it is read, or each fault is a line with file and cure."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fuzz import RUBBISH, TEXTS, as_json, bounded, budget, changed, damaged, one_line
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.asking import recorded
from pytest_engram.judging import recorded as recorded_judge
from pytest_engram.judging.judges import JudgeError
from pytest_engram.memory import Entry
from pytest_engram.suites.base import Lists, Question, Suite

HEAD = {"method": {"label": "Mine", "encoder": "bge", "packages": {"mine": "1.0", "other": None}}}
LINES = [
    HEAD,
    {"question_id": "q1", "suite": "own", "ids": ["1", "2"], "seconds": 0.5, "tokens": 3},
    {"question_id": "q2", "texts": ["said", {"text": "told", "sources": ["1"]}], "answer": "Rome", "human": True},
    {"question_id": "q3", "answer": "", "verdicts": [True, False], "human": False},
]
VERDICTS = [
    {"question_id": "q1", "answer": "Rome", "verdicts": [True]},
    {"question_id": "q1", "answer": "", "verdicts": [True, False], "known": "wrong", "kind": "vague"},
]
_QUESTIONS = [Question(f"q{n}", f"q{n}", f"Who is {n}?", "h") for n in range(1, 5)]
SUITE = Suite("own", Path("own.yaml"), _QUESTIONS, Lists({"h": (Entry("1", "one", 1.0), Entry("2", "two", 2.0))}))
OTHER = Suite("other", Path("other.yaml"), _QUESTIONS[2:], Lists({"h": ()}))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


def lines_of(records: list[Any]) -> bytes:
    return b"".join(as_json(record) + b"\n" for record in records)


def read(content: bytes) -> None:
    with bounded():
        try:
            found = recorded.parse(content, "mine.jsonl")
            recorded.place(found, [SUITE, OTHER])
        except recorded.Refused as refused:
            for told in refused.problems:
                if not re.fullmatch(r"and \d+ more", told):
                    one_line(told, "mine.jsonl:", cure=("; ", "? "))
            return
    assert sum(len(lines) for lines in found.placed.values()) == len(found.lines)
    for line in found.lines:
        line.results  # noqa: B018 (it must not raise)
    named = recorded.named([found, found], {})
    assert len(named) == 2


def test_a_sound_file_is_read_and_finds_its_questions() -> None:
    found = recorded.parse(lines_of(LINES), "mine.jsonl")
    recorded.place(found, [SUITE])
    assert sorted(found.placed["own"]) == ["q1", "q2", "q3"]
    read(lines_of(LINES))


@budget(2)
@given(records=changed(LINES))
def test_a_file_of_which_fields_are_others(records: list[Any]) -> None:
    read(lines_of(records))


@budget(2)
@given(content=damaged(lines_of(LINES)) | st.binary(max_size=60))
def test_a_file_of_which_bytes_are_others(content: bytes) -> None:
    read(content)


@budget()
@given(
    records=st.lists(
        RUBBISH | st.dictionaries(st.sampled_from(["question_id", "ids", "texts", "suite", "method"]), RUBBISH)
    )
)
def test_anything_as_lines(records: list[Any]) -> None:
    read(lines_of(records))


@budget(0.5)
@given(records=changed(LINES, 1))
def test_what_a_worker_is_handed_is_what_was_read(place: Path, records: list[Any]) -> None:
    try:
        found = recorded.parse(lines_of(records), "mine.jsonl")
        recorded.place(found, [SUITE])
    except recorded.Refused:
        return
    again = recorded.load(recorded.write({"mine": found}, place), place)["mine"]
    assert again.placed == found.placed
    assert (again.label, again.encoder, again.packages, again.sha256) == (
        found.label,
        found.encoder,
        found.packages,
        found.sha256,
    )


@budget()
@given(content=changed(VERDICTS).map(lines_of) | damaged(lines_of(VERDICTS)) | RUBBISH.map(as_json))
def test_verdicts_that_were_given_elsewhere(place: Path, content: bytes) -> None:
    file = place / "verdicts.jsonl"
    file.write_bytes(content)
    with bounded():
        try:
            judge = recorded_judge.resolve(str(file))
            judge.check({"q1"})
        except JudgeError as error:
            one_line(error, str(file), cure=("; ", "? "))


@budget()
@given(label=TEXTS, encoder=TEXTS, package=TEXTS)
def test_a_name_is_words_of_one_line_or_told(label: str, encoder: str, package: str) -> None:
    head = {"method": {"label": label, "encoder": encoder, "packages": {package: label}}}
    read(lines_of([head, *LINES[1:]]))
    assert json.loads(as_json(head)) == head
