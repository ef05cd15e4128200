"""Run one item: ask the method under the rules, score what it returned, and put down what was found."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_engram.asking import rules
from pytest_engram.memory import Bench, Entry, Memory, MemoryFactory, Method
from pytest_engram.runs.log import Outcome
from pytest_engram.suites.base import NotRun, Question, Score, Suite

if TYPE_CHECKING:
    from pytest_engram.plugin.session import EngramSession

ASKED_TWICE = 20  # one question in so many
TWICE_KEPT = 2048  # entries of a haystack up to which the memory that is asked again is kept, as the first one is


def run(
    engram: EngramSession,
    suite: Suite,
    question: Question,
    method: Method,
    seed: int,
    name: str,
    fixture: Callable[[], MemoryFactory],
) -> Outcome:
    """The outcome of one question for one method and seed.

    Whatever the method itself raises goes through: it is the author's own traceback, and the item's error.
    """
    __tracebackhide__ = True
    outcome = engram.blank(suite, question, method.name, seed, name)
    _put_down_fields(outcome, question.fields)
    if suite.not_run is not None:
        outcome.status, outcome.reason = "not run", suite.not_run
        return outcome
    refused = engram.refused(method)
    if refused is not None:
        outcome.status, outcome.reason = "violation", refused
        return outcome
    probe = Probing(engram, suite, question, method, seed, fixture)
    outcome.haystack = len(probe.entries)
    outcome.gold = suite.gold_texts(question)
    outcome.ceiling = suite.ceiling(question)
    outcome.excluded = question.excluded
    try:
        score = suite.examine(question, probe)
        _check_determinism(probe)
        dropped = probe.trace()
    except rules.Violation as broken:
        outcome.status, outcome.reason = "violation", str(broken)
        return outcome
    except NotRun as reason:
        outcome.status, outcome.reason = "not run", str(reason)
        outcome.metrics = dict.fromkeys(suite.metrics)
        return outcome
    outcome.ids, outcome.seconds = probe.ids, round(probe.seconds, 6)
    limit_to_k(score, engram.options.k)
    engram.read(suite, question, probe.entries_of(probe.ids), score, outcome)
    outcome.metrics, outcome.missing = score.metrics, score.missing
    decisive = score.metrics.get(suite.metrics[0])
    outcome.hit = score.hit if score.hit is not None or decisive is None else decisive >= 1.0
    _put_down_fields(outcome, score.fields)
    _put_down_conflicts(suite, question, probe, dropped, outcome)
    met = dict.fromkeys([*outcome.ids, *(str(drop["id"]) for drop in outcome.dropped)])
    outcome.gold_ids = suite.gold_ids(question, list(met))
    return outcome


class Probing:
    """The `Probe` of one item."""

    def __init__(
        self,
        engram: EngramSession,
        suite: Suite,
        question: Question,
        method: Method,
        seed: int,
        fixture: Callable[[], MemoryFactory],
    ) -> None:
        self._engram = engram
        self._suite = suite
        self._question = question
        self._seed = seed
        self._fixture = fixture
        self.method = method
        self.k = engram.options.k
        self.haystack = engram.haystack(suite, question.haystack)
        self.entries: Sequence[Entry] = self.haystack.entries
        self.bench: Bench = engram.bench(suite, seed)
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
        return self._engram.memory(self.method, factory, self._seed, self._suite, self.haystack, second=fresh)

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


def fill(factory: MemoryFactory, bench: Bench, entries: Sequence[Entry], *, one_by_one: bool = False) -> Memory:
    """A new memory that holds the entries."""
    __tracebackhide__ = True
    memory = factory(bench)
    if one_by_one:
        for entry in entries:
            memory.write([entry])
    else:
        memory.write(list(entries))
    prepare = getattr(memory, "prepare", None)
    if prepare is not None:
        prepare()
    return memory


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


def limit_to_k(score: Score, k: int) -> None:
    """Take out the metrics that need more ids than k."""
    for name in score.metrics:
        needed = name.rpartition("@")[2]
        if needed.isdigit() and int(needed) > k:
            score.metrics[name] = None
            score.missing[name] = f"needs {needed} ids, k is {k}: raise --engram-k for every method"


def _put_down_fields(outcome: Outcome, fields: dict[str, Any]) -> None:
    for key, value in fields.items():
        if key in ("family", "case", "web", "backers", "winner", "expected"):
            setattr(outcome, key, value)
        else:
            outcome.fields[key] = value


def _put_down_conflicts(
    suite: Suite, question: Question, probe: Probing, dropped: list[dict[str, Any]] | None, outcome: Outcome
) -> None:
    if dropped is None:
        return
    outcome.dropped = dropped
    within = [str(d["id"]) for d in dropped if isinstance(d["rank"], int) and d["rank"] <= probe.k]
    outcome.lost = bool(suite.gold_ids(question, within)) and not suite.gold_ids(question, probe.ids)
