"""A sample of items is asked again when all others are done, and the controller compares the two answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from pytest_engram.asking.again import EVERY, answer, asks, drawn, problem, sampled
from pytest_engram.plugin.items import QuestionItem
from pytest_engram.runs.outcome import Outcome

if TYPE_CHECKING:
    from pytest_engram.asking.memories import Memories
    from pytest_engram.plugin.vault import Item

HASH_SEED = "PYTHONHASHSEED"


def ask(session: pytest.Session, memories: Memories, worker: int = 0, workers: int = 1) -> list[Outcome]:
    """What the sampled items find when they are asked again, the last one first, by memories that are made anew.

    Args:
        session: whose own items are done.
        memories: that this process holds; let go.
        worker: the number of this process.
        workers: how many there are.
    """
    if session.shouldfail or session.shouldstop or session.config.option.collectonly:
        return []
    items = [item for item in session.items if isinstance(item, QuestionItem) and _is_due(item, worker, workers)]
    if not items:
        return []
    memories.let_go()
    items.reverse()
    found = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.again = True
        runtestprotocol(item, log=False, nextitem=following)
        if item.outcome is not None:
            found.append(item.outcome)
    return found


def _is_due(item: QuestionItem, worker: int, workers: int) -> bool:
    if not sampled(item.suite, item.question, item.method):
        return False
    return asks(f"{item.suite.name}:{item.name}", worker, workers, own=item.attempts > 0)


class Compared:
    """In the controller: what was asked again, beside what was answered first.

    Args:
        workers: how many processes ask; fewer than two: the one that asked first asks again.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._again: list[Outcome] = []
        self._seeds: set[str] = set()
        self._places: dict[Item, tuple[str, tuple[str, int | None, str]]] = {}
        self._kinds: dict[str, set[Item]] = {"asked": set(), "differed": set(), "failed": set()}

    def remember(self, line: Outcome, report: pytest.TestReport) -> None:
        """Where an item stands: needed if it fails in the end."""
        if drawn(line.suite, line.question_id):
            self._places[_key(line)] = report.nodeid, report.location

    def take(self, lines: Iterable[Outcome], hash_seed: str | None) -> None:
        """What a process found when it asked again."""
        self._again += lines
        self._seeds.add(hash_seed or "random")

    def broken(self, outcomes: dict[Item, Outcome]) -> list[tuple[Outcome, str]]:
        """The first outcome and the violation's sentence of each item whose two answers differ, once."""
        found: dict[Item, tuple[Outcome, str]] = {}
        for line in self._again:
            first = outcomes.get(_key(line))
            if first is None or first.status != "ok" or _key(line) in found:
                continue
            self._kinds["asked"].add(_key(line))
            if line.status not in ("ok", "violation"):
                self._kinds["failed"].add(_key(line))
                continue
            whose = f"{line.method} on {line.suite}:{line.question_id}"
            told = problem(whose, self._how(), answer(first), answer(line)) if line.status == "ok" else line.reason
            if told is not None:
                self._kinds["differed"].add(_key(line))
                found[_key(line)] = first, told
        self._again = []
        return list(found.values())

    def _how(self) -> str:
        if self._workers < 2:
            return "by a new memory after the others"
        return "by a new memory after others, in another process with another hash seed"

    def fail(self, first: Outcome, told: str, terminal: Any, hook: Callable[..., Any]) -> None:
        """Report the item as failed: its first report said that all was well, and is counted no more."""
        nodeid, location = self._places[_key(first)]
        for reports in getattr(terminal, "stats", {}).values():
            reports[:] = [report for report in reports if getattr(report, "nodeid", None) != nodeid]
        hook(
            report=pytest.TestReport(
                nodeid=nodeid, location=location, keywords={}, outcome="failed", longrepr=told, when="call"
            )
        )

    def describe(self, ran: int) -> dict[str, Any]:
        """For the manifest, of a run with so many items."""
        another = self._workers > 1
        return {
            **{kind: len(items) for kind, items in self._kinds.items()},
            "of": ran,
            "one_in": EVERY,
            "order": "the last first, after all others",
            "memory": "made anew",
            "process": "another" if another else "the same",
            "hash_seeds": sorted(self._seeds) if another else [],
        }


def hash_seed(number: int) -> str:
    """That of a worker: numbers, so that what hangs on it is found in every run."""
    return str(number + 1)


def own_hash_seed() -> str | None:
    """That of this process; None: a random one."""
    return os.environ.get(HASH_SEED)


def _key(line: Outcome) -> Item:
    return line.suite, line.item, line.method, line.seed
