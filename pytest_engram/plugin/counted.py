"""What pytest's terminal reporter keeps of each item that passed: enough to count it and to tell how long it took.

It keeps three reports an item until the run ends, each with the item's keywords, place and properties: with 50,000
items more than all their outcomes together. What failed or was skipped it keeps whole, to show it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest

from pytest_engram.plugin.items import PROPERTY

_WHOSE = ("_id", "nodeid")  # of a report: what newer versions of pytest, and what older ones name its item by


def begin(config: pytest.Config) -> None:
    """See to what the terminal reporter keeps, where there is one."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if (kept := getattr(terminal, "stats", None)) is not None:
        config.pluginmanager.register(Counter(kept, phases=config.option.durations is not None), "engram-counter")


def forget(config: pytest.Config) -> None:
    """In a worker, whose terminal reporter nobody reads, keep none of them."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if (kept := getattr(terminal, "stats", None)) is not None:
        config.pluginmanager.register(Forgetful(kept), "engram-counter")


class Forgetful:
    """A plugin of its own, in a worker: the reports went to the controller, which has them.

    Args:
        kept: the reports that the terminal reporter keeps, by what they count as.
    """

    def __init__(self, kept: dict[str, list[Any]]) -> None:
        self._kept = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self) -> Generator[None]:
        """When all have seen a report, the lists are empty again."""
        yield
        for reports in self._kept.values():
            reports.clear()


class Counted(pytest.TestReport):
    """What is left of a report that nobody shows: whose it is, of which phase, and how long that took."""

    outcome, longrepr, sections, user_properties, keywords = "passed", None, [], [], {}

    def __init__(self, report: pytest.TestReport, whose: dict[str, Any]) -> None:
        for name, value in whose.items():
            setattr(self, name, value)
        self.when, self.duration = report.when, report.duration


class Counter:
    """A plugin of its own, in the controller.

    Args:
        kept: the reports that the terminal reporter keeps, by what they count as.
        phases: whether somebody wants to know how long setups and teardowns took. Else one stands for all of a kind.
    """

    def __init__(self, kept: dict[str, list[Any]], *, phases: bool) -> None:
        self._kept = kept
        self._phases = phases
        self._of_all: dict[str, Counted] = {}
        self._begun: dict[str, Callable[[], None]] = {}  # what to do about a setup's report: whose it is comes later
        self._whose: dict[str, dict[str, Any]] = {}  # what names an item, until it is torn down
        self._shown: set[str] = set()  # items of which something is shown, and so what was captured at their end

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """When all have seen a report of an item of ours, put what is left of it in its place."""
        ours = any(name == PROPERTY for name, _ in report.user_properties)
        yield
        item = report.nodeid
        replace = partial(self._replace, report, self._whose.setdefault(item, _named(report)))
        if ours and (begun := self._begun.pop(item, None)):
            begun()
        if not report.passed:
            self._shown.add(item)
        elif report.when == "setup" and not ours:
            self._begun[item] = partial(replace, *self._place(report))
        elif ours and item not in self._shown:
            replace(*self._place(report))
        if report.when == "teardown":
            for at_work in (self._begun, self._whose):
                at_work.pop(item, None)
            self._shown.discard(item)

    def _place(self, report: pytest.TestReport) -> tuple[list[Any], int]:
        """Where a report that was just put down stands."""
        for reports in self._kept.values():
            if reports and reports[-1] is report:
                return reports, len(reports) - 1
        return [], 0

    def _replace(self, report: pytest.TestReport, whose: dict[str, Any], reports: list[Any], at: int) -> None:
        if len(reports) <= at or reports[at] is not report:  # somebody took it out
            return
        if self._phases or report.when not in ("setup", "teardown"):
            reports[at] = Counted(report, whose)
        else:
            reports[at] = self._of_all.setdefault(report.when, Counted(report, whose))


def _named(report: pytest.TestReport) -> dict[str, Any]:
    return {name: vars(report)[name] for name in _WHOSE if name in vars(report)}
