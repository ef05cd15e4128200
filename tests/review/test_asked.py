"""Whether two runs had the same reader: by what answers depend on, and by nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_engram.review.asked import shared, together


def prompt(sha256: str = "aa", label: str = "official prompt", source: str = "here") -> dict[str, Any]:
    return {"label": label, "official": label == "official prompt", "sha256": {"answer": sha256}, "source": source}


def reader(**benchmarks: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "openai:m",
        "label": "m (openai)",
        "endpoint": "loopback",
        "settings": {name: settings for name, (settings, _) in benchmarks.items()},
        "prompt": {
            "label": "official prompt",
            "official": True,
            "benchmarks": {name: told for name, (_, told) in benchmarks.items()},
        },
        "notes": [],
        "server": {"owned_by": "llamacpp", "system_fingerprint": ["fp_1"]},
        "totals": {"answered": 3, "cost": 0.5, "unanswered": {"down": 1}},
    }


LOCOMO = ({"max_tokens": 32}, prompt())
FACTS = ({"max_tokens": 10}, prompt("bb"))


def alike(one: Any, other: Any) -> bool:
    first, second = shared(one, other)
    return bool(first == second)


def test_what_a_run_took_and_where_its_prompt_lay_changes_nothing() -> None:
    one = reader(locomo=LOCOMO)
    other = reader(locomo=({"max_tokens": 32}, prompt(source="elsewhere")))
    other |= {"totals": {"answered": 9}, "notes": ["slow"], "server": {"owned_by": "llamacpp"}}
    assert alike(one, other)
    assert alike(one, other | {"server": {}})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "openai:n"},
        {"endpoint": "example.org"},
        {"server": {"owned_by": "vllm"}},
        {"settings": {"locomo": {"max_tokens": 33}}},
        {"settings": {"locomo": {"max_tokens": 32, "seed": 1}}},
        {"prompt": {"label": "official prompt", "official": True, "benchmarks": {"locomo": prompt("cc")}}},
    ],
)
def test_what_answers_depend_on_makes_another_reader(change: dict[str, Any]) -> None:
    assert not alike(reader(locomo=LOCOMO), reader(locomo=LOCOMO) | change)


def test_of_two_runs_only_the_benchmarks_of_both_are_compared() -> None:
    assert alike(reader(locomo=LOCOMO), reader(factconsolidation=FACTS))
    assert alike(reader(locomo=LOCOMO), reader(factconsolidation=FACTS, locomo=LOCOMO))
    assert not alike(reader(locomo=LOCOMO), reader(factconsolidation=FACTS, locomo=FACTS))


def test_what_is_no_reader_is_compared_as_it_is() -> None:
    assert shared(None, {"name": "newest"}) == (None, {"name": "newest"})
    newest = {"name": "newest", "settings": {}, "totals": {"answered": 1}}
    assert alike(newest, {"name": "newest", "settings": {}, "totals": {"answered": 2}})
    assert not alike({"name": "a", "settings": {"prefix": "x"}}, {"name": "a", "settings": {"prefix": "y"}})


def test_a_whole_has_all_benchmarks_and_the_sum_of_what_was_taken() -> None:
    parts = [reader(locomo=LOCOMO), reader(factconsolidation=FACTS)]
    before = copy.deepcopy(parts)
    whole = together(parts)
    assert whole["settings"] == {"locomo": {"max_tokens": 32}, "factconsolidation": {"max_tokens": 10}}
    assert whole["prompt"]["benchmarks"] == {"locomo": LOCOMO[1], "factconsolidation": FACTS[1]}
    assert (whole["prompt"]["label"], whole["prompt"]["official"]) == ("official prompt", True)
    assert whole["totals"] == {"answered": 6, "cost": 1.0, "unanswered": {"down": 2}}
    assert parts == before
    parts[1]["totals"]["cost"] = None
    assert together(parts)["totals"]["cost"] is None
