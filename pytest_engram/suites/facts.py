"""Numbered facts in which a later one may contradict an earlier one: parsed, kept for the workers, and scored.

A context's first line is a heading, each further line `SERIAL. fact`, as FactConsolidation of MemoryAgentBench
(Hu et al., 2025) has it. A fact is an entry: its id and time are the serial number, its text is the whole line, serial
number included, because the benchmark shows it so to a memory.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_engram.asking import rules
from pytest_engram.judging import metrics
from pytest_engram.memory import Entry
from pytest_engram.suites.base import NotRun, Probe, Question, Score, Suite

LICENCE = "MIT"

_FACT = re.compile(r"([0-9]+)\.(?:\s|$)")
_NUMBER = re.compile(r"_no([0-9]+)$")


class PilotQuestion(BaseModel):
    """A committed question: the benchmark's id, and its text's `rules.fingerprint`, never the text."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    text: str = Field(pattern=r"^[0-9a-f]{16}$")


class FactSpec(BaseModel):
    """What all suites of numbered facts have in common."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=r"^[\w.-]+$")
    metrics: list[str] = Field(min_length=1)
    source: str
    questions: list[PilotQuestion]

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str]) -> list[str]:
        for name in names:
            kind, depth = metrics.parse(name)
            if (kind, depth is None) not in {("answer", False), ("subem", True)}:
                raise ValueError(f"{name!r} can't be measured on these questions; known are answer@N and subem")
        return names

    @field_validator("questions")
    @classmethod
    def _ids_once(cls, questions: list[PilotQuestion]) -> list[PilotQuestion]:
        seen: set[str] = set()
        for question in questions:
            if question.id in seen:
                raise ValueError(f"the question {question.id!r} stands twice; delete one")
            seen.add(question.id)
        return questions


class FactQuestion(NamedTuple):
    """One question of a row. `fields` go into the run log."""

    id: str
    text: str
    answers: tuple[str, ...]
    fields: dict[str, Any]


class FactRow(NamedTuple):
    """A context and its questions."""

    name: str
    context: str
    questions: tuple[FactQuestion, ...]
    origin: str


@cache
def parse_facts(context: str) -> tuple[Entry, ...]:
    """The facts of a context, by serial number. Empty lines are left out, whichever way lines end.

    Raises:
        ValueError: a line has no serial number, two have the same, or there is no fact at all.
    """
    entries: dict[int, Entry] = {}
    # Not `splitlines`: it also splits at characters that may stand inside a fact, such as U+2028.
    for number, line in enumerate(re.split(r"\r\n|\n|\r", context), 1):
        match = _FACT.match(line)
        if match is None:
            if number == 1 or not line.strip():
                continue
            raise ValueError(f"line {number} of the context has no serial number: {line:.60}")
        serial = int(match[1])
        if serial in entries:
            raise ValueError(f"line {number} of the context has the serial number {serial} for the second time")
        entries[serial] = Entry(match[1], line, float(serial))
    if not entries:
        raise ValueError("the context holds no fact")
    return tuple(entries[serial] for serial in sorted(entries))


@cache
def digest(context: str) -> str:
    """The sha256 of a context's UTF-8 text, in hex."""
    return hashlib.sha256(context.encode("utf-8", "surrogatepass")).hexdigest()


def answers_digest(answers: Iterable[Sequence[str]]) -> str:
    """The sha256, in hex, of the accepted answers as a JSON list of lists, in the order of the committed questions."""
    return hashlib.sha256(json.dumps([list(accepted) for accepted in answers]).encode()).hexdigest()


def keep(row: FactRow) -> Path:
    """Write a row to the cache, once, under a name made of its content.

    Raises:
        NotRun: the cache can't be written.
    """
    from filelock import FileLock

    from pytest_engram.basics.cache import cache_dir

    record = json.dumps(row).encode()
    path = cache_dir() / "suites" / f"{hashlib.sha256(record).hexdigest()[:32]}.json"
    try:
        if not (path.is_file() and path.read_bytes() == record):  # missing, or damaged
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{path}.lock"):
                partial = path.with_suffix(".partial")
                partial.write_bytes(record)
                partial.replace(path)
    except OSError as error:
        cure = "set ENGRAM_CACHE to a folder that can be written"
        raise NotRun(f"the cache can't be written ({error.strerror}): {cure}") from None
    return path


@cache
def read_kept(path: Path) -> FactRow:
    """The row that `keep` wrote."""
    name, context, questions, origin = json.loads(path.read_bytes())
    asked = (FactQuestion(id_, text, tuple(answers), fields) for id_, text, answers, fields in questions)
    return FactRow(name, context, tuple(asked), origin)


class FactSuite(Suite):
    """Questions over one list of facts; parsing and scoring are the same, whatever source gives the row.

    Args:
        spec: the suite file.
        path: where it stands.
        row: the facts and questions; None, where they can't be had.
        context_sha256: of the official context, where the source has one.
        answers_sha256: of the official answers.
    """

    kind = "pilot"

    def __init__(
        self,
        spec: FactSpec,
        path: Path,
        row: FactRow | None,
        *,
        context_sha256: str | None = None,
        answers_sha256: str | None = None,
    ) -> None:
        self.name = spec.name
        self.path = path
        self.metrics = tuple(spec.metrics)
        self._source = spec.source
        self._row = row
        self._official = (context_sha256, answers_sha256)
        self._depths = {name: depth for name in spec.metrics if (depth := metrics.parse(name)[1]) is not None}
        self._unavailable: dict[str, str] = {}
        self._found: dict[tuple[str, ...], frozenset[str]] = {}
        self.questions = [self._question(committed) for committed in spec.questions]

    def _question(self, committed: PilotQuestion) -> Question:
        number = _NUMBER.search(committed.id)
        name = f"q{int(number[1]):03d}" if number else committed.id
        if self._row is None:
            return Question(committed.id, name, query="", haystack="")
        haystack = f"facts-{digest(self._row.context)[:16]}"
        held = self._held.get(committed.id)
        if held is None:
            problem = "does not have this question"
        elif rules.fingerprint(held.text) != committed.text:
            problem = "has another text for this question than the pilot set, which names it by fingerprint"
        else:
            return Question(committed.id, name, held.text, haystack, held.answers, fields=held.fields)
        self._unavailable[committed.id] = f"{self._row.origin} {problem}. Cure: fetch the official data again"
        return Question(committed.id, name, query="", haystack=haystack)

    @cached_property
    def _held(self) -> dict[str, FactQuestion]:
        return {question.id: question for question in self._row.questions} if self._row else {}

    @cached_property
    def _facts(self) -> tuple[Entry, ...]:
        if self._row is None:
            raise NotRun(self.not_run or "its data was not prepared")
        return parse_facts(self._row.context)

    @cached_property
    def _normalised(self) -> dict[str, str]:
        return {entry.id: metrics.normalise(entry.text) for entry in self._facts}

    def _answering(self, question: Question) -> frozenset[str]:
        """The ids of all facts that contain an accepted answer: looked for once, not for every method again."""
        if question.answers not in self._found:
            wanted = [answer for answer in map(metrics.normalise, question.answers) if answer]
            texts = self._normalised.items()
            self._found[question.answers] = frozenset(id_ for id_, text in texts if any(a in text for a in wanted))
        return self._found[question.answers]

    def haystack(self, key: str) -> Sequence[Entry]:  # noqa: ARG002 (there is one)
        """All facts, by serial number: every question is asked over the same."""
        return self._facts

    def examine(self, question: Question, probe: Probe) -> Score:
        """Score one question.

        Raises:
            NotRun: the data at hand has no such question, or another text for it.
        """
        if reason := self._unavailable.get(question.id):
            raise NotRun(reason)
        return super().examine(question, probe)

    def score(self, question: Question, ids: Sequence[str]) -> Score:
        """`answer@k`: whether any of the first k returned facts contains an accepted answer."""
        gold = self._answering(question)
        return Score(metrics={name: metrics.recall_any(ids, gold, k) for name, k in self._depths.items()})

    def gold_ids(self, question: Question, ids: Sequence[str]) -> list[str]:
        """Those of `ids` whose fact contains an accepted answer."""
        gold = self._answering(question)
        return [id_ for id_ in ids if id_ in gold]

    def ceiling(self, question: Question) -> bool | None:
        """Whether any fact contains an accepted answer; None where the question can't be had."""
        if self._row is None or question.id in self._unavailable:
            return None
        return bool(self._answering(question))

    def describe(self) -> dict[str, Any]:
        """Source, row, origin, the context's sha256, whether all of it is the official data, counts and notes."""
        if self._row is None:
            return {"source": self._source, "licence": LICENCE}
        context_sha256, answers_sha256 = self._official
        notes = []
        if context_sha256 not in {None, digest(self._row.context)}:
            notes.append("the context is not the official text (its sha256 differs)")
        if self._unavailable:
            notes.append(f"{len(self._unavailable)} of {len(self.questions)} questions are not in this copy")
        elif answers_sha256 not in {None, answers_digest(question.answers for question in self.questions)}:
            notes.append("the accepted answers are not the official ones (their sha256 differs)")
        return {
            "source": self._source,
            "licence": LICENCE,
            "row": self._row.name,
            "origin": self._row.origin,
            "context_sha256": digest(self._row.context),
            "official": None if context_sha256 is None else not notes,
            "entries": len(self._facts),
            "notes": notes,
        }
