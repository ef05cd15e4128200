"""A model's thought is no answer, in whatever form it is left in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.reading.thought import Cut, answer, plain


@pytest.mark.parametrize(
    "text",
    [
        "<think>Is it Oslo? No.</think>Rome",
        "<think>\nIs it Oslo?\n</think>\n\nRome",
        " \n<think></think>\n\nRome",
        "<THINK>Oslo?</THINK> Rome",
        "<thinking>Oslo?</thinking>Rome",
        "<thought>Oslo?</thought>Rome",
        "<reasoning>Oslo?</reasoning>\nRome",
        "<seed:think>Oslo?</seed:think>Rome",
        "Oslo? Its start stands in the prompt.</think>\nRome",
        "<think>one</think> <think>two</think> Rome",
        "<think>Oslo</think>Rome<think>Or not?</think>",
        "[THINK]Oslo?[/THINK]Rome",
        "<|START_THINKING|>Oslo?<|END_THINKING|>Rome",
        "<|begin_of_thought|>Oslo?<|end_of_thought|>Rome",
        "◁think▷Oslo?◁/think▷Rome",
        "<|channel>thought\nOslo?<channel|>Rome",
        "<|channel|>analysis<|message|>Oslo?<|end|><|start|>assistant<|channel|>final<|message|>Rome<|return|>",
        "<|channel|>analysis<|message|>Oslo?<|end|><|start|>assistant<|channel|>final<|message|>Rome",
        "<|channel|>final <|constrain|>text<|message|>Rome<|end|>",
        "analysisOslo? We need a city.assistantfinalRome",
    ],
)
def test_thought_is_taken_off(text: str) -> None:
    assert answer(text) == "Rome"


@pytest.mark.parametrize(
    "text",
    [
        "<think>Is it Oslo",
        "  <thinking>Is it Oslo",
        "[THINK]Oslo",
        "<think>one</think><think>two",
        "<|channel|>analysis<|message|>Is it Oslo",
        "<|channel|>analysis<|message|>Oslo<|end|><|start|>assistant<|channel|>commentary<|message|>Hm",
        "◁think▷Oslo",
    ],
)
def test_a_text_that_ends_inside_its_thought_is_no_answer(text: str) -> None:
    with pytest.raises(Cut):
        answer(text, ended=False)
    with pytest.raises(Cut):
        answer(text)


def test_a_tag_in_the_midst_of_an_answer_is_a_word_of_it_unless_it_was_cut() -> None:
    assert answer("The tag is <think>, I said.") == "The tag is <think>, I said."
    with pytest.raises(Cut):
        answer("Rome. <think>Or was it", ended=False)


def test_a_thought_without_an_answer_is_an_empty_one() -> None:
    assert answer("<think>Nothing to say.</think>") == ""


plain_texts = st.text(st.characters(blacklist_characters="<>[]|◁▷", blacklist_categories=("Cs",)), max_size=40)


@given(plain_texts.filter(lambda text: not text.lstrip().lower().startswith("analysis")))
def test_a_text_without_thought_stays_as_it_is(text: str) -> None:
    assert answer(text) == text


@given(plain_texts, plain_texts, st.sampled_from([("<think>", "</think>"), ("[THINK]", "[/THINK]")]))
def test_whatever_was_thought_only_the_answer_is_left(thought: str, said: str, tags: tuple[str, str]) -> None:
    assert answer(f"{tags[0]}{thought}{tags[1]}{said}") == said.strip()


def test_of_parts_those_of_type_text_are_the_answer() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Oslo?"}]}, {"type": "text", "text": "Rome"}]
    assert plain(parts) == "Rome"
    assert plain("Rome") == "Rome"
    assert plain(None) is None
    assert plain([{"type": "text", "text": None}]) == ""
