"""The controller's record of a run: the log while it grows, and the report when it ends."""

from __future__ import annotations

import json
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram import report
from pytest_engram.basics.privacy import public
from pytest_engram.plugin.items import PROPERTY
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import log as runlog
from pytest_engram.runs.log import Outcome

if TYPE_CHECKING:
    from pytest_engram.plugin.session import EngramSession

EXCERPT = 300  # characters of an entry that a report shows


class Recorder:
    """A pytest plugin of its own, registered for the run: it sees every report, from every worker."""

    def __init__(self, engram: EngramSession) -> None:
        self.engram = engram
        self.folder: Path = engram.options.report
        self.outcomes: dict[tuple[str, str, str, int], Outcome] = {}
        self.results: dict[str, Any] | None = None
        self.failures: list[str] = []
        self.unwritten: str | None = None  # why the report folder can't be written
        self.broken_collection = False
        self.started = time.time()
        self._log: Any = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that something could not be collected."""
        self.broken_collection |= report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Put down an item's outcome as soon as it arrives: a killed run keeps what it had."""
        if report.when == "teardown" or (report.when == "setup" and report.passed):
            return
        for name, value in report.user_properties:
            if name == PROPERTY:
                self.add(Outcome.from_record(json.loads(str(value))), str(value))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker died over an item: that is the item's error."""
        outcome = self._of_nodeid(crashitem)
        if outcome is not None:
            outcome.status, outcome.reason = "error", " ".join(str(report.longrepr).split())
            self.add(outcome)

    def add(self, outcome: Outcome, line: str | None = None) -> None:
        """Keep an outcome, and its line where that is at hand; of an item that several workers ran, the first."""
        key = (outcome.suite, outcome.item, outcome.method, outcome.seed)
        if key in self.outcomes:
            return
        if outcome.reason or outcome.missing:
            outcome.reason = public(outcome.reason)
            outcome.missing = {name: public(why) for name, why in outcome.missing.items()}
            line = None
        self.outcomes[key] = outcome
        if self.unwritten is not None:
            return
        try:
            if self._log is None:
                self._begin()
            self._log.write((line or outcome.to_line()) + "\n")
            self._log.flush()
        except OSError as error:
            self.unwritten = self._cannot_write(error)

    def _cannot_write(self, error: OSError) -> str:
        where = error.filename2 or error.filename or self.folder
        return f"--engram-report: {where} can't be written ({error.strerror}); name a folder that can"

    def _begin(self) -> None:
        # Only now: a run that finds nothing to do must not destroy the report of the one before.
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in (*runfolder.SOURCES, *report.FILES):
            (self.folder / name).unlink(missing_ok=True)
        self._log = open(self.folder / runfolder.LOG, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115

    def _of_nodeid(self, nodeid: str) -> Outcome | None:
        path, _, name = nodeid.partition("::")
        match = re.fullmatch(r"(?P<question>.*)\[(?P<method>.*?)(?:-s(?P<seed>\d+))?\]", name)
        if match is None:
            return None
        for suite in self.engram.loaded():
            if suite.path.as_posix().endswith(path.removeprefix("../")):
                for question in suite.questions:
                    if question.name == match["question"]:
                        seed = self.engram.first_seed + int(match["seed"] or 0)
                        return self.engram.blank(suite, question, match["method"], seed, name)
        return None

    def finish(self, session: pytest.Session) -> None:
        """Write the log in its canonical order, the manifest, and every table, plot and page."""
        from pytest_engram.plugin import gates
        from pytest_engram.report.aggregate import aggregate
        from pytest_engram.runs import manifest

        if self.broken_collection and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.INTERRUPTED  # with workers, pytest-xdist makes it 1
        if not self.outcomes:
            return
        self.close()
        suites = [suite.name for suite in self.engram.loaded()]
        outcomes = list(runlog.canonical(self.outcomes.values(), suites))
        facts = manifest.of(self.engram, outcomes, time.time() - self.started)
        try:
            self.results = runfolder.write(self.folder, outcomes, facts, self._texts(outcomes))
            self.unwritten = None
        except OSError as error:
            # What was measured is shown at least.
            self.results = aggregate(outcomes, facts)
            self.unwritten = self._cannot_write(error)
        except KeyboardInterrupt:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            shown = _shown(self.folder, self.engram.config.invocation_params.dir)
            self.failures = [f"interrupted while the report was written; `engram report {shown}` writes it"]
            return
        self.failures = gates.failures(self.engram, self.results, outcomes)
        if self.unwritten is not None:
            self.failures.append(self.unwritten)
        if self.failures and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _texts(self, outcomes: list[Outcome]) -> dict[str, dict[str, str]]:
        """Excerpts of all entries that some method returned or dropped, for the page: suite, haystack/id, text."""
        found: dict[str, dict[str, str]] = {}
        by_name = {suite.name: suite for suite in self.engram.loaded()}
        haystacks = {s.name: {q.id: q.haystack for q in s.questions} for s in by_name.values()}
        for outcome in outcomes:
            wanted = [*outcome.ids, *(str(d["id"]) for d in outcome.dropped)]
            suite = by_name.get(outcome.suite)
            if suite is None or not wanted or suite.not_run:
                continue
            key = haystacks[outcome.suite][outcome.question_id]
            texts = found.setdefault(outcome.suite, {})
            shared = len(set(haystacks[outcome.suite].values())) == 1
            for id_ in wanted:
                at = id_ if shared else f"{outcome.question_id}/{id_}"
                if at not in texts:
                    text = " ".join(self.engram.haystack(suite, key).by_id[id_].text.split())
                    texts[at] = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
        return found

    def summarise(self, terminal: pytest.TerminalReporter) -> None:
        """Print the tables, what failed the run, and where the page is."""
        if self.results is None:
            self._tell_failures(terminal)
            return
        width = shutil.get_terminal_size().columns
        terminal.section("engram", "=")
        terminal.line(report.terminal(self.results, width, colour=terminal.hasmarkup).rstrip())
        if spec := self.engram.reader_spec:
            from pytest_engram import reading as readers

            for line in readers.lines(spec, readers.totals(self.outcomes.values())):
                terminal.line(line)
        self._tell_failures(terminal)
        if self.unwritten is not None:
            return
        page = self.folder / "results.html"
        terminal.line("")
        terminal.line(f"page: {_shown(page, self.engram.config.invocation_params.dir)}")

    def _tell_failures(self, terminal: pytest.TerminalReporter) -> None:
        for failure in self.failures:
            terminal.line(failure, red=True, bold=True)

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            with suppress(OSError):  # of a full disk is told elsewhere
                self._log.close()


def _shown(path: Path, here: Path) -> str:
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
