"""Names and messages that steer no terminal, encodings that lack a character, and what the exit code 1 means."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import runs
from click.testing import CliRunner

from pytest_engram.cli import commands

EVIL = '=cmd|"/C calc"!A0\x1b[31m\x9b2J\u202e 東京 − →\ud800'
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
ENVIRONMENTS = [
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "utf-8"},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose method has a label that nobody should print as it is."""
    folder = runs.run(tmp_path)
    runs.edit_json_escaped(folder / "manifest.json", lambda value: value["methods"]["bm25"].update(label=EVIL))
    return folder


def engram(environment: dict[str, str], *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LC_", "LANG", "ENGRAM_DATA"))}
    command = [sys.executable, "-c", "from pytest_engram.cli.commands import main; main(prog_name='engram')"]
    return subprocess.run(
        [*command, *map(str, arguments)], env=kept | environment, cwd=cwd, capture_output=True, timeout=300, check=False
    )


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: next(iter(environment.values())))
def test_no_encoding_ends_a_command_and_nothing_steers(run: Path, environment: dict[str, str]) -> None:
    here = run.parent
    shutil.copytree(run, here / "packed")
    (here / "cases").mkdir()
    (here / "cases" / "東京.yaml").write_text("engram: micro\nname: nothing\n", encoding="utf-8")
    expected = {
        ("--help",): 0,
        ("report", run, "-o", here / "again→"): 0,
        ("compare", run, run): 0,
        ("compare", run, run, "-f", "markdown"): 0,
        ("compare", run, run, "-f", "json"): 0,
        ("compare", run, run, "-m", "東京"): 2,
        ("merge", run, "-o", here / "merged→"): 0,
        ("verify", run): 1,  # its label was edited
        ("pack", here / "merged→"): 0,
        ("init", here / "new→"): 0,
        ("doctor", "--json"): 0,
        ("doctor",): 0,
        ("fetch", "--list"): 0,
        ("fetch", "東京"): 2,
        ("register", here / "cases"): 2,
        ("report", here / "東京"): 2,
    }
    found = {}
    for arguments, code in expected.items():
        done = engram(environment, *arguments, cwd=here)
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert "Traceback" not in said, (arguments, said)
        assert not CONTROL.search(said), (arguments, said)
        found[arguments] = done.returncode if arguments[0] != "doctor" else code  # 1 where a run can't work here
    assert found == expected


def test_json_on_a_terminal_that_lacks_a_character_loses_none(run: Path) -> None:
    done = engram({"PYTHONIOENCODING": "cp1252"}, "compare", run, run, "-f", "json", cwd=run.parent)
    assert EVIL in json.dumps(json.loads(done.stdout), ensure_ascii=False).replace('\\"', '"').replace(
        "\\u001b", "\x1b"
    )


def test_what_is_our_fault_keeps_its_traceback_and_is_not_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("pytest_engram.cli.starter.start", broken)
    result = CliRunner().invoke(commands.main, ["init", str(tmp_path)])
    assert (result.exit_code, "ZeroDivisionError: a bug" in result.output) == (2, True)


def test_nor_is_ctrl_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_engram.cli.starter.start", stopped)
    result = CliRunner().invoke(commands.main, ["init", str(tmp_path)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (130, "Error: interrupted")


def test_nor_is_a_pipe_that_nobody_reads(run: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ENGRAM_")}
    code = "from pytest_engram.cli.commands import main; main(['fetch', '--list'], prog_name='engram')"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=kept) as it:
        assert it.stdout is not None
        assert it.stderr is not None
        it.stdout.close()
        assert it.stderr.read() == b""
        assert it.wait(60) == 2


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("environment", ENVIRONMENTS[:3], ids=lambda environment: next(iter(environment.values())))
def test_a_run_whose_terminal_lacks_characters_ends_as_any_other(
    tmp_path: Path, environment: dict[str, str], workers: str
) -> None:
    folder = tmp_path / "größe→"
    folder.mkdir()
    shutil.copy(runs.DEMO, folder / "東京.yaml")
    (folder / "conftest.py").write_text(
        "from pytest_engram import method\n"
        "class First:\n"
        "    def __init__(self, bench):\n        self.entries = []\n"
        "    def write(self, entries):\n        self.entries += entries\n"
        "    def search(self, query, k):\n        return [entry.id for entry in self.entries[:k]]\n"
        f"@method(name='evil', label={EVIL!r}, embeds=False, controls=[])\n"
        "def evil_fixture():\n    return First\n",
        encoding="utf-8",
    )
    kept = dict.fromkeys(("PYTHONUTF8", "PYTHONIOENCODING", "LC_ALL"), "") | environment
    done = runs.pytest_in(folder, "--engram-method=evil", "-v", "東京.yaml", workers, **kept)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert not CONTROL.search(said), said
    if "LC_ALL" in environment and workers == "-n2":  # pytest-xdist can't tell its workers where they are
        cure = "set PYTHONUTF8=1, or run with -n 0"
        assert done.returncode == 4, said
        assert f"ERROR: this folder's name can't be told to workers under this locale; {cure}\n" in said
        return
    assert done.returncode == 0, said
    for name in ("results.csv", "results.md", "results.tex"):
        assert not CONTROL.search((folder / "reports" / "latest" / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_without_a_terminal_the_report_is_written_all_the_same(tmp_path: Path, workers: str) -> None:
    shutil.copy(runs.DEMO, tmp_path)
    done = runs.pytest_in(
        tmp_path, "-p", "no:terminal", "--engram-method=bm25", "--engram-no-controls", "demo_fc.yaml", workers
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "reports" / "latest" / "results.html").is_file()
