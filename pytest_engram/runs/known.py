"""Answers known to be right or wrong that a judge was asked about, as `known_answers.jsonl` holds them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Truth: TypeAlias = Literal["wrong", "right"]


@dataclass(slots=True)
class KnownAnswer:
    """One answer, and what the judge said of it.

    Attributes:
        suite, question_id: whose answer it would be.
        kind: how it was made, such as "vague".
        truth: what it is.
        answer: its text.
        verdicts: the judge's, one a time it was asked; empty where it gave none.
        reason: why it gave none.
        cluster: what the question was drawn with.
    """

    suite: str
    question_id: str
    kind: str
    truth: Truth
    answer: str
    verdicts: list[bool] = field(default_factory=list)
    reason: str = ""
    cluster: str | None = None

    @property
    def accepted(self) -> float:
        """The share of verdicts that take it for right."""
        return sum(self.verdicts) / len(self.verdicts)

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What no two of a run share."""
        return self.suite, self.question_id, self.kind, self.answer


def write(known: Iterable[KnownAnswer]) -> str:
    """The file's text, a line each, in an order that does not depend on theirs."""
    lines = sorted(known, key=lambda one: one.place)
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in lines)


def read(text: str) -> list[KnownAnswer]:
    """What `write` gave. Fields that this version does not know are ignored.

    Raises:
        ValueError: a line is none; one line, with its number.
    """
    from pydantic import TypeAdapter, ValidationError  # only now: writing does without

    adapter = TypeAdapter(KnownAnswer)
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(adapter.validate_json(line, strict=True))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"line {number}: {where}: {first['msg'].lower()}".replace(": : ", ": ")) from None
    return found


def merged(parts: Sequence[Iterable[KnownAnswer]]) -> list[KnownAnswer]:
    """Those of several parts of a run, each once; one with verdicts stands for one without."""
    found: dict[Any, KnownAnswer] = {}
    for part in parts:
        for one in part:
            if one.place not in found or not found[one.place].verdicts:
                found[one.place] = one
    return list(found.values())
