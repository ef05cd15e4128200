"""Rule 2: what a method learns from is disjoint from every pilot set, by question id and by normalised text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pytest_engram.asking.rules import Violation, check_training
from pytest_engram.memory import Method, TrainingQuestion
from pytest_engram.suites import locations
from pytest_engram.suites.base import NotRun, Source, Suite, SuiteError
from pytest_engram.suites.fingerprints import Scored, fingerprint


def split(
    name: str, data: Path | None, scored: Sequence[Scored], sources: Mapping[str, Source]
) -> list[TrainingQuestion]:
    """The questions of the source `name`, such as "factconsolidation_mh_32k".

    Raises:
        Violation: one of them is scored somewhere.
        NotRun: they can't be had.
        ValueError: no data source has such questions.
    """
    questions = _questions(name, data, sources)
    check_training(f"training split {name}", questions, scored)
    return questions


def refusal(
    method: Method, data: Path | None, scored: Callable[[], Sequence[Scored]], sources: Mapping[str, Source]
) -> str | None:
    """Why a method may not be scored, else None. `scored` is only asked where the method learnt from anything."""
    if not method.trained_on:
        return None
    try:
        check_training(method.name, _expand(method, data, sources), scored())
    except Violation as broken:
        return str(broken)
    except (NotRun, SuiteError, ValueError) as reason:
        # What can't be checked is not taken on trust.
        return f"{method.name}: no training on scored data: what it was trained on can't be checked: {reason}"
    return None


def _expand(method: Method, data: Path | None, sources: Mapping[str, Source]) -> Iterable[Any]:
    for learnt in method.trained_on:
        if isinstance(learnt, str) and _is_name(learnt):
            yield from _questions(learnt, data, sources)
        else:
            yield learnt


def _is_name(text: str) -> bool:
    """Whether a text names questions, and is none itself: a question has several words."""
    return len(text.split()) == 1


def _source_of(name: str, sources: Mapping[str, Source]) -> Any:
    for source in sources:
        if name.startswith(source) and hasattr(sources[source], "training"):
            return sources[source]
    return None


def _questions(name: str, data: Path | None, sources: Mapping[str, Source]) -> list[TrainingQuestion]:
    source = _source_of(name, sources)
    if source is None:
        known = sorted(s for s in sources if hasattr(sources[s], "training"))
        near = get_close_matches(name, known, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"no data source has questions named {name!r} that a method may learn from; known are the rows of "
            f"{', '.join(known)}.{meant} A question is given by its text, of several words"
        )
    try:
        questions: list[TrainingQuestion] = source.training(name, data)
    finally:
        # The same file has the answers to scored questions: no process that asks keeps them.
        locations.forget()
    return questions


def scored(places: Iterable[Path], suites: Iterable[Suite]) -> list[Scored]:
    """The questions of every pilot set among the files and under the folders, and of those that are loaded.

    A pilot set whose texts nobody could commit is compared by its texts as well, once it is loaded.
    """
    from pytest_engram.suites import pilots

    known = pilots.scored(places)
    for suite in suites:
        if suite.kind == "pilot":
            known += [Scored(suite.name, q.id, fingerprint(q.query), q.query) for q in suite.questions if q.query]
    return known
