"""The facts that back a side of a contradiction, as a file has them: by relation, templates of subject and value."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from pytest_engram.basics.texts import normalise
from pytest_engram.suites import files, shipped_cases
from pytest_engram.suites.backed.contradictions import worded
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.files import Lines, Location, dotted
from pytest_engram.suites.relations import OFFICIAL

LEAST = 5  # of each list: as many as the highest level takes

Texts: TypeAlias = Annotated[list[str], Field(min_length=LEAST)]


class Relation(BaseModel):
    """What is written about one relation; `{s}` stands for the subject, `{v}` for the value.

    Attributes:
        ask: the question for the value.
        backs: facts that back a value and name it, each by another circumstance.
        repeats: the statement once more, in other words.
        implied: by value, facts that back it without its name.
    """

    model_config = ConfigDict(extra="forbid")

    ask: str
    backs: Texts
    repeats: Texts
    implied: dict[str, Texts] = {}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    relations: dict[str, Relation] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Backing:
    """A file that was read: what it has of each relation, and the sha256 of its text."""

    relations: Mapping[str, Relation]
    sha256: str


def shipped() -> Path:
    """The file that comes with the package."""
    return shipped_cases() / "backing" / "facts.yaml"


def read(path: Path) -> Backing:
    """What a file holds.

    Raises:
        SuiteError: it can't be read, or holds what can't be filled or backs nothing; with line, field and cure.
    """
    data, lines = files.read(path)
    found = files.validate(_File, data, path, lines).relations
    for template, relation in found.items():
        _check_relation(template, relation, path, lines)
    text = path.read_text(encoding="utf-8-sig")  # lines end alike, wherever the file was checked out
    return Backing(found, hashlib.sha256(text.encode()).hexdigest())


def filled(text: str, subject: str, value: str = "") -> str:
    """A template with subject and value. Names may hold braces of their own."""
    return _SLOT.sub(lambda match: {"{s}": subject, "{v}": value}[match[0]], text)


_SLOT = re.compile(r"\{[sv]\}")
_BRACES = re.compile(r"\{[^{}]*\}|[{}]")


class _Text(NamedTuple):
    """One text of the file, and where it stands."""

    where: Location
    text: str
    needs: frozenset[str]


def _texts(template: str, relation: Relation) -> Iterator[_Text]:
    here: Location = ("relations", template)
    yield _Text((*here, "ask"), relation.ask, frozenset({"{s}"}))
    for name in ("backs", "repeats"):
        for number, text in enumerate(getattr(relation, name)):
            yield _Text((*here, name, number), text, frozenset({"{s}", "{v}"}))
    for value, texts in relation.implied.items():
        for number, text in enumerate(texts):
            yield _Text((*here, "implied", value, number), text, frozenset({"{s}"}))


def _check_relation(template: str, relation: Relation, path: Path, lines: Lines) -> None:
    def refuse(where: Location, problem: str) -> SuiteError:
        return SuiteError(path, lines[where], dotted(where), problem)

    if template not in OFFICIAL:
        near = difflib.get_close_matches(template, OFFICIAL, 1)
        meant = f"did you mean {near[0]!r}?" if near else "write one of OFFICIAL in pytest_engram.suites.relations"
        raise refuse(("relations", template), f"no relation of the official facts; {meant}")
    seen: dict[str, Location] = {}
    for where, text, needs in _texts(template, relation):
        there = set(_BRACES.findall(text))
        if lacking := sorted(needs - there):
            raise refuse(where, f"lacks {' and '.join(lacking)}: {text!r:.80}; write the text with it")
        if odd := sorted(there - needs):
            allowed = " and ".join(sorted(needs))
            raise refuse(where, f"holds {odd[0]}, and may hold {allowed} alone: {text!r:.80}; delete it")
        if (same := normalise(text)) in seen:
            raise refuse(where, f"the same text as {dotted(seen[same])}: {text!r:.80}; write another one")
        seen[same] = where
        if "implied" in where and (
            named := next((value for value in relation.implied if worded(value) in worded(text)), None)
        ):
            raise refuse(where, f"names {named!r}: {text!r:.80}; say what is only true of it, without its name")
