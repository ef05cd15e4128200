"""Numbered facts in which a later one may contradict an earlier one: parsed, kept for the workers, and scored.

A context's first line is a heading, each further line `SERIAL. fact`, as FactConsolidation of MemoryAgentBench
(Hu et al., 2025) has it. A fact is an entry: its id and time are the serial number, its text is the whole line, serial
number included, because the benchmark shows it so to a memory.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pytest_engram.basics.texts import PART, SERIAL, contains, contains_word, normalise
from pytest_engram.memory import Entry
from pytest_engram.suites.base import NAME, Gold, Hop, Key, Lists, Loaded, Question, Suite, absent, parse_metric
from pytest_engram.suites.committed import PilotQuestion as Committed

LICENCE = "MIT"

_FACT = re.compile(r"([0-9]+)\.(?:\s|$)")
_NUMBER = re.compile(r"_no([0-9]+)$")
# A name, and whether it stands without a depth.
_METRICS = {("answer", False), ("resolved", False), ("subem", True), ("judged", True)}


class PilotQuestion(Committed):
    """A committed question: the benchmark's id, and its text's `rules.fingerprint`, never the text."""

    text: str = Field(pattern=r"^[0-9a-f]{16}$")


class FactSpec(BaseModel):
    """What all suites of numbered facts have in common."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=NAME)
    metrics: list[str] = Field(min_length=1)
    source: str
    questions: Literal["all"] | list[PilotQuestion]

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str], info: ValidationInfo) -> list[str]:
        others = (info.context or {}).get("metrics", ())
        for name in names:
            kind, depth = parse_metric(name)
            if kind not in others and (kind, depth is None) not in _METRICS:
                raise ValueError(
                    f"{name!r} can't be measured on these questions; known are answer@N, resolved@N, subem and judged"
                )
        return names

    @field_validator("questions")
    @classmethod
    def _ids_once(cls, questions: Literal["all"] | list[PilotQuestion]) -> Literal["all"] | list[PilotQuestion]:
        seen: set[str] = set()
        for question in questions if questions != "all" else ():
            if question.id in seen:
                raise ValueError(f"the question {question.id!r} stands twice; delete one")
            seen.add(question.id)
        return questions


class FactQuestion(NamedTuple):
    """One question of a row. `fields` go into the run log; `hops` are given where the row's maker knows them."""

    id: str
    text: str
    answers: tuple[str, ...]
    fields: dict[str, Any]
    hops: tuple[Hop, ...] = ()


class Unknown(Exception):
    """Which facts a question needs can't be told. The message is the reason."""


Trace: TypeAlias = Callable[[FactQuestion], tuple[Hop, ...]]
"""Finds the facts that a question needs; raises `Unknown`."""


def given(question: FactQuestion) -> tuple[Hop, ...]:
    """The hops that a question brings.

    Raises:
        Unknown: it brings none.
    """
    if not question.hops:
        raise Unknown("which facts the question needs is not told")
    return question.hops


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


def load(
    spec: FactSpec,
    path: Path,
    row: FactRow,
    trace: Trace = given,
    *,
    context_sha256: str | None = None,
    answers_sha256: str | None = None,
) -> Loaded:
    """Questions over one list of facts; parsing and scoring are the same, whatever source gives the row.

    Args:
        spec: the suite file.
        path: where it stands.
        row: the facts and questions.
        trace: finds the facts that a question needs.
        context_sha256: of the official context, where the source has one.
        answers_sha256: of the official answers.
    """
    facts = parse_facts(row.context)
    wanted = [Committed(id=q.id) for q in row.questions] if spec.questions == "all" else spec.questions
    key = FactKey(spec, path, row, facts, wanted, trace, (context_sha256, answers_sha256))
    haystack = f"facts-{digest(row.context)[:16]}"
    questions = [_question(committed, haystack, key) for committed in wanted]
    return Loaded(Suite(spec.name, path, questions, Lists({haystack: facts}), source=spec.source), key)


def missing(spec: FactSpec, path: Path, reason: str) -> Loaded:
    """The committed questions alone, where their data can't be had; one that stands for all, where all are asked."""
    wanted = [Committed(id="all")] if spec.questions == "all" else spec.questions
    names, ids = [_name(committed) for committed in wanted], [committed.id for committed in wanted]
    return absent(spec, path, ids, reason, names=names, about={"source": spec.source, "licence": LICENCE})


def _name(committed: Committed) -> str:
    number = _NUMBER.search(committed.id)
    return f"q{int(number[1]):03d}" if number else committed.id


def _question(committed: Committed, haystack: str, key: FactKey) -> Question:
    name = _name(committed)
    if reason := key.unavailable.get(committed.id):
        return Question(committed.id, name, query="", haystack=haystack, not_run=reason)
    return Question(committed.id, name, key.held[committed.id].text, haystack)


class FactKey(Key):
    """The accepted answers of a row's questions."""

    prompts = "factconsolidation"

    def __init__(
        self,
        spec: FactSpec,
        path: Path,
        row: FactRow,
        facts: Sequence[Entry],
        wanted: Sequence[Committed],
        trace: Trace,
        official: tuple[str | None, str | None],
    ) -> None:
        super().__init__(spec.name, path, spec.metrics, {})
        self._found: dict[str, Gold] = {}
        self.held = {question.id: question for question in row.questions}
        self.unavailable: dict[str, str] = {}
        self._committed = [committed.id for committed in wanted]
        self._source = spec.source
        self._row = row
        self._facts = facts
        self._trace = trace
        self._official = official
        self._normalised: dict[str, str] = {}
        for committed in wanted:
            held = self.held.get(committed.id)
            if problem := committed.problem(None if held is None else held.text):
                self.unavailable[committed.id] = f"{row.origin} {problem}. Cure: fetch the official data again"

    def questions(self) -> list[str]:
        """The ids of the committed questions."""
        return self._committed

    def gold(self, question_id: str) -> Gold:
        """The accepted answers, and the facts that contain one: looked for once, not for every method again."""
        if question_id not in self._found:
            self._found[question_id] = self._gold(question_id)
        return self._found[question_id]

    def _gold(self, question_id: str) -> Gold:
        if question_id not in self._committed:
            raise KeyError(question_id)
        if question_id in self.unavailable:
            return Gold()
        held = self.held[question_id]
        if not self._normalised:
            self._normalised = {entry.id: normalise(entry.text) for entry in self._facts}
        wanted = [answer for answer in map(normalise, held.answers) if answer]
        texts = self._normalised.items()
        relevant = frozenset(id_ for id_, text in texts if any(answer in text for answer in wanted))
        gold = Gold(held.answers, relevant, shown=held.answers, ceiling=bool(relevant), fields=held.fields)
        gold.chance = {id_: rests for id_ in relevant if (rests := self._chance(id_, held.answers))}
        try:
            gold.hops = self._trace(held)
        except Unknown as reason:
            gold.left_out = {"resolved": str(reason)}
            return gold
        gold.superseded = tuple(dict.fromkeys(version.value for version in gold.hops[-1].superseded))
        return gold

    def _chance(self, id_: str, answers: Sequence[str]) -> str | None:
        """Where a fact holds an answer, if that is no word of what it says."""
        said = _FACT.sub("", self._texts[id_], count=1)
        if contains_word(normalise(said), answers):
            return None
        return PART if contains(normalise(said), answers) else SERIAL

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {entry.id: entry.text for entry in self._facts}

    def _unresolved(self) -> list[str]:
        """A sentence for each reason why `resolved@N` leaves questions out, where the suite asks for it."""
        if not any(parse_metric(name)[0] == "resolved" for name in self.metrics):
            return []
        reasons = Counter(self.gold(id_).left_out.get("resolved") for id_ in self._committed)
        return [
            f"{count} of {len(self._committed)} questions are left out of resolved@N: {reason}"
            for reason, count in sorted((reason, count) for reason, count in reasons.items() if reason)
        ]

    def describe(self) -> dict[str, Any]:
        """Source, row, origin, the context's sha256, whether all of it is the official data, counts and notes."""
        context_sha256, answers_sha256 = self._official
        notes = []
        if context_sha256 not in {None, digest(self._row.context)}:
            notes.append("the context is not the official text (its sha256 differs)")
        if self.unavailable:
            notes.append(f"{len(self.unavailable)} of {len(self._committed)} questions are not in this copy")
        elif answers_sha256 not in {None, answers_digest(self.held[id_].answers for id_ in self._committed)}:
            notes.append("the accepted answers are not the official ones (their sha256 differs)")
        return {
            "source": self._source,
            "licence": LICENCE,
            "row": self._row.name,
            "origin": self._row.origin,
            "context_sha256": digest(self._row.context),
            "official": None if context_sha256 is None else not notes,
            "entries": len(self._facts),
            "notes": [*notes, *self._unresolved()],
        }
