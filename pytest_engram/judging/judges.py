"""Judges: whoever says whether a reader's answer is right, where no metric can. One is asked by the controller alone.

A judge that is a model takes seconds: it is asked in threads beside the run, and its verdicts may come after the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_engram.basics.registry import Registry

NONE = "none"
THREADS = 4


class JudgeError(Exception):
    """A judge that can't be had. The message is one line, with the cure."""


class JudgeUnavailable(Exception):
    """An answer that can't be judged now. The message is the reason, in one line, without any secret."""


@dataclass(frozen=True)
class Case:
    """What a judge is asked about.

    Attributes:
        question: its text.
        answers: the accepted answers.
        answer: the reader's.
        fields: what else the suite tells of the question, such as its category.
    """

    question: str
    answers: Sequence[str]
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict)


class Verdict(Protocol):
    """A judge, ready to be asked."""

    label: str  # its name in tables

    def __call__(self, case: Case) -> Sequence[bool]:
        """Whether the answer is right: a verdict for each time it was asked. Called from several threads.

        Raises:
            JudgeUnavailable: there is none.
        """
        ...


class Judge(Protocol):
    """What `pytest_engram_judges` names: a module or any other object.

    `USAGE` says how it is asked for: its name, and behind a colon what must be added.
    """

    USAGE: str

    def resolve(self, argument: str) -> Verdict:
        """The judge for what stands behind the colon; asks nobody anything.

        Raises:
            JudgeError: it can't be used here.
        """
        ...


def resolve(name: str, judges: Registry[Any]) -> Verdict | None:
    """The judge that `--engram-judge` asks for; None for "none".

    Raises:
        JudgeError: there is no such judge.
    """
    if name == NONE:
        return None
    kind, colon, argument = name.partition(":")
    if kind not in judges or (":" in judges[kind].USAGE) != bool(colon):
        known = ", ".join([NONE, *(judges[kind].USAGE for kind in sorted(judges))])
        raise JudgeError(f"no judge {name!r}; known are {known}")
    verdict: Verdict = judges[kind].resolve(argument.strip())
    return verdict


class Bench:
    """Cases that are being judged, beside the run.

    Args:
        verdict: the judge.
    """

    def __init__(self, verdict: Callable[[Case], Sequence[bool]]) -> None:
        self._verdict = verdict
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="engram-judge")
        self._waiting: dict[Future[Sequence[bool]], Any] = {}

    def ask(self, key: Any, case: Case) -> None:
        """Put a case before the judge; `key` comes back with the verdicts."""
        self._waiting[self._threads.submit(self._verdict, case)] = key

    def results(self) -> Iterator[tuple[Any, Sequence[bool], str]]:
        """Key, verdicts, and why there are none, of each case, as they come."""
        for future in as_completed(list(self._waiting)):
            key = self._waiting.pop(future)
            try:
                yield key, list(future.result()), ""
            except JudgeUnavailable as reason:
                yield key, [], str(reason)
            except Exception as error:  # the judge's own fault
                yield key, [], f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Ask nobody any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
