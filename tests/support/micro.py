"""What the tests of micro-tests share: memories whose behaviour is plain, and a probe that needs no session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from pytest_engram.memory import Entry
from pytest_engram.suites import files, microtests
from pytest_engram.suites.base import Question, Score


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


class Probe:
    """The probe of one question, without rules."""

    def __init__(self, suite: Any, question: Question, make: Callable[[], Any], bench: Any = None) -> None:
        self.k = 10
        self.entries = suite.haystack(question.haystack)
        self.bench = bench
        self._query, self._make = question.query, make

    def memory(self, *, one_by_one: bool = False) -> Any:
        memory = self._make()
        for part in [[entry] for entry in self.entries] if one_by_one else [self.entries]:
            memory.write(part)
        return memory

    def search(self, *, one_by_one: bool = False) -> list[str]:
        return self.memory(one_by_one=one_by_one).search(self._query, self.k)


def run(suite: Any, make: Callable[[], Any], bench: Any = None) -> dict[str, Score]:
    """Every question's score, by name."""
    return {q.name: suite.examine(q, Probe(suite, q, make, bench)) for q in suite.questions}


def load(folder: Path, text: str, name: str = "own.yaml") -> Any:
    """A suite from the text of its file."""
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    data, lines = files.read(path)
    return microtests.load(path, data, lines)
