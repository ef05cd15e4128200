"""The controller's record of a run: each outcome judged as it comes, and the log while it grows."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pytest_engram import report
from pytest_engram.asking.runner import blank
from pytest_engram.basics.privacy import public
from pytest_engram.judging.judge import judge
from pytest_engram.memory import Method
from pytest_engram.plugin import vault
from pytest_engram.plugin.again import Compared
from pytest_engram.plugin.answers import Answers
from pytest_engram.plugin.items import PROPERTY, STANDS, properties
from pytest_engram.plugin.parts import Parts
from pytest_engram.runs import begun as runbegun
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import withhold


class Recorder:
    """A pytest plugin of its own, registered for the run: it sees every report, from every worker.

    Args:
        parts: of the run.
        answers: its reader and its judge.
        workers: how many processes ask.
    """

    def __init__(self, parts: Parts, answers: Answers, workers: int = 1) -> None:
        self._parts = parts
        self._config = parts.config
        self._answers = answers
        self.folder: Path = parts.options.report
        self.failures: list[str] = []
        self.unwritten: str | None = None  # why the report folder can't be written
        self.broken_collection = False
        self.compared = Compared(workers)
        self.changed: set[str] = set()  # code that judges and is not what its files say, in any process
        self._started = time.time()
        self._told: dict[str, list[tuple[str, object]]] = {}  # an item's properties, until it is torn down
        self._log: Any = None
        self._died: Counter[vault.Item] = Counter()  # how often an item took its worker with it

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.time() - self._started

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that something could not be collected."""
        self.broken_collection |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Judge an item's outcome as soon as it arrives, and put it down: a killed run keeps what it had.

        In place of what was recalled, the report then has the result and each metric, for the terminal and JUnit XML.
        """
        others = [(name, value) for name, value in report.user_properties if name != PROPERTY]
        if len(others) == len(report.user_properties):
            return
        if report.when != "teardown" and not (report.when == "setup" and report.passed):
            for name, value in report.user_properties:
                if name == PROPERTY:
                    outcome = self._arrived(value, int(getattr(report, "rerun", 0)))
                    self._told[report.nodeid] = properties(outcome)
                    self.compared.remember(outcome, report)
        told = self._told.pop if report.when == "teardown" else self._told.get
        report.user_properties = [*others, *told(report.nodeid, [])]

    def _arrived(self, value: object, reruns: int) -> Outcome:
        """The judged outcome of an item that has published one, or has said that one stands."""
        if isinstance(value, Outcome):
            line = value
        else:
            record = json.loads(str(value))
            if STANDS in record:
                suite, item, method, seed = record[STANDS]
                outcome = vault.of(self._config).outcomes[suite, item, method, seed]
                outcome.reruns = max(outcome.reruns, reruns, record["reruns"])
                return outcome
            line = Outcome.from_record(record)
        # In another process than the one that died, the item does not know; the plugin does.
        line.reruns = max(line.reruns, reruns, self._died[_key(line)])
        return self.add(line)

    def take_over(self) -> None:
        """Take what stands of the run that is continued: judge it again, and have reader and judge asked for the rest.

        It is in the log, and nothing is written before there is something new.
        """
        secrets = vault.of(self._config)
        while secrets.kept:
            _, logged = secrets.kept.popitem()
            line = self._answers.again(logged)
            self._answers.read(line)
            self._judge(line)

    def compare(self) -> None:
        """Fail each item that was answered otherwise when it was asked again: a violation, in the log and in pytest."""
        secrets = vault.of(self._config)
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        for first, told in self.compared.broken(secrets.outcomes):
            kept = {name: getattr(first, name) for name in ("haystack", "wrote", "usage", "retries", "reruns")}
            suite, question = self._parts.asked[first.suite, first.question_id]
            line = blank(suite, question, first.method, first.seed, first.k, first.item)
            self._keep(replace(line, status="violation", reason=told, **kept))
            self.compared.fail(first, told, terminal, self._config.hook.pytest_runtest_logreport)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker died over an item: that is the item's error."""
        outcome = self._of_nodeid(crashitem)
        if outcome is not None:
            outcome.status, outcome.reason = "error", " ".join(str(report.longrepr).split())
            outcome.reruns = self._died[_key(outcome)]
            self._died[_key(outcome)] += 1
            self.add(outcome)

    def add(self, line: Outcome) -> Outcome:
        """Have a line read, judge and keep it.

        Of an item that several workers ran, the first counts; of one that was run again, the last. But a rule that was
        broken stays broken.
        """
        self._put_down_writing(line)
        before = vault.of(self._config).outcomes.get(_key(line))
        if before is not None and line.reruns <= before.reruns:
            return before
        if before is not None and before.status == "violation":
            before.reruns = line.reruns
            return before
        for answered in self._answers.ready():
            self._keep(answered)
        self._answers.read(line)
        return self._keep(line)

    def _keep(self, line: Outcome) -> Outcome:
        """Judge a line, also one that was judged before it had its answer, and put it down."""
        before = vault.of(self._config).outcomes.get(_key(line))
        if before is not None and (before.status == "violation" or before.reruns > line.reruns):
            return before  # what this is an answer to counts no more
        outcome = self._judge(self._answers.as_paid(line))
        self._write(outcome)
        return outcome

    def _judge(self, line: Outcome) -> Outcome:
        """Judge a line, and have its answer judged where only a judge can."""
        secrets = vault.of(self._config)
        outcome = judge(secrets.keys[line.suite], line, self._parts.metrics)
        if outcome.reason or outcome.missing:
            outcome.reason = public(outcome.reason)
            outcome.missing = {name: public(why) for name, why in outcome.missing.items()}
        self._answers.bring(_key(line), outcome)
        secrets.outcomes[_key(line)] = outcome
        return outcome

    def wait(self, session: pytest.Session) -> None:
        """Wait for reader and judge."""
        if told := self._answers.wait(session, self._keep):
            self.failures.append(told)

    # What writing a shared memory took

    def _put_down_writing(self, line: Outcome) -> None:
        """What writing a shared memory took stands at the first of its items, whichever worker asked it."""
        method = self._shared.get(line.method)
        if method is None:
            return
        suite, question = self._parts.asked[line.suite, line.question_id]
        memories = self._parts.memories
        haystack = memories.haystack(suite, question.haystack)
        told = memories.written.get(memories.namespace(method, line.seed, haystack))
        if (method.name, line.seed, haystack.tag) in memories.filled:
            return  # before this run was continued, and in its log
        if told is not None and (wrote := told.pop("wrote", None)):
            line.wrote = {**wrote, **line.wrote}
            for name, used in told.get("usage", {}).items():
                line.usage[name] = line.usage.get(name, 0.0) + used

    @cached_property
    def _shared(self) -> dict[str, Method]:
        return {method.name: method for method in self._parts.methods.selected if method.shared}

    # The log

    def _write(self, outcome: Outcome) -> None:
        if self.unwritten is not None:
            return
        try:
            if self._log is None:
                self._begin_log()
            else:
                self._log.write(self._line(outcome))
                self._log.flush()
        except OSError as error:
            self.unwritten = self.cannot_write(error)

    def _line(self, outcome: Outcome) -> str:
        return (withhold(outcome) if self._parts.withheld(outcome.suite) else outcome).to_line() + "\n"

    def cannot_write(self, error: OSError) -> str:
        """One line on a report folder that can't be written."""
        where = error.filename2 or error.filename or self.folder
        return f"--engram-report: {where} can't be written ({error.strerror}); name a folder that can"

    def _begin_log(self) -> None:
        """Begin with what is there, the first outcome and all that stands, in place of the log before.

        At any moment, the log and what says whose it is belong together, or there is no log.
        """
        # Only now: a run that finds nothing to do must not destroy the report of the one before.
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / runfolder.LOG
        part = log.with_suffix(".part")
        with open(part, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(map(self._line, vault.of(self._config).outcomes.values()))
        begun = vault.of(self._config).begun
        assert begun is not None
        if not begun.resumed:
            log.unlink(missing_ok=True)  # of another run
        runbegun.write(self.folder, replace(begun, embedded=begun.embedded or self._parts.encoder() is not None))
        os.replace(part, log)
        for name in (*runfolder.SOURCES, *report.FRONTIER, *report.FILES):
            if name != runfolder.LOG:
                (self.folder / name).unlink(missing_ok=True)
        self._log = open(log, "a", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            with suppress(OSError):  # of a full disk is told elsewhere
                self._log.close()

    def _of_nodeid(self, nodeid: str) -> Outcome | None:
        path, _, name = nodeid.partition("::")
        match = re.fullmatch(r"(?P<question>.*)\[(?P<method>.*?)(?:-s(?P<seed>\d+))?\]", name)
        if match is None:
            return None
        for suite in self._parts.suites():
            if suite.path.as_posix().endswith(path.removeprefix("../")):
                for question in suite.questions:
                    if question.name == match["question"]:
                        seed = self._parts.methods.first_seed + int(match["seed"] or 0)
                        return blank(suite, question, match["method"], seed, self._parts.options.k, name)
        return None


def _key(line: Outcome) -> vault.Item:
    return line.suite, line.item, line.method, line.seed
