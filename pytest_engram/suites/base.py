"""What every kind of suite gives to the plugin: questions, haystacks, and how returned ids are scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pytest_engram.memory import Bench, Entry, Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from pytest_engram.retrieval.okapi import Lexical


class NotRun(Exception):
    """A cell that can't be measured here. The message is the reason, with the cure."""


class SuiteError(Exception):
    """A suite file that can't be read: one line with file, line, field and cure."""

    def __init__(self, path: Path, line: int | None, where: str, problem: str) -> None:
        at = f"{path}:{line}" if line else str(path)
        super().__init__(f"{at}: {where}: {problem}" if where else f"{at}: {problem}")


@dataclass(frozen=True, slots=True)
class Question:
    """One question, or one level of a case.

    `id` is the benchmark's own, `name` the test item's. `gold` belongs to the suite: no method sees it. `haystack`
    names the entries that the question is asked over; questions may share one.
    """

    id: str
    name: str
    query: str
    haystack: str
    answers: tuple[str, ...] = ()
    gold: Any = None
    excluded: str | None = None  # the official skip rule that leaves it out of the means, if any
    fields: dict[str, Any] = field(default_factory=dict)  # further fields of its line in the run log


@dataclass(slots=True)
class Score:
    """What an item found. A metric that can't be measured is None, and `missing` says why."""

    metrics: dict[str, float | None]
    hit: bool | None = None
    missing: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)


class Probe(Protocol):
    """One method, on one question, under the rules. Every `search` is checked and timed."""

    k: int
    entries: Sequence[Entry]
    bench: Bench

    def memory(self, *, one_by_one: bool = False) -> Memory:
        """The memory with all entries written: in one call, or one entry a call."""
        ...

    def search(self, *, one_by_one: bool = False) -> list[str]:
        """The ids that the method returns for the question."""
        ...


class Suite:
    """Base of all suites.

    Attributes:
        name, path, kind: of the suite file.
        metrics: names of the metrics; the first one decides HIT (1.0) or MISS.
        questions: in the order of the file. They are listed even where their data can't be had.
        not_run: why the data can't be had, else None.
    """

    kind: Literal["pilot", "micro"] = "pilot"
    name: str
    path: Path
    metrics: tuple[str, ...]
    questions: Sequence[Question]
    not_run: str | None = None
    tokenize: Callable[[str], list[str]] | None = None
    rank: Callable[[NDArray[Any]], NDArray[np.intp]] | None = None

    def haystack(self, key: str) -> Sequence[Entry]:
        """The entries of a haystack, in time order."""
        raise NotImplementedError

    def texts(self) -> tuple[list[str], list[str]]:
        """All different passages and queries, for embedding before the workers start."""
        passages: dict[str, None] = {}
        for key in dict.fromkeys(question.haystack for question in self.questions):
            passages.update(dict.fromkeys(entry.text for entry in self.haystack(key)))
        return list(passages), list(dict.fromkeys(question.query for question in self.questions))

    def examine(self, question: Question, probe: Probe) -> Score:
        """Run one item. A family of micro-tests that needs more than one search overrides it."""
        return self.score(question, probe.search())

    def score(self, question: Question, ids: Sequence[str]) -> Score:
        """Metrics of the returned ids; `SubEM` is added by the plugin, from a reader's answer."""
        raise NotImplementedError

    def lexical(self, texts: Sequence[str]) -> Lexical | None:
        """BM25 over `texts` where they are a haystack that was counted ahead; None: it is made on the spot."""
        return None

    def gold_ids(self, question: Question, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that answer the question: for the *lost* column and for a report's reader."""
        return []

    def ceiling(self, question: Question) -> bool | None:
        """Whether any entry of the haystack answers; None where that means nothing."""
        return None

    def gold_texts(self, question: Question) -> list[str]:
        """What a person is shown as the right answer."""
        return list(question.answers)

    def describe(self) -> dict[str, Any]:
        """For the manifest: source, hashes, whether official, counts, notes, construction rule. JSON."""
        return {}


class DataSource(Protocol):
    """One benchmark: a module of `pytest_engram.suites`.

    `Spec` is the model of its suite files. `prepare` runs once, in the controller, and may take long; `load` runs in
    every process.
    """

    Spec: type[BaseModel]

    def prepare(self, spec: Any, data: Path | None) -> Path | None:
        """Find or fetch the data and put it into a form that `load` maps quickly; return where that is.

        Args:
            spec: the validated suite file.
            data: the folder of `--engram-data`, if any.

        Raises:
            NotRun: the data can't be had.
        """
        ...

    def load(self, spec: Any, path: Path, prepared: Path | None) -> Suite:
        """The suite of the file at `path`; where `prepared` is None, its questions alone: the data can't be had."""
        ...
