"""Suites over LongMemEval's form of data: questions, each with a haystack of its own, of sessions or of turns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pytest_engram.memory import Entry
from pytest_engram.retrieval.okapi import Lexical
from pytest_engram.suites.base import NAME, Gold, Key, Loaded, Question, Suite, absent
from pytest_engram.suites.committed import PilotQuestion, once
from pytest_engram.suites.longmemeval import protocol
from pytest_engram.suites.longmemeval.protocol import Granularity
from pytest_engram.suites.longmemeval.store import Documents, Evidence, Golds, Store

LICENCE = "MIT"

_KEPT = 64  # haystacks that are held at a time
_ANSWERS = ("judged", "f1", "subem")  # metrics of a reader's answer


class SessionSpec(BaseModel):
    """What all suite files of this form have in common."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=NAME)
    source: str
    granularity: Granularity = "session"
    metrics: list[str] = Field(min_length=1)
    drawn: str | None = None  # the rule by which the questions were chosen
    questions: list[PilotQuestion] = Field(min_length=1)

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str], info: ValidationInfo) -> list[str]:
        granularity = info.data.get("granularity", "session")
        known = (*protocol.metric_names(granularity), *_ANSWERS)
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is not measured at granularity {granularity}; known are {', '.join(known)}")
        return names

    @field_validator("questions")
    @classmethod
    def _ids_once(cls, questions: list[PilotQuestion]) -> list[PilotQuestion]:
        once(questions)
        return questions


class _Haystack(NamedTuple):
    """Entries in time order, and the place of each official document among them."""

    entries: list[Entry]
    documents: Documents
    places: NDArray[np.intp]


class Sessions:
    """Haystacks of sessions or turns, mapped from a prepared folder. One is held for each question in use."""

    def __init__(self, folder: Path, granularity: Granularity) -> None:
        self.store = Store(folder, granularity)
        self._granularity = granularity
        self._haystacks: OrderedDict[str, _Haystack] = OrderedDict()
        self._keys: dict[tuple[str, ...], str] = {}

    def _haystack(self, key: str) -> _Haystack:
        if key not in self._haystacks:
            documents = self.store.documents(self.store.questions[key])
            # Opaque: the official ids tell which entries answer. Numbered in the official order.
            prefix = self._granularity[0]
            source = "user" if self._granularity == "turn" else ""  # of the turns, the user's alone are here
            entries = [
                Entry(f"{prefix}{number:04d}", text, time, source)
                for number, (text, time) in enumerate(zip(documents.texts, documents.times, strict=True))
            ]
            order = np.argsort(np.asarray(documents.times), kind="stable")
            found = _Haystack([entries[i] for i in order.tolist()], documents, np.argsort(order))
            self._haystacks[key] = found
            self._keys[tuple(entry.text for entry in found.entries)] = key
            if len(self._haystacks) > _KEPT:
                _, old = self._haystacks.popitem(last=False)
                self._keys.pop(tuple(entry.text for entry in old.entries), None)
        self._haystacks.move_to_end(key)
        return self._haystacks[key]

    def entries(self, key: str) -> Sequence[Entry]:
        """The sessions or turns in time order, then the file's; empty for a question that the data lacks."""
        return self._haystack(key).entries if key in self.store.questions else []

    def texts(self, key: str) -> list[str]:
        """The same, in the file's order."""
        return self.store.documents(self.store.questions[key]).texts

    def lexical(self, texts: Sequence[str]) -> Lexical | None:
        """The official BM25 over a haystack, counted once for all haystacks of the file.

        Whatever the order in which a memory got the entries, documents and ties are in the official order.
        """
        key = self._keys.get(tuple(texts))
        if key is None:
            return None
        self.store.count()  # now: what a memory's search opens itself must hold no answers, wherever it lies
        scores = partial(self.store.bm25, self.store.questions[key])
        places = self._haystack(key).places
        return Lexical(scores, protocol.tokenize, lambda scores, k: protocol.rank(scores)[:k], places)


def load(spec: SessionSpec, path: Path, folder: Path, *, shown: str, official: str | None = None) -> Loaded:
    """Questions over sessions or turns.

    Args:
        spec: the suite file.
        path: where it stands.
        folder: of `store.prepare`.
        shown: the data's name in messages.
        official: the sha256 of the official file, if it is known.
    """
    sessions = Sessions(folder, spec.granularity)
    key = SessionKey(spec, path, folder, sessions.store, shown, official)
    suite = Suite(
        spec.name,
        path,
        [_question(committed, key) for committed in spec.questions],
        sessions,
        source=spec.source,
        place={"folder": str(folder), "granularity": spec.granularity},
        tokenize=protocol.tokenize,
        rank=protocol.rank,
    )
    return Loaded(suite, key)


def reopen(place: Mapping[str, Any]) -> Sessions:
    """The haystacks of `Suite.place`, in another process."""
    return Sessions(Path(place["folder"]), place["granularity"])


def missing(spec: SessionSpec, path: Path, reason: str) -> Loaded:
    """The committed questions alone, where their data can't be had; their ids tell which are abstentions."""
    ids = [committed.id for committed in spec.questions]
    golds = {id_: Gold(excluded=protocol.excluded(id_, True)) for id_ in ids}
    loaded = absent(spec, path, ids, reason, golds=golds, about=_about(spec))
    return Loaded(replace(loaded.suite, tokenize=protocol.tokenize, rank=protocol.rank), loaded.key)


def _about(spec: SessionSpec) -> dict[str, Any]:
    about = {"source": spec.source, "licence": LICENCE, "granularity": spec.granularity}
    return about if spec.drawn is None else about | {"drawn": spec.drawn}


def _question(committed: PilotQuestion, key: SessionKey) -> Question:
    id_ = committed.id
    if reason := key.unavailable.get(id_):
        return Question(id_, id_, query="", haystack=id_, not_run=reason)
    return Question(id_, id_, query=key.store.questions[id_].query, haystack=id_)


class Ranked(NamedTuple):
    """What a question's gold is made of.

    Attributes:
        documents: the official ids of the haystack, in its order. An entry's id holds its place.
        granularity: what a document is.
    """

    documents: list[str]
    granularity: Granularity


class SessionKey(Key):
    """Which documents answer, by their official ids."""

    judged_by = "longmemeval"
    prompts = "longmemeval"

    def __init__(
        self, spec: SessionSpec, path: Path, folder: Path, store: Store, shown: str, official: str | None
    ) -> None:
        super().__init__(spec.name, path, spec.metrics, {})
        self.store = store
        self.unavailable: dict[str, str] = {}
        self._damaged: set[str] = set()
        self._spec = spec
        self._shown = shown
        self._official = official
        self._committed = [committed.id for committed in spec.questions]
        self._source = Golds(folder, spec.granularity)
        self._found: OrderedDict[str, Gold] = OrderedDict()
        for question in spec.questions:
            asked = store.questions.get(question.id)
            problem = question.problem(None if asked is None else asked.query)
            if asked is not None and problem is None:
                empty = None if store.size(asked) else "the user says nothing in it"
                if damage := asked.damage or empty:
                    problem = f"has a damaged history of this question: {damage}"
                    self._damaged.add(question.id)
            if problem is not None:
                self.unavailable[question.id] = f"{shown} {problem}. Cure: fetch the official file again"

    def questions(self) -> list[str]:
        """The ids of the committed questions."""
        return self._committed

    def gold(self, question_id: str) -> Gold:
        """Answer, official ids, and the rule that leaves the question out, if any; kept while it is in use."""
        if question_id not in self._found:
            self._found[question_id] = self._gold(question_id)
            if len(self._found) > _KEPT:
                self._found.popitem(last=False)
        self._found.move_to_end(question_id)
        return self._found[question_id]

    def _gold(self, question_id: str) -> Gold:
        if question_id not in self._committed:
            raise KeyError(question_id)
        if question_id in self.unavailable:
            evident = question_id not in self._damaged or self._evidence(question_id).user_evidence
            return Gold(excluded=protocol.excluded(question_id, evident))
        row = self.store.questions[question_id].row
        evidence, documents = self._source.evidence(row), self._source.ids(row)
        excluded = protocol.excluded(question_id, evidence.user_evidence)
        prefix = self._spec.granularity[0]
        relevant = [f"{prefix}{at:04d}" for at, document in enumerate(documents) if protocol.is_gold(document)]
        return Gold(
            answers=(evidence.answer,),
            relevant=relevant,
            excluded=excluded,
            shown=(evidence.answer,),
            ceiling=None if excluded else bool(relevant),
            fields={"question_type": evidence.type},
            prompt={
                "type": evidence.type,
                "date": evidence.date,
                "abstention": excluded == protocol.ABSTENTION,
            },
            detail=Ranked(documents, self._spec.granularity),
        )

    def describe(self) -> dict[str, Any]:
        """Source, granularity, the file's hash, whether it is the official one, what it holds, and notes."""
        summary = self.store.summary
        official = None if self._official is None else summary["sha256"] == self._official
        notes = []
        if official is False:
            notes.append(f"{self._shown} is not the official file (its sha256 differs)")
        if gone := len(self.unavailable) - len(self._damaged):
            notes.append(f"{gone} of {len(self._committed)} questions are not in this copy")
        if damaged := len(self._damaged):
            notes.append(f"{damaged} of {len(self._committed)} questions have a damaged history and are not run")
        notes += self._undated()
        asked = [id_ for id_ in self._committed if id_ not in self.unavailable]
        excluded = [protocol.excluded(id_, self._evidence(id_).user_evidence) for id_ in asked]
        return _about(self._spec) | {
            "data_sha256": summary["sha256"],
            "official": official,
            "scored": excluded.count(None),
            "entries": summary["sessions"],
            "notes": notes,
        }

    def _undated(self) -> list[str]:
        """A note of the dates that can't be read, if there are any."""
        asked = [self.store.questions[id_] for id_ in self._committed if id_ not in self.unavailable]
        counts = [self.store.undated(question) for question in asked]
        undated, sessions = sum(some for some, _ in counts), sum(total for _, total in counts)
        if not undated:
            return []
        of = f"{undated} of {sessions} sessions of {len(asked)} questions"
        return [f"{of} have a date that can't be read; they stand at the date before"]

    def _evidence(self, question_id: str) -> Evidence:
        return self._source.evidence(self.store.questions[question_id].row)
