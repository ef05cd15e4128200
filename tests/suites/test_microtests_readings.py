"""Who should win was read twice; what the files say of it follows from the readings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from micro import CASES
from micro import shipped as load

from pytest_engram.suites.microtests import readings
from pytest_engram.suites.microtests.readings import Note, notes, tally

COMMITTED = json.loads((CASES.parent / readings.OUTCOME).read_text(encoding="utf-8"))


def note(number: int, right: str) -> Note:
    return Note(f"n{number}", "repetition", f"case-{number}", ("One.", "Two."), "One.", "Two.", right)


def test_agreement_by_hand() -> None:
    given = [note(number, right) for number, right in enumerate("AAABBBAB")]
    first = dict(zip([n.id for n in given], ["A", "A", "A", "B", "B", "B", "A", "A"], strict=True))
    second = dict(zip([n.id for n in given], ["A", "A", "A", "B", "B", "A", "can't tell", "A"], strict=True))
    outcome = tally(given, first, second)
    # 6 of 8 agree; by chance A 5/8 * 5/8 and B 3/8 * 2/8: kappa = (0.75 - 31/64) / (1 - 31/64) = 17/33.
    assert outcome["all"] == {"n": 8, "agree": 6, "kappa": pytest.approx(17 / 33, abs=5e-4), "right": 5}
    assert outcome["disputed"]["repetition"] == ["case-5", "case-6", "case-7"]


def test_a_reader_sees_no_rule_no_name_and_no_background() -> None:
    found = notes(CASES)
    assert len({n.id for n in found}) == len(found)
    for n in found:
        assert set(n.blind()) == {"id", "notes", "A", "B"}
        assert {n.a, n.b} <= set(n.notes)
        assert len(n.notes) <= 12
    assert 0.35 < sum(n.right == "A" for n in found) / len(found) < 0.65
    assert 0.3 < sum(n.notes.index(n.a) < n.notes.index(n.b) for n in found) / len(found) < 0.7


def test_a_strange_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    path.write_text('{"id": "a", "answer": "A"}\n{"id": "b", "answer": "C"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"first.jsonl:2: answer: 'C' is not A, B or"):
        readings.answers(path)


@pytest.mark.parametrize("name", readings.SUITES)
def test_what_readers_differ_on_is_not_scored(name: str) -> None:
    spec = load(name).key.spec
    disputed = {level.case.name for level in load(name).levels() if spec.cases[level.template].disputed}
    assert {case.removesuffix("-mirrored") for case in disputed} == set(COMMITTED["disputed"][name])


def test_the_readings_are_of_these_cases_and_this_rule() -> None:
    rule = {(n.suite, n.case): n.right for n in notes(CASES)}
    assert {(row["suite"], row["case"]): row["rule"] for row in COMMITTED["answers"]} == rule
    given = notes(CASES)
    first, second = (
        {n.id: answers[n.suite, n.case] for n in given}
        for answers in (
            {(row["suite"], row["case"]): row[who] for row in COMMITTED["answers"]} for who in ("first", "second")
        )
    )
    assert {k: v for k, v in COMMITTED.items() if k != "readers"} == json.loads(json.dumps(tally(given, first, second)))
