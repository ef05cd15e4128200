"""What is left of a line, and of a known answer, once their texts are withheld."""

from __future__ import annotations

import hashlib

import pytest
import runs
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.asking.recorded import Recording
from pytest_engram.judging.judge import NO_JUDGE, NO_READER
from pytest_engram.judging.named import NO_EVIDENCE, UNTRACED
from pytest_engram.judging.recorded import NO_VERDICT
from pytest_engram.judging.scoring import NO_SUPPORT
from pytest_engram.judging.versions import NO_HOPS
from pytest_engram.plugin.answers import WAITING as UNJUDGED
from pytest_engram.reading.desk import WAITING as UNREAD
from pytest_engram.reading.purse import Purse
from pytest_engram.runs.known import KnownAnswer, merged
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import plain, withhold, withhold_known


def limits() -> list[str]:
    spent, unknown = Purse(0.5), Purse(1e-05)
    spent.take(0.6)
    unknown.take(None)
    return [str(spent.closed()), str(unknown.closed()), str(Purse(0).closed())]


@pytest.mark.parametrize(
    "reason",
    [
        "",
        NO_READER,
        NO_JUDGE,
        NO_EVIDENCE,
        UNTRACED,
        NO_VERDICT,
        NO_SUPPORT,
        NO_HOPS,
        UNREAD,
        UNJUDGED,
        *limits(),
        Recording("mem.jsonl").lacks("talk"),
        "needs 20 ids, k is 10: raise --engram-k for every method",
        "needs more ids, to cover 5 sessions, than k, which is 3: raise --engram-k",
        "the judge gave both labels",
    ],
)
def test_a_reason_of_our_own_words_stays(reason: str) -> None:
    assert plain(reason) == reason


@pytest.mark.parametrize(
    ("reason", "left"),
    [
        ("ValueError: What is the zebrafish?", "ValueError: withheld"),
        ("Skipped: zebrafish", "Skipped: withheld"),
        ("zebrafish: aquamarine", "withheld"),
        ("m at loopback: refused (400): What is the zebrafish?", "withheld"),
        (f"{NO_READER} zebrafish", "withheld"),
        ("needs zebrafish", "withheld"),
        ("--engram-max-cost of $zebrafish is reached", "withheld"),
        ("a zebrafish has no line for this question", "withheld"),
    ],
)
def test_any_other_may_quote_a_text(reason: str, left: str) -> None:
    assert plain(reason) == left
    assert plain(left) == left


@given(st.text(max_size=40), st.text(max_size=40), st.dictionaries(st.sampled_from(["f1", "judged"]), st.text()))
def test_a_line_without_its_texts_stays_as_it_is(query: str, reason: str, missing: dict[str, str]) -> None:
    line = runs.outcome(
        "q",
        None,
        query=query,
        reason=reason,
        missing=missing,
        answer=query,
        gold=[query],
        dropped=[{"id": "1", "by": "2", "why": query, "rank": 1}],
        recalled=[{"text": query, "sources": ["1"]}, {"id": "2"}],
    )
    once = withhold(line)
    assert withhold(once) == once
    assert (once.query, once.gold, once.answer) == ("", [], None)
    assert once.dropped == [{"id": "1", "by": "2", "why": "withheld" if query else "", "rank": 1}]
    assert once.recalled == [{"text": "", "sources": ["1"]}, {"id": "2"}]
    assert (once.ids, once.metrics) == (line.ids, line.metrics)
    assert line.query == query  # the run goes on with the whole one


def test_what_was_dropped_for_no_given_reason_stays() -> None:
    line: Outcome = runs.outcome("q", 1.0, dropped=[{"id": "1", "by": "2"}])
    assert withhold(line).dropped == [{"id": "1", "by": "2"}]


def test_a_known_answer_has_a_hash_in_its_text_s_place_and_parts_keep_each() -> None:
    two = [KnownAnswer("s", "q", "given", "wrong", text, reason=f"it said {text}") for text in ("Oslo", "Rome")]
    hidden = [withhold_known(one) for one in two]
    assert hidden[0].answer == "sha256:" + hashlib.sha256(b"Oslo").hexdigest()[:16]
    assert {one.reason for one in hidden} == {"withheld"}
    assert merged([[hidden[0]], hidden]) == hidden
