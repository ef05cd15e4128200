"""Which facts a question of FactConsolidation needs: the chain from what it names to an accepted answer.

The benchmark tells a question's answer and not its facts. They are found over the facts that hold, those that were said
last of their subject and relation: from an entity that the question names, a fact leads to its value, which is the
subject of the next one. The shortest such chain is meant, among those with every relation that the question names by a
word of its own; where there are several of one length, or none, nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from pytest_engram.basics.texts import normalise
from pytest_engram.memory import Entry
from pytest_engram.suites import relations
from pytest_engram.suites.base import Hop, Version
from pytest_engram.suites.facts import FactQuestion, Trace, Unknown

NONE = "no chain of facts that still hold leads from what the question names to an accepted answer"
SEVERAL = "several chains of facts lead from what the question names to an accepted answer"

# A relation, and the words that no question has which does not ask for it. MQuAKE's questions are paraphrases of a
# model, and most relations go by many words ("hails from"): these are the ones that don't.
WORDS = {
    "The capital of {s} is {v}": r"capital",
    "The author of {s} is {v}": r"author",
    "The official language of {s} is {v}": r"official(?:ly)?",
    "{s} is married to {v}": r"spouse|partner|married",
    "{s} is located in the continent of {v}": r"continent",
    "{s} is a citizen of {v}": r"citizen(?:ship)?|nationality",
    "The headquarters of {s} is located in the city of {v}": r"headquarters|head office",
}
_WORDS = {relation: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for relation, words in WORDS.items()}


class Fact(NamedTuple):
    """What was said of a subject by one relation, oldest first; the last value holds."""

    subject: str
    relation: str
    told: tuple[Version, ...]

    @property
    def value(self) -> str:
        """The one that holds."""
        return self.told[-1].value


Chain: TypeAlias = tuple[Fact, ...]


def finder(entries: Sequence[Entry], lengths: range) -> Trace:
    """Finds the chains of questions over these facts.

    Args:
        entries: the facts.
        lengths: how many facts a question may need.
    """

    def trace(question: FactQuestion) -> tuple[Hop, ...]:
        found = chains(question.text, question.answers, _by_subject(tuple(entries)), lengths)
        if len(found) != 1:
            raise Unknown(SEVERAL if found else NONE)
        return tuple(Hop.of(fact.told) for fact in found[0])

    return trace


@cache
def _by_subject(entries: tuple[Entry, ...]) -> dict[str, list[Fact]]:
    facts: dict[str, list[Fact]] = {}
    for (subject, relation), told in relations.said(entries).items():
        versions = tuple(Version(entry.id, value) for entry, value in told)
        facts.setdefault(subject, []).append(Fact(subject, relation, versions))
    return facts


def chains(question: str, answers: Iterable[str], facts: dict[str, list[Fact]], lengths: range) -> list[Chain]:
    """The shortest chains, of these lengths, from what the question names to an accepted answer."""
    wanted = {normalise(answer) for answer in answers} - {""}
    started = [(name, _asked(question, name)) for name in named(question, facts)]
    ways: list[tuple[Chain, set[str]]] = [((fact,), asked) for name, asked in started for fact in facts[name]]
    for length in range(1, lengths.stop):
        found = [
            way
            for way, asked in ways
            if length in lengths and normalise(way[-1].value) in wanted and asked <= {fact.relation for fact in way}
        ]
        if found:
            return found
        ways = [
            ((*way, fact), asked) for way, asked in ways for fact in facts.get(way[-1].value, ()) if fact not in way
        ]
    return []


def named(question: str, names: Iterable[str]) -> list[str]:
    """The names that stand in a question as whole words, without those that are part of a longer one there."""
    found = [name for name in names if name in question and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)]
    return [name for name in found if not any(name != other and name in other for other in found)]


def _asked(question: str, name: str) -> set[str]:
    """The relations that a question names beside the entity, whose name may hold such a word itself."""
    rest = question.replace(name, " ")
    return {relation for relation, words in _WORDS.items() if words.search(rest)}
