"""The errors that a public audit (dial481/locomo-audit, CC BY-NC 4.0) found in LoCoMo's answer key.

They are told of, and never corrected: figures stand as published and without the questions whose answer is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_engram.suites import locations
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.locomo import protocol

FILE = "locomo/audit/errors.json"
ANSWERS = frozenset({"HALLUCINATION", "TEMPORAL_ERROR", "ATTRIBUTION_ERROR", "AMBIGUOUS", "INCOMPLETE"})
CITATIONS = "WRONG_CITATION"  # the evidence is wrong, and the answer is not


class Audit(NamedTuple):
    """What the audit found.

    Attributes:
        wrong: by question id, the kind of error, where the answer is wrong.
        cited: ids of the questions whose evidence is wrong.
        origin: where the audit is; None: it is not here.
        note: what a report must say of it, if anything.
    """

    wrong: Mapping[str, str]
    cited: frozenset[str]
    origin: str | None
    note: str | None = None


def find(data: Path | None, texts: Mapping[str, str]) -> Audit:
    """The audit, if it is here; where it can't be read, or is of other questions, its note says so.

    Args:
        data: the folder of `--engram-data`, if any.
        texts: of the benchmark's questions, by their ids.
    """
    try:
        path, origin = locations.locate(FILE, data)
    except NotRun:
        return Audit({}, frozenset(), None, f"no {FILE}: which answers of the key are wrong is not known here")
    try:
        found = [_checked(error, texts) for error in locations.listed(path, origin)]
    except NotRun as reason:
        return Audit({}, frozenset(), None, f"which answers of the key are wrong is not known here: {reason}")
    except ValueError as problem:
        told = f"{origin} does not fit: {problem}; fetch it again"
        return Audit({}, frozenset(), None, f"which answers of the key are wrong is not known here: {told}")
    wrong = {id_: kind for id_, kind in found if kind != CITATIONS}
    return Audit(wrong, frozenset(id_ for id_, kind in found if kind == CITATIONS), origin)


def _checked(error: Any, texts: Mapping[str, str]) -> tuple[str, str]:
    """The id and the kind of an error.

    Raises:
        ValueError: it is of no kind that is known, or of another question.
    """
    fields = ("question_id", "error_type", "question")
    if not isinstance(error, dict) or not all(isinstance(error.get(name), str) for name in fields):
        raise ValueError(f"each error needs {', '.join(fields)}")
    id_, kind = error["question_id"], error["error_type"]
    if kind not in ANSWERS and kind != CITATIONS:
        raise ValueError(f"{id_} has the unknown error_type {kind!r:.40}")
    if texts.get(id_) != error["question"]:
        raise ValueError(f"{id_} is not the question of that id in the benchmark's file")
    return id_, kind


def errors(audit: Audit, categories: Mapping[str, int]) -> dict[str, Any]:
    """For the manifest: how many answers and citations are wrong, and the ceiling that a wrong key leaves.

    Args:
        audit: what was found.
        categories: of the questions of a suite, by their ids. Adversarial ones were not audited.
    """
    audited = [id_ for id_, category in categories.items() if category != protocol.ADVERSARIAL]
    answers = sum(id_ in audit.wrong for id_ in audited)
    return {
        "answers": answers,
        "citations": sum(id_ in audit.cited for id_ in audited),
        "questions": len(audited),
        "ceiling": 1 - answers / len(audited) if audited else None,
        "source": f"dial481/locomo-audit, {audit.origin}",
    }
