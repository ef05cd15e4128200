"""The command line: help with examples, exit codes, one line for what a user can cause, and no slow start."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import runs
from click.testing import CliRunner, Result

from pytest_engram.cli.commands import main

COMMANDS = ("compare", "doctor", "export", "fetch", "init", "merge", "pack", "register", "report", "verify")


def engram(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_command_has_help_with_an_example_and_exit_codes() -> None:
    assert sorted(main.commands) == sorted(COMMANDS)
    for name in COMMANDS:
        shown = engram(name, "--help").output
        assert f"  engram {name}" in shown.partition("Examples:")[2], name
        assert "  0  all is well\n" in shown, name
        assert "  2  " in shown, name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_are_valid_command_lines(name: str) -> None:
    for line in engram(name, "--help").output.partition("Examples:")[2].splitlines():
        if words := shlex.split(line):
            assert words[:2] == ["engram", name]
            known = {option for parameter in main.commands[name].params for option in parameter.opts}
            assert {word for word in words if word.startswith("-")} <= known


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from pytest_engram.cli.commands import main; main(['--help'], standalone_mode=False); "
    code += "print([m for m in ('pytest', 'numpy', 'yaml', 'pydantic', 'torch', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_shell_completion_is_click_s() -> None:
    environment = os.environ | {"_ENGRAM_COMPLETE": "bash_complete", "COMP_WORDS": "engram ver", "COMP_CWORD": "1"}
    code = "from pytest_engram.cli.commands import main; main(prog_name='engram')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == ["plain,verify"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "nowhere"],
        ["verify", "."],
        ["compare", ".", "."],
        ["merge", ".", "-o", "out"],
        ["merge", "."],
        ["register", "."],
        ["no-such-command"],
    ],
)
def test_what_can_t_be_done_is_exit_code_2_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = engram(*arguments)
    assert result.exit_code == 2
    assert result.output.splitlines()[-1].startswith("Error: ")


# report


def test_report_writes_every_file_again_byte_for_byte(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in before.keys() - {"items.jsonl", "manifest.json", "texts.json", "run.json"}:
        (folder / name).unlink()
    assert engram("report", folder / "items.jsonl").exit_code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_report_elsewhere_makes_a_whole_folder_and_changes_nothing_in_the_run(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert engram("report", folder, "-o", tmp_path / "again").exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times
    assert engram("verify", tmp_path / "again", "--quiet").output == "14 agree\n"


def test_a_killed_run_has_a_report_too(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    (folder / "manifest.json").unlink()
    assert engram("report", folder).exit_code == 0
    assert "incomplete" in (folder / "results.md").read_text()


# verify


def test_verify_is_0_where_all_agrees_and_1_where_something_does_not(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    result = engram("verify", folder)
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "14 agree")
    runs.edit(folder / "results.md", "0.", "1.")
    result = engram("verify", folder, "--quiet")
    assert result.exit_code == 1
    assert result.output.startswith("differs    results.md: from line ")
    assert result.output.splitlines()[-1] == "13 agree, 1 do not agree"


# compare


def worse(tmp_path: Path, questions: int) -> Path:
    """The run, with the first so many hits turned into misses."""
    folder = runs.run(tmp_path / "worse")
    for _ in range(questions):
        runs.edit(folder / "items.jsonl", '"answer@10": 1.0', '"answer@10": 0.0')
    runs.rewritten(folder)
    return folder


def test_compare_s_exit_code_tells_scripts_that_something_is_worse(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    assert engram("compare", folder, folder).exit_code == 0
    # Two metrics are tested, so that Holm doubles 2 * 0.5^7 = 0.0156; 2 * 0.5^6 = 0.03125 would not be enough.
    result = engram("compare", folder, worse(tmp_path, 7))
    assert result.exit_code == 1
    assert "worse (7): demo_fc_no" in result.output
    assert engram("compare", worse(tmp_path / "other", 6), folder).exit_code == 0  # the later one is better


@pytest.mark.parametrize(("ending", "begins"), [("md", "# "), ("html", "<!doctype html>"), ("json", "{")])
def test_compare_writes_what_the_ending_says(tmp_path: Path, ending: str, begins: str) -> None:
    folder = runs.run(tmp_path)
    output = tmp_path / "new" / f"comparison.{ending}"
    assert engram("compare", folder, folder, "-o", output).exit_code == 0
    assert output.read_text().startswith(begins)
    shown = engram("compare", folder, folder, "-f", {"md": "markdown"}.get(ending, ending)).output
    assert shown == output.read_text()


def test_compare_refuses_in_one_line_and_says_how_to_insist(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    other = runs.run(tmp_path / "other")
    runs.edit_json(other / "manifest.json", lambda m: m.update(k=5))
    result = engram("compare", folder, other)
    assert result.exit_code == 2
    assert result.output == "Error: not compared: k differs (10, 5); --anyway compares all the same\n"
    assert engram("compare", folder, other, "--anyway").exit_code == 0


# merge


def test_merge_writes_a_partial_run_with_exit_code_1_and_names_what_is_missing(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    log = (folder / "items.jsonl").read_text().splitlines(keepends=True)
    (folder / "items.jsonl").write_text("".join(log[:-2]))
    runs.edit_json(folder / "manifest.json", lambda m: m.update(ran=78, complete=False))
    runs.rewritten(folder)
    result = engram("merge", folder, "-o", tmp_path / "whole")
    assert result.exit_code == 1
    assert result.output.splitlines()[1:] == ["missing: 2", "  demo_fc::q078[bm25]", "  demo_fc::q079[bm25]"]
    assert "partial" in (tmp_path / "whole" / "results.csv").read_text()
    assert engram("verify", tmp_path / "whole").exit_code == 0


def test_merge_refuses_and_writes_nothing(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    other = runs.run(tmp_path / "other")
    runs.edit_json(other / "manifest.json", lambda m: m.update(k=5))
    result = engram("merge", folder, other, "-o", tmp_path / "whole")
    assert result.exit_code == 2
    assert "`k` differs: 10 there, 5 here" in result.output
    assert not (tmp_path / "whole").exists()


# init, doctor, register


def test_init_prints_the_next_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = engram("init").output
    assert shown.splitlines()[0] == "written  conftest.py"
    assert shown.endswith("\nNext:\n  pytest --engram-method=my_memory\n")
    assert "left     conftest.py (it was there)" in engram("init").output


def test_doctor_is_1_where_a_run_can_t_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
    monkeypatch.delenv("ENGRAM_DATA", raising=False)
    monkeypatch.delenv("ENGRAM_ENCODER", raising=False)
    well = engram("doctor", "--json")
    assert well.exit_code == 0
    found: list[Any] = json.loads(well.output)
    assert {check["section"] for check in found} >= {"installed", "cached", "reachable", "encoder", "data"}
    ill = engram("doctor", "--encoder", "/no/such/folder")
    assert ill.exit_code == 1
    assert ill.output.splitlines()[-1] == "A run can't work: /no/such/folder."


def test_register_check_and_what_it_leaves_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engram("init")
    venv = tmp_path / "env"  # a virtual environment with suites of its own
    venv.mkdir()
    (venv / "pyvenv.cfg").write_text("")
    (venv / "office.yaml").write_bytes((tmp_path / "engram_cases" / "office.yaml").read_bytes())
    case = tmp_path / "engram_cases" / "office.yaml"
    assert engram("register", "--check").exit_code == 1
    assert engram("register").output == "engram_cases/office.yaml: registered (not registered)\n"
    assert list(json.loads((tmp_path / "engram.lock").read_text())) == ["engram_cases/office.yaml"]
    result = engram("register", "--check")
    assert (result.exit_code, result.output) == (0, "engram_cases/office.yaml: registered before this run\n")
    runs.edit(case, "Dana Whitlock", "Diana Whitlock")
    result = engram("register", "--check")
    assert (result.exit_code, result.output) == (1, "engram_cases/office.yaml: changed since: case file\n")
