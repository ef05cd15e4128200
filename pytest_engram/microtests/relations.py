"""Subject and relation of a fact, read from its text: the templates of FactConsolidation and of the demo.

A pair of an original and its update is found by what the facts say, never by where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pytest_engram.memory import Entry

# `S` is the subject, `V` the value. Of two templates that fit, the first one is meant: "The capital of S is V" before
# anything that would take all of it for a subject.
TEMPLATES = (
    "The chairperson of S is V",
    "The director of S is V",
    "The author of S is V",
    "The chief executive officer of S is V",
    "The capital of S is V",
    "The official language of S is V",
    "The Prime Minister of S is V",
    "The head of state of S is V",
    "The head coach of S is V",
    "The original language of S is V",
    "The headquarters of S is located in the city of V",
    "The headquarters of S is located in V",
    "The name of the current head of state in S is V",
    "The name of the current head of the S government is V",
    "The type of music that S plays is V",
    "The company that produced S is V",
    "The univeristy where S was educated is V",  # the benchmark's own spelling
    "The university where S was educated is V",
    "The origianl broadcaster of S is V",  # the benchmark's own spelling
    "The original broadcaster of S is V",
    "S's child is V",
    "S was born in the city of V",
    "S died in the city of V",
    "S worked in the city of V",
    "S was founded in the city of V",
    "S was founded by V",
    "S was created in the country of V",
    "S was created by V",
    "S was written in the language of V",
    "S was performed by V",
    "S was developed by V",
    "S is located in the continent of V",
    "S lies in the country of V",
    "S plays the position of V",
    "S is married to V",
    "S is a citizen of V",
    "S is associated with the sport of V",
    "S is employed by V",
    "S is famous for V",
    "S is affiliated with the religion of V",
    "S works in the field of V",
    "S speaks the language of V",
    "The S is V",  # an office: "The Mayor of London is Sadiq Khan"
)


class Statement(NamedTuple):
    """What a fact says of whom."""

    subject: str
    relation: str  # its template
    value: str


class Pair(NamedTuple):
    """The first and the last thing that was said about one subject and relation, where they differ."""

    subject: str
    relation: str
    original: Entry
    update: Entry


def _pattern(template: str) -> re.Pattern[str]:
    escaped = re.sub(r"\bS\b", "(?P<subject>.+?)", template, count=1)
    return re.compile(re.sub(r"\bV$", "(?P<value>.+)", escaped))


_PATTERNS = [(template, _pattern(template)) for template in TEMPLATES]
_SERIAL = re.compile(r"^\s*\d+\.\s+")


def statement(text: str) -> Statement | None:
    """Subject, relation and value of a fact, with or without its serial number; None where no template fits."""
    text = _SERIAL.sub("", text).strip().removesuffix(".")
    for template, pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            return Statement(match["subject"], template, match["value"])
    return None


def pairs(entries: Iterable[Entry]) -> list[Pair]:
    """All pairs among the entries, in the order of their originals."""
    said: dict[tuple[str, str], list[tuple[Entry, str]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.time):
        if found := statement(entry.text):
            said.setdefault((found.subject, found.relation), []).append((entry, found.value))
    return [
        Pair(subject, relation, told[0][0], told[-1][0])
        for (subject, relation), told in said.items()
        if told[0][1] != told[-1][1]
    ]
