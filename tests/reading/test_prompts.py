"""The prompt of each benchmark: the official one or our own, its layout, and the answer in a model's text.

The layouts are held against the benchmarks' own code, written again here as plainly as it goes.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.memory import Entry
from pytest_engram.reading import Asked, officials, prompts

DAY = 86_400.0
# 8 May 2023, 13:56 UTC; 20 May 2023, 02:21 UTC (a Saturday).
MAY_8, MAY_20 = 1_683_554_160.0, 1_684_549_260.0


@pytest.fixture(autouse=True)
def _nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


def texts(shared_data: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared_data / name).read_text(encoding="utf-8"))
    return found


# Whose it is


@pytest.mark.parametrize("benchmark", ["factconsolidation", "locomo", "longmemeval"])
def test_the_official_prompt_is_labelled_and_described(shared_data: Path, benchmark: str) -> None:
    found = prompts.find(benchmark, shared_data)
    told = found.describe()
    assert (found.label, told["label"], told["official"]) == ("official prompt",) * 2 + (True,)
    assert told["source"].endswith("in --engram-data")
    assert told["sha256"].items() <= officials.SHA256[benchmark].items()
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize("benchmark", ["factconsolidation", "locomo", "longmemeval"])
def test_without_it_our_own_wording_is_labelled_so(benchmark: str) -> None:
    found = prompts.find(benchmark, None)
    told = found.describe()
    assert (told["label"], told["official"]) == ("our own prompt, not the official one", False)
    assert told["source"].startswith("pytest-engram; the official prompt is not here (")
    assert not set(told["sha256"].values()) & set(officials.SHA256[benchmark].values())


def test_one_missing_text_makes_all_of_a_benchmark_our_own(shared_data: Path, tmp_path: Path) -> None:
    held = texts(shared_data, "locomo/answer_prompts.json")
    (tmp_path / "locomo").mkdir()
    (tmp_path / "locomo/answer_prompts.json").write_text(json.dumps({**held, "suffix category 2": "?"}))
    found = prompts.find("locomo", tmp_path)
    assert not found.official
    assert "the official text of suffix category 2 is not here" in found.source
    assert held["answer"] not in found.texts.values()


def test_a_suite_of_nobody_has_a_prompt_of_ours(shared_data: Path) -> None:
    found = prompts.find(None, shared_data)
    assert (found.label, found.official, found.source) == ("our own prompt", False, "pytest-engram")
    (system, user) = found.messages(Asked("Who {question}?", [Entry("a", "One {question}.", 1.0)]))
    assert system["role"] == "system"
    assert user["content"].startswith("Memory 1:\nOne {question}.\n")
    assert user["content"].endswith("Question: Who {question}?\nAnswer:")


@pytest.mark.parametrize(
    ("benchmark", "steps", "tokens"),
    [
        ("factconsolidation", False, 10),
        ("locomo", False, 32),
        ("longmemeval", False, 500),
        ("longmemeval", True, 800),
        (None, False, 64),
    ],
)
def test_the_settings_are_the_benchmarks(benchmark: str | None, steps: bool, tokens: int) -> None:
    assert prompts.find(benchmark, None, steps=steps).settings == {"temperature": 0, "max_tokens": tokens}


# FactConsolidation


def test_factconsolidations_messages_are_the_numbered_memories_then_the_query(shared_data: Path) -> None:
    held = texts(shared_data, "memoryagentbench/prompts.json")["factconsolidation"]
    entries = [Entry("7", "7. First {question} {0}.", 7.0), Entry("9", "9. Second.", 9.0)]
    assert prompts.find("factconsolidation", shared_data).messages(Asked("Who {x}?", entries)) == [
        {"role": "system", "content": held["system"]},
        {
            "role": "user",
            "content": "Memory 1:\n7. First {question} {0}.\nMemory 2:\n9. Second.\n"
            + held["rag_agent"].replace("{question}", "Who {x}?"),
        },
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        ("  Paris \n", "Paris"),
        ("Answer: Paris", "Paris"),
        ("answer:Paris.", "Paris."),
        ("The question is who.\nANSWER:\n Donald Trump", "Donald Trump"),
        ("Answer: one Answer: two", "one Answer: two"),
        ("Answer: Paris\nbecause of 12.", "Paris\nbecause of 12."),
        ("Paris\nAnswer:", "Paris\nAnswer:"),
        ("Nonanswer: Paris", "Nonanswer: Paris"),
        ("Answer", "Answer"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_answer_is_what_follows_answer_else_the_text(text: str, answer: str) -> None:
    assert prompts.parse_answer(text) == answer
    assert prompts.find("factconsolidation", None).parse(text, Asked("Who?")) == answer


# LoCoMo


def locomo_query(held: dict[str, Any], lines: list[tuple[str, str]], question: str, category: int, pair: Any) -> str:
    """`get_rag_context` and `get_gpt_answers` of task_eval/gpt_utils.py, for one question (batch_size 1)."""
    context = "\n".join(date + ": " + text for date, text in lines)
    if category == 2:
        question = question + held["suffix category 2"]
    elif category == 5:
        question = question + held["suffix category 5"].format(*pair)
    template = held["answer category 5"] if category == 5 else held["answer"]
    return str(context + "\n\n" + template.format(question))


@pytest.mark.parametrize("category", [1, 2, 3, 4, 5])
def test_locomos_query_is_the_official_codes(shared_data: Path, category: int) -> None:
    entries = [
        Entry("c:D1:3", 'Ann said, "I {} left."', MAY_8 + 0.002),
        Entry("c:D2:1", 'Bob said, "Ten."', MAY_8 - 2 * DAY),
    ]
    lines = [("1:56 pm on 8 May, 2023", 'Ann said, "I {} left."'), ("1:56 pm on 6 May, 2023", 'Bob said, "Ten."')]
    pair = ["Not mentioned in the conversation", "the lure {}"]
    prompt = {"category": category} | ({"options": pair} if category == 5 else {})
    wanted = locomo_query(texts(shared_data, "locomo/answer_prompts.json"), lines, "When?", category, pair)
    asked = Asked("When?", entries, "locomo", prompt)
    found = prompts.find("locomo", shared_data)
    assert found.messages(asked) == [{"role": "user", "content": wanted}]
    own = prompts.find("locomo", None).messages(asked)[0]["content"]
    assert own.startswith("\n".join(": ".join(line) for line in lines) + "\n\n")
    assert ("(b) the lure {}" in own) == (category == 5)


def test_a_text_whose_time_nobody_knows_has_no_date() -> None:
    asked = Asked("When?", [Entry("r0", "Ann left.", 0.0), Entry("r1", "Late.", 1e300)], "locomo")
    assert prompts.find("locomo", None).messages(asked)[0]["content"].startswith("Ann left.\nLate.\n\n")
    asked = Asked("When?", [Entry("r0", "Ann left.", 0.0)], "longmemeval")
    assert "\nSession Date: unknown\n" in prompts.find("longmemeval", None).messages(asked)[0]["content"]


def get_cat_5_answer(model_prediction: str, answer_key: dict[str, str]) -> str:
    """Of task_eval/gpt_utils.py."""
    said = model_prediction.strip().lower()
    if len(said) == 1:
        return answer_key["a"] if "a" in said else answer_key["b"]
    if len(said) == 3:
        return answer_key["a"] if "(a)" in said else answer_key["b"]
    return said


@given(st.one_of(st.sampled_from(["a", "B", "(a)", "(b)", " (A)\n", "a)", "Not mentioned", ""]), st.text(max_size=5)))
def test_an_adversarial_answer_by_letter_is_what_stands_behind_it(said: str) -> None:
    options = random.Random(said).sample(["Not mentioned in the conversation", "Oslo"], 2)
    asked = Asked("Where?", [], "locomo", {"category": 5, "options": options})
    wanted = get_cat_5_answer(said, dict(zip("ab", options, strict=True)))
    assert prompts.find("locomo", None).parse(said, asked) == wanted


def test_another_categorys_answer_is_the_text() -> None:
    assert prompts.find("locomo", None).parse(" A \n", Asked("Who?", [], "locomo", {"category": 4})) == "A"


# LongMemEval


def longmemeval_history(chunks: list[tuple[str, list[dict[str, str]]]]) -> str:
    """`prepare_prompt` of src/generation/run_generation.py: flat-session, history_format nl, useronly true."""
    retrieved = sorted(chunks, key=lambda chunk: chunk[0])
    history = ""
    for i, (date, turns) in enumerate(retrieved):
        content = ""
        for turn in turns:
            content += "\n\n{}: {}".format(turn["role"], turn["content"].strip())
        history += f"\n### Session {i + 1}:\nSession Date: {date}\nSession Content:\n{content}\n"
    return history


@pytest.mark.parametrize(("steps", "part"), [(False, "direct"), (True, "step by step")])
def test_longmemevals_prompt_is_the_official_codes(shared_data: Path, steps: bool, part: str) -> None:
    entries = [Entry("s2", "I moved {} to Rome. ", MAY_20), Entry("s1", "I live in Oslo.", MAY_20 - 12 * DAY)]
    chunks = [
        ("2023/05/20 (Sat) 02:21", [{"role": "user", "content": "I moved {} to Rome. "}]),
        ("2023/05/08 (Mon) 02:21", [{"role": "user", "content": "I live in Oslo."}]),
    ]
    template = texts(shared_data, "longmemeval/prompts.json")["answer"][part]
    wanted = template.format(longmemeval_history(chunks), "2023/05/30 (Tue) 23:40", "Where {}?")
    asked = Asked("Where {}?", entries, "longmemeval", {"date": "2023/05/30 (Tue) 23:40"})
    found = prompts.find("longmemeval", shared_data, steps=steps)
    assert found.official
    assert found.messages(asked) == [{"role": "user", "content": wanted}]
    assert found.parse(" Rome.\n", asked) == "Rome."
    own = prompts.find("longmemeval", None, steps=steps)
    assert longmemeval_history(chunks) in own.messages(asked)[0]["content"]


def test_what_differs_from_the_official_layout_is_described(shared_data: Path) -> None:
    assert "the user's side alone" in prompts.find("longmemeval", shared_data).describe()["layout"]
    assert "hangs on the question" in prompts.find("locomo", shared_data).describe()["layout"]


def test_nothing_heavy_is_imported() -> None:
    import subprocess

    code = (
        "import sys, pytest_engram.reading.prompts; print({'numpy', 'yaml', 'openai', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
