"""Reads LoCoMo's JSON into conversations, and takes stock of what is odd in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pytest_engram.memory import Entry
from pytest_engram.suites import dates
from pytest_engram.suites.locomo import protocol
from pytest_engram.suites.locomo.protocol import Granularity

_SESSION = re.compile(r"session_([0-9]+)")
_APART = 1e-3  # seconds between two turns: a session has a date, to the minute, and its turns have none


class Misfit(ValueError):
    """What does not fit the schema: place and problem."""


class Asked(NamedTuple):
    """A question as the file has it.

    Attributes:
        answer: None where the file gives none, which is so of most adversarial ones.
        number: whether it is a number there.
        adversarial: the answer that an adversarial question lures into.
        evidence: what the file names, turn by turn, to the letter.
    """

    id: str
    query: str
    category: int
    answer: str | None
    number: bool
    adversarial: str | None
    evidence: tuple[str, ...]


class Turn(NamedTuple):
    """One turn; `id` is the file's own, such as "D1:3", and `text` as a memory is shown it."""

    id: str
    text: str
    speaker: str


class Session(NamedTuple):
    """One session; `time` is its date in seconds since 1970."""

    number: int
    time: float
    turns: tuple[Turn, ...]


class Conversation(NamedTuple):
    """One conversation and the questions about it."""

    sample_id: str
    sessions: tuple[Session, ...]
    questions: tuple[Asked, ...]

    def entries(self, granularity: Granularity) -> tuple[Entry, ...]:
        """Its turns, or its sessions with their turns joined by newlines, in the order of time, then of the file."""
        if granularity == "session":
            found = [
                Entry(protocol.session_id(self.sample_id, s.number), "\n".join(t.text for t in s.turns), s.time)
                for s in self.sessions
            ]
        else:
            found = [
                Entry(f"{self.sample_id}:{turn.id}", turn.text, session.time + place * _APART, turn.speaker)
                for session in self.sessions
                for place, turn in enumerate(session.turns)
            ]
        return tuple(sorted(found, key=lambda entry: entry.time))

    def unnamed(self) -> list[Asked]:
        """The questions of which a piece of evidence names no turn."""
        turns = {turn.id for session in self.sessions for turn in session.turns}
        return [asked for asked in self.questions if not turns.issuperset(asked.evidence)]


def conversations(samples: Sequence[Any]) -> tuple[Conversation, ...]:
    """All conversations of the file.

    Raises:
        Misfit: they are not in LoCoMo's schema.
    """
    found: list[Conversation] = []
    for number, sample in enumerate(samples):
        at = f"conversation {number}"
        sample_id = _field(sample, "sample_id", str, at)
        if sample_id in {conversation.sample_id for conversation in found}:
            raise Misfit(f"{at}: sample_id {sample_id!r} stands twice")
        sessions = _sessions(_field(sample, "conversation", dict, at), at)
        asked = [
            _asked(qa, protocol.question_id(number, place), f"{at}: qa[{place}]")
            for place, qa in enumerate(_field(sample, "qa", list, at))
        ]
        found.append(Conversation(sample_id, sessions, tuple(asked)))
    if not found:
        raise Misfit("it holds no conversation")
    return tuple(found)


def _sessions(conversation: dict[str, Any], at: str) -> tuple[Session, ...]:
    numbers = sorted(int(match[1]) for match in map(_SESSION.fullmatch, conversation) if match)
    sessions: list[Session] = []
    seen: set[str] = set()
    for number in numbers:
        name = f"session_{number}"
        turns = [
            _turn(turn, f"{at}: {name}[{place}]") for place, turn in enumerate(_field(conversation, name, list, at))
        ]
        if not turns:
            continue
        for turn in turns:
            if turn.id in seen:
                raise Misfit(f"{at}: {name}: dia_id {turn.id!r} stands twice")
            seen.add(turn.id)
        date = _field(conversation, f"{name}_date_time", str, at)
        time = dates.seconds(date)
        if time is None:
            raise Misfit(f"{at}: {name}_date_time: {date!r:.60} is no date that can be read")
        sessions.append(Session(number, time, tuple(turns)))
    if not sessions:
        raise Misfit(f"{at}: it has no session with a turn")
    return tuple(sessions)


def _turn(turn: Any, at: str) -> Turn:
    caption = _field(turn, "blip_caption", str, at) if isinstance(turn, dict) and "blip_caption" in turn else None
    speaker = _field(turn, "speaker", str, at)
    text = protocol.said(speaker, _field(turn, "text", str, at), caption)
    return Turn(_field(turn, "dia_id", str, at), text, speaker)


def _asked(qa: Any, id_: str, at: str) -> Asked:
    category = _field(qa, "category", int, at)
    if category not in protocol.CATEGORIES:
        raise Misfit(f"{at}: category must be one of {', '.join(map(str, protocol.CATEGORIES))}, but is {category}")
    answer, lure = qa.get("answer"), qa.get("adversarial_answer")
    if answer is None and category != protocol.ADVERSARIAL:
        raise Misfit(f"{at}: has no answer")
    evidence = _field(qa, "evidence", list, at)
    if not all(isinstance(named, str) for named in evidence):
        raise Misfit(f"{at}: evidence must be a list of texts")
    return Asked(
        id=id_,
        query=_field(qa, "question", str, at),
        category=category,
        answer=None if answer is None else str(answer),
        number=isinstance(answer, (int, float)),
        adversarial=None if lure is None else str(lure),
        evidence=tuple(evidence),
    )


def _field(found: Any, name: str, kind: type, at: str) -> Any:
    if not isinstance(found, dict):
        raise Misfit(f"{at}: must be a mapping, but is a {type(found).__name__}")
    if name not in found:
        raise Misfit(f"{at}: has no {name}")
    if not isinstance(found[name], kind):
        raise Misfit(f"{at}: {name} must be a {kind.__name__}, but is a {type(found[name]).__name__}")
    return found[name]


def oddities(found: Sequence[Conversation]) -> list[str]:
    """What is odd in a file, one line a kind, with how many questions and the first of them."""
    asked = [question for conversation in found for question in conversation.questions]
    adversarial = [question for question in asked if question.category == protocol.ADVERSARIAL]
    kinds = {
        "without evidence: left out of recall": [question for question in asked if not question.evidence],
        "with evidence that names no turn: it counts as not found": [
            question for conversation in found for question in conversation.unnamed()
        ],
        "with a number as the answer": [question for question in asked if question.number],
        "adversarial, without an answer": [question for question in adversarial if question.answer is None],
    }
    return [
        f"{len(there)} question{'s' * (len(there) != 1)}, the first {there[0].id}: {kind}"
        for kind, there in kinds.items()
        if there
    ]
