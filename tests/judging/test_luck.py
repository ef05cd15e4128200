"""Hits that rest on a serial number or on a part of a word, and gold that is not there: official values, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import runs

from pytest_engram.basics.texts import PART, SERIAL, contains_word, normalise
from pytest_engram.judging import METRICS
from pytest_engram.judging.judge import judge
from pytest_engram.report import aggregate, tables
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites import facts
from pytest_engram.suites.base import Gold, Key

CONTEXT = """Facts
14. Person O was born in Eurasia.
15. Person P likes jazz.
16. Person Q paid 15 crowns.
17. Person R lives in Asia.
18. Person S has the number 1500."""


def metrics() -> Any:
    from pytest_engram.basics.registry import Registry

    return Registry("metric", METRICS)


def key(*answers: str) -> Key:
    spec = facts.FactSpec(
        engram="pilot",
        name="own",
        metrics=["answer@2", "subem"],
        source="demo_fc",
        questions=[facts.PilotQuestion(id="q_no0", text=facts_fingerprint("What?"))],
    )
    row = facts.FactRow("row", CONTEXT, (facts.FactQuestion("q_no0", "What?", answers, {}),), "here")
    return facts.load(spec, Path("own.yaml"), row).key


def facts_fingerprint(text: str) -> str:
    from pytest_engram.suites.fingerprints import fingerprint

    return fingerprint(text)


def judged(asked: Key, *ids: str, answer: str | None = None) -> Outcome:
    line = Outcome("own", "q_no0", "m", 1, 10, list(ids), {}, status="ok", haystack=100, item="q000[m]", answer=answer)
    return judge(asked, line, metrics())


@pytest.mark.parametrize(
    ("answer", "ids", "value", "rests"),
    [
        ("15", ["15", "17"], 1.0, SERIAL),  # the official rule finds it in "15. Person P likes jazz."
        ("15", ["15", "16"], 1.0, None),
        ("15", ["18", "17"], 1.0, PART),
        ("Asia", ["14", "15"], 1.0, PART),  # in "Eurasia"
        ("Asia", ["14", "17"], 1.0, None),
        ("Asia", ["15", "16"], 0.0, None),
        ("jazz", ["15", "16"], 1.0, None),
    ],
)
def test_the_official_value_stays_and_what_it_rests_on_is_told(
    answer: str, ids: list[str], value: float, rests: str | None
) -> None:
    found = judged(key(answer), *ids)
    assert (found.metrics["answer@2"], found.hit) == (value, value == 1.0)
    assert found.fields.get("by_chance", {}).get("answer@2") == rests


def test_so_it_is_for_a_reader_s_answer_and_for_a_memory_s_own_texts() -> None:
    found = judged(key("Asia"), "15", answer="Eurasia, I think.")
    assert (found.metrics["subem"], found.fields["by_chance"]) == (1.0, {"subem": PART})
    assert "by_chance" not in judged(key("Asia"), "15", answer="In Asia.").fields
    line = Outcome("own", "q_no0", "m", 1, 10, ["14"], {}, status="ok", haystack=100, item="q000[m]")
    line.recalled = [{"text": "O is of Eurasia", "sources": ["14"]}]
    found = judge(key("Asia"), line, metrics())
    assert (found.metrics["answer@2"], found.fields["by_chance"]) == (1.0, {"answer@2": PART})


@pytest.mark.parametrize(
    ("text", "answer", "whole"),
    [
        ("in eurasia", "asia", False),
        ("in asia minor", "asia", True),
        ("in asia minor", "Asia Minor", True),
        ("eurasia and asia", "asia", True),
        ("彼は東京に住む", "東京", True),  # no spaces: whether it is a word, nobody can tell from the text
        ("born 1500", "15", False),
        ("anything", "", False),
        ("in the usa", "U.S.A.", True),
    ],
)
def test_words(text: str, answer: str, whole: bool) -> None:
    assert contains_word(normalise(text), [answer]) is whole


def test_the_table_counts_them() -> None:
    outcomes = [runs.outcome(f"q{number}", 1.0) for number in range(4)] + [runs.outcome("q4", 0.0)]
    outcomes[0].fields["by_chance"] = {"answer@10": SERIAL}
    outcomes[1].fields["by_chance"] = {"answer@10": PART}
    outcomes[2].fields["by_chance"] = {"answer@10": SERIAL}
    found = aggregate.aggregate(outcomes, runs.manifest(outcomes))
    (row,) = (row for row in found["rows"] if row["metric"] == "answer@10")
    told = "3 of 4 hits are hits by the official rule alone, and rest on no word: 2 on a serial number"
    told += ", 1 on a part of a word"
    assert (row["value"], row["marks"]) == (0.8, [told])
    assert told in tables.to_markdown(found)


def test_gold_that_is_in_no_haystack_is_told_and_no_hit() -> None:
    gold = {"there": Gold(relevant=["1"], ceiling=True), "gone": Gold(relevant=[], ceiling=False)}
    asked = Key("own", Path("own.yaml"), ["recall_all@10"], gold)
    lines = [judge(asked, _asked(name), metrics()) for name in gold]
    assert [(line.metrics["recall_all@10"], line.hit, line.ceiling) for line in lines] == [
        (1.0, True, True),
        (1.0, False, False),  # officially all of nothing was recalled
    ]
    found = aggregate.aggregate(lines, runs.manifest(lines))
    (row,) = (row for row in found["rows"] if row["metric"] == "recall_all@10")
    assert row["marks"] == ["nothing that answers 1 of 2 questions is in the haystack: officially 1.0, and no hit"]
    (ceiling,) = (one["value"] for one in found["ceilings"] if one["of"] == "entry")
    assert ceiling == 0.5


def _asked(name: str) -> Outcome:
    return Outcome("own", name, "m", 1, 10, ["1", "2"], {}, status="ok", haystack=100, item=f"{name}[m]")
