"""What outcomes share changes nothing that they say, and what they say takes little room."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.plugin.vault import Outcomes
from pytest_engram.runs import log as runlog
from pytest_engram.runs import schema
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.shared import REMEMBERED, Shared

NUMBER = st.integers(0, 1) | st.sampled_from([0.0, 1.0, -0.0, 0.25, 1e-9])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=4,
)
TEXT = st.text(max_size=80) | st.sampled_from(["\ud800", "é", "\U0001f600"])
OBJECT = st.dictionaries(TEXT, ANY, max_size=3)
RECORD = st.fixed_dictionaries(
    {
        "suite": TEXT,
        "question_id": TEXT,
        "method": TEXT,
        "seed": st.integers(-(2**70), 2**70),
        "k": st.integers(0, 10),
        "ids": st.lists(TEXT, max_size=4),
        "metrics": st.dictionaries(TEXT, st.none() | NUMBER, max_size=4),
        "status": st.sampled_from(["ok", "violation", "error", "not run"]),
    },
    optional={
        "reason": TEXT,
        "seconds": st.none() | NUMBER,
        "usage": st.dictionaries(TEXT, NUMBER, max_size=2),
        "wrote": st.fixed_dictionaries({}, optional={"entries": st.integers(0, 9), "seconds": NUMBER.map(abs)}),
        "fields": OBJECT.filter(lambda fields: "states" not in fields),
        "asked": OBJECT,
        "gold": st.lists(TEXT, max_size=2),
        "missing": st.dictionaries(TEXT, TEXT, max_size=2),
        "lost": st.none() | st.booleans(),
        "answer": st.none() | TEXT,
        "tokens": st.none() | st.integers(0, 5),
        "of a later version": ANY,
    },
)


def written(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace")


def same(one: Any, other: Any) -> bool:
    """To the last digit and type: 1, 1.0 and True are equal, and not the same."""
    return repr(one) == repr(other)


@given(RECORD)
def test_a_line_read_at_once_is_the_line_that_json_reads(record: dict[str, Any]) -> None:
    line = written(record)
    whole = Outcome.from_record(json.loads(line))
    assert same(schema.line(line), whole)
    assert same(schema.outcome(json.loads(line)), whole)


@given(RECORD, st.sampled_from(["suite", "seed", "ids", "metrics", "status", "seconds", "usage", "wrote"]), ANY)
def test_a_line_read_at_once_is_refused_as_json_s_is(record: dict[str, Any], name: str, other: Any) -> None:
    line = written(record | {name: other})
    told = []
    for read in (schema.line, lambda text: schema.outcome(json.loads(text))):
        try:
            told.append(repr(read(line)))
        except ValueError as error:
            told.append(f"refused: {error}")
    assert told[0] == told[1]


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e400])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match=r"seconds: .* is no number"):
        schema.line(written(json.loads(synthetic.micro(1)[0].to_line()) | {"seconds": number}))


@given(st.lists(RECORD, max_size=12))
def test_what_is_shared_says_what_it_said(records: list[dict[str, Any]]) -> None:
    shared = Shared()
    for record in records:
        whole = json.loads(written(record))
        assert same(shared(Outcome.from_record(whole)), Outcome.from_record(json.loads(written(record))))


def test_equal_parts_are_one() -> None:
    lines = [outcome.to_line() for outcome in synthetic.pilots(4)[0]]
    shared = Shared()
    first, again = ([shared(Outcome.from_record(json.loads(line))) for line in lines] for _ in range(2))
    for one, other in zip(first, again, strict=True):
        for name in ("suite", "query", "ids", "metrics", "gold", "missing", "usage", "dropped"):
            assert getattr(one, name) is getattr(other, name)


def test_what_is_remembered_has_an_end() -> None:
    shared = Shared()
    for number in range(3):
        for part in range(REMEMBERED // 4):
            shared(Outcome("s", f"{number} {part}", "m", 0, 10, [f"{number} {part} a"], {}, "ok", query=f"{part}?"))
    assert len(shared._known) < 1.2 * REMEMBERED


def test_what_a_run_holds_of_an_item_takes_little_room() -> None:
    """A line of 600 characters: 3.4 KB as `json` reads it, 2.9 KB as an outcome that shares nothing."""
    lines = [outcome.to_line() for outcome in synthetic.pilots(300)[0]]
    held = Outcomes()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for line in lines:
            outcome = Outcome.from_record(json.loads(line))
            held["", "", "", 0] = outcome  # filed by what it is, whatever it is called here
        a_line = (tracemalloc.get_traced_memory()[0] - before) / len(lines)
    finally:
        tracemalloc.stop()
    assert len(held) == len({(o.suite, o.item, o.method, o.seed) for o in held.values()})
    assert a_line < 2000


def test_a_log_that_was_read_takes_little_room(tmp_path: Path) -> None:
    outcomes = synthetic.pilots(300)[0]
    runlog.write(tmp_path / "items.jsonl", outcomes)
    runlog.read(tmp_path / "items.jsonl")  # what is imported for it
    tracemalloc.start()
    try:
        found = runlog.read(tmp_path / "items.jsonl")
        a_line = tracemalloc.get_traced_memory()[0] / len(found)
    finally:
        tracemalloc.stop()
    assert found == outcomes
    assert a_line < 1800
