"""How far a long run has come, in place of a letter an item: 60,000 letters push everything else off the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_engram.basics.progress import Bar, progress
from pytest_engram.plugin.items import RESULT

LETTERS = 1000  # items from which on their letters are left out

Status = tuple[str, str, Any]


def begin(config: pytest.Config) -> None:
    """Watch a run, unless every item is to be shown, or another plugin shows items in its own way."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if type(terminal).__module__ == "_pytest.terminal" and config.get_verbosity(config.VERBOSITY_TEST_CASES) <= 0:
        config.pluginmanager.register(Progress(terminal), "engram-progress")


class Progress:
    """A plugin of its own, in the controller.

    Args:
        terminal: pytest's terminal reporter.
    """

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._shown = ExitStack()
        self._bar: Bar | None = None
        self._found = Counter[str]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Begin with the first item: only now it is known how many there are, also where workers found them."""
        total = getattr(self._terminal._session, "testscollected", 0)
        if self._bar is None and total >= LETTERS:
            self._terminal.showfspath = False
            self._terminal.ensure_newline()
            self._bar = self._shown.enter_context(progress("Asking", total, "item", file=self._terminal._tw._file))

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Status, Status]:
        """The item counts as what it is, and its letter is not shown."""
        category, letter, word = yield
        return (category, letter, word) if self._bar is None else (category, "", "")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One more is done, with what became of it."""
        if self._bar is None:
            return
        if report.failed:
            self._found["failed"] += 1
        elif report.when == "call":
            self._found[str(dict(report.user_properties).get(RESULT, report.outcome)).lower()] += 1
        if report.when not in ("setup", "call"):  # a worker that died leaves one report alone, of no phase
            self._bar.advance(1, ", ".join(f"{number} {what}" for what, number in sorted(self._found.items())))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """What comes now has its own lines."""
        self._shown.close()
        self._bar = None
