"""Judges: whoever says whether a reader's answer is right, where no metric can. One is asked by the controller alone.

A judge that is a model takes seconds: it is asked in threads beside the run, and its verdicts may come after the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_engram.basics.registry import Registry

if TYPE_CHECKING:
    from pytest_engram.reading.purse import Purse
    from pytest_engram.runs.known import KnownAnswer
    from pytest_engram.suites.base import Key

NONE = "none"
THREADS = 4

# By the name that is asked for, where each shipped judge is; it is imported when it is first needed.
JUDGES = {"openai": "pytest_engram.judging.openai", "recorded": "pytest_engram.judging.recorded"}


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
        question_id: the benchmark's own.
        suite: whose question it is.
        prompts: whose official prompt it is judged with: `Key.prompts`.
        prompt: what that prompt goes by: `Gold.prompt`.
    """

    question: str
    answers: Sequence[str]
    answer: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    question_id: str = ""
    suite: str = ""
    prompts: str | None = None
    prompt: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """What a run gives its judge before it is asked anything.

    Attributes:
        data: the folder of `--engram-data`, if any.
        cache_dir: where verdicts that cost something are kept.
        runs: how often a judge that may differ with itself is asked about an answer: `--engram-judge-runs`.
        settings: in place of those that belong to its prompt; None takes one out: `--engram-judge-set`.
        purse: what the run may spend.
    """

    data: Path | None
    cache_dir: Path
    runs: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    purse: Purse | None = None


class Verdict(Protocol):
    """A judge, ready to be asked.

    More is used where one has it:

    - `begin(given: Given)`: called once, before it is asked anything;
    - `describe(keys: Mapping[str, Key]) -> dict`: for the manifest, as JSON, of the suites that it judges; with
      `prompts`, where it has some: by suite, {label, official, sha256, source};
    - `known(key: Key, questions: Mapping[str, str]) -> list[KnownAnswer]`: the answers known to be wrong or right that
      it is judged by, in place of those of `known.of`; verdicts that they have are taken over;
    - `totals() -> dict`: what its verdicts took: {asked, stored, tokens_in, tokens_out, cost};
    - `check(questions: Collection[str])`: called once with the ids of all questions of the run, where all are known;
      raises `JudgeError` where it can't judge them.
    """

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


def begin(verdict: Verdict | None, given: Given) -> None:
    """Give a judge what the run has for it.

    Raises:
        JudgeError: it can't be used here, or something is given that it can't take.
    """
    if (starts := getattr(verdict, "begin", None)) is not None:
        starts(given)
    elif given.runs > 1 or given.settings:
        who = "no judge" if verdict is None else f"{verdict.label}, which is no model"
        raise JudgeError(f"{who}: leave --engram-judge-runs and --engram-judge-set out")


def described(name: str, verdict: Verdict, keys: Mapping[str, Key]) -> dict[str, Any]:
    """A judge for the manifest.

    Args:
        name: as it was asked for.
        verdict: the judge.
        keys: of the suites that it judges, by name.
    """
    told = {"name": name, "label": verdict.label}
    told |= {"known": "its own"} if hasattr(verdict, "known") else {}  # and not those of the rule
    told |= getattr(verdict, "describe", lambda _: {})(keys)
    return told | ({"totals": totals} if (totals := _totals(verdict)) is not None else {})


def known_answers(verdict: Verdict, key: Key, questions: Mapping[str, str]) -> list[KnownAnswer]:
    """What a judge is judged by on a suite."""
    from pytest_engram.judging import known

    found: list[KnownAnswer] = getattr(verdict, "known", known.of)(key, questions)
    return found


def lines(verdict: Verdict, answers: int, known: int, unjudged: Mapping[str, int]) -> list[str]:
    """What a person is told at the end of a run: the verdicts and what they took, then each reason for none.

    Args:
        verdict: the judge.
        answers: how many of the methods' answers it judged.
        known: how many known ones.
        unjudged: how many of both it gave no verdict on, by reason.
    """
    told = []
    totals = _totals(verdict)
    if answers or known or (totals is not None and (totals["asked"] or totals["stored"])):
        parts = [f"{answers} answer{'s' * (answers != 1)} and {known} known one{'s' * (known != 1)} judged"]
        if totals is not None:
            cost = "of unknown cost" if totals["cost"] is None else f"${totals['cost']:.4f}"
            parts += [
                f"{totals['asked']} asked, {totals['stored']} from the store",
                f"{totals['tokens_in']} tokens in, {totals['tokens_out']} out, {cost}",
            ]
        told.append(f"judge {verdict.label}: {'; '.join(parts)}")
    for reason, count in sorted(unjudged.items(), key=lambda item: (-item[1], item[0])):
        told.append(f"judge {verdict.label}: {count} not judged: {reason}")
    return told


def _totals(verdict: Verdict) -> dict[str, Any] | None:
    return verdict.totals() if hasattr(verdict, "totals") else None


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
