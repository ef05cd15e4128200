"""People's own data: entries and questions in files beside the suite file, or in the folder of `--engram-data`.

`docs/own-data.md` has the fields; `lines.EntryLine` and `lines.QuestionLine` are what a line may hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pytest_engram.retrieval.words import TOKENIZERS
from pytest_engram.suites.base import (
    NAME,
    Lists,
    Loaded,
    NotRun,
    Question,
    Suite,
    SuiteError,
    absent,
    parse_metric,
)
from pytest_engram.suites.files import QUESTIONS
from pytest_engram.suites.own import assemble, gold, qrels
from pytest_engram.suites.own.assemble import Asked, Data
from pytest_engram.suites.own.lines import ENTRIES, SUFFIXES, EntryLine, QuestionLine, read

__all__ = ["Spec", "load", "missing"]


def relative(name: str) -> str:
    """The name of a file or folder beside the suite file.

    Raises:
        ValueError: it is none: a report must not show where things lie on somebody's machine.
    """
    path = PurePosixPath(name)
    if not name.strip() or path.is_absolute() or "\\" in name or ":" in name or ".." in path.parts:
        raise ValueError(
            f"must be a path beside the suite file, with / between folders; got {name!r}; put it there, or give its "
            "folder as --engram-data"
        )
    return name


def _of_lines(name: str) -> str:
    if PurePosixPath(relative(name)).suffix not in SUFFIXES:
        raise ValueError(f"must end in {' or '.join(SUFFIXES)}; got {name!r}; write JSON lines or Parquet")
    return name


Relative = Annotated[str, AfterValidator(relative)]
LinesFile = Annotated[str, AfterValidator(_of_lines)]


class OwnSpec(BaseModel):
    """What all suites of own data have in common."""

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=NAME)
    source: str
    metrics: list[str] = Field(min_length=1)
    cluster: str | None = Field(default=None, min_length=1)  # what questions of one `cluster` have in common, in a word
    licence: str | None = Field(default=None, min_length=1)
    shareable: bool = True  # whether any report may hold texts
    tokenize: Literal["words", "characters"] | None = None

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str], info: ValidationInfo) -> list[str]:
        others = (info.context or {}).get("metrics", ())
        for name in names:
            kind, depth = parse_metric(name)
            if kind not in others and kind not in ((*gold.RETRIEVAL, *gold.HOLDING) if depth else gold.ANSWERS):
                known = ", ".join([*(f"{kind}@N" for kind in (*gold.RETRIEVAL, *gold.HOLDING)), *gold.ANSWERS])
                raise ValueError(f"{name!r} can't be measured on these questions; known are {known}")
        return names


class Spec(OwnSpec):
    """A suite file of this source."""

    source: Literal["own"]
    entries: LinesFile
    questions: LinesFile
    qrels: Relative | None = None


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """The suite and its key.

    Raises:
        NotRun: a file is not here.
        SuiteError: a file is wrong.
    """
    files = {name: find(name, path, data) for name in (spec.entries, spec.questions, spec.qrels) if name}
    rows = read(files[spec.entries], EntryLine, ENTRIES)
    held = assemble.entries(files[spec.entries], rows)
    haystacks = assemble.named(files[spec.entries], rows, held)
    asked = read(files[spec.questions], QuestionLine, QUESTIONS)
    judged = None
    if spec.qrels:
        judged = qrels.read(files[spec.qrels])
        known = {row.value.id for row in asked}
        if unknown := next((id_ for id_ in judged if id_ not in known), None):
            problem = f"{spec.questions} has no question {unknown!r}; delete its lines, or add the question"
            raise SuiteError(files[spec.qrels], None, "", problem)
    found = assemble.together(files[spec.questions], asked, held, haystacks, judged)
    return suite(spec, path, found, files, len(held))


def missing(spec: OwnSpec, path: Path, reason: str) -> Loaded:
    """One question that stands for all, where the data is not here."""
    loaded = absent(spec, path, ["all"], reason, about=_about(spec))
    loaded.key.shareable = spec.shareable
    return loaded


def find(name: str, path: Path, data: Path | None) -> Path:
    """A file or folder of own data: beside the suite file, else in the folder of `--engram-data`.

    Raises:
        NotRun: it is in neither.
    """
    for place in (path.parent, data):
        if place is not None and (place / name).exists():
            return place / name
    folder = (path.parent / name).parent
    there = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(PurePosixPath(name).name, there, 1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    raise NotRun(f"no {name} beside {path.name}, nor in --engram-data{meant}. Cure: put it there")


def suite(spec: OwnSpec, path: Path, data: Data, files: Mapping[str, Path], entries: int) -> Loaded:
    """The suite and its key, of data that was read.

    Args:
        spec: the suite file.
        path: where it stands.
        data: haystacks and questions.
        files: by the name that the suite file gives, what was read, for its hash.
        entries: how many were read.

    Raises:
        SuiteError: no question has what a metric needs.
    """
    for number, metric in enumerate(spec.metrics):
        base = parse_metric(metric)[0]
        if all(base in gold.left_out(asked) for asked in data.asked):
            field = "gold" if base in gold.RETRIEVAL else "answers"
            problem = f"no question has `{field}`, which {metric} needs; give some, or leave this metric out"
            raise SuiteError(path, None, f"metrics[{number}]", problem)
    drawn, cluster = gold.clusters(data.asked, len(data.lists))
    questions = [
        Question(one.id, _name(one.id, place), one.query, one.haystack) for place, one in enumerate(data.asked)
    ]
    about = _about(spec) | _described(spec, data, files, entries)
    key = gold.OwnKey(spec.name, path, spec.metrics, data, drawn, about)
    key.shareable = spec.shareable
    key.cluster = (spec.cluster or cluster) if drawn else None
    tokenize = TOKENIZERS[spec.tokenize] if spec.tokenize else None
    made = Suite(
        spec.name, path, questions, Lists(data.lists), source=spec.source, split=spec.tokenize, tokenize=tokenize
    )
    return Loaded(made, key)


def _name(id_: str, place: int) -> str:
    """Of the test item: the id, where it can stand in one and be told from a number."""
    plain = all(character.isalnum() or character in "_.-" for character in id_)
    return id_ if plain and len(id_) <= 80 else f"no{place}"


def _about(spec: OwnSpec) -> dict[str, Any]:
    return {"source": spec.source, **({"licence": spec.licence} if spec.licence else {})}


def _described(spec: OwnSpec, data: Data, files: Mapping[str, Path], entries: int) -> dict[str, Any]:
    """Origin, hash, counts and notes."""
    digests = "\n".join(_sha256(path) for path in files.values())
    return {
        "origin": f"{', '.join(files)}, own data",
        "data_sha256": hashlib.sha256(digests.encode()).hexdigest(),
        "official": None,
        "entries": entries,
        "haystacks": len(data.lists),
        "notes": [*_unknown(data), *gold.notes(spec.metrics, data.asked)],
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unknown(data: Data) -> Sequence[str]:
    """Of judgements that name what no entry is."""
    ids = {name: {entry.id for entry in listed} for name, listed in data.lists.items()}

    def lost(one: Asked) -> bool:
        return bool(one.grades) and not ids[one.haystack].issuperset(one.grades or ())

    if not (count := sum(map(lost, data.asked))):
        return []
    return [f"of {count} question{'s' * (count != 1)}, something that no entry is was judged: it counts as not found"]
