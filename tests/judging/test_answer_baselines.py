"""What a reader is given where no memory chose it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from both import METRICS
from hypothesis import given as drawn
from hypothesis import strategies as st

from pytest_engram.basics.registry import Registry
from pytest_engram.judging.baselines import NAMES, Unknown, evidence, given, judged, left_out
from pytest_engram.memory import Entry
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites import SOURCES, loading, shipped_cases
from pytest_engram.suites.base import Gold, Hop, Key, Version
from pytest_engram.suites.locomo import source as locomo


def words(texts: Any) -> int:
    """Tokens by hand."""
    return sum(len(text.split()) for text in texts)


# Ada moved: the first hop has an old version, and the valid one is said twice.
HAYSTACK = [
    Entry("old", "Ada lives in Rome", 1),
    Entry("new", "Ada lives in Oslo", 2),
    Entry("noise1", "Bo keeps many bees", 3),
    Entry("again", "Oslo is where Ada lives", 4),
    Entry("noise2", "Cy likes tea", 5),
    Entry("mayor", "the mayor of Oslo is Eva", 6),
    Entry("noise3", "Di walks", 7),
    Entry("chance", "Evariste proved it", 8),
]
CHAIN = Gold(
    answers=("Eva",),
    relevant=("mayor", "chance"),  # "Evariste" holds the letters of the answer
    hops=(
        Hop((Version("new", "Oslo"), Version("again", "Oslo")), (Version("old", "Rome"),)),
        Hop((Version("mayor", "Eva"),)),
    ),
)


def ids(name: str, gold: Gold = CHAIN, question: str = "q", entries: list[Entry] = HAYSTACK) -> list[str]:
    return [entry.id for entry in given(name, entries, gold, question, words)]


def test_each_by_hand() -> None:
    assert list(NAMES) == ["no-memory", "placebo", "oracle", "full-context"]  # the cheap ones first
    assert ids("no-memory") == []
    assert ids("oracle") == ["new", "again", "mayor"]  # every hop in its valid version, in the haystack's order
    assert ids("full-context") == [entry.id for entry in HAYSTACK]
    # The evidence has 4 + 5 + 6 = 15 words; all that is neither evidence, old, nor holds the answer has 4 + 3 + 2.
    assert ids("placebo") == ["noise1", "noise2", "noise3"]


def test_the_evidence_is_what_answers_where_there_are_no_facts() -> None:
    assert evidence(Gold(relevant=["b", "a"])) == {"a", "b"}
    with pytest.raises(Unknown, match="no entry of the haystack is known to answer"):
        evidence(Gold())
    with pytest.raises(Unknown, match="no evidence: a hop is named by nobody"):
        evidence(Gold(relevant=["a"], left_out={"resolved": "a hop is named by nobody"}))
    for name in ("oracle", "placebo"):
        with pytest.raises(Unknown, match="no evidence"):
            ids(name, Gold())
    assert ids("no-memory", Gold()) == []
    assert len(ids("full-context", Gold())) == 8


def test_a_placebo_needs_a_tokenizer() -> None:
    with pytest.raises(Unknown, match="no tokenizer"):
        given("placebo", HAYSTACK, CHAIN, "q", None)
    assert len(given("oracle", HAYSTACK, CHAIN, "q", None)) == 3


@drawn(
    st.lists(st.integers(1, 30), min_size=2, max_size=25), st.integers(1, 60), st.text("abc", min_size=1, max_size=4)
)
def test_a_placebo_is_of_other_entries_and_of_nearly_as_many_tokens(sizes: list[int], goal: int, question: str) -> None:
    entries = [Entry("gold", " ".join(["g"] * goal), 0)]
    entries += [Entry(f"e{n}", " ".join(["w"] * size), n + 1) for n, size in enumerate(sizes)]
    gold = Gold(relevant=["gold"])
    found = given("placebo", entries, gold, question, words)
    assert found == given("placebo", entries, gold, question, words)
    assert "gold" not in {entry.id for entry in found}
    assert found == [entry for entry in entries if entry in found]  # each once, in the haystack's order
    tokens = words(entry.text for entry in found)
    # Off by half an entry at most, unless one alone is too long, or there is no more.
    assert abs(tokens - goal) <= 15 or len(found) in (1, len(sizes))


def test_another_question_draws_others() -> None:
    many = [Entry("gold", "one two three", 0), *(Entry(f"e{n}", "w", n + 1) for n in range(200))]
    gold = Gold(relevant=["gold"])
    draws = {tuple(ids("placebo", gold, f"q{n}", many)) for n in range(20)}
    assert len(draws) == 20
    assert {len(draw) for draw in draws} == {3}
    # It goes by each entry alone: one that is not drawn may come or go.
    first = ids("placebo", gold, "q0", many)
    assert ids("placebo", gold, "q0", [entry for entry in many if entry.id in {"gold", *first}]) == first


def line(**fields: Any) -> Outcome:
    return Outcome("s", "q", "oracle", 0, 10, ["new", "again", "mayor"], {}, "ok", **fields)


def key(gold: Gold, *metrics: str) -> Key:
    return Key("s", Path("s.yaml"), metrics, {"q": gold})


def test_a_baseline_is_judged_by_its_answer_alone() -> None:
    found = judged(key(CHAIN, "answer@10", "resolved@10", "subem"), line(answer="It is Eva.", reader="m"), METRICS)
    assert found.metrics == {"subem": 1.0}
    assert (found.missing, found.hit, found.gold_ids, found.fields) == ({}, None, [], {})
    assert (found.answer, found.reader, found.gold) == ("It is Eva.", "m", [])
    unread = judged(key(CHAIN, "answer@10", "subem"), line(missing={"answer": "the endpoint is away"}), METRICS)
    assert (unread.metrics, unread.missing) == ({"subem": None}, {"subem": "the endpoint is away"})


def test_what_can_not_be_asked_is_in_no_mean() -> None:
    found = left_out(key(CHAIN, "answer@10", "subem", "f1"), line(), METRICS, "no evidence: so it is")
    assert found.metrics == {}
    assert found.missing == {}
    assert found.left_out == {"subem": "no evidence: so it is", "f1": "no evidence: so it is"}


def test_locomo_s_oracle_is_given_the_turns_that_the_file_names(shared_data: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGRAM_CACHE", str(tmp_path))
        full = shipped_cases() / "full" / "locomo.yaml"
        whole = loading.load(full, shared_data, sources=Registry("data source", SOURCES), metrics=METRICS)
    (first, *_) = json.loads((shared_data / locomo.FILE).read_text(encoding="utf-8"))
    turns = {
        turn["dia_id"]: turn["text"]
        for said in first["conversation"].values()
        if isinstance(said, list)
        for turn in said
    }
    entries = whole.suite.haystack(next(q.haystack for q in whole.suite.questions if q.id == "locomo_0_qa0"))
    for number, qa in enumerate(first["qa"][:40]):
        id_ = f"locomo_0_qa{number}"
        wanted = {turns[named] for named in qa["evidence"] if named in turns}
        if not wanted:  # no evidence, or such that no turn has
            with pytest.raises(Unknown, match="no evidence"):
                given("oracle", entries, whole.key.gold(id_), id_, None)
            continue
        found = given("oracle", entries, whole.key.gold(id_), id_, None)
        assert len(found) == len(wanted)
        assert all(any(text in entry.text for entry in found) for text in wanted)
