"""`resolved@k` and the four states of a fact: by hand, and against plain sets for any chain and any return."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from both import METRICS
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.judging import named
from pytest_engram.judging.judge import asked, judge
from pytest_engram.runs import schema
from pytest_engram.runs.outcome import BINARY, Outcome
from pytest_engram.suites.base import Gold, Hop, Key, Version

# 7 took the place of 3 and 5; nothing contradicts 2.
CONTRADICTED = Hop((Version("7", "Tokyo"),), (Version("3", "Kyoto"), Version("5", "Nara")))
SETTLED = Hop((Version("2", "Japan"),))


def key(*hops: Hop, metrics: tuple[str, ...] = ("answer@4", "resolved@4"), **fields: Any) -> Key:
    gold = Gold(("Tokyo",), ("7",), shown=("Tokyo",), hops=hops, **fields)
    return Key("hand", Path("hand.yaml"), metrics, {"q": gold})


def line(*ids: str, k: int = 4, **fields: Any) -> Outcome:
    return Outcome("hand", "q", "m", 1, k, list(ids), {}, "ok", **fields)


def states(made: Outcome) -> list[str]:
    return [hop["state"] for hop in made.fields["states"]]


@pytest.mark.parametrize(
    ("ids", "state"),
    [
        (["7", "1"], "new"),
        (["1", "3"], "old"),
        (["5", "1"], "old"),
        (["1", "5", "7"], "both"),
        (["1", "2"], "neither"),
        ([], "neither"),
    ],
)
def test_of_one_contradicted_fact_the_new_version_alone_resolves(ids: list[str], state: str) -> None:
    made = judge(key(CONTRADICTED), line(*ids), METRICS)
    assert made.metrics["resolved@4"] == (state == "new")
    assert made.fields["states"] == [{"state": state, "valid": ["7"], "superseded": ["3", "5"]}]
    assert made.hit == ("7" in ids)  # the suite's first metric decides, as before


def test_every_fact_on_the_way_must_be_resolved() -> None:
    both = key(SETTLED, CONTRADICTED)
    assert judge(both, line("7", "2"), METRICS).metrics["resolved@4"] == 1
    missing = judge(both, line("7", "1"), METRICS)
    assert (missing.metrics["resolved@4"], states(missing)) == (0, ["neither", "new"])
    old = judge(both, line("7", "2", "5"), METRICS)
    assert (old.metrics["resolved@4"], states(old)) == (0, ["new", "both"])


def test_only_the_first_count() -> None:
    two = key(CONTRADICTED, metrics=("resolved@2", "resolved@3"))
    made = judge(two, line("7", "1", "3", "5"), METRICS)
    assert made.metrics == {"resolved@2": 1, "resolved@3": 0}
    assert states(made) == ["new"]  # as deep as the first of them


def test_k_below_the_depth_measures_nothing() -> None:
    made = judge(key(CONTRADICTED), line("7", k=3), METRICS)
    assert made.metrics["resolved@4"] is None
    assert made.missing["resolved@4"] == "needs 4 ids, k is 3: raise --engram-k for every method"
    assert "states" not in made.fields


def test_where_nobody_asks_for_it_no_states_are_told() -> None:
    assert judge(key(CONTRADICTED, metrics=("answer@4",)), line("7"), METRICS).fields == {}


def test_unknown_facts_leave_the_question_out_of_this_metric_alone() -> None:
    why = {"resolved": "no chain"}
    made = judge(key(left_out=why), line("7"), METRICS)
    assert made.metrics == {"answer@4": 1}
    assert made.left_out == {"resolved@4": "no chain"}
    assert "states" not in made.fields
    untold = judge(key(), line("7"), METRICS)
    assert untold.metrics["resolved@4"] is None
    assert untold.missing["resolved@4"] == "which facts the question needs is not known"


def test_it_is_0_or_1() -> None:
    assert "resolved" in BINARY
    assert named.of(METRICS["resolved"]).reads is False


class TestMemoriesWithTextsOfTheirOwn:
    """By the entries behind a text, and by what it says: one made of both versions may have resolved them."""

    @pytest.mark.parametrize(
        ("text", "sources", "state"),
        [
            ("The capital is Tokyo now.", ["3", "7"], "new"),
            ("The capital is tokyo!", ["7"], "new"),
            ("The capital was Kyoto, and is Tokyo.", ["3", "7"], "both"),
            ("The capital is Kyoto.", ["3", "7"], "old"),
            ("There is a capital.", ["3", "7"], "neither"),
            ("Somebody was born in Tokyo.", ["1"], "neither"),
            ("Somebody was born in Kyoto.", ["1"], "neither"),
        ],
    )
    def test_a_text_tells_what_it_says_of_what_is_behind_it(self, text: str, sources: list[str], state: str) -> None:
        made = judge(key(CONTRADICTED), line(*sources, recalled=[{"text": text, "sources": sources}]), METRICS)
        assert states(made) == [state]
        assert made.metrics["resolved@4"] == (state == "new")

    def test_entries_beside_texts(self) -> None:
        recalled = [{"id": "3"}, {"text": "It is Tokyo.", "sources": ["7"]}]
        assert states(judge(key(CONTRADICTED), line("3", "7", recalled=recalled), METRICS)) == ["both"]

    def test_what_lies_behind_the_depth_does_not_count(self) -> None:
        recalled = [{"text": "It is Tokyo.", "sources": ["7"]}, {"text": "Kyoto", "sources": ["3"]}]
        made = judge(key(CONTRADICTED, metrics=("resolved@1",)), line("7", "3", recalled=recalled), METRICS)
        assert made.metrics["resolved@1"] == 1

    def test_without_sources_nobody_can_tell(self) -> None:
        made = judge(key(CONTRADICTED), line(recalled=[{"text": "It is Tokyo.", "sources": []}]), METRICS)
        assert made.metrics == {"answer@4": 1, "resolved@4": None}
        assert made.missing["resolved@4"].startswith("can't be traced")
        assert "states" not in made.fields


HOPS = st.lists(
    st.tuples(st.sets(st.integers(0, 3), min_size=1, max_size=2), st.sets(st.integers(4, 8), max_size=2)),
    min_size=1,
    max_size=3,
)


@given(HOPS, st.lists(st.integers(0, 9), unique=True, max_size=8), st.integers(1, 8))
def test_it_is_plain_sets(hops: list[tuple[set[int], set[int]]], ids: list[int], depth: int) -> None:
    made = [
        Hop(tuple(Version(str(i), "x") for i in sorted(valid)), tuple(Version(str(i), "y") for i in sorted(old)))
        for valid, old in hops
    ]
    found = judge(key(*made, metrics=(f"resolved@{depth}",)), line(*map(str, ids), k=8), METRICS)
    first = set(ids[:depth])
    assert found.metrics[f"resolved@{depth}"] == all(valid & first and not old & first for valid, old in hops)
    names = {(1, 0): "new", (0, 1): "old", (1, 1): "both", (0, 0): "neither"}
    assert states(found) == [names[bool(valid & first), bool(old & first)] for valid, old in hops]


class TestLog:
    def test_a_second_person_can_recount_it_and_judge_it_again(self) -> None:
        both = key(SETTLED, CONTRADICTED)
        made = judge(both, line("7", "2", "5"), METRICS)
        again = schema.outcome(json.loads(made.to_line()))
        assert again == made
        assert "states" not in asked(again).fields
        assert judge(both, asked(again), METRICS) == made
        for hop in again.fields["states"]:
            seen = (not set(hop["valid"]).isdisjoint(again.ids), not set(hop["superseded"]).isdisjoint(again.ids))
            assert {"new": (True, False), "both": (True, True)}[hop["state"]] == seen

    @pytest.mark.parametrize(
        "wrong",
        [[], "new", [{"state": "newer", "valid": [], "superseded": []}], [{"state": "new", "valid": ["7"]}], [3]],
    )
    def test_states_that_are_none_are_refused(self, wrong: object) -> None:
        made = judge(key(CONTRADICTED), line("7"), METRICS)
        record = json.loads(replace(made, fields={"states": wrong}).to_line())
        with pytest.raises(ValueError, match=r"fields\.states"):
            schema.outcome(record)
