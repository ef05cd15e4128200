"""A run's folder: what is written can be read again, and what can't be read is told in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import runs

from pytest_engram import report
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import log as runlog


def test_what_is_written_is_read_again_with_half_a_surrogate_pair_too(tmp_path: Path) -> None:
    outcomes = [runs.outcome("q1", 1.0, query="half a pair: \ud83d"), runs.outcome("q2", 0.0)]
    texts = {"tiny": {"1": "another: \udc80"}}
    report.write_run(tmp_path, outcomes, runs.manifest(outcomes), texts)
    found = runfolder.read(tmp_path)
    assert found.outcomes == outcomes
    assert found.texts == texts
    (tmp_path / "items.jsonl").read_text(encoding="utf-8")  # any tool can read it
    assert json.loads((tmp_path / "items.jsonl").read_text().splitlines()[0])["query"] == "half a pair: \ud83d"


def test_the_manifest_holds_the_hashes_of_log_and_excerpts(tmp_path: Path) -> None:
    outcomes = [runs.outcome("q1", 1.0)]
    runfolder.write(tmp_path, outcomes, runs.manifest(outcomes), {})
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["log_sha256"] == hashlib.sha256((tmp_path / "items.jsonl").read_bytes()).hexdigest()
    assert manifest["texts_sha256"] == hashlib.sha256((tmp_path / "texts.json").read_bytes()).hexdigest()


def test_a_folder_and_its_log_name_the_same_run(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    assert runfolder.read(folder / "items.jsonl") == runfolder.read(folder)


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda f: (f / "items.jsonl").unlink(), "no run here; give a report folder"),
        (lambda f: (f / "items.jsonl").write_text(""), "the log is empty; the run must be repeated"),
        (lambda f: (f / "manifest.json").unlink(), "is missing: the run was killed"),
        (lambda f: (f / "manifest.json").write_text("{"), "not JSON"),
        (lambda f: (f / "manifest.json").write_text("[]"), "must be a JSON object"),
        (lambda f: (f / "texts.json").write_text("no"), "not JSON"),
    ],
)
def test_what_is_no_run_is_told_in_one_line(tmp_path: Path, break_it: object, told: str) -> None:
    folder = runs.run(tmp_path)
    break_it(folder)  # type: ignore[operator]
    with pytest.raises(runfolder.RunError, match=told) as raised:
        runfolder.read(folder)
    assert "\n" not in str(raised.value)


def test_a_killed_run_is_read_where_that_will_do(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    (folder / "manifest.json").unlink()
    log = (folder / "items.jsonl").read_text()
    (folder / "items.jsonl").write_text(log[: len(log) // 2])  # in the middle of a line
    found = runfolder.read(folder, killed=True)
    assert found.outcomes == runlog.read(folder / "items.jsonl")
    assert found.manifest["complete"] is False
