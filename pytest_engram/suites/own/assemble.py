"""From lines that were read to haystacks and questions that fit each other: every id is known, and told where not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from pytest_engram.memory import Entry
from pytest_engram.suites import dates
from pytest_engram.suites.own.lines import EntryLine, QuestionLine, Row, fault, shown

_ONLY = "all entries"  # the haystack's name, where entries name none
_LISTED = "entries/"  # what the name of a haystack begins with that a question lists


class Asked(NamedTuple):
    """A question, and what is right.

    Attributes:
        grades: relevance above 0 by id, of entries of its haystack and of what no entry is; None: nobody says.
        answers: None: nobody says.
    """

    id: str
    query: str
    haystack: str
    grades: Mapping[str, int] | None
    answers: tuple[str, ...] | None
    group: str | None
    cluster: str | None


class Data(NamedTuple):
    """What belongs together: the entries of each haystack, in time order, and the questions over them."""

    lists: Mapping[str, tuple[Entry, ...]]
    asked: Sequence[Asked]


def entries(path: Path, rows: Sequence[Row[EntryLine]]) -> dict[str, Entry]:
    """The entries by their ids, in time order; where none has a time, it is their place in the file.

    Raises:
        SuiteError: an id stands twice, or times can't be compared.
    """
    found: dict[str, Entry] = {}
    kind = _kind(rows[0].value)
    for place, (number, line) in enumerate(rows):
        if line.id in found:
            raise fault(path, number, "id", f"{shown(line.id)} is the id of an entry above; rename one")
        if _kind(line) is not kind:
            told = {type(None): "no time", float: "a number", str: "a date"}
            problem = f"the first entry has {told[kind]}, and this one {told[_kind(line)]}; write all alike"
            raise fault(path, number, "time", problem)
        time = dates.seconds(line.time) if isinstance(line.time, str) else line.time
        found[line.id] = Entry(line.id, line.text, float(place) if time is None else time, line.source or "")
    return dict(sorted(found.items(), key=lambda item: item[1].time))


def _kind(line: EntryLine) -> type:
    return type(line.time)


def named(path: Path, rows: Sequence[Row[EntryLine]], held: Mapping[str, Entry]) -> dict[str, tuple[Entry, ...]]:
    """The haystacks that entries name; none where they name none.

    Raises:
        SuiteError: some name one, and others do not.
    """
    places = {line.id: line.haystack for _, line in rows if line.haystack is not None}
    if not places:
        return {}
    for number, line in rows:
        if line.haystack is None:
            raise fault(path, number, "haystack", "this field is missing, and other entries have it; add it")
    found: dict[str, list[Entry]] = {name: [] for names in places.values() for name in names}
    for id_, entry in held.items():
        for name in places[id_]:
            found[name].append(entry)
    return {name: tuple(listed) for name, listed in found.items()}


def together(
    path: Path,
    rows: Sequence[Row[QuestionLine]],
    held: Mapping[str, Entry],
    haystacks: Mapping[str, tuple[Entry, ...]],
    judged: Mapping[str, Mapping[str, int]] | None = None,
) -> Data:
    """Questions and the haystacks that they are asked over.

    Args:
        path: of the questions.
        rows: its lines.
        held: all entries by their ids, in time order.
        haystacks: those that entries name.
        judged: relevance by question and entry, where a file of its own tells it. It may name what no entry is.

    Raises:
        SuiteError: a question stands twice, names what is not there, or has nothing that could be judged.
    """
    lists: dict[str, tuple[Entry, ...]] = {}
    ids: dict[str, Collection[str]] = {}
    whole = tuple(held.values())
    places = {id_: place for place, id_ in enumerate(held)}
    asked: list[Asked] = []
    seen: set[str] = set()
    for number, line in rows:
        if line.id in seen:
            raise fault(path, number, "id", f"{shown(line.id)} is the id of a question above; rename one")
        seen.add(line.id)
        try:
            haystack, listed = _haystack(line, held, whole, places, haystacks)
            if haystack not in lists:
                lists[haystack] = listed
                ids[haystack] = held if len(listed) == len(held) else {entry.id for entry in listed}
            grades = _grades(line, held, ids[haystack], judged)
            if grades is None and line.answers is None:
                raise _Wrong("", "nothing that could be judged; add `gold` or `answers`, or delete the line")
        except _Wrong as wrong:
            raise fault(path, number, *wrong.args) from None
        asked.append(Asked(line.id, line.query, haystack, grades, line.answers, line.group, line.cluster))
    return Data(lists, asked)


class _Wrong(ValueError):
    """The field and the problem, with the cure."""


def _haystack(
    line: QuestionLine,
    held: Mapping[str, Entry],
    whole: tuple[Entry, ...],
    places: Mapping[str, int],
    haystacks: Mapping[str, tuple[Entry, ...]],
) -> tuple[str, tuple[Entry, ...]]:
    """The name and the entries of the haystack that a question is asked over."""
    given = line.haystack
    if isinstance(given, tuple):
        for id_ in given:
            if id_ not in held:
                raise _Wrong("haystack", f"no entry {shown(id_)}; {_meant(id_, held)}")
        wanted = set(given)
        digest = hashlib.sha256(json.dumps(sorted(wanted)).encode()).hexdigest()[:16]
        return _LISTED + digest, tuple(held[id_] for id_ in sorted(wanted, key=places.__getitem__))
    if not haystacks:
        if given is not None:
            problem = f"no entry names a haystack {shown(given)}; give entries a `haystack`, or list the ids here"
            raise _Wrong("haystack", problem)
        return _ONLY, whole
    if given is None:
        if len(haystacks) == 1:
            return next(iter(haystacks.items()))
        raise _Wrong("haystack", f"this field is missing, and there are {len(haystacks)} haystacks; add it")
    if given not in haystacks:
        raise _Wrong("haystack", f"no entry names {shown(given)}; {_meant(given, haystacks)}")
    return given, haystacks[given]


def _grades(
    line: QuestionLine,
    held: Mapping[str, Entry],
    within: Collection[str],
    judged: Mapping[str, Mapping[str, int]] | None,
) -> dict[str, int] | None:
    """The relevance above 0 of each entry that answers; None: nobody says."""
    if judged is not None:
        if line.gold is not None:
            raise _Wrong("gold", "the suite has `qrels`, which say what answers; delete one of the two")
        grades = judged.get(line.id)
        return None if grades is None else {id_: grade for id_, grade in grades.items() if grade > 0}
    if line.gold is None:
        return None
    for id_ in line.gold:
        if id_ not in held:
            raise _Wrong("gold", f"no entry {shown(id_)}; {_meant(id_, held)}")
        if id_ not in within:
            raise _Wrong("gold", f"the entry {shown(id_)} is not in the question's haystack; correct one of the two")
    return {id_: grade for id_, grade in line.gold.items() if grade > 0}


def _meant(given: str, known: Collection[str]) -> str:
    # Of very many ids, finding a similar one would take longer than reading the file.
    close = get_close_matches(given, list(known)[:20_000], 1)
    return f"did you mean {shown(close[0])}?" if close else "correct it"
