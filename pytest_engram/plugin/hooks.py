"""pytest hooks, and nothing else. What an option does stands in `options`; what a hook does, in the module it calls.

Loaded into every pytest run of an environment that has the plugin installed, so it imports nothing heavy, and each
hook leaves at once where no suite was asked for.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.plugin import hookspecs, options

if TYPE_CHECKING:
    from pytest_engram.plugin.session import EngramSession

_SESSION = pytest.StashKey["EngramSession"]()


def _session(config: pytest.Config) -> EngramSession | None:
    return config.stash.get(_SESSION, None)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if options.wants_suites(config):
        from pytest_engram.plugin.session import EngramSession

        config.stash[_SESSION] = EngramSession(config)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if engram := _session(session.config):
        engram.start()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if engram := _session(node.config):
        node.workerinput["engram"] = engram.handover
        engram.seed_hashes()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if engram := _session(node.config):
        engram.ended(node)


def pytest_report_header(config: pytest.Config) -> list[str] | None:
    engram = _session(config)
    return engram.header() if engram else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if (engram := _session(parent.config)) and engram.shelf.collects(file_path, parent):
        from pytest_engram.plugin.items import SuiteFile

        return SuiteFile.of(engram, parent, file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if engram := _session(session.config):
        engram.collected()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    if engram := _session(config):
        engram.seed_hashes()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    done = yield
    if engram := _session(session.config):
        engram.ask_again(session)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if _session(item.config):
        from pytest_engram.plugin.items import complete_report, let_go

        complete_report(item, call, report)
        if report.when == "teardown":
            let_go(item)
    return report


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if _session(config) and isinstance(report, pytest.TestReport):
        from pytest_engram.plugin.items import status

        return status(report)
    return None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if engram := _session(session.config):
        engram.finish(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if engram := _session(config):
        engram.summarise(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if engram := _session(config):
        engram.close()


def pytest_engram_sources() -> dict[str, str]:
    from pytest_engram.suites import SOURCES

    return SOURCES


def pytest_engram_readers() -> dict[str, str]:
    from pytest_engram.reading import READERS

    return READERS


def pytest_engram_judges() -> dict[str, str]:
    from pytest_engram.judging.judges import JUDGES

    return JUDGES


def pytest_engram_metrics() -> dict[str, str]:
    from pytest_engram.judging import METRICS

    return METRICS
