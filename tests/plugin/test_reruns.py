"""A violation fails the run, whatever was run again; of an item that failed and ran again, the last outcome counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from pytest_engram.basics.registry import Registry
from pytest_engram.judging import METRICS
from pytest_engram.suites import SOURCES, shipped_cases
from pytest_engram.suites.loading import load

pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed: `pip install .[dev]`")

CONFTEST = '''
import os
import pathlib

import pytest

from pytest_engram import method

HERE = pathlib.Path(__file__).parent


def times(query):
    """How often a question was asked, in any process."""
    mark = HERE / "asked" / str(abs(sum(map(ord, query))))
    mark.parent.mkdir(exist_ok=True)
    with open(mark, "a") as file:
        file.write("x")
    return mark.stat().st_size


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]


class Greedy(First):
    """Takes one too many, and behaves where it is asked again."""

    def search(self, query, k):
        return [entry.id for entry in self.entries[: k + (query in QUERIES and times(query) == 1)]]


class Flaky(First):
    def search(self, query, k):
        if query in QUERIES and times(query) == 1:
            raise RuntimeError("the line is dead")
        return super().search(query, k)


class Dying(First):
    def search(self, query, k):
        if query in QUERIES[:1] and times(query) == 1:
            os._exit(1)
        return super().search(query, k)


@method(controls=[], embeds=False)
def greedy():
    return Greedy


@method(controls=[], embeds=False)
def flaky():
    return Flaky


@method(controls=[], embeds=False)
def dying():
    return Dying
'''


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    shipped |= {"name": "tiny", "questions": shipped["questions"][:6]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    return pytester


def run(project: pytest.Pytester, name: str, *arguments: str, more: str = "") -> Any:
    found = load(
        project.path / "tiny.yaml",
        None,
        sources=Registry("data source", SOURCES),
        metrics=Registry("metric", METRICS),
        shipped_metrics=METRICS,
    )
    queries = [question.query for question in found.suite.questions]
    project.makeconftest(CONFTEST + f"\nQUERIES = {queries[:2]!r}\n" + more)
    return project.runpytest_subprocess("-p", "no:cacheprovider", f"--engram-method={name}", *arguments, "tiny.yaml")


def log(project: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / "reports/latest/items.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_violation_fails_the_run_though_the_item_passes_when_it_is_run_again(
    project: pytest.Pytester, workers: str
) -> None:
    done = run(project, "greedy", "--reruns=2", "-n", workers)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    lines = log(project)
    assert [line["status"] for line in lines].count("violation") == 2
    assert sorted(line.get("reruns", 0) for line in lines) == [0, 0, 0, 0, 1, 1]
    done.stdout.fnmatch_lines(["*2 items broke a rule (greedy)*a violation fails the run*"])
    (row,) = (r for r in json.loads((project.path / "reports/latest/results.json").read_text())["rows"][:1])
    assert (row["status"], row["value"]) == ("violation", None)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_fails_once_and_then_passes_counts_as_it_ended_and_the_number_is_shown(
    project: pytest.Pytester, workers: str
) -> None:
    done = run(project, "flaky", "--reruns=2", "-n", workers)
    assert done.ret == 0, done.stdout.str()
    lines = log(project)
    assert [line["status"] for line in lines] == ["ok"] * 6
    assert sorted(line.get("reruns", 0) for line in lines) == [0, 0, 0, 0, 1, 1]
    results = json.loads((project.path / "reports/latest/results.json").read_text())
    assert (results["rows"][0]["status"], results["rows"][0]["errors"]) == ("ok", 0)
    assert "2 of 6 items were run again; the last outcome counts, and a violation stands" in results["rows"][0]["marks"]
    assert "2 of 6 items were run again" in (project.path / "reports/latest/results.md").read_text()


def test_what_fails_to_the_end_is_an_error_with_its_reruns(project: pytest.Pytester) -> None:
    done = run(project, "flaky", "--reruns=1", "-n", "0", more="times = lambda query: 1\n")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert sorted((line["status"], line.get("reruns", 0)) for line in log(project)) == [
        *[("error", 1)] * 2,
        *[("ok", 0)] * 4,
    ]


def test_an_item_that_killed_its_worker_and_was_run_again_counts_as_it_ended(project: pytest.Pytester) -> None:
    done = run(project, "dying", "--reruns=2", "-n", "2")
    lines = log(project)
    assert [line["status"] for line in lines] == ["ok"] * 6, done.stdout.str()
    assert sum(line.get("reruns", 0) for line in lines) == 1


def test_a_violation_that_a_conftest_expects_to_fail_fails_the_run(project: pytest.Pytester) -> None:
    xfail = (
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        item.add_marker(pytest.mark.xfail)\n"
    )
    done = run(project, "greedy", "-n", "0", more=xfail)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    done.stdout.fnmatch_lines(["*2 items broke a rule (greedy)*"])


def test_without_reruns_the_log_says_nothing_of_them(project: pytest.Pytester) -> None:
    run(project, "flaky", "-n", "0", more="times = lambda query: 2\n")
    assert all("reruns" not in line for line in log(project))
