"""Who answers from the entries that a memory returned. One module a reader, which `pytest_engram_readers` names.

What a reader's module holds is said by `base.ReaderMaker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_engram.basics.registry import Registry
from pytest_engram.memory import Entry
from pytest_engram.reading.base import Answer, Reader, ReaderError, ReaderMaker, ReaderSpec, ReaderUnavailable
from pytest_engram.runs.outcome import Outcome

__all__ = [
    "NONE",
    "READERS",
    "RECORDED",
    "Answer",
    "Reader",
    "ReaderError",
    "ReaderMaker",
    "ReaderSpec",
    "ReaderUnavailable",
    "Reading",
    "Totals",
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


def resolve(name: str, data: Path | None, readers: Mapping[str, Any] = READERS) -> ReaderSpec | None:
    """The reader that `--engram-reader` asks for; None for "none".

    Args:
        name: a reader's name, and behind a colon what it needs.
        data: the folder of `--engram-data`, for the official prompt.
        readers: those that there are, as `pytest_engram_readers` brings them.

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
    return spec


def make(spec: ReaderSpec, cache_dir: Path, readers: Mapping[str, Any] = READERS) -> Reader:
    """The reader, in a process that asks.

    Args:
        spec: what `resolve` returned.
        cache_dir: where answers that cost something are kept.
        readers: those that there are.
    """
    reader: Reader = Registry("reader", readers)[spec.kind].make(spec, cache_dir)
    return reader


class Reading:
    """The reader of a run, if it has one, at work in a process that asks.

    Args:
        spec: which; None: nobody answers.
        cache_dir: gives the folder where answers that cost something are kept.
        readers: those that there are.
    """

    def __init__(
        self, spec: ReaderSpec | None, cache_dir: Callable[[], Path], readers: Mapping[str, Any] = READERS
    ) -> None:
        self._spec = spec
        self._cache_dir = cache_dir
        self._readers = readers

    @cached_property
    def _reader(self) -> Reader | None:
        return make(self._spec, self._cache_dir(), self._readers) if self._spec else None

    def read(self, question: str, entries: Sequence[Entry], outcome: Outcome) -> None:
        """Put the answer into the outcome, or why there is none; nothing where nobody is asked."""
        if self._spec is None or self._reader is None:
            return
        outcome.reader = self._spec.label
        try:
            answer = self._reader.answer(question, entries)
        except ReaderUnavailable as reason:
            outcome.missing["answer"] = str(reason)
            return
        outcome.answer = answer.text
        outcome.fields |= answer.fields()


@dataclass
class Totals:
    """What a run's answers took. Tokens and cost are those of the questions that this run asked, not of stored ones.

    `cost` is in US dollars, None where an answer's is not known; `unanswered` counts the questions by reason.
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
            reasons = (why for why in outcome.missing.values() if not why.startswith("needs "))
            if outcome.reader is not None and (reason := next(reasons, None)):
                self.unanswered[reason] = self.unanswered.get(reason, 0) + 1
            return
        self.answered += 1
        if outcome.fields.get("cached"):
            self.stored += 1
            return
        self.tokens_in += outcome.fields.get("tokens_in", 0)
        self.tokens_out += outcome.fields.get("tokens_out", 0)
        cost = outcome.fields.get("cost")
        self.cost = None if self.cost is None or cost is None else self.cost + cost


def totals(outcomes: Iterable[Outcome]) -> Totals:
    """What the answers of `outcomes` took."""
    found = Totals()
    for outcome in outcomes:
        found.add(outcome)
    return found


def lines(spec: ReaderSpec, found: Totals) -> list[str]:
    """What a person is told at the end of a run: the answers and what they took, then each reason for none."""
    told = []
    if found.answered:
        asked = found.answered - found.stored
        parts = [f"{found.answered} answers"]
        if spec.model is not None:
            cost = "of unknown cost" if found.cost is None and asked else f"${found.cost or 0:.4f}"
            parts += [
                f"{asked} asked, {found.stored} from the store",
                f"{found.tokens_in} tokens in, {found.tokens_out} out, {cost}",
            ]
        told.append(f"reader {spec.label}: {'; '.join(parts)}")
    for reason, count in sorted(found.unanswered.items(), key=lambda item: (-item[1], item[0])):
        told.append(f"reader {spec.label}: {count} not answered: {reason}")
    return told
