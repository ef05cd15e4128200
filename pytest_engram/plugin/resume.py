"""`--engram-resume`: what the log of a run that was killed or interrupted holds, and what is left to ask.

Outcomes and violations stand as they are: their items are test items all the same, and publish a mark in place of an
outcome. What failed or did not run is asked again. A worker is told which items stand, and nothing else of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.judging.judge import NO_JUDGE
from pytest_engram.memory import Method
from pytest_engram.plugin import vault
from pytest_engram.plugin.items import name_of
from pytest_engram.plugin.standing import Standing, items
from pytest_engram.reading import RECORDED
from pytest_engram.runs import begun as runbegun
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.begun import Begun
from pytest_engram.runs.log import LogError
from pytest_engram.runs.log import read as read_log
from pytest_engram.runs.outcome import READ, Outcome
from pytest_engram.runs.withheld import WITHHELD
from pytest_engram.suites.base import Question, Suite, parse_metric

if TYPE_CHECKING:
    from pytest_engram.asking.memories import Memories

_ANEW = "begin anew, without --engram-resume"


def take(
    config: pytest.Config,
    folder: Path,
    now: Begun,
    suites: Sequence[Suite],
    methods: Sequence[Method],
    seeds: Callable[[Method], list[int]],
) -> Begun:
    """Put what stands of the run in a folder into the vault; nothing where there is no such run.

    Args:
        config: whose vault.
        folder: of the report.
        now: what this run is.
        suites: of this run.
        methods: of this run.
        seeds: of a method.

    Returns:
        This run, as it goes on.

    Raises:
        pytest.UsageError: the run there is another one, or damaged; one line, with the cure.
    """
    shown = folder.relative_to(here) if folder.is_relative_to(here := config.invocation_params.dir) else folder
    try:
        before = runbegun.read(folder)
        log = runfolder.find(folder, runfolder.LOG)
        if before is None and log is None:
            return now
        if before is None:
            raise pytest.UsageError(f"--engram-resume: {shown} has no {runbegun.NAME} to tell what it is of; {_ANEW}")
        _compare(before, now, str(shown))
        if log is None:
            return now
        found = read_log(log)
        manifest = _manifest(folder, log, before, str(shown))
    except runbegun.Damaged as error:
        raise pytest.UsageError(f"--engram-resume: {shown}/{runbegun.NAME}: damaged ({error}); {_ANEW}") from None
    except (runfolder.RunError, LogError) as error:
        raise pytest.UsageError(f"--engram-resume: {error}; {_ANEW}") from None
    last = {(line.suite, line.item, line.method, line.seed): line for line in found}
    secrets = vault.of(config)
    for suite, question, method, seed in items(suites, methods, seeds):
        key = suite.name, name_of(question, method, seed), method.name, seed
        if (line := last.get(key)) is not None and _stands(line):
            secrets.kept[key] = _restored(line, question)
    done = all(key in secrets.kept or line.status == "not run" for key, line in last.items())
    if manifest is not None and manifest.get("complete") and done and not _open(found):
        secrets.whole = manifest
        for one in runfolder.read(folder).known:
            secrets.known.setdefault(one.suite, []).append(one)
    return replace(before, resumed=before.resumed + 1, kept=len(secrets.kept))


def _compare(before: Begun, now: Begun, shown: str) -> None:
    from pytest_engram.review.here import differing

    other = next(differing(before.fingerprint, now.fingerprint), None)
    if other is not None:
        told = f"{other.where} was {other.one} and is {other.other}"
        raise pytest.UsageError(f"--engram-resume: {shown} holds another run: {told}; {_ANEW}")


def _manifest(folder: Path, log: Path, before: Begun, shown: str) -> dict[str, Any] | None:
    """That of the log; None where it is of another one, as a kill may leave it.

    Raises:
        pytest.UsageError: the log is not of the run that began there, or is worth nothing.
    """
    if runfolder.find(folder, runfolder.MANIFEST) is None:
        return None
    manifest = runfolder.read(folder).manifest
    if manifest.get("log_sha256") != runfolder.sha256_of(log):
        return None
    if manifest.get("run_sha256") != before.sha256:
        raise pytest.UsageError(f"--engram-resume: the log in {shown} is not of the run that began there; {_ANEW}")
    if changed := manifest.get("changed_code"):
        told = f"code that judges was changed as the run in {shown} went on ({changed[0]})"
        raise pytest.UsageError(f"--engram-resume: {told}; {_ANEW}")
    return manifest


def _stands(line: Outcome) -> bool:
    """Whether an item need not be asked again."""
    if line.status not in ("ok", "violation"):
        return False
    if WITHHELD not in line.fields:
        return True
    # Of what was withheld, a question and a reader's answer can be had again; what others wrote can't.
    return line.reader != RECORDED and not any("text" in place for place in line.recalled)


def _open(lines: Iterable[Outcome]) -> bool:
    """Whether an answer or a verdict is missing that somebody who is asked might give."""
    return any(
        line.reader is not None and parse_metric(name)[0] in READ and why != NO_JUDGE and not why.startswith("needs ")
        for line in lines
        for name, why in line.missing.items()
    )


def _restored(line: Outcome, question: Question) -> Outcome:
    """A line with what was withheld of it and is known here: the question."""
    if WITHHELD not in line.fields:
        return line
    fields = {name: value for name, value in line.fields.items() if name != WITHHELD}
    return replace(line, query=question.query, fields=fields)


def standing(config: pytest.Config, suites: Iterable[Suite], memories: Memories) -> Standing:
    """What the vault keeps of an earlier part of the run, without anything of gold."""
    secrets = vault.of(config)
    items = {key: line.reason if line.status == "violation" else None for key, line in secrets.kept.items()}
    asked = {(suite.name, question.id): (suite, question) for suite in suites for question in suite.questions}
    filled = set()
    if secrets.whole is None:
        for line in secrets.kept.values():
            if line.wrote:
                suite, question = asked[line.suite, line.question_id]
                filled.add((line.method, line.seed, memories.haystack(suite, question.haystack).tag))
    return Standing(items, frozenset(filled), secrets.whole is not None)
