"""FactConsolidation, the conflict-resolution task of MemoryAgentBench (Hu et al., 2025), MIT licence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from pytest_engram.memory import TrainingQuestion
from pytest_engram.suites import chains, facts, locations
from pytest_engram.suites.base import Loaded, NotRun
from pytest_engram.suites.facts import FactQuestion, FactRow, FactSpec, missing, parse_facts

__all__ = ["Spec", "load", "missing", "training"]

FILE = "memoryagentbench/Conflict_Resolution.json"
HUB = locations.HubSplit("ai-hyz/MemoryAgentBench", "Conflict_Resolution")


class Spec(FactSpec):
    """A suite file of this source. The two sha256 are those of the official data (`digest`, `answers_digest`)."""

    source: Literal["factconsolidation"]
    rows: str = Field(min_length=1)
    context_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    answers_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """The suite and its key.

    Raises:
        NotRun: the row can't be had, or is not what it should be.
    """
    official = {"context_sha256": spec.context_sha256, "answers_sha256": spec.answers_sha256}
    row = find_row(spec.rows, data)
    return facts.load(spec, path, row, chains.finder(parse_facts(row.context), hops(row.name)), **official)


def hops(name: str) -> range:
    """How many facts a question of a row may need: MemoryAgentBench's multi-hop questions are MQuAKE's, of 2 to 4."""
    if "_sh_" in name:
        return range(1, 2)
    return range(2, 5) if "_mh_" in name else range(1, 5)


def training(name: str, data: Path | None) -> list[TrainingQuestion]:
    """The questions of a row, for a method to learn from; whether it may is for the rules to say.

    Raises:
        NotRun: there is no such row, or the data can't be had.
    """
    return [TrainingQuestion(q.id, q.text, q.answers) for q in find_row(name, data).questions]


def find_row(name: str, data: Path | None) -> FactRow:
    """The row whose `metadata.source` is `name`.

    Raises:
        NotRun: it can't be had, or is not what it should be.
    """
    table = locations.rows(FILE, data, HUB)
    names = [_source(row) for row in table.rows]
    if names.count(name) != 1:
        there = ", ".join(map(_on_one_line, sorted(filter(None, set(names))))) or "none with a metadata.source"
        problem = "no row" if name not in names else f"{names.count(name)} rows"
        raise NotRun(f"{table.origin} has {problem} {name!r}; there: {there}. Fetch the official data again")
    try:
        raw = _RawRow.model_validate(table.rows[names.index(name)])
        parse_facts(raw.context)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")
        problem = f"{where}: {problem}" if where else problem
    except ValueError as error:
        problem = str(error)
    else:
        ids = raw.metadata.qa_pair_ids or [f"{name}_no{i}" for i in range(len(raw.questions))]
        asked = zip(ids, raw.questions, raw.answers, strict=True)
        questions = tuple(FactQuestion(id_, text, tuple(answers), {}) for id_, text, answers in asked)
        return FactRow(name, raw.context, questions, table.origin)
    raise NotRun(f"{table.origin}, row {name!r}: {problem}. Fetch the official data again")


class _Metadata(BaseModel):
    source: str
    qa_pair_ids: list[str] | None = None


class _RawRow(BaseModel):
    """A row as the dataset has it."""

    context: str
    questions: list[str]
    answers: list[list[str]]
    metadata: _Metadata

    @model_validator(mode="after")
    def _lengths(self) -> _RawRow:
        ids = self.metadata.qa_pair_ids
        counts = {"questions": len(self.questions), "answers": len(self.answers)}
        counts |= {"metadata.qa_pair_ids": len(ids)} if ids else {}
        if len(set(counts.values())) > 1:
            raise ValueError("unequal numbers of " + ", ".join(f"{name} ({n})" for name, n in counts.items()))
        if ids and (twice := [id_ for id_, n in Counter(ids).items() if n > 1]):
            raise ValueError(f"metadata.qa_pair_ids: {twice[0]!r} stands twice")
        return self


def _on_one_line(name: str) -> str:
    return name if name.isprintable() and len(name) <= 80 else f"{name!r:.80}"


def _source(row: Any) -> str | None:
    metadata = row.get("metadata") if isinstance(row, dict) else None
    source = metadata.get("source") if isinstance(metadata, dict) else None
    return source if isinstance(source, str) else None
