"""What a line of own data may hold, and the reading of it: JSON lines or Parquet, told to the line and the field."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema

from pytest_engram.suites import dates
from pytest_engram.suites.base import SuiteError

PARQUET = ".parquet"
SUFFIXES = (".jsonl", ".ndjson", PARQUET)
ENTRIES = 2_000_000  # of a suite: every worker holds all of them


def shown(given: Any) -> str:
    """A value as the file has it, on one line and not too long."""
    try:
        text = json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError):  # what only Parquet has
        text = str(given)
    text = text if text.isprintable() else json.dumps(text)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _text(given: Any) -> str:
    if not isinstance(given, str):
        plain = isinstance(given, int) and not isinstance(given, bool)
        raise ValueError(f"must be a text; got {shown(given)}; write {json.dumps(str(given)) if plain else 'one'}")
    if not given.strip():
        raise ValueError("is empty; write something, or leave it out")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"holds half a character; got {shown(given)}; write it as UTF-8") from None
    return given


def _id(given: Any) -> str:
    text = _text(given)
    if not text.isprintable() or text != text.strip():
        raise ValueError(f"must be one line without white space around it; got {shown(given)}; rename it")
    return text


def _texts(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (_text(given),)
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"must be a text, or a list of texts; got {shown(given)}; write it in [ and ]")
    return tuple(_part(_text, one, number) for number, one in enumerate(given))


def _ids(given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"must be a list of ids; got {shown(given)}; write it in [ and ]")
    found = tuple(_part(_id, one, number) for number, one in enumerate(given))
    if twice := next((id_ for id_ in found if found.count(id_) > 1), None) if len(set(found)) < len(found) else None:
        raise ValueError(f"{shown(twice)} stands twice; delete one")
    return found


def _part(check: Any, given: Any, number: int) -> str:
    try:
        found: str = check(given)
    except ValueError as error:
        raise ValueError(f"[{number}] {error}") from None
    return found


def _place(given: Any) -> tuple[str, ...]:
    """The haystacks of an entry."""
    found = (_id(given),) if isinstance(given, str) else _ids(given)
    if not found:
        raise ValueError("is an empty list; name a haystack")
    return found


def _asked_over(given: Any) -> str | tuple[str, ...]:
    """The haystack of a question, by its name or by its entries."""
    found = _id(given) if isinstance(given, str) else _ids(given)
    if not found:
        raise ValueError("is an empty list; name its entries")
    return found


def _time(given: Any) -> float | str:
    """A number, or a date; which of them it was, the caller must know."""
    if isinstance(given, (int, float)) and not isinstance(given, bool) and math.isfinite(given):
        return float(given)
    if hasattr(given, "isoformat"):  # Parquet's dates
        given = given.isoformat()
    if isinstance(given, str) and dates.seconds(given) is not None:
        return given
    example = '"2026-05-08T13:56" or 1778248560'
    raise ValueError(f"must be a date or a number; got {shown(given)}; write it like {example}")


def _gold(given: Any) -> dict[str, int]:
    """Relevance by id. A list gives 1 to each; Parquet's maps are lists of pairs."""
    if isinstance(given, list) and given and all(isinstance(one, tuple) and len(one) == 2 for one in given):
        given = dict(given)
    if not isinstance(given, dict):
        if not isinstance(given, (list, tuple)):
            example = '["e1"] or {"e1": 2}'
            raise ValueError(f"must be a list of ids of entries; got {shown(given)}; write it like {example}")
        return dict.fromkeys(_ids(given), 1)
    for id_, grade in given.items():
        _id(id_)
        if isinstance(grade, bool) or not isinstance(grade, int):
            raise ValueError(f"must have a whole number for {shown(id_)}; got {shown(grade)}; above 0 is relevant")
    return given


_STRINGS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_STRING = {"type": "string", "minLength": 1}
Text: TypeAlias = Annotated[str, PlainValidator(_text), WithJsonSchema(_STRING)]
Id: TypeAlias = Annotated[str, PlainValidator(_id), WithJsonSchema(_STRING)]
_Place = Annotated[tuple[str, ...], PlainValidator(_place), WithJsonSchema({"anyOf": [_STRING, _STRINGS]})]
_Over = Annotated[
    str | tuple[str, ...],
    PlainValidator(_asked_over),
    WithJsonSchema({"anyOf": [_STRING, {**_STRINGS, "minItems": 1}]}),
]
_Time = Annotated[
    float | str, PlainValidator(_time), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
]
_Answers = Annotated[tuple[str, ...], PlainValidator(_texts), WithJsonSchema({"anyOf": [_STRING, _STRINGS]})]
_GRADES = {"type": "object", "additionalProperties": {"type": "integer"}}
_Gold = Annotated[dict[str, int], PlainValidator(_gold), WithJsonSchema({"anyOf": [_STRINGS, _GRADES]})]


class EntryLine(BaseModel):
    """One thing that a memory is given."""

    model_config = ConfigDict(extra="forbid")

    id: Id = Field(description="Its id; no other entry has it.")
    text: Text = Field(description="What it says.")
    time: _Time | None = Field(default=None, description="When it was said: a date or a number. All have one, or none.")
    source: Text | None = Field(default=None, description="Who said it.")
    haystack: _Place | None = Field(default=None, description="The haystack that it is in, or a list of them.")


class QuestionLine(BaseModel):
    """One question, and what is right."""

    model_config = ConfigDict(extra="forbid")

    id: Id = Field(description="Its id; no other question has it.")
    query: Text = Field(description="What a memory is asked.")
    gold: _Gold | None = Field(default=None, description="Ids of the entries that answer, or relevance by id.")
    answers: _Answers | None = Field(default=None, description="The accepted answers.")
    group: Text | None = Field(default=None, description="Its category, which has a column of its own in tables.")
    cluster: Text | None = Field(default=None, description="What it was drawn with.")
    haystack: _Over | None = Field(default=None, description="A haystack's name, or the ids of its entries.")


M = TypeVar("M", bound=BaseModel)


class Row(NamedTuple, Generic[M]):
    """A line that was read, and its number in the file, from 1; of Parquet, its row."""

    number: int
    value: M


def fault(path: Path, number: int | None, field: str, problem: str) -> SuiteError:
    """What is wrong with a line of a file, or with the whole of it."""
    if number is not None and path.suffix == PARQUET:
        return SuiteError(path, None, f"row {number}: {field}" if field else f"row {number}", problem)
    return SuiteError(path, number, field, problem)


def read(path: Path, model: type[M], most: int) -> list[Row[M]]:
    """The lines of a file.

    Args:
        path: of JSON lines, or Parquet where it ends so.
        model: what a line is.
        most: how many there may be.

    Raises:
        SuiteError: it can't be read, a line is none, or there are none or too many.
    """
    rows: list[Row[M]] = []
    for number, record in records(path):
        if len(rows) == most:
            raise fault(path, number, "", f"more than {most:,} lines; write fewer, or make several suites of them")
        rows.append(Row(number, _checked(path, number, record, model)))
    if not rows:
        raise SuiteError(path, None, "", "holds no line; write one JSON object a line")
    return rows


def records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their numbers; fields that are null are left out.

    Raises:
        SuiteError: it can't be read, or a line is no JSON object.
    """
    found = _of_parquet(path) if path.suffix == PARQUET else _of_lines(path)
    for number, record in found:
        yield number, {name: value for name, value in record.items() if value is not None}


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file that are not empty, with their numbers.

    Raises:
        SuiteError: it can't be read.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if not line.strip():
                    continue
                try:
                    yield number, line.decode("utf-8")
                except UnicodeDecodeError as error:
                    problem = f"not UTF-8, from byte {error.start + 1} on; save the file as UTF-8"
                    raise SuiteError(path, number, "", problem) from None
    except OSError as error:
        raise SuiteError(path, None, "", f"can't be read ({error.strerror}); make it readable") from None


def _of_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines(path):
        try:
            record = _decode(line.strip())
        except json.JSONDecodeError as error:
            problem = f"not JSON: {error.msg} at column {error.colno}; write one JSON object a line"
            raise SuiteError(path, number, "", problem) from None
        except _Twice as twice:
            raise SuiteError(path, number, str(twice), "stands twice in one object; delete one") from None
        except (ValueError, RecursionError):  # numbers of thousands of digits, brackets in brackets in brackets
            problem = "no JSON that can be read; write one plain JSON object a line"
            raise SuiteError(path, number, "", problem) from None
        if not isinstance(record, dict):
            problem = f"must be an object; got {shown(record)}; write one JSON object a line"
            raise SuiteError(path, number, "", problem)
        yield number, record


class _Twice(Exception):
    """A name that stands twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return record


_decode = json.JSONDecoder(object_pairs_hook=_once).decode  # made once, and not for every line


def _of_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        problem = f"can't be read as Parquet ({str(error).splitlines()[0]:.80}); write it again"
        raise SuiteError(path, None, "", problem) from None


def _checked(path: Path, number: int, record: Mapping[str, Any], model: type[M]) -> M:
    try:
        return model.model_validate(record)
    except ValidationError as error:
        faults = error.errors(include_url=False)
    # A field that does not exist first: it is often the misspelt name of the one that is missing.
    first = min(faults, key=lambda found: found["type"] != "extra_forbidden")
    field = str(first["loc"][0])
    if first["type"] == "missing":
        raise fault(path, number, field, "this field is missing; add it")
    if first["type"] == "extra_forbidden":
        close = get_close_matches(field, [name for name in model.model_fields if name not in record], 1)
        cure = f"did you mean {close[0]}?" if close else f"known are {', '.join(model.model_fields)}"
        raise fault(path, number, field if field.isprintable() else shown(field), f"no such field; {cure}")
    raise fault(path, number, field, first["msg"].removeprefix("Value error, "))
