"""Runs that are continued, and whose reader also answers where no memory has a part in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from endpoint import Endpoint, completion

from pytest_engram.suites import shipped_cases

ASKED = 5  # questions
BESIDE = ("--engram-answer-baselines=no-memory,oracle",)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """It answers everything, takes 100 tokens in for each, and a dollar for a million of them."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with Endpoint(lambda _: completion("x")).serving() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("ENGRAM_READER_PRICE", "1,1")
        yield endpoint


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, served: Endpoint) -> pytest.Pytester:
    """Five of the demo's questions, and a cache of its own."""
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    suite = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    suite |= {"name": "tiny", "questions": suite["questions"][:ASKED], "metrics": ["answer@10", "subem"]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(suite))
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> Path:
    common = ("--engram-method=bm25", "--engram-no-controls", "--engram-reader=openai:m", "--engram-report=run")
    done = project.runpytest_subprocess("tiny.yaml", *common, *arguments)
    assert done.ret == 0, done.stdout.str() + done.stderr.str()
    return project.path / "run"


def totals(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())["reader"]["totals"]
    return found


def rows(folder: Path) -> list[tuple[str, str, int]]:
    found = json.loads((folder / "results.json").read_text())["answer_baselines"]
    return [(row["baseline"], row["status"], row["n"]) for row in found]


def test_a_complete_run_is_continued_to_add_them(project: pytest.Pytester, served: Endpoint) -> None:
    log = (run(project) / "items.jsonl").read_bytes()
    assert len(served.requests) == ASKED
    folder = run(project, *BESIDE, "--engram-resume")
    assert len(served.requests) == 3 * ASKED  # of the methods nothing is asked again
    assert (folder / "items.jsonl").read_bytes() == log
    assert rows(folder) == [("no-memory", "ok", ASKED), ("oracle", "ok", ASKED)]


def test_what_they_took_is_in_the_totals_of_a_run_that_was_complete(project: pytest.Pytester) -> None:
    before = totals(run(project))
    assert (before["answered"], before["tokens_in"]) == (ASKED, 100 * ASKED)
    after = totals(run(project, *BESIDE, "--engram-resume"))
    assert (after["answered"], after["tokens_in"]) == (3 * ASKED, 3 * 100 * ASKED)
    assert after["cost"] == pytest.approx(3 * before["cost"])


def test_they_are_as_in_a_run_that_nobody_disturbed(project: pytest.Pytester, served: Endpoint) -> None:
    folder = run(project, *BESIDE)
    whole = rows(folder)
    log = folder / "items.jsonl"
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()[:3]))
    (folder / "manifest.json").unlink()
    asked = len(served.requests)
    assert rows(run(project, *BESIDE, "--engram-resume")) == whole
    assert len(served.requests) == asked  # their answers come again from the store


def test_what_their_verdicts_took_is_in_the_judge_s_totals(project: pytest.Pytester, served: Endpoint) -> None:
    suite = yaml.safe_load((project.path / "tiny.yaml").read_text()) | {"metrics": ["answer@10", "judged"]}
    (project.path / "tiny.yaml").write_text(yaml.safe_dump(suite))
    served.reply = lambda _: completion('{"label": "CORRECT"} yes')
    judging = ("--engram-reader=newest", "--engram-judge=openai:j")

    def paid(folder: Path) -> tuple[int, int]:
        told = json.loads((folder / "manifest.json").read_text())["judge"]["totals"]
        return told["asked"], told["tokens_in"]

    assert paid(run(project, *judging)) == (len(served.requests), 100 * len(served.requests))
    before = len(served.requests)
    beside = (*judging, "--engram-answer-baselines=placebo,oracle", "--engram-resume")
    assert paid(run(project, *beside)) == (len(served.requests), 100 * len(served.requests))
    assert len(served.requests) > before
    again = json.loads((project.path / "run/manifest.json").read_text())["judge"]
    run(project, *beside)
    assert json.loads((project.path / "run/manifest.json").read_text())["judge"] == again  # nobody was asked
