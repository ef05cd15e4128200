"""Who changes the code that judges, fails the run: in a test, in a worker, or before the run begins."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest
import yaml

from pytest_engram.plugin import untouched
from pytest_engram.suites import shipped_cases

CONFTEST = """
from pytest_engram import method

BEFORE


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        PATCH
        return [entry.id for entry in self.entries[:k]]


@method(controls=[], embeds=False)
def mine():
    return First
"""

PATCHES = {
    "a function": ("from pytest_engram.judging import metrics; metrics.contains = lambda *_: True", "judging.metrics:"),
    "a name that leads to it": (
        "from dataclasses import replace; from pytest_engram.judging import judge;"
        " judge.replace = lambda line, **named: replace(line, **named)",
        "judging.judge:replace",
    ),
    "its code": (
        "from pytest_engram.asking import rules;"
        " rules.check_trace.__code__ = (lambda trace, known, method, question: []).__code__",
        "asking.rules:check_trace",
    ),
    "a method of a class": (
        "from pytest_engram.runs.outcome import Outcome; Outcome.returned = property(lambda self: 10)",
        "runs.outcome:Outcome.returned",
    ),
    "a constant": ("from pytest_engram.runs import outcome; outcome.BINARY = frozenset()", "runs.outcome:BINARY"),
    "what a constant holds": (
        "from pytest_engram.runs import outcome; outcome.STATES[None] = 'new'",
        "runs.outcome:STATES",
    ),
}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text()) | {"name": "tiny"}
    shipped["questions"] = shipped["questions"][:2]
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    return pytester


def run(project: pytest.Pytester, *arguments: str, patch: str = "pass", before: str = "") -> Any:
    project.makeconftest(CONFTEST.replace("PATCH", patch).replace("BEFORE", before))
    return project.runpytest_subprocess("-p", "no:cacheprovider", "--engram-method=mine", *arguments, "tiny.yaml")


def changed(project: pytest.Pytester) -> list[str]:
    return list(json.loads((project.path / "reports/latest/manifest.json").read_text())["changed_code"])


@pytest.mark.parametrize(("patch", "told"), PATCHES.values(), ids=PATCHES)
def test_a_method_that_changes_the_code_that_judges_fails_the_run(
    project: pytest.Pytester, patch: str, told: str
) -> None:
    done = run(project, "-n", "0", patch=patch)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    done.stdout.fnmatch_lines([f"the code that judges was changed as the run went on: *{told}*"])
    assert any(name.startswith(told) for name in changed(project))


@pytest.mark.parametrize("workers", ["0", "1"])
def test_so_does_a_conftest_that_changes_it_before_the_run_begins(project: pytest.Pytester, workers: str) -> None:
    before = "from pytest_engram.asking import rules\nrules.check_recalled = lambda returned, **_: []"
    done = run(project, "-n", workers, before=before)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    assert "asking.rules:check_recalled" in changed(project)


def test_what_happens_in_a_worker_is_told_by_it(project: pytest.Pytester) -> None:
    done = run(project, "-n", "1", patch="from pytest_engram.asking import rules; rules.plain = str")
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    assert changed(project) == ["asking.rules:plain"]


@pytest.mark.parametrize("workers", ["0", "1"])
def test_an_honest_run_changes_nothing(project: pytest.Pytester, workers: str) -> None:
    done = run(project, "-n", workers)
    assert done.ret == 0, done.stdout.str()
    assert changed(project) == []


def test_all_modules_of_the_package_are_as_their_files_have_them() -> None:
    # Loaded by pytest, which rewrites `assert`, or by Python.
    import pytest_engram.judging.scoring
    import pytest_engram.report.page
    import pytest_engram.review.compare  # noqa: F401

    assert len(untouched.modules()) > 40
    assert untouched.Snapshot().changed() == []


def test_a_module_that_is_not_there_any_more_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("pytest_engram.judging.gone")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    snapshot = untouched.Snapshot()
    monkeypatch.delitem(sys.modules, made.__name__)
    assert snapshot.changed() == []
