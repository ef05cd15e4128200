"""Suites over LongMemEval's form of data: questions, each with a haystack of its own, of sessions or of turns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_engram.asking.rules import fingerprint
from pytest_engram.memory import Entry
from pytest_engram.retrieval.okapi import Lexical
from pytest_engram.suites.base import NotRun, Probe, Question, Score, Suite
from pytest_engram.suites.longmemeval import protocol
from pytest_engram.suites.longmemeval.protocol import Granularity
from pytest_engram.suites.longmemeval.store import Asked, Documents, Store

LICENCE = "MIT"

_KEPT = 64  # haystacks that are held at a time


class PilotQuestion(BaseModel):
    """A committed question: the benchmark's id, and, where its text could be had, the text's `rules.fingerprint`."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    text: str | None = Field(default=None, pattern=r"^[0-9a-f]{16}$")


class SessionSpec(BaseModel):
    """What all suite files of this form have in common."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=r"^[\w.-]+$")
    source: str
    granularity: Granularity = "session"
    metrics: list[str] = Field(min_length=1)
    drawn: str | None = None  # the rule by which the questions were chosen
    questions: list[PilotQuestion] = Field(min_length=1)

    @model_validator(mode="after")
    def _known(self) -> SessionSpec:
        known = protocol.metric_names(self.granularity)
        for name in self.metrics:
            if name not in known:
                raise ValueError(
                    f"metrics: {name!r} is not measured at granularity {self.granularity}; known are {', '.join(known)}"
                )
        ids = [question.id for question in self.questions]
        if twice := next((id_ for i, id_ in enumerate(ids) if id_ in ids[:i]), None):
            raise ValueError(f"questions: {twice!r} stands twice; delete one")
        return self


class _Haystack(NamedTuple):
    """Entries in time order, and the documents behind them in the official order.

    `places[i]` is the place of document i among the entries.
    """

    entries: list[Entry]
    documents: Documents
    places: NDArray[np.intp]


class SessionSuite(Suite):
    """Questions over sessions or turns.

    Args:
        spec: the suite file.
        path: where it stands.
        prepared: a folder of `store.prepare`; None where the data can't be had.
        shown: the data's name in messages.
        official: the sha256 of the official file, if it is known.
    """

    kind = "pilot"

    def __init__(
        self, spec: SessionSpec, path: Path, prepared: Path | None, *, shown: str, official: str | None = None
    ) -> None:
        self.name = spec.name
        self.path = path
        self.metrics = tuple(spec.metrics)
        # On the instance: a function on the class would become a method.
        self.tokenize = protocol.tokenize
        self.rank = protocol.rank
        self._spec = spec
        self._shown = shown
        self._official = official
        self._store = None if prepared is None else Store(prepared, spec.granularity)
        self._unavailable: dict[str, str] = {}
        self._haystacks: OrderedDict[str, _Haystack] = OrderedDict()
        self._keys: dict[tuple[str, ...], str] = {}
        self.questions = [self._question(committed) for committed in spec.questions]

    def _question(self, committed: PilotQuestion) -> Question:
        id_ = committed.id
        if self._store is None:
            return Question(id_, id_, query="", haystack=id_, excluded=protocol.excluded(id_, True))
        asked = self._store.questions.get(id_)
        if asked is None:
            problem = "does not have this question"
        elif committed.text is not None and fingerprint(asked.query) != committed.text:
            problem = "has another text for this question than the pilot set, which names it by fingerprint"
        else:
            return Question(
                id_,
                id_,
                query=asked.query,
                haystack=id_,
                answers=(asked.answer,),
                excluded=protocol.excluded(id_, asked.user_evidence),
                fields={"question_type": asked.type},
            )
        self._unavailable[id_] = f"{self._shown} {problem}. Cure: fetch the official file again"
        return Question(id_, id_, query="", haystack=id_, excluded=protocol.excluded(id_, True))

    def _asked(self, id_: str) -> tuple[Store, Asked]:
        if self._store is None:
            raise NotRun(self.not_run or "its data was not prepared")
        if id_ in self._unavailable:
            raise NotRun(self._unavailable[id_])
        return self._store, self._store.questions[id_]

    def _haystack(self, key: str) -> _Haystack:
        if key not in self._haystacks:
            store, asked = self._asked(key)
            documents = store.documents(asked)
            # Opaque: the official ids tell which entries answer. Numbered in the official order.
            prefix = self._spec.granularity[0]
            entries = [
                Entry(f"{prefix}{number:04d}", text, time)
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

    def haystack(self, key: str) -> Sequence[Entry]:
        """The sessions or turns in time order, then the file's; empty for a question that the data lacks."""
        return [] if key in self._unavailable else self._haystack(key).entries

    def lexical(self, texts: Sequence[str]) -> Lexical | None:
        """The official BM25 over a haystack, counted once for all haystacks of the file.

        Whatever the order in which a memory got the entries, documents and ties are in the official order.
        """
        key = self._keys.get(tuple(texts))
        if key is None or self._store is None:
            return None
        scores = partial(self._store.bm25, self._store.questions[key])
        return Lexical(scores, protocol.tokenize, protocol.rank, self._haystack(key).places)

    def examine(self, question: Question, probe: Probe) -> Score:
        """Score one question.

        Raises:
            NotRun: the data at hand has no such question, or another text for it.
        """
        self._asked(question.id)
        return self.score(question, probe.search(), k=probe.k)

    def score(self, question: Question, ids: Sequence[str], k: int | None = None) -> Score:
        """The suite's metrics of the returned ids; none for a question that the official means leave out.

        `k` is how many the method was allowed to return; default: as many as it did.
        """
        if question.excluded:
            return Score(metrics={})
        found, missing = protocol.scores(
            [_number(id_) for id_ in ids], self._ids(question), self._spec.granularity, len(ids) if k is None else k
        )
        first = found[self.metrics[0]]
        return Score(
            metrics={name: found[name] for name in self.metrics},
            hit=None if first is None else first == 1.0,
            missing={name: missing[name] for name in self.metrics if name in missing},
        )

    def _ids(self, question: Question) -> list[str]:
        if question.haystack in self._haystacks:
            return self._haystacks[question.haystack].documents.ids
        store, asked = self._asked(question.id)
        return store.ids(asked)

    def gold_ids(self, question: Question, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that the benchmark counts as gold."""
        official = self._ids(question)
        return [id_ for id_ in ids if protocol.is_gold(official[_number(id_)])]

    def ceiling(self, question: Question) -> bool | None:
        """Whether the haystack has any gold; None where the question can't be had, or is left out of the means."""
        if self._store is None or question.id in self._unavailable or question.excluded:
            return None
        return any(map(protocol.is_gold, self._ids(question)))

    def texts(self) -> tuple[list[str], list[str]]:
        """All different passages and queries of the questions that the data has."""
        passages: dict[str, None] = {}
        queries: dict[str, None] = {}
        for question in self.questions:
            if question.id not in self._unavailable:
                store, asked = self._asked(question.id)
                passages.update(dict.fromkeys(store.documents(asked).texts))
                queries[question.query] = None
        return list(passages), list(queries)

    def describe(self) -> dict[str, Any]:
        """Source, granularity, the file's hash, whether it is the official one, what it holds, and notes."""
        found: dict[str, Any] = {
            "source": self._spec.source,
            "licence": LICENCE,
            "granularity": self._spec.granularity,
        }
        if self._spec.drawn is not None:
            found["drawn"] = self._spec.drawn
        if self._store is None:
            return found
        summary = self._store.summary
        official = None if self._official is None else summary["sha256"] == self._official
        notes = []
        if official is False:
            notes.append(f"{self._shown} is not the official file (its sha256 differs)")
        if self._unavailable:
            notes.append(f"{len(self._unavailable)} of {len(self.questions)} questions are not in this copy")
        scored = sum(question.excluded is None for question in self.questions) - len(self._unavailable)
        return found | {
            "data_sha256": summary["sha256"],
            "official": official,
            "scored": scored,
            "entries": summary["sessions"],
            "notes": notes,
        }


def _number(entry_id: str) -> int:
    return int(entry_id[1:])
