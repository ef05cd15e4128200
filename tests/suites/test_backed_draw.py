"""Which contradictions are drawn, and which side of each is backed; on official facts where they are here."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import backing as written
import numpy as np
import pytest

from pytest_engram.basics.texts import normalise
from pytest_engram.suites.backed import backing, contradictions, levels, source
from pytest_engram.suites.backed.contradictions import Contradiction, draw
from pytest_engram.suites.facts import parse_facts

SEED = 20261008
# As the official facts word them, taken apart here by other means than the project's own.
WORDED = {
    written.SPORT: r"\d+\. (.+?) is associated with the sport of (.+)\.",
    "{s} is employed by {v}": r"\d+\. (.+?) is employed by (.+)\.",
}


def some(relation: str, n: int) -> list[Contradiction]:
    return [Contradiction(f"{i}-{i + 500}", f"S{i}", relation, ("a", "b"), ("A.", "B.")) for i in range(n)]


class TestDraw:
    def test_a_smaller_draw_begins_a_larger_one(self) -> None:
        found = [*some("x", 40), *some("w", 3)]
        small, large = draw(found, 2, SEED), draw(found, 10, SEED)
        assert [len(draw(found, each, SEED)) for each in (1, 2, 3, 10)] == [2, 4, 6, 13]
        for relation in ("w", "x"):
            of = [[one for one in drawn if one.contradiction.relation == relation] for drawn in (small, large)]
            assert of[1][: len(of[0])] == of[0]
        assert [one.contradiction.relation for one in large] == ["w"] * 3 + ["x"] * 10

    def test_halves_within_each_relation(self) -> None:
        drawn = draw([*some("x", 40), *some("w", 17), *some("v", 8)], 16, SEED)
        for relation, n in (("x", 16), ("w", 16), ("v", 8)):
            of = [one for one in drawn if one.contradiction.relation == relation]
            assert Counter(one.backed for one in of) == {"older": n / 2, "newer": n / 2}
            assert Counter(one.speakers for one in of) == {"one": n / 2, "many": n / 2}
            assert set(Counter((one.backed, one.speakers) for one in of).values()) == {n / 4}
            assert all({a.backed, b.backed} == {"older", "newer"} for a, b in zip(of[::2], of[1::2], strict=True))

    def test_chance_says_which_comes_first(self) -> None:
        """Of 200 pairs, about half begin with the older side: within four standard deviations."""
        firsts = [draw(some(f"r{i}", 2), 2, SEED)[0] for i in range(200)]
        for found in (Counter(one.backed for one in firsts), Counter(one.speakers for one in firsts)):
            assert all(abs(count - 100) < 4 * 7.1 for count in found.values())

    def test_another_seed_is_another_draw(self) -> None:
        found = some("x", 40)
        assert draw(found, 5, 1) == draw(found, 5, 1) != draw(found, 5, 2)


def official(shared_data: Path) -> tuple[Any, ...]:
    path = shared_data / "memoryagentbench" / "Conflict_Resolution.json"
    rows = {row["metadata"]["source"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    return parse_facts(rows[source.ROW]["context"])


@pytest.fixture(scope="module")
def entries(shared_data: Path) -> tuple[Any, ...]:
    return official(shared_data)


@pytest.fixture
def small(tmp_path: Path) -> backing.Backing:
    return backing.read(written.write(tmp_path / "facts.json"))


@pytest.mark.parametrize("relation", list(WORDED))
def test_the_official_contradictions(entries: tuple[Any, ...], small: backing.Backing, relation: str) -> None:
    said: dict[str, dict[str, int]] = {}
    for entry in entries:
        if match := re.fullmatch(WORDED[relation], entry.text):
            said.setdefault(match[1], {}).setdefault(match[2], int(entry.id))

    def words(text: str) -> str:
        return " " + " ".join(re.sub(r"[^\w\s]|_", "", text, flags=re.ASCII).lower().split()) + " "

    expected = set()
    for subject, values in said.items():
        if len(values) == 2:
            plain = [re.sub(r" (?:a|an|the)(?= )", "", words(name)) for name in (subject, *values)]
            if not any(i != j and a in b for i, a in enumerate(plain) for j, b in enumerate(plain)):
                expected.add("-".join(map(str, values.values())))
    found = {one.id for one in source.known(entries, small, "named") if one.relation == relation}
    assert found == expected
    assert len(found) > 100


class Told(NamedTuple):
    """What a strategy sees that reads nothing, and which side is backed."""

    features: list[float]
    older: bool
    contradiction: str


def seen(case: levels.Arranged, level: levels.Level, order: levels.Order) -> Told:
    """Places, counts, the lengths of both statements; of every entry that tells of the subject, its place.

    How long the other entries are is not among them: what backs a value holds it, and whoever measures that reads.
    """
    one = case.case.drawn.contradiction
    found, right = case.haystack(level, order)
    place = {entry.id: number for number, entry in enumerate(found)}
    older, newer = place[right.belief[0]], place[right.update[0]]
    about = [number for number, entry in enumerate(found) if one.subject in entry.text]
    size = len(found)
    lengths = [len(found[number].text) for number in (older, newer)]
    places = [older, newer, newer - older, size - newer, size, older / size, newer / size]
    counts = [sum(a < older for a in about), sum(older < a < newer for a in about), sum(a > newer for a in about)]
    measured = [*lengths, lengths[1] - lengths[0]]
    padded = (about + [-1] * 12)[:12]
    gaps = [b - a for a, b in pairwise(padded)]
    features = [float(number) for number in (*places, *counts, *measured, *padded, *gaps)]
    return Told(features, right.expected == "belief", one.id)


def test_nothing_but_the_texts_tells_the_backed_side(entries: tuple[Any, ...]) -> None:
    """A decision tree over places, counts and lengths gets no more than chance on contradictions that it never saw."""
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    facts, shipped = contradictions.surroundings(entries), backing.read(backing.shipped())
    drawn = draw(source.known(entries, shipped, "named"), 10, SEED)
    told = [
        seen(source.arranged(one, shipped, facts, "named"), level, order)
        for one in drawn
        for level in levels.LEVELS
        for order in levels.ORDERS
        if level.b
    ]
    features = np.array([one.features for one in told])
    older = np.array([one.older for one in told])
    groups = np.array([one.contradiction for one in told])
    assert older.mean() == 0.5
    for leaf in (1, 20, 100):
        tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
        right = cross_val_predict(tree, features, older, groups=groups, cv=GroupKFold(10)) == older
        # A contradiction's questions share their order: it counts as one.
        by_case = np.array([right[groups == name].mean() for name in np.unique(groups)])
        half = 1.96 * by_case.std(ddof=1) / np.sqrt(len(by_case))
        assert by_case.mean() - half <= 0.5, leaf


def test_the_surroundings_mention_none_of_the_names(entries: tuple[Any, ...], small: backing.Backing) -> None:
    facts = contradictions.surroundings(entries)
    by_text = {entry.text.partition(". ")[2]: entry for entry in entries}
    for drawn in draw(source.known(entries, small, "named"), 20, SEED):
        one = drawn.contradiction
        around = source.arranged(drawn, small, facts, "named").case.surroundings
        assert len(set(around)) == 60
        assert all(text in by_text for text in around)
        for name in (one.subject, *one.values):
            assert not any(re.search(rf"\b{re.escape(normalise(name))}\b", normalise(text)) for text in around)
        # Two versions of a fact share the text before the value: no two of these do, word by word from the start.
        about = [contradictions.relations.statement(text) for text in around]
        assert len({(told.subject, told.relation) for told in about if told}) == 60


def test_no_speaker_is_named_by_an_official_fact(entries: tuple[Any, ...]) -> None:
    assert len(set(levels.SPEAKERS)) == len(levels.SPEAKERS) >= 60 + 2 + 5 + 5
    words = set(re.findall(r"\w+", " ".join(entry.text for entry in entries).casefold()))
    assert not words & {name.casefold() for name in levels.SPEAKERS}
