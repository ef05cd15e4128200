"""Reads LongMemEval's JSON, one question at a time, and takes stock of what is odd in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

from pytest_engram.suites import dates
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.longmemeval.protocol import Granularity, Session, document_ids

CHUNK = 1 << 24  # characters read at a time: a question of the largest release has six million

_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Record:
    """One question with its haystack. `session_ids`, `times` and `sessions` are of one length.

    `date` is when it is asked, as the file has it, `undated` how many sessions have a date that can't be read, and
    `damage` why its history measures nothing, if so.
    """

    id: str
    type: str
    query: str
    answer: str
    user_evidence: bool
    session_ids: list[str]
    times: list[float]
    sessions: list[Session]
    date: str = ""
    undated: int = 0
    damage: str | None = None
    oddities: frozenset[str] = frozenset()

    def documents(self, granularity: Granularity) -> list[str]:
        """The official ids of the haystack's documents."""
        pairs = zip(self.session_ids, self.sessions, strict=True)
        return [document for id_, session in pairs for document in document_ids(id_, session, granularity)]


def records(file: Path, shown: str) -> Iterator[Record]:
    """The questions of a file in the official schema.

    Args:
        file: JSON: a list of questions.
        shown: its name in messages.

    Raises:
        NotRun: the file can't be read, or is not in the official schema; with question, field and problem.
    """
    number = 0  # of the last question that was JSON
    try:
        with file.open(encoding="utf-8-sig") as stream:
            for found in _elements(stream):
                number += 1
                yield record(found)
    except OSError as error:
        raise NotRun(f"{shown} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise NotRun(f"{shown} is not UTF-8 text ({error.reason}); fetch it again") from None
    except json.JSONDecodeError as error:
        raise NotRun(f"{shown} is not JSON after question {number}: {error.msg}; fetch it again") from None
    except RecursionError:
        raise NotRun(f"{shown}: question {number + 1} is nested too deeply; fetch it again") from None
    except Misfit as error:
        where = f"question {number}: " if number else ""
        raise NotRun(f"{shown} is not in LongMemEval's schema: {where}{error}; fetch it again") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise NotRun(f"{shown} can't be read at question {number + 1}: {error}; fetch it again") from None


class Misfit(ValueError):
    """What does not fit the schema."""


def _elements(stream: TextIO) -> Iterator[Any]:
    """The elements of a JSON list, with no more than a few in memory: the largest file has 2.7 GB."""
    decode = json.JSONDecoder().raw_decode
    text, at = stream.read(CHUNK), 0
    mark = "["  # what must stand before the next element
    while True:
        try:
            start = _skip(text, at)
            if mark == "," and text.startswith("]", start):
                return
            if not text.startswith(mark, start):
                if mark == "[" and start < len(text):
                    raise Misfit("the file must be a list of questions")
                raise json.JSONDecodeError("the list does not go on, and is not closed", text, start)
            start = _skip(text, start + 1)
            if mark == "[" and text.startswith("]", start):
                return
            found, end = decode(text, start)
        except json.JSONDecodeError:
            # Cut off, most likely. A larger piece each time keeps a huge element from being read over and over.
            more = stream.read(max(CHUNK, len(text)))
            if not more:
                raise
            text, at = text[at:] + more, 0
            continue
        yield found
        at, mark = end, ","


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def record(found: Any) -> Record:
    """One question of the official schema.

    Raises:
        Misfit: it is not in that schema.
    """
    if not isinstance(found, dict):
        raise Misfit(f"must be a mapping, but is a {type(found).__name__}")
    id_ = _field(found, "question_id", str)
    session_ids, raw_dates, raw_sessions = (
        _field(found, f"haystack_{name}", list) if found.get(f"haystack_{name}") is not None else []
        for name in ("session_ids", "dates", "sessions")
    )
    all_sessions = [_session(session, f"haystack_sessions[{i}]") for i, session in enumerate(raw_sessions)]
    damage = _damage(session_ids, raw_dates, all_sessions)
    odd = {"its history is damaged: it is not run"} if damage else set()
    # What is there of a damaged history is kept, and nobody is asked over it.
    size = min(len(session_ids), len(raw_dates), len(all_sessions))
    for i, session_id in enumerate(session_ids[:size]):
        if not isinstance(session_id, str):
            raise Misfit(f"haystack_session_ids[{i}] must be a str, but is a {type(session_id).__name__}")
    sessions = all_sessions[:size]
    times, undated = _times(raw_dates[:size])
    if undated:
        odd.add("has dates that can't be read: the date before is taken")
    answer = found.get("answer", "")
    odd |= _oddities(found, answer, session_ids[:size], sessions, times)
    return Record(
        id=id_,
        type=str(found.get("question_type", "")),
        query=_field(found, "question", str),
        answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
        user_evidence=any(any(session.evidence) for session in all_sessions),
        session_ids=session_ids[:size],
        times=times,
        sessions=sessions,
        date=str(found.get("question_date") or ""),
        undated=undated,
        damage=damage,
        oddities=frozenset(odd),
    )


def _damage(session_ids: list[Any], given: list[Any], sessions: list[Session]) -> str | None:
    """Why a history measures nothing. The official code would go on with the sessions that all three lists have."""
    if not sessions and not session_ids:
        return "its haystack is empty"
    if len({len(session_ids), len(given), len(sessions)}) > 1:
        counts = f"ids ({len(session_ids)}), dates ({len(given)}) and sessions ({len(sessions)})"
        return f"its lists of {counts} differ in length"
    if missing := sum(not isinstance(date, str) or not date.strip() for date in given):
        return f"{missing} of its {len(given)} dates are missing"
    return None


def _field(found: dict[str, Any], name: str, kind: type) -> Any:
    if name not in found:
        raise Misfit(f"has no {name}")
    if not isinstance(found[name], kind):
        raise Misfit(f"{name} must be a {kind.__name__}, but is a {type(found[name]).__name__}")
    return found[name]


def _session(turns: Any, where: str) -> Session:
    try:
        said = [
            (turn["content"], number, bool(turn.get("has_answer")))
            for number, turn in enumerate(turns, start=1)
            if turn["role"] == "user"
        ]
    except (TypeError, KeyError, AttributeError):
        raise Misfit(f"{where} must be a list of turns, each with a role and content") from None
    texts, numbers, evidence = zip(*said, strict=True) if said else ((), (), ())
    if not all(isinstance(text, str) for text in texts):
        raise Misfit(f"{where} has a turn whose content is not text")
    return Session(texts, numbers, evidence)


def _times(given: list[Any]) -> tuple[list[float], int]:
    """Seconds since 1970 of each date, and how many can't be read: they stand at the one before, the first at the next.

    Where none can be read, all stand at 0.
    """
    found = [dates.seconds(date) if isinstance(date, str) else None for date in given]
    last = next((time for time in found if time is not None), 0.0)
    times = [last := last if time is None else time for time in found]
    return times, found.count(None)


def _oddities(
    found: dict[str, Any], answer: Any, ids: list[str], sessions: list[Session], times: list[float]
) -> set[str]:
    odd = set()
    if not isinstance(answer, str):
        odd.add("answer is a number, not a string" if isinstance(answer, (int, float)) else "answer is not a string")
    seen: dict[str, Session] = {}
    for id_, session in zip(ids, sessions, strict=True):
        if id_ in seen:
            same = seen[id_] == session
            odd.add(f"holds {'the same session' if same else 'different sessions'} twice under one id")
        seen.setdefault(id_, session)
    if any(earlier > later for earlier, later in pairwise(times)):
        odd.add("haystack is not in the order of its dates")
    if any(not session.turns for session in sessions):
        odd.add("has a session without a user turn")
    named = _field(found, "answer_session_ids", list) if found.get("answer_session_ids") is not None else []
    if not set(map(str, named)) <= seen.keys():
        odd.add("names an answer session that its haystack lacks")
    return odd


class Survey:
    """What a file holds, and what is odd in it."""

    def __init__(self) -> None:
        self.questions = 0
        self.sessions = 0
        self._odd: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._seen: set[str] = set()

    def add(self, record: Record) -> None:
        """Count one question."""
        self.questions += 1
        self.sessions += len(record.sessions)
        twice = {"has an id that stood before: the first is taken"} if record.id in self._seen else set()
        self._seen.add(record.id)
        for oddity in sorted(record.oddities | twice):
            self._odd[oddity] += 1
            self._first.setdefault(oddity, record.id)

    def oddities(self) -> list[str]:
        """One line a kind, with how many questions and the first of them."""
        return [
            f"{count} question{'s' * (count != 1)}, the first {self._first[oddity]}: {oddity}"
            for oddity, count in sorted(self._odd.items())
        ]
