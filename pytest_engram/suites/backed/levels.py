"""The haystacks of one contradiction: how many facts back a side, how often the other is repeated, who is older.

Everything of a contradiction has its place in one seeded order, in which a level leaves out what it does not have: a
level with more backers is the one with fewer, and some facts put in between. The order knows nothing of which side is
backed, or of which value is the older one. Nothing that a text does not say can therefore tell the side.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

from pytest_engram.memory import Entry
from pytest_engram.suites.backed.contradictions import Drawn, Voices

METRICS = ("correct", "followed", "resisted")  # whether the backed side came back alone: of all, newer, older ones
SURROUNDINGS = 60  # official facts in every haystack
MOST = 5  # facts that back a side, and remarks that repeat the other

Order: TypeAlias = Literal["ab", "ba"]
ORDERS: tuple[Order, Order] = ("ab", "ba")  # the value that was officially told first is the older one, or the newer
_KINDS = {"surroundings": SURROUNDINGS, "statement": 2, "backer": MOST, "repeat": MOST}


class Level(NamedTuple):
    """How many facts back the one side, and how many remarks repeat the other side's statement."""

    b: int
    m: int


LEVELS = (Level(0, 0), Level(1, 0), Level(3, 0), Level(5, 0), Level(3, 1), Level(3, 3), Level(3, 5))


class Statements(NamedTuple):
    """What is right in a haystack: ids of the older statement and of the newer one, and which of them is backed.

    The words are those of micro-tests: the older one is the belief, the newer one its update.
    """

    belief: tuple[str, ...]
    update: tuple[str, ...]
    expected: Literal["belief", "update"] | None
    also: tuple[str, ...] = ()


class Asked(NamedTuple):
    """One question: the ids of its parts make its own."""

    contradiction: str
    level: Level
    order: Order

    @property
    def id(self) -> str:
        """Such as "12-345-b3-m1-ab"."""
        return f"{self.contradiction}-b{self.level.b}-m{self.level.m}-{self.order}"


def asked(contradiction: str) -> list[Asked]:
    """All questions about a contradiction."""
    return [Asked(contradiction, level, order) for level, order in product(LEVELS, ORDERS)]


@dataclass(frozen=True, slots=True)
class Case:
    """All texts of one contradiction.

    Attributes:
        drawn: the contradiction, and which side is backed.
        surroundings: 60 facts about other things.
        backers: of each value, in the order of the contradiction's values, the facts that back it.
        repeats: of each value, remarks that say it again.
    """

    drawn: Drawn
    surroundings: Sequence[str]
    backers: tuple[Sequence[str], Sequence[str]]
    repeats: tuple[Sequence[str], Sequence[str]]


class _Slot(NamedTuple):
    """A place in the order of a contradiction: what stands there, which one of its kind, and whoever says it."""

    kind: str
    number: int
    source: str


@dataclass(frozen=True, slots=True)
class Arranged:
    """A contradiction whose order is drawn.

    Attributes:
        case: its texts.
        slots: all of its entries, in their order of time; of the two statements, the first one is the older.
    """

    case: Case
    slots: Sequence[_Slot]

    def haystack(self, level: Level, order: Order) -> tuple[list[Entry], Statements]:
        """The entries of a level in order of time, and what is right there."""
        drawn = self.case.drawn
        older = ORDERS.index(order)  # which of the two values
        backed = older if drawn.backed == "older" else 1 - older
        texts: Mapping[str, Sequence[str]] = {
            "surroundings": self.case.surroundings,
            "statement": [drawn.contradiction.facts[older], drawn.contradiction.facts[1 - older]],
            "backer": self.case.backers[backed][: level.b],
            "repeat": self.case.repeats[1 - backed][: level.m],
        }
        entries: list[Entry] = []
        stated: list[str] = []
        for kind, number, source in self.slots:
            if number < len(texts[kind]):
                place = len(entries) + 1
                entries.append(Entry(f"e{place:03d}", texts[kind][number], float(place), source))
                if kind == "statement":
                    stated.append(entries[-1].id)
        side: dict[str, Literal["belief", "update"]] = {"older": "belief", "newer": "update"}
        return entries, Statements((stated[0],), (stated[1],), side[drawn.backed] if level.b else None)


def arrange(case: Case, seed: int) -> Arranged:
    """Everything of a contradiction in an order that its id and the seed decide alone.

    Everybody says one thing, but where one voice repeats: then that is whoever made the repeated statement.
    """
    drawn = case.drawn
    rng = random.Random(f"{seed} order of {drawn.contradiction.id}")
    kinds = [kind for kind, n in _KINDS.items() for _ in range(n)]
    rng.shuffle(kinds)
    # One place of a kind is like another: numbered as they come, but for backers and remarks, which come as drawn.
    numbers = {kind: list(range(n)) for kind, n in _KINDS.items()}
    for kind in ("backer", "repeat"):
        rng.shuffle(numbers[kind])
    said = list(zip(kinds, [numbers[kind].pop(0) for kind in kinds], rng.sample(SPEAKERS, len(kinds)), strict=True))
    repeated = 1 if drawn.backed == "older" else 0
    whose = next(source for kind, number, source in said if (kind, number) == ("statement", repeated))
    slots = [_Slot(kind, number, _voice(kind, source, whose, drawn.speakers)) for kind, number, source in said]
    return Arranged(case, slots)


def _voice(kind: str, own: str, whose: str, speakers: Voices) -> str:
    return whose if kind == "repeat" and speakers == "one" else own


# Invented, and in no official fact.
_STARTS = ("Ba", "Do", "Fe", "Gu", "Ji", "Ke", "Lo", "Mu", "Ni", "Po", "Ru", "Zi")
_ENDS = ("bbex", "dvik", "gmor", "lfen", "mquin", "rzul", "sdrom", "vtash")
SPEAKERS = tuple(start + end for start, end in product(_STARTS, _ENDS))
