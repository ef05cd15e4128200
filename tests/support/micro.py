"""What the tests of micro-tests share: files, memories whose behaviour is plain, and a probe without a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

from both import METRICS, Both

from pytest_engram.asking.procedures import PROCEDURES
from pytest_engram.basics.registry import Registry
from pytest_engram.judging.judge import judge
from pytest_engram.memory import Entry
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites import SOURCES, loading
from pytest_engram.suites.base import Question, Suite
from pytest_engram.suites.microtests.levels import Level

CASES = Path(__file__).parents[2] / "cases" / "micro"
FILES = sorted(CASES.glob("*.yaml"))

SMALL = """\
    engram: micro
    name: moves
    rule: majority-support
    cases:
      - name: mara
        belief: Mara lives in Lisbon.
        web: [Mara rents a flat in Lisbon., Mara votes in Lisbon.]
        update: Mara lives in Porto.
        backers: [Mara has a gym in Porto., Mara's dog is known in Porto., Mara parks in Porto.]
        query: Where does Mara live?
        sweep: {web: [0, 2], backers: [0, 1, 2, 3]}
"""


class KeepsAll:
    """Returns every entry whose text has a word of the query, latest first."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def write(self, entries: Sequence[Entry]) -> None:
        self.entries += entries

    def matches(self, query: str) -> list[Entry]:
        words = set(query.casefold().replace("?", " ").replace("'s", " ").split())
        hits = [e for e in self.entries if words & set(e.text.casefold().replace("'s", " ").rstrip(".").split())]
        return sorted(hits, key=lambda e: -e.time)

    def search(self, query: str, k: int) -> list[str]:
        return [entry.id for entry in self.matches(query)][:k]


class DropsOlder(KeepsAll):
    """Of the matching entries, the newest alone."""

    def search(self, query: str, k: int) -> list[str]:
        return super().search(query, k)[:1]


class DropsNewer(KeepsAll):
    """Of the matching entries, the oldest alone."""

    def search(self, query: str, k: int) -> list[str]:
        return super().search(query, len(self.entries))[-1:]


class DropsBoth(KeepsAll):
    """Finds nothing, ever."""

    def search(self, query: str, k: int) -> list[str]:
        return []


class ForgetsCalls(KeepsAll):
    """Knows its last `write` alone: right after one call, wrong after many."""

    def write(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)


class WithSupport(KeepsAll):
    """Supports an entry by the length of its text."""

    def support(self) -> dict[str, float]:
        return {entry.id: float(len(entry.text)) for entry in self.entries}


class Micro(Both):
    """A micro-test suite and its key."""

    @property
    def cases(self) -> int:
        found: int = self.key.cases
        return found

    def levels(self) -> list[Level]:
        """Of a suite of cases, in the order of its questions."""
        return [self.key.levels[question.id] for question in self.questions]


class Probe:
    """The probe of one question, without rules."""

    def __init__(self, suite: Suite, question: Question, make: Callable[[], Any], bench: Any = None) -> None:
        self.k = 10
        self.entries = suite.haystack(question.haystack)
        self.bench = bench
        self.ids: list[str] | None = None  # of the first search
        self._query, self._make = question.query, make

    def memory(self, *, one_by_one: bool = False) -> Any:
        memory = self._make()
        for part in [[entry] for entry in self.entries] if one_by_one else [self.entries]:
            memory.write(part)
        return memory

    @property
    def haystack(self) -> Any:
        return SimpleNamespace(plain={entry.id: entry for entry in self.entries})

    def support(self) -> dict[str, float] | None:
        given = getattr(self.memory(), "support", None)
        return None if given is None else dict(given())

    def search(self, *, one_by_one: bool = False) -> list[str]:
        found: list[str] = self.memory(one_by_one=one_by_one).search(self._query, self.k)
        self.ids = found if self.ids is None else self.ids
        return found


def asked(micro: Both, question: Question, make: Callable[[], Any], bench: Any = None) -> Outcome:
    """What a memory leaves of one question, asked as its suite says."""
    probe: Any = Probe(micro.suite, question, make, bench)
    found = PROCEDURES[micro.suite.asks](probe, question, micro.suite.settings)
    return micro.line(question, probe.ids or [], probe.k, asked=found)


def run(micro: Both, make: Callable[[], Any], bench: Any = None) -> dict[str, Outcome]:
    """Every question's judged line, by name."""
    return {q.name: judge(micro.key, asked(micro, q, make, bench), METRICS) for q in micro.questions}


def read(path: Path, sources: Mapping[str, Any] = SOURCES, *, look: bool = False) -> Micro:
    """The suite of a file, and its key; `look`: with the data that it is measured on."""
    known: Registry[Any] = Registry("data source", sources)
    return Micro(*loading.load(path, None, sources=known, metrics=METRICS, shipped_metrics=METRICS, look=look))


def load(folder: Path, text: str, name: str = "own.yaml") -> Micro:
    """A suite from the text of its file, and its key."""
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return read(path)


def shipped(name: str) -> Micro:
    """A shipped suite, and its key; nothing is looked for."""
    return read(CASES / f"{name}.yaml")
