"""The shipped contradictions, over the official facts: which are drawn, and what every haystack says of either side."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from both import METRICS, Both

from pytest_engram.basics.registry import Registry
from pytest_engram.suites import SOURCES, loading, shipped_cases
from pytest_engram.suites.relations import statement

SHIPPED = {"backed_fc": "pilot", "backed_fc_implied": "pilot", "backed_fc_full": "full"}


@cache
def loaded(name: str, data: Path | None) -> Both:
    sources: Registry[Any] = Registry("data source", SOURCES)
    path = shipped_cases() / SHIPPED[name] / f"{name}.yaml"
    return Both(*loading.load(path, data, sources=sources, metrics=METRICS, look=data is not None))


def drawn(one: Both) -> dict[str, dict[str, Any]]:
    """By contradiction, what gold says of its highest level."""
    return {one.gold(q).fields["contradiction"]: one.gold(q).fields for q in one.questions if "-b3-m5-" in q.id}


@pytest.mark.parametrize(
    ("name", "each", "least"), [("backed_fc", 2, 30), ("backed_fc_implied", 4, 4), ("backed_fc_full", 10, 30)]
)
def test_so_many_of_each_relation_half_of_them_backed_on_either_side(
    shared_data: Path, name: str, each: int, least: int
) -> None:
    one = loaded(name, shared_data)
    assert one.describe()["official"] is True
    assert one.describe()["notes"] == [
        "The facts that back a side are written by hand, from templates: suggestive, not evidence."
    ]
    found = drawn(one)
    relations = Counter(fields["relation"] for fields in found.values())
    assert set(relations.values()) == {each}
    assert len(relations) == one.describe()["relations"] >= least
    for what in ("backed", "speakers"):
        halves = Counter((fields["relation"], fields[what]) for fields in found.values())
        assert set(halves.values()) == {each / 2}
    assert len(one.questions) == len(found) * 14


def test_the_pilot_is_part_of_the_full_suite(shared_data: Path) -> None:
    small, full = (drawn(loaded(name, shared_data)) for name in ("backed_fc", "backed_fc_full"))
    for id_, fields in small.items():
        assert {**full[id_], "order": fields["order"]} == fields


def plain(text: str) -> str:
    """Its words between spaces, without articles, punctuation, case and genitives."""
    words = re.sub(r"['’]s(?!\w)", " ", text.lower())
    kept = [word for word in re.sub(r"[^\w\s]|_", "", words, flags=re.ASCII).split() if word not in ("a", "an", "the")]
    return f" {' '.join(kept)} "


@pytest.mark.parametrize("name", list(SHIPPED))
def test_what_a_haystack_says_of_either_side(shared_data: Path, name: str) -> None:
    """Who counts the entries that name a value finds 1 + b and 1 + m of them; of implied backers, 1 and 1 + m."""
    one = loaded(name, shared_data)
    for question in one.questions:
        entries, gold = one.haystack(question.haystack), one.gold(question)
        fields = gold.fields
        by_id = {entry.id: entry for entry in entries}
        older, newer = (by_id[ids[0]] for ids in (gold.detail.belief, gold.detail.update))
        assert older.time < newer.time
        told = [statement(entry.text) for entry in (older, newer)]
        assert {(s.subject, s.relation) for s in told if s} == {(told[0].subject, fields["relation"])}  # type: ignore[union-attr]
        texts = [plain(entry.text) for entry in entries]
        naming = [sum(plain(s.value) in text for text in texts) for s in told if s]
        b = fields["b"] if fields["kind"] == "named" else 0
        sides = [b, fields["m"]] if fields["backed"] != "newer" else [fields["m"], b]
        assert naming == [1 + sides[0], 1 + sides[1]], question.id
        subject = plain(told[0].subject)  # type: ignore[union-attr]
        assert sum(subject in text for text in texts) == 2 + fields["b"] + fields["m"]
        assert len(entries) == 62 + fields["b"] + fields["m"]


def test_no_text_of_the_official_facts_is_committed(shared_data: Path) -> None:
    for name, folder in SHIPPED.items():
        text = (shipped_cases() / folder / f"{name}.yaml").read_text(encoding="utf-8")
        one = loaded(name, shared_data)
        assert not any(question.query in text for question in one.questions)
        assert all(re.search(rf"\b{question.id.rsplit('-', 3)[0]}\b", text) for question in one.questions)


@pytest.mark.parametrize("name", list(SHIPPED))
def test_without_data_each_is_listed(shared_data: Path, name: str) -> None:
    listed, there = loaded(name, None), loaded(name, shared_data)
    assert [question.id for question in listed.questions] == [question.id for question in there.questions]
    assert listed.suite.runnable() == []
