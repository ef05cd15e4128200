"""What a judge is asked, and how its answer is read: the official texts as their files have them, label by label."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.judging.prompts import OWN, Prompts, Unlabelled, has_answer, read_label, read_yes, skipped


def sent(prompts: Prompts, benchmark: str | None, told: dict[str, Any]) -> str:
    (message,) = prompts.of(benchmark, told).messages("Q?", "GOLD {x}", "SAID {}")
    assert message["role"] == "user"
    return message["content"]


@pytest.mark.parametrize(
    ("type_", "abstention", "part"),
    [
        ("single-session-user", False, "single-session-user, single-session-assistant, multi-session"),
        ("single-session-assistant", False, "single-session-user, single-session-assistant, multi-session"),
        ("multi-session", False, "single-session-user, single-session-assistant, multi-session"),
        ("temporal-reasoning", False, "temporal-reasoning"),
        ("knowledge-update", False, "knowledge-update"),
        ("single-session-preference", False, "single-session-preference"),
        ("multi-session", True, "abstention"),
        ("knowledge-update", True, "abstention"),
    ],
)
def test_longmemeval_s_prompt_goes_by_type_and_abstention(
    shared_data: Path, type_: str, abstention: bool, part: str
) -> None:
    texts = json.loads((shared_data / "longmemeval/prompts.json").read_text(encoding="utf-8"))["judge"]
    prompts = Prompts(shared_data)
    told = {"type": type_, "abstention": abstention, "date": "2023/05/30"}
    assert sent(prompts, "longmemeval", told) == texts[part].format("Q?", "GOLD {x}", "SAID {}")
    prompt = prompts.of("longmemeval", told)
    assert prompt.settings == {"temperature": 0, "max_tokens": 10}
    assert prompt.official
    assert prompt.read is read_yes


def test_locomo_s_common_prompt_and_no_verdict_on_category_5(shared_data: Path) -> None:
    text = json.loads((shared_data / "locomo/judge_prompt.json").read_text(encoding="utf-8"))["judge"]
    prompts = Prompts(shared_data)
    expected = (
        text.replace("{question}", "Q?").replace("{gold_answer}", "GOLD {x}").replace("{generated_answer}", "SAID {}")
    )
    assert sent(prompts, "locomo", {"category": 1}) == expected
    assert prompts.of("locomo", {"category": 1}).settings == {"temperature": 0}
    assert skipped("locomo", {"category": 5}) == "category 5 (adversarial) is not judged"
    assert [skipped("locomo", {"category": number}) for number in (1, 2, 3, 4)] == [None] * 4
    assert skipped("longmemeval", {"category": 5}) is None


def test_what_the_manifest_says_of_them(shared_data: Path, tmp_path: Path) -> None:
    texts = json.loads((shared_data / "longmemeval/prompts.json").read_text(encoding="utf-8"))
    told = Prompts(shared_data).describe("longmemeval")
    assert (told["label"], told["official"]) == ("official prompt", True)
    assert told["sha256"] == {part: texts["sha256"][part] for part in texts["judge"]}
    own = hashlib.sha256(OWN.encode()).hexdigest()
    without = Prompts(tmp_path).describe("locomo")
    assert (without["label"], without["official"]) == ("our own prompt, not the official one", False)
    assert without["sha256"] == {"judge": own}
    assert "engram fetch" in without["source"]
    other = Prompts(shared_data).describe(None)
    assert (other["label"], other["official"], other["sha256"]) == ("our own prompt", None, {"judge": own})
    assert Prompts(shared_data).describe("factconsolidation") == other  # it has no judge


def test_without_the_official_one_our_own_is_asked(tmp_path: Path) -> None:
    text = sent(Prompts(tmp_path), "locomo", {"category": 1})
    assert "Question: Q?\nAccepted: GOLD {x}\nAnswer: SAID {}\n" in text
    assert '{"label": "CORRECT"}' in text
    prompt = Prompts(tmp_path).of("locomo", {"category": 1})
    assert not prompt.official
    assert prompt.accepted(("Rome", "Roma")) == "Rome; or Roma"


def test_which_accepted_answers_are_answers() -> None:
    assert has_answer("longmemeval", {"type": "multi-session", "abstention": False})
    assert not has_answer("longmemeval", {"type": "multi-session", "abstention": True})
    assert not has_answer("longmemeval", {"type": "single-session-preference", "abstention": False})
    assert not has_answer("locomo", {"category": 5})
    assert has_answer(None, {})


@pytest.mark.parametrize(
    ("said", "right"),
    [("yes", True), ("Yes.", True), ("No", False), ("no, it does not", False), ("YES, it does", True)],
)
def test_longmemeval_s_label_is_yes_in_the_lower_cased_answer(said: str, right: bool) -> None:
    assert read_yes(said) is right


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ('{"label": "CORRECT"}', True),
        ('{"label": "WRONG"}', False),
        ('It fits well.\n```json\n{"label": "CORRECT"}\n```', True),
        ('Not CORRECT in my view: {"label": "WRONG"}', False),  # the object counts
        ('{"reason": "same date", "label": "correct"}', True),
        ('{"Label": "Wrong"}', False),
        ('{"a": {"b": 1}} and then {"label": "WRONG"}', False),
        ("It names the same city. CORRECT", True),
        ("WRONG", False),
        ("correct.", True),
        ("**Wrong**", False),
        ("{label: CORRECT}", True),
    ],
)
def test_the_label_in_what_a_judge_said(said: str, right: bool) -> None:
    assert read_label(said) is right


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "no label"),
        ("I can't tell.", "no label"),
        ('{"label": "MAYBE"}', "no label"),
        ("The answer is incorrect, I think", "no label"),
        ("It is not correct", "no label"),
        ("CORRECT or WRONG?", "both labels"),
        ('{"label": 1}', "no label"),
    ],
)
def test_without_one_label_there_is_no_verdict(said: str, told: str) -> None:
    with pytest.raises(Unlabelled, match=told):
        read_label(said)
