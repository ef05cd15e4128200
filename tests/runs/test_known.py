"""Known answers as a run's folder holds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.runs import known
from pytest_engram.runs.known import KnownAnswer

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ANSWERS = st.lists(
    st.builds(
        KnownAnswer,
        TEXT,
        TEXT,
        TEXT,
        st.sampled_from(["wrong", "right"]),
        TEXT,
        st.lists(st.booleans(), max_size=3),
        TEXT,
        st.none() | TEXT,
    ),
    unique_by=lambda one: one.place,
    max_size=6,
)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_what_is_written_is_read_and_order_does_not_matter(found: list[KnownAnswer], order: object) -> None:
    text = known.write(found)
    assert sorted(known.read(text), key=lambda one: one.place) == sorted(found, key=lambda one: one.place)
    order.shuffle(found)  # type: ignore[attr-defined]
    assert known.write(found) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nope\n", "line 1: invalid json"),
        ('{"suite": 1}\n', "line 1: suite: input should be a valid string"),
        ('\n{"suite":"s","question_id":"q","kind":"k","truth":"maybe","answer":"a"}', "line 2: truth: "),
    ],
)
def test_a_line_that_is_none_is_told_with_its_number(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        known.read(text)


def test_parts_have_each_answer_once_and_a_verdict_stands_for_a_reason() -> None:
    lost = KnownAnswer("s", "q", "vague", "wrong", "some", reason="it was away")
    had = KnownAnswer("s", "q", "vague", "wrong", "some", [True])
    other = KnownAnswer("s", "q", "reworded", "right", "this")
    assert known.merged([[lost, other], [had]]) == [had, other]
    assert known.merged([[had], [lost, other]]) == [had, other]
