"""What `docs/own-data.md` shows is what happens: its files, its run, its refusal, its exports, and its tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_engram.suites.own import beir, gold, source
from pytest_engram.suites.own.lines import EntryLine, QuestionLine

PAGE = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text(encoding="utf-8")
ENTRIES, QUESTIONS = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
SUITE, BEIR = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
RUN, REFUSED, EXPORTS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    desk = pytester.path / "engram_cases" / "desk"
    desk.mkdir(parents=True)
    for name, text in (("entries.jsonl", ENTRIES), ("questions.jsonl", QUESTIONS), ("desk.yaml", SUITE)):
        (desk / name).write_text(text, encoding="utf-8")
    (pytester.path / "pytest.ini").write_text("[pytest]\nengram_cases = engram_cases\n")
    return pytester


def pytest_on(folder: pytest.Pytester, command: str) -> pytest.RunResult:
    return folder.runpytest_subprocess(*command.removeprefix("$ pytest ").split(), "-p", "no:cacheprovider")


def test_the_example_is_a_run_and_leaves_as_shown(folder: pytest.Pytester) -> None:
    run = pytest_on(folder, RUN.strip())
    assert run.ret == 0
    log = [json.loads(line) for line in (folder.path / "reports/latest/items.jsonl").read_text().splitlines()]
    assert [line["question_id"] for line in log] == ["q1", "q2", "q3"]
    assert [line.get("group") for line in log] == ["changed", "once", "once"]
    commands = re.findall(r"^\$ engram (.*)\n((?:[^$].*\n)*)", EXPORTS, re.MULTILINE)
    assert len(commands) == 2
    for command, shown in commands:
        argv = [sys.executable, "-c", "from pytest_engram.cli.commands import main; main()", *command.split()]
        done = subprocess.run(argv, cwd=folder.path, capture_output=True, text=True, check=True)
        assert done.stdout == shown


def test_the_refusal_is_told(folder: pytest.Pytester) -> None:
    command, problem = REFUSED.strip().splitlines()
    lines = QUESTIONS.splitlines()
    lines[1] = lines[1].replace("answers", "anwsers")
    (folder.path / "engram_cases/desk/questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run = pytest_on(folder, command)
    assert run.ret != 0
    told = [line.replace(f"{folder.path}/", "…/") for line in [*run.outlines, *run.errlines]]
    assert problem in told


def table(heading: str) -> list[str]:
    """What stands in the first column below a heading."""
    rows = PAGE.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([\w@]+)", row.split("|")[1])]


def test_every_field_is_on_the_page() -> None:
    assert table("field of an entry") == list(EntryLine.model_fields)
    assert table("field of a question") == list(QuestionLine.model_fields)
    fields = {"engram", "name", "source", *table("field of the suite file")}
    assert fields == set(source.Spec.model_fields)


def test_every_metric_is_on_the_page() -> None:
    known = {f"{name}@N" for name in (*gold.RETRIEVAL, *gold.HOLDING)} | set(gold.ANSWERS)
    rows = PAGE.split("| metric |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([\w@]+)`", rows)) - {"gold", "answers"} == known


def test_the_suite_of_a_beir_folder_is_one() -> None:
    content: Any = yaml.safe_load(BEIR)
    assert beir.Spec.model_validate(content).folder == "nfcorpus"
