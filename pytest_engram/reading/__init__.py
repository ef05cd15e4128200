"""Who answers from the entries that a memory returned. One module a reader, which `pytest_engram_readers` names.

What a reader's module holds is said by `base.ReaderMaker`. A reader is asked in the process that judges, and nowhere
else: official prompts need what gold alone knows, and one process can count the money.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_engram.basics.registry import Registry
from pytest_engram.reading.base import (
    Answer,
    Asked,
    Reader,
    ReaderError,
    ReaderMaker,
    ReaderSpec,
    ReaderUnavailable,
)
from pytest_engram.reading.connection import EndpointError, concurrency
from pytest_engram.reading.desk import Desk
from pytest_engram.reading.purse import Purse
from pytest_engram.runs.outcome import READ, Outcome

__all__ = [
    "NONE",
    "READERS",
    "RECORDED",
    "Answer",
    "Asked",
    "Desk",
    "Purse",
    "Reader",
    "ReaderError",
    "ReaderMaker",
    "ReaderSpec",
    "ReaderUnavailable",
    "Totals",
    "desk",
    "known",
    "lines",
    "make",
    "resolve",
    "totals",
]

NONE = "none"
RECORDED = "recorded"  # who answered where a recorded method's file has the answer

# By the name that is asked for, where each shipped reader is; it is imported when it is first needed.
READERS = {"newest": f"{__name__}.newest", "openai": f"{__name__}.openai"}


def known(readers: Mapping[str, Any] = READERS) -> list[str]:
    """How readers are asked for."""
    readers = Registry("reader", readers)
    return [NONE, *(readers[kind].USAGE for kind in sorted(readers))]


def resolve(
    name: str,
    data: Path | None,
    readers: Mapping[str, Any] = READERS,
    settings: Mapping[str, Any] | None = None,
) -> ReaderSpec | None:
    """The reader that `--engram-reader` asks for; None for "none".

    Args:
        name: a reader's name, and behind a colon what it needs.
        data: the folder of `--engram-data`, for official prompts.
        readers: those that there are, as `pytest_engram_readers` brings them.
        settings: those of `--engram-reader-set`; None takes one out.

    Raises:
        ReaderError: there is no such reader, or it can't be used here.
    """
    if name == NONE:
        return None
    readers = Registry("reader", readers)
    kind, colon, argument = name.partition(":")
    usage = readers[kind].USAGE if kind in readers else None
    if usage is None or (":" in usage) != bool(colon) or (colon and not argument.strip()):
        raise ReaderError(f"no reader {name!r}; known are {', '.join(known(readers))}")
    spec: ReaderSpec = readers[kind].resolve(argument.strip(), data)
    unknown = [given for given in settings or () if spec.model is None and given not in spec.settings]
    if unknown:
        raise ReaderError(f"{name} is no model: it has no setting {unknown[0]!r}; leave out --engram-reader-set")
    return replace(spec, settings={**spec.settings, **(settings or {})})


def make(spec: ReaderSpec, cache_dir: Path, readers: Mapping[str, Any] = READERS, purse: Purse | None = None) -> Reader:
    """The reader; it asks nobody before it must.

    Args:
        spec: what `resolve` returned.
        cache_dir: where answers that cost something are kept.
        readers: those that there are.
        purse: of the run.

    Raises:
        ReaderError: a setting can't be one.
    """
    reader: Reader = Registry("reader", readers)[spec.kind].make(spec, cache_dir, purse or Purse())
    return reader


def desk(spec: ReaderSpec, cache_dir: Path, readers: Mapping[str, Any] = READERS, purse: Purse | None = None) -> Desk:
    """The reader at work; as `make`."""
    try:
        threads = concurrency()
    except EndpointError as error:
        raise ReaderError(str(error)) from None
    return Desk(spec, make(spec, cache_dir, readers, purse), threads)


@dataclass
class Totals:
    """What a run's answers took. Tokens and cost are those of the questions that this run asked, not of stored ones.

    What a model said that is no answer is counted in them. `cost` is in US dollars, None where an answer's is not
    known; `unanswered` counts the questions by reason.
    """

    answered: int = 0
    stored: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    unanswered: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome, unless its answer was given elsewhere."""
        if outcome.reader == RECORDED:
            return
        if outcome.answer is None:
            told = sorted(outcome.missing.items(), key=lambda item: item[0] not in READ)
            reasons = (why for _, why in told if not why.startswith("needs "))
            if outcome.reader is not None and (reason := next(reasons, None)):
                self.unanswered[reason] = self.unanswered.get(reason, 0) + 1
            if "cached" in outcome.fields:
                self._spend(outcome.fields)
            return
        self.answered += 1
        if outcome.fields.get("cached"):
            self.stored += 1
            return
        self._spend(outcome.fields)

    def spent(self) -> str:
        """Tokens and money, in words."""
        return f"{self.tokens_in} tokens in, {self.tokens_out} out, {self._money()}"

    def _money(self) -> str:
        return "of unknown cost" if self.cost is None else f"${self.cost:.4f}"

    def _spend(self, fields: Mapping[str, Any]) -> None:
        self.tokens_in += fields.get("tokens_in", 0)
        self.tokens_out += fields.get("tokens_out", 0)
        cost = fields.get("cost")
        self.cost = None if self.cost is None or cost is None else self.cost + cost


def totals(outcomes: Iterable[Outcome]) -> Totals:
    """What the answers of `outcomes` took."""
    found = Totals()
    for outcome in outcomes:
        found.add(outcome)
    return found


def lines(spec: ReaderSpec, found: Totals, notes: Sequence[str] = ()) -> list[str]:
    """What a person is told at the end of a run: the answers and what they took, notes, then each reason for none."""
    told = []
    if found.answered or found.tokens_in or found.tokens_out or found.cost != 0.0:  # paid for, whatever came of it
        asked = found.answered - found.stored
        parts = [f"{found.answered} answer{'s' * (found.answered != 1)}"]
        if spec.model is not None:
            parts += [f"{asked} asked, {found.stored} from the store"] if found.answered else []
            parts.append(found.spent())
        told.append(f"reader {spec.label}: {'; '.join(parts)}")
    told += [f"reader {spec.label}: {note}" for note in notes]
    for reason, count in sorted(found.unanswered.items(), key=lambda item: (-item[1], item[0])):
        told.append(f"reader {spec.label}: {count} not answered: {reason}")
    return told
