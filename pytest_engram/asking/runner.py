"""Ask one question: search under the rules, let the reader answer, and put down what was recalled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from pytest_engram.asking import rules
from pytest_engram.asking.memories import Memories, fill
from pytest_engram.asking.procedures import PROCEDURES
from pytest_engram.memory import Entry, Memory, MemoryFactory, Method
from pytest_engram.reading import Reading
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Question, Suite

ASKED_TWICE = 20  # one question in so many
TWICE_KEPT = 2048  # entries of a haystack up to which the memory that is asked again is kept, as the first one is


def blank(suite: Suite, question: Question, method: str, seed: int, k: int, name: str) -> Outcome:
    """An outcome that nothing is known of yet."""
    return Outcome(
        suite=suite.name,
        question_id=question.id,
        method=method,
        seed=seed,
        k=k,
        ids=[],
        metrics={},
        status="ok",
        item=name,
        query=question.query,
    )


class Asker:
    """Asks questions, in whatever process; knows no gold.

    Args:
        memories: what is asked.
        refused: why a method may not be scored, else None.
        reading: who answers from what was recalled.
    """

    def __init__(self, memories: Memories, refused: Callable[[Method], str | None], reading: Reading) -> None:
        self._memories = memories
        self._refused = refused
        self._reading = reading

    def ask(
        self,
        suite: Suite,
        question: Question,
        method: Method,
        seed: int,
        name: str,
        fixture: Callable[[], MemoryFactory],
    ) -> Outcome:
        """What one method recalls for one question, not yet judged.

        Whatever the method itself raises goes through: it is the author's own traceback, and the item's error.
        """
        __tracebackhide__ = True
        outcome = blank(suite, question, method.name, seed, self._memories.k, name)
        if suite.not_run is not None:
            outcome.status, outcome.reason = "not run", suite.not_run
            return outcome
        refused = self._refused(method)
        if refused is not None:
            outcome.status, outcome.reason = "violation", refused
            return outcome
        probe = Probing(self._memories, suite, question, method, seed, fixture)
        outcome.haystack = len(probe.entries)
        if question.not_run is not None:
            outcome.status, outcome.reason = "not run", question.not_run
            return outcome
        try:
            asked = PROCEDURES[suite.asks](probe, question, suite.settings)
            _check_determinism(probe)
            dropped = probe.trace()
        except rules.Violation as broken:
            outcome.status, outcome.reason = "violation", str(broken)
            return outcome
        outcome.ids, outcome.seconds, outcome.asked = probe.ids, round(probe.seconds, 6), asked
        if dropped is not None:
            outcome.dropped, outcome.lost = dropped, False
        if suite.reads:
            self._reading.read(question.query, probe.entries_of(probe.ids), outcome)
        return outcome


class Probing:
    """One method, on one question, under the rules. Every `search` is checked and timed."""

    def __init__(
        self,
        memories: Memories,
        suite: Suite,
        question: Question,
        method: Method,
        seed: int,
        fixture: Callable[[], MemoryFactory],
    ) -> None:
        self._memories = memories
        self._suite = suite
        self._question = question
        self._seed = seed
        self._fixture = fixture
        self.method = method
        self.k = memories.k
        self.haystack = memories.haystack(suite, question.haystack)
        self.entries: Sequence[Entry] = self.haystack.entries
        self.bench = memories.bench(suite, seed)
        self.ids: list[str] = []
        self.seconds = 0.0
        self._searches = 0

    def memory(self, *, one_by_one: bool = False, fresh: bool = False) -> Memory:
        """The memory with all entries written; `fresh`: not the one that was asked first, but a second one."""
        __tracebackhide__ = True
        factory = self._fixture()
        large = fresh and len(self.entries) > TWICE_KEPT
        if one_by_one or large or self.method.scope == "function":
            return fill(factory, self.bench, self.entries, one_by_one=one_by_one)
        return self._memories.memory(self.method, factory, self._seed, self._suite, self.haystack, second=fresh)

    def search(self, *, one_by_one: bool = False, fresh: bool = False) -> list[str]:
        """The ids that the method returns, checked; the first search is the one that is put down and timed."""
        __tracebackhide__ = True
        memory = self.memory(one_by_one=one_by_one, fresh=fresh)
        started = perf_counter()
        returned = memory.search(self._question.query, self.k)
        seconds = perf_counter() - started
        ids = rules.check_ids(
            returned,
            k=self.k,
            known=self.haystack.by_id,
            method=self.method.name,
            question=f"{self._suite.name}:{self._question.id}",
        )
        self._searches += 1
        if self._searches == 1:
            self.ids, self.seconds = ids, seconds
        return ids

    def entries_of(self, ids: Sequence[str]) -> list[Entry]:
        """The entries behind the ids."""
        return [self.haystack.by_id[id_] for id_ in ids]

    @property
    def asked_twice(self) -> bool:
        """Whether this is one of the questions that a deterministic method is asked twice."""
        if self.method.stochastic or self._searches == 0:
            return False
        digest = hashlib.sha256(f"{self._suite.name}:{self._question.id}".encode()).digest()
        return int.from_bytes(digest[:4], "big") % ASKED_TWICE == 0

    def trace(self) -> list[dict[str, Any]] | None:
        """What the memory says that it dropped, checked, or None where it says nothing."""
        __tracebackhide__ = True
        if self._searches == 0:
            return None
        memory = self.memory()
        trace = getattr(memory, "trace", None)
        if trace is None:
            return None
        return rules.check_trace(
            trace(self._question.query, self.k),
            known=self.haystack.by_id,
            method=self.method.name,
            question=f"{self._suite.name}:{self._question.id}",
        )


def _check_determinism(probe: Probing) -> None:
    __tracebackhide__ = True
    if not probe.asked_twice:
        return
    first = probe.ids
    second = probe.search(fresh=True)
    if first != second:
        rank = next(
            (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
            min(len(first), len(second)),
        )
        raise rules.Violation(
            f"{probe.method.name} on {probe._suite.name}:{probe._question.id}: deterministic: asked twice, "
            f"two different answers from rank {rank + 1} ({first[rank : rank + 3]}, then {second[rank : rank + 3]}); "
            "declare it with @method(stochastic=True)"
        )
