"""`engram pack`: small, and nothing lost. What was removed comes again byte for byte; all commands read the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import runs
from click.testing import CliRunner, Result

from pytest_engram.cli.commands import main
from pytest_engram.review import pack as packing
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import packed
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

REMOVED = {"results.json", "results.csv", "results.tex"}
COMPRESSED = {"items.jsonl", "texts.json"}


def engram(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_stays_what_goes_and_what_is_said(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    (folder / "notes.txt").write_text("mine")
    before = contents(folder)
    result = engram("pack", folder)
    after = contents(folder)
    assert after.keys() == (before.keys() - REMOVED - COMPRESSED) | {f"{name}.gz" for name in COMPRESSED}
    assert {"results.md", "results.html", "manifest.json", "intervals.svg", "notes.txt"} <= after.keys()
    assert all(after[name] == before[name] for name in after.keys() & before.keys())
    first, *rest = result.output.splitlines()
    assert first.startswith(f"{folder}: ")
    assert rest == ["  compressed  items.jsonl, texts.json", "  removed     results.json, results.csv, results.tex"]


def test_report_writes_the_tables_into_a_packed_folder_again_byte_for_byte(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    before = contents(folder)
    engram("pack", folder)
    small = contents(folder)
    assert engram("report", folder / "items.jsonl.gz").exit_code == 0
    assert contents(folder) == small | {name: before[name] for name in REMOVED}
    engram("pack", folder)  # again, and once more with nothing left to do
    assert contents(folder) == small
    assert len(engram("pack", folder).output.splitlines()) == 1
    assert contents(folder) == small


def test_every_command_says_of_a_packed_run_what_it_says_of_the_plain_one(tmp_path: Path) -> None:
    plain, folder = runs.run(tmp_path / "plain"), runs.run(tmp_path / "packed")
    engram("pack", folder)
    log = folder / "items.jsonl.gz"
    shown = engram("verify", folder).output
    assert "agrees     items.jsonl.gz: sha256 as in the manifest\n" in shown
    assert "agrees     texts.json.gz: sha256 as in the manifest\n" in shown
    assert shown.splitlines()[-1] == "11 agree, 3 could not be checked"  # of the 14 of a plain one
    assert engram("verify", log).output == shown
    assert engram("compare", plain, log, "-f", "json").exit_code == 0
    assert json.loads(engram("compare", plain, folder, "-f", "json").output)["rows"][0]["difference"] == 0
    assert engram("report", folder, "-o", tmp_path / "tables").exit_code == 0
    assert (tmp_path / "tables" / "items.jsonl.gz").read_bytes() == log.read_bytes()
    assert engram("verify", tmp_path / "tables", "-q").output == "14 agree\n"
    assert engram("report", plain, "-o", tmp_path / "tables").exit_code == 0  # there already, in the other form
    assert not (tmp_path / "tables" / "items.jsonl").exists()
    assert "80 of 80 items" in engram("merge", folder, "-o", tmp_path / "whole").output
    assert (tmp_path / "whole" / "items.jsonl").read_bytes() == (plain / "items.jsonl").read_bytes()


def test_a_packed_log_that_was_edited_is_found_and_no_part_of_a_merge(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    told = json.loads((folder / "manifest.json").read_text())["log_sha256"]
    assert hashlib.sha256((folder / "items.jsonl").read_bytes()).hexdigest() == told
    runs.edit(folder / "items.jsonl", '"answer@10": 0.0', '"answer@10": 1.0')
    log = packed.pack(folder / "items.jsonl")
    assert "differs    items.jsonl.gz: its sha256 is not the manifest's log_sha256" in engram("verify", folder).output
    result = engram("merge", folder, "-o", tmp_path / "whole")
    assert (result.exit_code, f"{log} was changed after the run" in result.output) == (2, True)


def test_a_judge_s_known_answers_are_compressed_as_well(tmp_path: Path) -> None:
    outcomes = [runs.outcome("q1", 1.0)]
    known = [KnownAnswer("tiny", "q1", "vague", "wrong", "It depends.", [False])]
    runfolder.write(tmp_path, outcomes, runs.manifest(outcomes), {}, known)
    before = runfolder.read(tmp_path)
    assert packing.pack(tmp_path).compressed == ["items.jsonl", "texts.json", "known_answers.jsonl"]
    assert runfolder.read(tmp_path) == before
    assert before.known == known


def edited_log(folder: Path) -> None:
    runs.edit(folder / "items.jsonl", '"answer@10": 0.0', '"answer@10": 1.0')


def edited_table(folder: Path) -> None:
    runs.edit(folder / "results.csv", "0.", "1.")


def killed(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (edited_log, "items.jsonl was changed after the run"),
        (edited_table, "results.csv is not what the log gives, so that it would be lost; `engram report "),
        (killed, "manifest.json is missing: the run was killed"),
        (empty, "no run here"),
    ],
)
def test_a_folder_that_would_lose_something_is_left_as_it_is(
    tmp_path: Path, change: Callable[[Path], None], told: str
) -> None:
    folder = runs.run(tmp_path)
    change(folder)
    before = contents(folder)
    result = engram("pack", folder)
    assert result.exit_code == 2
    (line,) = result.output.splitlines()
    assert told in line
    assert contents(folder) == before


@pytest.mark.parametrize("command", ["report", "verify", "compare", "merge", "pack"])
def test_a_truncated_log_is_one_line_for_every_command(tmp_path: Path, command: str) -> None:
    folder = runs.run(tmp_path)
    engram("pack", folder)
    log = folder / "items.jsonl.gz"
    log.write_bytes(log.read_bytes()[:1000])
    more = {"compare": [folder], "merge": ["-o", tmp_path / "whole"]}
    result = engram(command, folder, *more.get(command, []))
    assert result.exit_code == 2
    assert result.output == f"Error: {log}: the compressed file was cut short; restore it, or repeat the run\n"


def test_a_new_run_into_a_packed_folder_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    project = runs.project(tmp_path)
    latest = project / "reports" / "latest"
    engram("pack", latest)
    done = runs.pytest_in(project, "--engram-method=bm25", "--engram-no-controls", "--engram-reader=newest")
    assert done.returncode == 0, done.stdout
    assert not list(latest.glob("*.gz"))
    outcomes: list[Outcome] = runfolder.read(latest).outcomes
    assert len(outcomes) == 80


def test_a_packed_run_gates_a_later_one(tmp_path: Path) -> None:
    project = runs.project(tmp_path)
    engram("pack", project / "reports" / "latest")
    (project / "reports" / "latest").rename(project / "reports" / "main")
    arguments = ["--engram-method=bm25", "--engram-no-controls", "--engram-reader=newest"]
    done = runs.pytest_in(project, *arguments, "--engram-fail-worse-than=reports/main/items.jsonl.gz")
    assert done.returncode == 0, done.stdout
