"""`recorded:FILE.jsonl`: verdicts that were given elsewhere, as a judge that asks nobody.

A line is `{"question_id", "answer", "verdicts"}`, for this answer to this question alone. With `"known": "wrong"` or
`"right"` it also tells what the answer is, and is one that this judge is judged by; `kind` then says how it was made.
Each line must be of a question of the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_engram.judging.judges import Case, JudgeError, JudgeUnavailable
from pytest_engram.runs.known import KnownAnswer, Truth
from pytest_engram.suites.base import Key

USAGE = "recorded:FILE.jsonl"
GIVEN = "given"  # the kind of a known answer of which the file says no other
NO_VERDICT = "no recorded verdict for this answer"


class Line(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    question_id: str
    answer: str
    verdicts: Annotated[list[bool], Field(min_length=1)]
    known: Truth | None = None
    kind: str = GIVEN


def resolve(argument: str) -> RecordedJudge:
    """The judge whose verdicts are in the file `argument`.

    Raises:
        JudgeError: it can't be read, or a line is none.
    """
    try:
        content = Path(argument).expanduser().read_bytes()
        lines = content.decode("utf-8-sig").split("\n")
    except OSError as error:
        raise JudgeError(f"{argument}: can't be read ({error.strerror}); give a file of JSON lines") from None
    except UnicodeDecodeError:
        raise JudgeError(f"{argument}: not UTF-8; save the file as UTF-8") from None
    found: dict[tuple[str, str], Line] = {}
    places: dict[str, list[str]] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = Line.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            told = f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()
            raise JudgeError(f"{argument}:{number}: {told}; write question_id, answer and verdicts") from None
        if (line.question_id, line.answer) in found:
            raise JudgeError(f"{argument}:{number}: this answer to {line.question_id} stands twice; delete one")
        if problem := _of_kind(line):
            raise JudgeError(f"{argument}:{number}: kind: {problem}")
        found[line.question_id, line.answer] = line
        places.setdefault(line.question_id, []).append(f"{argument}:{number}")
    if not found:
        raise JudgeError(f"{argument}: holds no verdict; give a file with a line for each answer")
    return RecordedJudge(Path(argument).name, hashlib.sha256(content).hexdigest(), found, places)


def _of_kind(line: Line) -> str | None:
    """What is wrong with a line's `kind`, and the cure."""
    if not line.kind.strip():
        return "is empty; write how the answer was made, or leave the field out"
    if "kind" in line.model_fields_set and line.known is None:
        return 'is of a known answer; add `known`, "wrong" or "right", or leave the field out'
    return None


class RecordedJudge:
    """Says what the file says.

    Args:
        file: its name.
        sha256: of its bytes, in hex.
        lines: by question id and answer.
        places: of each question's lines, as file:line.
    """

    def __init__(
        self, file: str, sha256: str, lines: Mapping[tuple[str, str], Line], places: Mapping[str, Sequence[str]]
    ) -> None:
        self.label = f"recorded ({file})"
        self._file = file
        self._sha256 = sha256
        self._lines = lines
        self._places = places

    def check(self, questions: Collection[str]) -> None:
        """See that each line is of a question of the run.

        Raises:
            JudgeError: one is of none: a misspelt id would take its verdict away in silence.
        """
        unknown = [id_ for id_ in self._places if id_ not in questions]
        if not unknown:
            return
        meant = get_close_matches(unknown[0], questions, 1)
        cure = f"did you mean {meant[0]!r}?" if meant else "run its suite as well, or delete the line"
        count = sum(len(self._places[id_]) for id_ in unknown) - 1
        more = f" ({count} more such {'line' if count == 1 else 'lines'})" if count else ""
        raise JudgeError(f"{self._places[unknown[0]][0]}: no question {unknown[0]!r} in this run; {cure}{more}")

    def __call__(self, case: Case) -> list[bool]:
        """The verdicts on this answer.

        Raises:
            JudgeUnavailable: the file has none.
        """
        line = self._lines.get((case.question_id, case.answer))
        if line is None:
            raise JudgeUnavailable(NO_VERDICT)
        return list(line.verdicts)

    def describe(self, keys: Mapping[str, Key]) -> dict[str, Any]:  # noqa: ARG002 (every judge is called alike)
        """The file's name and hash."""
        return {"name": f"recorded:{self._file}", "sha256": self._sha256}

    def known(self, key: Key, questions: Mapping[str, str]) -> list[KnownAnswer]:
        """The lines that tell what their answer is, of a suite's questions."""
        return [
            KnownAnswer(
                key.name, id_, line.kind, line.known, answer, list(line.verdicts), cluster=key.gold(id_).cluster
            )
            for (id_, answer), line in self._lines.items()
            if line.known is not None and id_ in questions
        ]
