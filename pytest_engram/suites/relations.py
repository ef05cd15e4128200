"""Subject, relation and value of a fact, read from its text: the templates of FactConsolidation and of the demo.

What was said of one subject and relation is found by what the facts say, never by where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pytest_engram.memory import Entry
from pytest_engram.suites import demo_fc

# `{s}` is the subject, `{v}` the value. Of two templates that fit, the first one is meant: "The capital of {s} is {v}"
# before one that would take all of it for a subject.
OFFICIAL = (
    "The chairperson of {s} is {v}",
    "The director of {s} is {v}",
    "The author of {s} is {v}",
    "The chief executive officer of {s} is {v}",
    "The capital of {s} is {v}",
    "The official language of {s} is {v}",
    "The Prime Minister of {s} is {v}",
    "The head coach of {s} is {v}",
    "The original language of {s} is {v}",
    "The headquarters of {s} is located in the city of {v}",
    "The name of the current head of state in {s} is {v}",
    "The name of the current head of the {s} government is {v}",
    "The type of music that {s} plays is {v}",
    "The company that produced {s} is {v}",
    "The univeristy where {s} was educated is {v}",  # the benchmark's own spelling
    "The university where {s} was educated is {v}",
    "The origianl broadcaster of {s} is {v}",  # the benchmark's own spelling
    "The original broadcaster of {s} is {v}",
    "{s}'s child is {v}",
    "{s} was born in the city of {v}",
    "{s} died in the city of {v}",
    "{s} worked in the city of {v}",
    "{s} was founded in the city of {v}",
    "{s} was founded by {v}",
    "{s} was created in the country of {v}",
    "{s} was created by {v}",
    "{s} was written in the language of {v}",
    "{s} was performed by {v}",
    "{s} was developed by {v}",
    "{s} is located in the continent of {v}",
    "{s} plays the position of {v}",
    "{s} is married to {v}",
    "{s} is a citizen of {v}",
    "{s} is associated with the sport of {v}",
    "{s} is employed by {v}",
    "{s} is famous for {v}",
    "{s} is affiliated with the religion of {v}",
    "{s} works in the field of {v}",
    "{s} speaks the language of {v}",
)
TEMPLATES = (
    *OFFICIAL,
    *(relation.fact.removesuffix(".") for relation in demo_fc.RELATIONS),
    "The {s} is {v}",  # an office: "The Mayor of London is Sadiq Khan"
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
    escaped = re.escape(template)
    return re.compile(escaped.replace(r"\{s\}", "(?P<subject>.+?)").replace(r"\{v\}", "(?P<value>.+)"))


_PATTERNS = [(template, _pattern(template)) for template in TEMPLATES]
_SERIAL = re.compile(r"^\s*\d+\.\s+")


def statement(text: str) -> Statement | None:
    """Subject, relation and value of a fact, with or without its serial number; None where no template fits."""
    text = _SERIAL.sub("", text).strip().removesuffix(".")
    for template, pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            return Statement(match["subject"], template, match["value"])
    return None


def said(entries: Iterable[Entry]) -> dict[tuple[str, str], list[tuple[Entry, str]]]:
    """By subject and relation, the entries that tell of them, oldest first, each with its value."""
    found: dict[tuple[str, str], list[tuple[Entry, str]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.time):
        if told := statement(entry.text):
            found.setdefault((told.subject, told.relation), []).append((entry, told.value))
    return found


def pairs(entries: Iterable[Entry]) -> list[Pair]:
    """All pairs among the entries, in the order of their originals."""
    return [
        Pair(subject, relation, told[0][0], told[-1][0])
        for (subject, relation), told in said(entries).items()
        if told[0][1] != told[-1][1]
    ]
