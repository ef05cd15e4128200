"""Pairs of official facts that contradict each other, and the seeded draw of those that are asked about."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from pytest_engram.basics.texts import normalise
from pytest_engram.memory import Entry
from pytest_engram.suites import relations

Age: TypeAlias = Literal["older", "newer"]
Voices: TypeAlias = Literal["one", "many"]


class Contradiction(NamedTuple):
    """Two values that the official facts give for one subject and relation.

    Attributes:
        id: the serial numbers of the two facts.
        subject, relation: what both tell of; the relation is its template.
        values: as the facts word them, the one that was told first before the other.
        facts: the whole facts, without their serial numbers, in the same order.
    """

    id: str
    subject: str
    relation: str
    values: tuple[str, str]
    facts: tuple[str, str]


class Drawn(NamedTuple):
    """A contradiction to ask about, which of its sides is backed, and how many voices repeat the other one."""

    contradiction: Contradiction
    backed: Age
    speakers: Voices


class Fact(NamedTuple):
    """An official fact that may stand around a contradiction: without its number, normalised, and what it tells of."""

    text: str
    words: str  # as `worded` has them
    about: tuple[str, str]


@cache
def surroundings(entries: tuple[Entry, ...]) -> tuple[Fact, ...]:
    """All facts of known wording, in the order of their serial numbers."""
    found = []
    for entry in entries:
        if told := relations.statement(entry.text):
            text = unnumbered(entry)
            found.append(Fact(text, worded(text), (told.subject, told.relation)))
    return tuple(found)


def worded(text: str) -> str:
    """The words of a text or a name, normalised as for SubEM, between spaces: one is named by the other as a part.

    "Truman's child" names Truman: a genitive is no part of a name.
    """
    return f" {normalise(_GENITIVE.sub('', text))} "


_GENITIVE = re.compile(r"['’]s\b")


@cache
def contradictions(entries: tuple[Entry, ...]) -> tuple[Contradiction, ...]:
    """Those of two values in which no name is part of another, in the order of their first facts.

    Of "European Baseball Championship" and "baseball" the subject alone would tell which side is right, and what backs
    "rugby union" names "rugby" as well.
    """
    found = []
    for (subject, relation), told in relations.said(entries).items():
        (first, one), (last, other) = told[0], told[-1]
        if len({value for _, value in told}) == 2 and one != other and _apart(subject, one, other):
            facts = (unnumbered(first), unnumbered(last))
            found.append(Contradiction(f"{first.id}-{last.id}", subject, relation, (one, other), facts))
    return tuple(found)


def unnumbered(entry: Entry) -> str:
    """An official fact as it is worded, without its serial number."""
    return entry.text.removeprefix(f"{entry.id}.").strip()


def _apart(*given: str) -> bool:
    words = [worded(name) for name in given]
    return not any(i != j and words[i] in words[j] for i in range(len(words)) for j in range(len(words)))


def draw(found: Iterable[Contradiction], each: int, seed: int) -> list[Drawn]:
    """Up to `each` contradictions of every relation, in the order of the relations' names.

    A smaller draw is the beginning of a larger one, relation by relation. Of two that follow each other, the older
    side is backed in one and the newer in the other, and one voice repeats in one and many in the other; of four, each
    combination stands once. Chance says which comes first.
    """
    by_relation: dict[str, list[Contradiction]] = {}
    for one in found:
        by_relation.setdefault(one.relation, []).append(one)
    drawn: list[Drawn] = []
    for relation in sorted(by_relation):
        rng = random.Random(f"{seed} {relation}")
        order = rng.sample(by_relation[relation], len(by_relation[relation]))
        sides = _sides(random.Random(f"{seed} sides of {relation}"), each)
        drawn += [Drawn(one, *side) for one, side in zip(order, sides, strict=False)]
    return drawn


def _sides(rng: random.Random, n: int) -> Sequence[tuple[Age, Voices]]:
    found: list[tuple[Age, Voices]] = []
    while len(found) < n:
        older, newer = rng.sample(_VOICES, 2)
        for voices in ((older, newer), (newer, older)):
            found += rng.sample([("older", voices[0]), ("newer", voices[1])], 2)
    return found[:n]


_VOICES: tuple[Voices, Voices] = ("one", "many")


def around(one: Contradiction, facts: Sequence[Fact], n: int, rng: random.Random) -> list[str] | None:
    """`n` facts that mention neither the subject nor a value, each about something else; None: there are too few."""
    named = [worded(name) for name in (one.subject, *one.values)]
    found: list[str] = []
    told: set[tuple[str, str]] = set()
    for place in _places(len(facts), rng):
        fact = facts[place]
        if fact.about in told or any(name in fact.words for name in named):
            continue
        told.add(fact.about)
        found.append(fact.text)
        if len(found) == n:
            return found
    return None


def _places(n: int, rng: random.Random) -> Iterable[int]:
    """0 to n - 1 in a random order, no more of them drawn than are asked for."""
    seen: set[int] = set()
    while len(seen) < n:
        place = rng.randrange(n)
        if place not in seen:
            seen.add(place)
            yield place
