"""Which questions are asked again when a run's own are done, and what it means if the answer is another one.

What is asked again is asked in another order and of another memory, and, where there are workers, in another process
with another PYTHONHASHSEED. An answer that hangs on any of these is no property of the method.
"""

from __future__ import annotations

import hashlib
from typing import Any

from pytest_engram.asking.procedures import SEARCHES
from pytest_engram.memory import Method
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Question, Suite

EVERY = 20  # one question in so many


def sampled(suite: Suite, question: Question, method: Method) -> bool:
    """Whether a method that must answer alike is asked this question again; the same in every process and run."""
    if method.stochastic or method.recorded is not None or suite.asks not in SEARCHES:
        return False
    if suite.not_run is not None or question.not_run is not None:
        return False
    return drawn(suite.name, question.id)


def drawn(suite: str, question_id: str) -> bool:
    """Whether a question is in the sample."""
    return _number(f"{suite}:{question_id}") % EVERY == 0


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def asks(item: str, worker: int, workers: int, *, own: bool) -> bool:
    """Whether this process asks an item again: one of two that its name picks, and not the one that asked it first.

    Args:
        item: its name.
        worker: the number of this process.
        workers: how many there are; one alone asks everything that it asked.
        own: whether this process asked the item first.
    """
    if workers < 2:
        return own
    first = _number(item)
    return not own and worker in (first % workers, (first + 1) % workers)


def answer(outcome: Outcome) -> list[Any]:
    """What came back, place by place."""
    return outcome.recalled or outcome.ids


def problem(whose: str, how: str, first: list[Any], second: list[Any]) -> str | None:
    """The violation's sentence where two answers to one question differ, else None.

    Args:
        whose: method and question.
        how: it was asked the second time, in words.
        first: answer.
        second: answer.
    """
    if first == second:
        return None
    pairs = zip(first, second, strict=False)
    rank = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
    return (
        f"{whose}: deterministic: asked twice, two different answers from rank {rank + 1} "
        f"({first[rank : rank + 3]}, then, {how}, {second[rank : rank + 3]}); "
        "an answer must not hang on what was asked before, on the process or on the order of a set; declare what is "
        "random with @method(stochastic=True), and, where what was written takes time to show, wait in prepare()"
    )
