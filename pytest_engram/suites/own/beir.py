"""A folder as BEIR has it (Thakur et al., NeurIPS 2021): `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`.

A document is an entry: its text is title and text, a space between them, as BEIR's own dense retrieval joins them. All
documents are one haystack. The questions are those that the split has judgements of; a relevance above 0 answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_engram.memory import Entry
from pytest_engram.suites.base import Loaded, NotRun, SuiteError
from pytest_engram.suites.files import QUESTIONS
from pytest_engram.suites.own import assemble, qrels
from pytest_engram.suites.own.lines import ENTRIES, QuestionLine, Row, fault, records, shown
from pytest_engram.suites.own.source import OwnSpec, Relative, find, missing, suite

__all__ = ["Spec", "load", "missing"]

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"


class Spec(OwnSpec):
    """A suite file of this source."""

    source: Literal["beir"]
    folder: Relative
    split: str = Field(default="test", pattern=r"^\w+$")


def judgements(spec: Spec) -> str:
    """The name of the file of judgements, within the folder."""
    return f"qrels/{spec.split}.tsv"


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """The suite and its key.

    Raises:
        NotRun: a file is not here.
        SuiteError: a file is wrong.
    """
    folder = find(spec.folder, path, data)
    files = {f"{spec.folder}/{name}": folder / name for name in (CORPUS, QUERIES, judgements(spec))}
    for name, file in files.items():
        if not file.is_file():
            raise NotRun(f"no {name}. Cure: put there what BEIR has under this name")
    held = _corpus(folder / CORPUS)
    judged = qrels.read(folder / judgements(spec))
    if len(judged) > QUESTIONS:
        problem = f"judges more than {QUESTIONS:,} questions; make several splits of them"
        raise SuiteError(folder / judgements(spec), None, "", problem)
    rows = _queries(folder / QUERIES, judged)
    if len(rows) < len(judged):
        known = {row.value.id for row in rows}
        unknown = next(id_ for id_ in judged if id_ not in known)
        problem = f"{QUERIES} has no question {shown(unknown)}; delete its lines, or add the question"
        raise SuiteError(folder / judgements(spec), None, "", problem)
    return suite(spec, path, assemble.together(folder / QUERIES, rows, held, {}, judged), files, len(held))


def _corpus(path: Path) -> dict[str, Entry]:
    """The documents, in the order of the file."""
    found: dict[str, Entry] = {}
    for number, record in records(path):
        id_ = _field(path, number, record, "_id")
        title, text = record.get("title") or "", _field(path, number, record, "text", empty=True)
        if not isinstance(title, str):
            raise fault(path, number, "title", f"must be a text; got {shown(title)}; write one")
        if id_ in found:
            raise fault(path, number, "_id", f"{shown(id_)} is the id of a document above; rename one")
        if len(found) == ENTRIES:
            raise fault(path, number, "", f"more than {ENTRIES:,} documents; keep fewer")
        found[id_] = Entry(id_, f"{title} {text}".strip(), float(len(found)))
    if not found:
        raise SuiteError(path, None, "", "holds no document")
    return found


def _queries(path: Path, judged: dict[str, dict[str, int]]) -> list[Row[QuestionLine]]:
    """Those that were judged."""
    return [
        Row(number, QuestionLine.model_construct(id=id_, query=_field(path, number, record, "text")))
        for number, record in records(path)
        if (id_ := _field(path, number, record, "_id")) in judged
    ]


def _field(path: Path, number: int, record: dict[str, Any], name: str, *, empty: bool = False) -> str:
    if name not in record:
        raise fault(path, number, name, "this field is missing; add it")
    given = record[name]
    if not isinstance(given, str) or not (empty or given.strip()):
        raise fault(path, number, name, f"must be a text; got {shown(given)}; write one")
    return given
