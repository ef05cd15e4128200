"""What the files of a run must look like for a report to be made of them, whoever wrote or edited them."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from pytest_engram.runs.outcome import BINARY, Outcome

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Value = Annotated[float, Field(allow_inf_nan=False)]


class _Known(BaseModel):
    """Fields of a later version are kept, and those that are known must be what they were."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Method(_Known):
    label: str | None = None
    role: str | None = None
    stochastic: bool = False
    encoder: str | None = None


class _Rule(_Known):
    name: str | None = None
    text: str | None = None


class _KeyErrors(_Known):
    answers: Count | None = None
    citations: Count | None = None
    questions: Count | None = None
    ceiling: Annotated[float, Field(ge=0, le=1)] | None = None
    source: str | None = None


class _Constant(_Known):
    answer: str
    metrics: dict[str, float]


class _Suite(_Known):
    kind: Literal["pilot", "micro"] | None = None
    family: str | None = None
    metrics: list[str] = []
    n: Count | None = None
    file: str = ""
    official: bool | None = None
    rule: _Rule | None = None
    construction: str | None = None
    notes: list[str] = []
    excluded: dict[str, Count] = {}
    not_run: str | None = None
    cluster: str | None = None
    pooled: dict[str, list[str]] = {}
    key_errors: _KeyErrors | None = None
    floor: dict[str, float] = {}
    ceiling: dict[str, float] = {}
    constant: _Constant | None = None


class _Encoder(_Known):
    name: str
    hash: str | None = None
    dimensions: Count | None = None
    note: str | None = None
    query_prefix: str | None = None
    query_seconds: Amount | None = None


class _Tokenizer(_Known):
    name: str
    sha256: str | None = None


class _Reader(_Known):
    name: str


class _JudgePrompt(_Known):
    label: str | None = None


class _Judge(_Known):
    name: str | None = None
    label: str
    runs: Annotated[int, Field(ge=1)] | None = None
    prompts: dict[str, _JudgePrompt] = {}


class _Gate(_Known):
    gate: str
    name: str
    suite: str | None
    metric: str | None
    method: str | None
    label: str | None
    threshold: Value | None
    value: Value | None
    n: Count | None
    difference: Value | None
    low: Value | None
    high: Value | None
    p: Value | None
    p_holm: Value | None
    tests: Count | None
    passed: bool | None
    reason: str


class _Git(_Known):
    commit: str
    changed: bool


class _Manifest(_Known):
    k: Annotated[int, Field(ge=1)]
    engram: str | None = None
    created: str = ""
    duration_s: Amount = 0.0
    seeds: list[int] = []
    named: list[str] = []
    methods: dict[str, _Method] = {}
    suites: dict[str, _Suite] = {}
    encoder: _Encoder | None = None
    budget: Annotated[int, Field(ge=1)] | None = None
    tokenizer: _Tokenizer | None = None
    reader: _Reader | None = None
    gates: list[_Gate] = []
    judge: _Judge | str | None = None  # the first versions told its name alone
    git: _Git | None = None
    planned: Count = 0
    ran: Count = 0
    complete: bool = False
    versions: dict[str, str | None] = {}
    machine: dict[str, Any] = {}


class _Hop(BaseModel):
    state: Literal["new", "old", "both", "neither"]
    valid: list[str]
    superseded: list[str]


class _States(BaseModel):
    states: Annotated[list[_Hop], Field(min_length=1)]


class _Hops(BaseModel):
    fields: _States


class _Texts(BaseModel):
    texts: dict[str, dict[str, str]]


@cache
def _line() -> type[BaseModel]:
    """The fields of an outcome. They are checked and not taken over: a log that is read is as it was written."""
    types = get_type_hints(Outcome)
    given = {
        f.name: (types[f.name], ... if f.default is MISSING and f.default_factory is MISSING else None)
        for f in fields(Outcome)
    }
    return create_model("Line", __config__=ConfigDict(strict=True), **given)  # type: ignore[call-overload, no-any-return]


@cache
def _lines() -> SchemaValidator:
    """Reads a line at once, by the types that `_line` checks; a number stays the int or float that it is written as."""
    from pydantic import TypeAdapter
    from pydantic_core import CoreConfig, SchemaValidator

    return SchemaValidator(_as_written(TypeAdapter(Outcome).core_schema), CoreConfig(strict=True))


def _as_written(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_as_written(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "float":
        return {"type": "union", "choices": [{"type": "int"}, {"type": "float"}]}
    return {name: _as_written(part) for name, part in schema.items()}


def line(text: bytes) -> Outcome:
    """The outcome of a line of a run log.

    Raises:
        ValueError: the line is none; one line, with the field.
        RecursionError: it has brackets without end.
    """
    try:
        found: Outcome = _lines().validate_json(text)
    except ValidationError:
        # Either it is wrong, and this tells what, or JSON that only Python reads: half a surrogate pair.
        return outcome(json.loads(text))
    _check_values(found)
    return found


def outcome(record: object) -> Outcome:
    """The outcome of a parsed line of a run log.

    Raises:
        ValueError: the line is none; one line, with the field.
    """
    if not isinstance(record, dict):
        raise ValueError("not an object")
    _check(_line(), record)
    found = Outcome.from_record(record)
    _check_values(found)
    return found


def _check_values(found: Outcome) -> None:
    if found.seconds is not None and not math.isfinite(found.seconds):
        raise ValueError(f"seconds: {found.seconds} is no number")
    for name, spent in found.usage.items():
        if not math.isfinite(spent):
            raise ValueError(f"usage.{name}: {spent} is no number")
    for name in ("entries", "seconds", "bytes") if found.wrote else ():
        taken = found.wrote.get(name, 0)
        if isinstance(taken, bool) or not isinstance(taken, (int, float)) or not 0 <= taken < math.inf:
            raise ValueError(f"wrote.{name}: {taken!r:.60} is no number of 0 or more")
    for name, value in found.metrics.items():
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"metrics.{name}: {value} is not between 0 and 1")
        if value not in (None, 0, 1) and name.partition("@")[0] in BINARY:
            raise ValueError(f"metrics.{name}: {value} is neither 0 nor 1")
    if "states" in found.fields:
        _check(_Hops, {"fields": {"states": found.fields["states"]}})
    for number, place in enumerate(found.recalled):
        own = isinstance(place.get("text"), str) and isinstance(place.get("sources", []), list)
        if not (own or isinstance(place.get("id"), str)):
            raise ValueError(f"recalled.{number}: has neither `id` nor `text` and `sources`")
    for number, drop in enumerate(found.dropped):
        if not isinstance(drop.get("id"), str):
            raise ValueError(f"dropped.{number}: has no `id`")


def check_manifest(record: dict[str, Any]) -> None:
    """Refuse a manifest that no report can be made of.

    Raises:
        ValueError: one line, with the field.
    """
    _check(_Manifest, record)


def check_texts(record: dict[str, Any]) -> None:
    """Refuse excerpts that are none.

    Raises:
        ValueError: one line, with the field.
    """
    _check(_Texts, {"texts": record})


def _check(model: type[BaseModel], record: dict[str, Any]) -> None:
    try:
        model.model_validate(record)
    except ValidationError as error:
        raise ValueError(_told(error)) from None


def _told(error: ValidationError) -> str:
    first, *others = error.errors()
    where = ".".join(map(str, first["loc"]))
    given = "" if first["type"] == "missing" else f", not {first['input']!r:.60}"
    return f"{where}: {first['msg'].lower()}{given}" + (f" (and {len(others)} more)" if others else "")
