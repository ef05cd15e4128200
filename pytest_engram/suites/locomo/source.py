"""LoCoMo (Maharana et al., ACL 2024), CC BY-NC 4.0: ten long conversations, and questions about them by category.

The file is read where it lies and nothing of it is kept. With the public audit of its answer key beside it, the gold
says which answers of the key are wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pytest_engram.memory import TrainingQuestion
from pytest_engram.suites import locations
from pytest_engram.suites.base import NAME, Gold, Key, Lists, Loaded, NotRun, Question, Suite, absent, parse_metric
from pytest_engram.suites.committed import PilotQuestion, once
from pytest_engram.suites.locomo import audit, parse, protocol
from pytest_engram.suites.locomo.audit import Audit
from pytest_engram.suites.locomo.parse import Asked, Conversation
from pytest_engram.suites.locomo.protocol import Evidence, Granularity, rank

__all__ = ["Spec", "load", "missing", "rank", "training"]

FILE = "locomo/locomo10.json"
OFFICIAL = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"  # its sha256
# What published figures of answers are over: the adversarial category is left out of them.
POOLED = {"categories 1 to 4": [name for number, name in protocol.CATEGORIES.items() if number != protocol.ADVERSARIAL]}
LICENCE = "CC BY-NC 4.0"

_RETRIEVAL = ("recall", "recall_any", "recall_all", "ndcg_any")  # with a depth
_ANSWERS = ("f1", "judged", "subem")  # without


class Spec(BaseModel):
    """A suite file of this source; `data_sha256` is that of the file which its questions were drawn from."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=NAME)
    source: Literal["locomo"]
    granularity: Granularity = "turn"
    metrics: list[str] = Field(min_length=1)
    data_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    drawn: str | None = None  # the rule by which the questions were chosen
    questions: Literal["all"] | Annotated[list[PilotQuestion], Field(min_length=1)]

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str], info: ValidationInfo) -> list[str]:
        others = (info.context or {}).get("metrics", ())
        for name in names:
            kind, depth = parse_metric(name)
            if kind not in others and kind not in (_RETRIEVAL if depth else _ANSWERS):
                known = ", ".join([*(f"{kind}@N" for kind in _RETRIEVAL), *_ANSWERS])
                raise ValueError(f"{name!r} can't be measured on these questions; known are {known}")
        return names

    @field_validator("questions")
    @classmethod
    def _ids_once(cls, questions: Literal["all"] | list[PilotQuestion]) -> Literal["all"] | list[PilotQuestion]:
        if questions != "all":
            once(questions)
        return questions


class Copy(NamedTuple):
    """A file that was read: what it holds, where it is in words that may stand in a report, and its sha256."""

    conversations: tuple[Conversation, ...]
    origin: str
    sha256: str


def find(data: Path | None) -> Copy:
    """The benchmark's file, read.

    Raises:
        NotRun: it can't be had, or is not what it should be.
    """
    path, origin = locations.locate(FILE, data)
    samples = locations.listed(path, origin)
    try:
        return Copy(parse.conversations(samples), origin, hashlib.sha256(path.read_bytes()).hexdigest())
    except parse.Misfit as problem:
        raise NotRun(f"{origin} is not in LoCoMo's schema: {problem}; fetch it again") from None


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """The suite and its key.

    Raises:
        NotRun: the data can't be had, or is not what it should be.
    """
    copy = find(data)
    held = {asked.id: (asked, conversation) for conversation in copy.conversations for asked in conversation.questions}
    judged = audit.find(data, {id_: asked.query for id_, (asked, _) in held.items()})
    lists = {conversation.sample_id: conversation.entries(spec.granularity) for conversation in copy.conversations}
    there = {sample_id: frozenset(entry.id for entry in entries) for sample_id, entries in lists.items()}
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    for committed in _wanted(spec, copy):
        id_ = committed.id
        asked, conversation = held.get(id_, (None, None))
        problem = committed.problem(None if asked is None else asked.query)
        if asked is None or conversation is None or problem is not None:
            reason = f"{copy.origin} {problem}. Cure: fetch the official file again"
            questions.append(Question(id_, id_, query="", haystack="", not_run=reason))
            golds[id_] = Gold()
            continue
        sample_id = conversation.sample_id
        questions.append(Question(id_, id_, asked.query, sample_id))
        golds[id_] = _gold(asked, sample_id, spec.granularity, there[sample_id], judged.wrong.get(id_))
    suite = Suite(spec.name, path, questions, Lists(lists), source=spec.source, rank=rank)
    asked_here = [held[question.id][0] for question in questions if question.not_run is None]
    about = _about(spec) | _described(spec, copy, judged, asked_here, golds)
    about["entries"] = sum(len(lists[key]) for key in dict.fromkeys(q.haystack for q in questions) if key in lists)
    if gone := len(questions) - len(asked_here):
        about["notes"].append(f"{gone} of {len(questions)} questions are not in this copy")
    return _of_conversations(Loaded(suite, Key(spec.name, path, spec.metrics, golds, about=about)))


def missing(spec: Spec, path: Path, reason: str) -> Loaded:
    """The committed questions alone, where their data can't be had; one that stands for all, where all are asked."""
    ids = ["all"] if spec.questions == "all" else [question.id for question in spec.questions]
    return _of_conversations(absent(spec, path, ids, reason, about=_about(spec)))


def training(name: str, data: Path | None) -> list[TrainingQuestion]:
    """Questions for a method to learn from: all ("locomo") or a conversation's ("locomo_3").

    Whether it may is for the rules to say.

    Raises:
        NotRun: there are none, or the data can't be had.
    """
    copy = find(data)
    found = [
        TrainingQuestion(asked.id, asked.query, _answers(asked))
        for asked in _all(copy)
        if asked.id.startswith(f"{name}_")
    ]
    if not found:
        last = len(copy.conversations) - 1
        raise NotRun(f"{copy.origin} has no questions {name!r}; there: locomo, and locomo_0 to locomo_{last}")
    return found


def _gold(asked: Asked, sample_id: str, granularity: Granularity, there: frozenset[str], disputed: str | None) -> Gold:
    """What is right for a question; `there` are the ids of its conversation's entries."""
    evidence = [protocol.evidence_id(sample_id, named, granularity) for named in asked.evidence]
    relevant = [id_ for id_ in dict.fromkeys(evidence) if id_ in there]
    prompt: dict[str, Any] = {"category": asked.category}
    if asked.category == protocol.ADVERSARIAL:
        offered = asked.adversarial if asked.answer is None else asked.answer
        prompt["options"] = protocol.options(asked.id, offered or "")
    return Gold(
        answers=_answers(asked),
        relevant=relevant,
        excluded=None if evidence else protocol.NO_EVIDENCE,
        shown=_answers(asked),
        ceiling=bool(relevant) if evidence else None,
        cluster=sample_id,
        group=protocol.CATEGORIES[asked.category],
        disputed=disputed,
        prompt=prompt,
        detail=Evidence(tuple(evidence)),
    )


def _answers(asked: Asked) -> tuple[str, ...]:
    # Officially an adversarial question is answered by saying that nothing tells, whatever the file gives as answer.
    return (protocol.NOT_MENTIONED,) if asked.category == protocol.ADVERSARIAL else (str(asked.answer),)


def _wanted(spec: Spec, copy: Copy) -> Sequence[PilotQuestion]:
    if spec.questions == "all":
        return [PilotQuestion(id=asked.id) for asked in _all(copy)]
    return spec.questions


def _all(copy: Copy) -> list[Asked]:
    return [asked for conversation in copy.conversations for asked in conversation.questions]


def _of_conversations(loaded: Loaded) -> Loaded:
    loaded.key.cluster, loaded.key.prompts = "conversation", "locomo"
    loaded.key.shareable = False  # CC BY-NC 4.0
    return loaded


def _about(spec: Spec) -> dict[str, Any]:
    about = {"source": spec.source, "licence": LICENCE, "granularity": spec.granularity, "pooled": POOLED}
    return about if spec.drawn is None else about | {"drawn": spec.drawn}


def _described(
    spec: Spec, copy: Copy, judged: Audit, asked: Sequence[Asked], golds: Mapping[str, Gold]
) -> dict[str, Any]:
    """Origin, hash, whether official, counts, the errors of the answer key, and notes."""
    notes = []
    if copy.sha256 != OFFICIAL:
        notes.append("the data is not the official file (its sha256 differs)")
    if spec.data_sha256 not in {None, OFFICIAL, copy.sha256}:
        notes.append("the data is not the file that the questions were drawn from (its sha256 differs)")
    unnamed = {question.id for conversation in copy.conversations for question in conversation.unnamed()}
    if lost := len(unnamed.intersection(question.id for question in asked)):
        notes.append(f"evidence of {lost} question{'s' * (lost != 1)} names no turn and counts as not found")
    if judged.note:
        notes.append(judged.note)
    described: dict[str, Any] = {
        "origin": copy.origin,
        "data_sha256": copy.sha256,
        "official": copy.sha256 == OFFICIAL,
        "conversations": len({golds[question.id].cluster for question in asked}),
        "scored": sum(golds[question.id].excluded is None for question in asked),
        "notes": notes,
    }
    if judged.origin is not None:
        described["key_errors"] = audit.errors(judged, {q.id: q.category for q in asked})
    return described
