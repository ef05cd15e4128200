"""Slots, braces that stay, and texts that nobody sees."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_engram.basics.texts import visible
from pytest_engram.review import here
from pytest_engram.suites.base import Loaded, SuiteError

CASE: dict[str, Any] = {
    "name": "port",
    "belief": "The door is {old}.",
    "update": "The door is {new}.",
    "query": "What is the door?",
    "slots": [{"old": "red", "new": "blue"}],
}


def suite(folder: Path, *, name: str = "own", **changes: Any) -> Loaded:
    case = {field: value for field, value in (CASE | changes).items() if value is not None}
    path = folder / "own.yaml"
    path.write_text(
        yaml.safe_dump({"engram": "micro", "name": name, "rule": "newest", "cases": [case]}, allow_unicode=True)
    )
    return here.load(path, None)


def texts(loaded: Loaded) -> list[str]:
    (question,) = loaded.suite.questions
    return [entry.text for entry in loaded.suite.haystack(question.haystack)]


def refusal(folder: Path, **changes: Any) -> str:
    with pytest.raises(SuiteError) as told:
        suite(folder, **changes)
    assert "\n" not in str(told.value)
    return str(told.value)


# Braces


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('The door is {{"port": 80}}.', 'The door is {"port": 80}.'),
        ('{{"a": {{"b": 1}}}} is the door.', '{"a": {"b": 1}} is the door.'),
        ("The door is {{{old}}}.", "The door is {red}."),
        ("The door is {{old}}, {old}.", "The door is {old}, red."),
        ("The door is { old }, } and {.", "The door is red, } and {."),
        ("An empty set is {{}}; {old}.", "An empty set is {}; red."),
    ],
)
def test_doubled_braces_stay(tmp_path: Path, written: str, read: str) -> None:
    slots = [{"old": "red", "new": "blue"}]
    assert read in texts(suite(tmp_path, belief=written, web=["It is {old}."], slots=slots))


def test_what_json_writes_can_be_a_text(tmp_path: Path) -> None:
    plain = json.dumps({"port": 80, "of": {"a": []}})
    doubled = plain.replace("{", "{{").replace("}", "}}")
    assert plain in texts(suite(tmp_path, belief=doubled, update="None of it.", slots=None))


@pytest.mark.parametrize("slots", [None, [{"new": "blue"}]])
def test_json_in_braces_is_told_with_the_cure(tmp_path: Path, slots: Any) -> None:
    told = refusal(
        tmp_path, belief='It is {"port": 80}.', update="It is {new}." if slots else "It is not.", slots=slots
    )
    assert told.endswith(
        ': cases[0].belief: {"port": 80} is read as a slot, and there is none; '
        'for braces that stay, write {{"port": 80}}'
    )


def test_a_slot_without_slots_is_told_with_both_cures(tmp_path: Path) -> None:
    told = refusal(tmp_path, belief="It is {port}.", update="It is not.", slots=None)
    assert told.endswith(
        ": cases[0].belief: {port} has no slot; add `slots: [{port: ...}]` to the case; "
        "for braces that stay, write {{port}}"
    )


# Slots that no text uses


def test_a_slot_that_no_text_uses_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    told = refusal(tmp_path, slots=[{"old": "red", "new": "blue"}, {"old": "pink", "new": "grey", "olds": "x"}])
    assert told.endswith(": cases[0].slots[1].olds: no text uses this slot; did you mean old?")


def test_where_none_is_near_the_cure_is_told(tmp_path: Path) -> None:
    told = refusal(tmp_path, slots=[{"old": "red", "new": "blue", "weather": "fine"}])
    assert told.endswith(
        ": cases[0].slots[0].weather: no text uses this slot; delete it, or write {weather} into a text"
    )


@pytest.mark.parametrize("field", ["web", "backers", "also"])
def test_a_slot_may_be_used_by_any_text(tmp_path: Path, field: str) -> None:
    slots = [{"old": "red", "new": "blue", "weather": "fine"}]
    suite(tmp_path, **{field: ["The weather is {weather}."]}, slots=slots)


def test_a_slot_in_doubled_braces_is_not_used(tmp_path: Path) -> None:
    slots = [{"old": "red", "new": "blue", "weather": "fine"}]
    assert "no text uses this slot" in refusal(tmp_path, web=["It is {{weather}}."], slots=slots)


# What nobody sees

ZERO_WIDTH = "\u200b\u200d\u2060\ufeff"


@pytest.mark.parametrize("text", [ZERO_WIDTH, "\u200b \u200b", "\u3164", "\u2800", "\u00ad\u200e", "\ufe0f", "\u0301"])
def test_a_text_that_nobody_sees_is_refused(tmp_path: Path, text: str) -> None:
    told = refusal(tmp_path, belief=text, update="It is blue.", slots=None)
    assert ": cases[0].belief: nobody sees anything of this text: " in told
    assert told.isascii()
    assert told.endswith("; write a sentence, or delete the line")


@pytest.mark.parametrize("where", ["update", "query"])
def test_so_is_any_other_text_of_a_case(tmp_path: Path, where: str) -> None:
    assert "nobody sees anything" in refusal(tmp_path, **{where: ZERO_WIDTH}, slots=None, belief="It is red.")


def test_so_is_a_slot_s_value(tmp_path: Path) -> None:
    assert "nobody sees anything" in refusal(tmp_path, slots=[{"old": ZERO_WIDTH, "new": "blue"}])


def test_two_texts_that_look_alike_are_the_same(tmp_path: Path) -> None:
    told = refusal(tmp_path, belief="The door is red.", update="The door\u200b is red.", slots=None)
    assert "the same text as cases[0].belief" in told


@pytest.mark.parametrize("text", ["山田さん", "👩‍👩‍👧 live here", "é", "5", "?", "دوست", "हिन्दी"])
def test_what_is_seen_is_kept_as_it_is(tmp_path: Path, text: str) -> None:
    assert text in texts(suite(tmp_path, belief=text, update="It is not.", slots=None))


def test_visible_is_what_is_left() -> None:
    assert visible("a\u200bb  c\n") == "ab c"
    assert visible("e\u0301") == "é"
    assert visible("\x1b[31mred") == "[31mred"


# Names


@pytest.mark.parametrize("name", ["-x", "--help", "..", ".", "-", ".hidden"])
def test_a_suite_s_name_begins_with_no_dash_and_no_dot(tmp_path: Path, name: str) -> None:
    assert f"got '{name}'" in refusal(tmp_path, name=name)


@pytest.mark.parametrize("name", ["own", "a-b.c_d", "9", "東京"])
def test_other_names_may_be_had(tmp_path: Path, name: str) -> None:
    assert suite(tmp_path, name=name).suite.name == name


# Unlimited input


@pytest.mark.parametrize(
    ("head", "item", "told"),
    [
        (
            "engram: micro\nname: big\nrule: newest\ncases:\n",
            "  - {{name: c{0}, belief: A{0} is red., update: A{0} is blue., query: What is A{0}?}}\n",
            ":4: cases: more than 20,000 levels, each an item for every method; write fewer cases",
        ),
        (
            "engram: micro\nname: big\nfamily: hub\nhubs:\n",
            "  - {{name: c{0}, text: Everybody knows {0}.}}\n",
            ":4: hubs: more than 20,000 levels, each an item for every method; write fewer hubs",
        ),
        (
            "engram: pilot\nname: big\nsource: demo_fc\nmetrics: [answer@10]\nquestions:\n",
            "  - {{id: demo_fc_no{0}, text: 0123456789abcdef}}\n",
            ":5: questions: more than 50,000 questions; write fewer, or make several suites of them",
        ),
        (
            "engram: micro\nname: big\nrule: newest\ncases: [{name: a, belief: b, update: c, query: d}]\nbackground:\n",
            "  - Fact {0} is true.\n",
            ":20006: background: more than 20,000 facts, all of them in every level; write fewer",
        ),
    ],
)
def test_a_hundred_thousand_of_anything_are_refused_at_once(tmp_path: Path, head: str, item: str, told: str) -> None:
    path = tmp_path / "big.yaml"
    path.write_text(head + "".join(map(item.format, range(100_000))))
    started = time.process_time()
    with pytest.raises(SuiteError) as refused:
        here.load(path, None)
    assert str(refused.value) == f"{path}{told}"
    assert time.process_time() - started < 10  # below 2 s on two idle cores


def test_many_facts_in_many_levels_are_refused(tmp_path: Path) -> None:
    facts = "".join(f"  - Fact {number} is true.\n" for number in range(2_000))
    rows = "".join(f"      - {{name: A{number}}}\n" for number in range(3_000))
    case = "  - name: a\n    belief: '{name} is red.'\n    update: '{name} is blue.'\n    query: What?\n    slots:\n"
    path = tmp_path / "big.yaml"
    path.write_text(f"engram: micro\nname: big\nrule: newest\nbackground:\n{facts}cases:\n{case}{rows}")
    with pytest.raises(SuiteError) as refused:
        here.load(path, None)
    assert str(refused.value) == (
        f"{path}:4: background: 2,000 facts in 3,000 levels are more than 5,000,000 entries; write or sweep fewer"
    )
