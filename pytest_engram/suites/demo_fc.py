"""A generated benchmark of numbered facts: small, and there on any machine without a download.

An invented world of people, companies, cities, countries and books is told in the line form of FactConsolidation, and
some facts are told again later with another value: the later one holds. Single-hop questions ask for one fact, two-hop
questions for a fact about the value of another. All names are made of random syllables, so that no encoder has met
them.

Names are many and facts about each few, so that an answer stands in hardly more facts than those that tell it: whoever
returns ten facts at random has the answer to 7% of the questions. The sizes below were chosen by that share alone, and
by what BM25 and Dense, which resolve nothing, make of it (half of the questions). How any other method fares was not
looked at.

The same seed gives the same text on every platform: only `random.Random` of Python's library is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from pytest_engram.suites import facts
from pytest_engram.suites.base import Hop, Loaded, NotRun, Version
from pytest_engram.suites.facts import FactQuestion, FactRow, FactSpec, digest, missing

__all__ = ["Spec", "generate", "load", "missing"]

HEADING = "Below, facts are listed in the order in which they were learnt:"
ENTITIES = {
    "person": 120,
    "company": 48,
    "city": 72,
    "country": 48,
    "book": 36,
    "language": 36,
    "sport": 36,
    "currency": 36,
}
SUBJECTS = 12  # of each relation, drawn among the entities of its kind
CONTRADICTED = 110  # facts that are told again with another value
QUESTIONS = 40  # of each number of hops
SETTLED = 10  # of these, about facts that nothing contradicts


@dataclass(frozen=True, slots=True)
class Relation:
    """One kind of fact: what it is about, what its value is, how it is told and how it is asked for."""

    subject: str
    value: str
    fact: str
    phrase: str


RELATIONS = (
    Relation("person", "person", "{s} is married to {v}.", "the spouse of {s}"),
    Relation("person", "person", "{s} was taught by {v}.", "the mentor of {s}"),
    Relation("person", "city", "{s} was born in the city of {v}.", "the birthplace of {s}"),
    Relation("person", "country", "{s} is a citizen of {v}.", "the country whose nationality {s} holds"),
    Relation("person", "company", "{s} is employed by {v}.", "the company that {s} works for"),
    Relation("person", "language", "{s} speaks the language {v}.", "the mother tongue of {s}"),
    Relation("person", "sport", "{s} plays the sport of {v}.", "the sport practised by {s}"),
    Relation("company", "person", "The chief executive officer of {s} is {v}.", "the person who runs {s}"),
    Relation("company", "person", "{s} was founded by {v}.", "the founder of {s}"),
    Relation("company", "city", "The headquarters of {s} is located in {v}.", "the city where {s} has its head office"),
    Relation("city", "country", "{s} lies in the country of {v}.", "the country that {s} belongs to"),
    Relation("city", "person", "The mayor of {s} is {v}.", "the person in charge of the town hall of {s}"),
    Relation("country", "city", "The capital of {s} is {v}.", "the seat of government of {s}"),
    Relation("country", "person", "The head of state of {s} is {v}.", "the ruler of {s}"),
    Relation("country", "language", "The official language of {s} is {v}.", "the language spoken in {s}"),
    Relation("country", "currency", "The currency of {s} is {v}.", "the money used in {s}"),
    Relation("country", "sport", "The national sport of {s} is {v}.", "the favourite sport of {s}"),
    Relation("book", "person", "The author of {s} is {v}.", "the writer of {s}"),
    Relation("book", "language", "{s} was written in the language {v}.", "the original language of {s}"),
    Relation("book", "city", "{s} is set in the city of {v}.", "the city where the story of {s} takes place"),
)


class Spec(FactSpec):
    """A suite file of this source; `context_sha256` is that of the text which the seed gave when it was committed."""

    source: Literal["demo_fc"]
    seed: int
    context_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:  # noqa: ARG001 (every source is called alike)
    """The suite and its key, generated.

    Raises:
        NotRun: this version generates another text than the committed one.
    """
    row = generate(spec.seed)
    if spec.context_sha256 not in {None, digest(row.context)}:
        raise NotRun(
            "this version generates other facts than the pilot set was made of: install the version it came with"
        )
    return facts.load(spec, path, row)


class _Told(NamedTuple):
    """A subject and a relation, and the values that were told of it, oldest first."""

    relation: Relation
    subject: str
    values: list[str]

    @property
    def settled(self) -> bool:
        return len(self.values) == 1


def generate(seed: int) -> FactRow:
    """350 facts, 40 single-hop and then 40 two-hop questions.

    Args:
        seed: 350 different facts and 80 different questions for each.

    Returns:
        The row; `fields` of a question hold `hops`, and `contradicted`: how many of its facts were told twice.
    """
    rng = random.Random(seed)
    names = dict(zip(ENTITIES, _names(rng), strict=True))
    told = [
        _Told(relation, subject, [_other(rng, names[relation.value], {subject})])
        for relation in RELATIONS
        for subject in rng.sample(names[relation.subject], SUBJECTS)
    ]
    for one in rng.sample(told, CONTRADICTED):
        one.values.append(_other(rng, names[one.relation.value], {one.subject, *one.values}))
    asked = [*_single_hop(rng, told), *_two_hop(rng, told)]
    order = _tell(rng, told)
    serials = _serials(order)
    questions = tuple(
        FactQuestion(
            f"demo_fc_no{i}",
            text,
            (chain[-1].values[-1],),
            {"hops": len(chain), "contradicted": sum(not one.settled for one in chain)},
            tuple(Hop.of(serials[id(one)]) for one in chain),
        )
        for i, (text, chain) in enumerate(asked)
    )
    lines = [HEADING, *(f"{i}. {fact}" for i, (_, fact) in enumerate(order))]
    return FactRow("demo_fc", "\n".join(lines) + "\n", questions, f"generated, seed {seed}")


def _other(rng: random.Random, among: list[str], excluded: set[str]) -> str:
    return rng.choice([name for name in among if name not in excluded])


def _tell(rng: random.Random, told: list[_Told]) -> list[tuple[_Told, str]]:
    """All facts in a random order that keeps a contradiction behind what it contradicts."""
    order = [one for one in told for _ in one.values]
    rng.shuffle(order)
    left = {id(one): iter(one.values) for one in told}
    return [(one, one.relation.fact.format(s=one.subject, v=next(left[id(one)]))) for one in order]


def _serials(order: list[tuple[_Told, str]]) -> dict[int, list[Version]]:
    """Under which serial numbers each value was told, oldest first, by the identity of what was told."""
    found: dict[int, list[Version]] = {}
    for serial, (one, _) in enumerate(order):
        versions = found.setdefault(id(one), [])
        versions.append(Version(str(serial), one.values[len(versions)]))
    return found


_Asked = tuple[str, tuple[_Told, ...]]  # a question, and what it needs, the last of it the answer


def _single_hop(rng: random.Random, told: list[_Told]) -> Iterator[_Asked]:
    settled = rng.sample([one for one in told if one.settled], SETTLED)
    contradicted = rng.sample([one for one in told if not one.settled], QUESTIONS - SETTLED)
    for one in [*settled, *contradicted]:
        phrase = one.relation.phrase.format(s=one.subject)
        yield f"{_word(one.relation)} is {phrase}?", (one,)


def _two_hop(rng: random.Random, told: list[_Told]) -> Iterator[_Asked]:
    """Questions about what a fact's value is, told of in turn; the answer differs from every name on the way."""
    about: dict[str, list[_Told]] = {}
    for one in told:
        about.setdefault(one.subject, []).append(one)
    chains = [
        (first, second)
        for first in told
        for second in about.get(first.values[-1], [])
        if second.values[-1] != first.subject
    ]
    settled = [(a, b) for a, b in chains if a.settled and b.settled]
    contradicted = [(a, b) for a, b in chains if not (a.settled and b.settled)]
    for first, second in [*rng.sample(settled, SETTLED), *rng.sample(contradicted, QUESTIONS - SETTLED)]:
        phrase = second.relation.phrase.format(s=first.relation.phrase.format(s=first.subject))
        yield f"{_word(second.relation)} is {phrase}?", (first, second)


def _word(relation: Relation) -> str:
    return "Who" if relation.value == "person" else "What"


def _names(rng: random.Random) -> Iterator[list[str]]:
    """Names for each kind of entity."""
    words = _words(rng)
    for kind, count in ENTITIES.items():
        yield [_name(rng, kind, words) for _ in range(count)]


def _name(rng: random.Random, kind: str, words: Iterator[str]) -> str:
    name = next(words)
    if kind == "person":
        return f"{name} {next(words)}"
    if kind == "company":
        return f"{name} {rng.choice(['Works', 'Freight', 'Instruments', 'Mills'])}"
    if kind == "book":
        return f"{rng.choice(['Letters', 'Winter', 'Return', 'Songs'])} of {name}"
    return name


def _words(rng: random.Random) -> Iterator[str]:
    """Endless random words, none of which is part of another or of the wording of the facts and questions."""
    taken = [f"{relation.fact} {relation.phrase}".lower() for relation in RELATIONS]
    while True:
        start = "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice([2, 3])))
        word = start + rng.choice("lmnskd")  # no r: "maker" is a word
        if not any(word in other or other in word for other in taken):
            taken.append(word)
            yield word.capitalize()
