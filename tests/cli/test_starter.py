"""What `engram init` writes runs at once, whatever stood there before."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import runs

from pytest_engram.cli import starter


def run(folder: Path, command: str) -> str:
    """Run what was printed, but in this process's interpreter, and without the anchors, which would embed."""
    words = shlex.split(command)
    arguments = words[words.index("pytest") + 1 :]
    done = runs.pytest_in(folder, *arguments, "--engram-no-controls")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    started = starter.start(Path())
    assert {str(path) for path in started.written} == {"conftest.py", "engram_cases/office.yaml", "pytest.ini"}
    assert started.command == "pytest --engram-method=my_memory"
    shown = run(tmp_path, started.command)
    assert "My memory" in shown
    assert " hit" in shown  # it is a working memory


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project]\nname = 'theirs'\nversion = '1'\n"),
        ("pytest.ini", "[pytest]\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("tox.ini", "[tox]\n"),
    ],
)
def test_beside_somebody_s_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert "My memory" in run(tmp_path, starter.start(Path()).command)
    assert (tmp_path / name).read_text() == text


def test_beside_somebody_s_conftest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conftest.py").write_text("import pytest\n")
    started = starter.start(Path())
    assert started.command.startswith("python -m pytest -p engram_memory ")
    assert "My memory" in run(tmp_path, started.command)
    assert (tmp_path / "conftest.py").read_text() == "import pytest\n"


def test_nothing_is_overwritten_and_the_second_time_nothing_is_written(tmp_path: Path) -> None:
    starter.start(tmp_path)
    for path in tmp_path.rglob("*.*"):
        path.write_text(path.read_text() + "# mine\n")
    before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    again = starter.start(tmp_path)
    assert again.written == []
    assert len(again.left) >= 2
    assert {path: path.read_text() for path in tmp_path.rglob("*.*")} == before


def test_another_folder_is_part_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert starter.start(Path("my agent")).command.startswith("cd 'my agent' && pytest ")
