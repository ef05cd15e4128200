"""One run writes into a report folder at a time, and so does one command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from runs import run as made_run

from pytest_engram.cli.commands import main
from pytest_engram.runs import folder as runfolder


def test_a_folder_is_held_by_one_and_left_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "reports" / "latest"
    with runfolder.alone(place):
        with pytest.raises(runfolder.RunError, match=r"another run writes its report there; .* name another folder"):
            runfolder.alone(place).__enter__()
        with runfolder.alone(tmp_path / "other"):
            pass
    assert list(tmp_path.iterdir()) == []
    with runfolder.alone(place):
        (place / "results.md").write_text("mine")
    assert [path.name for path in place.iterdir()] == ["results.md"]


def test_a_lock_that_a_killed_run_left_holds_nobody(tmp_path: Path) -> None:
    (tmp_path / runfolder.LOCK).touch()
    with runfolder.alone(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_where_no_lock_can_be_had_what_writes_will_tell(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with runfolder.alone(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", ["report", "pack", "merge"])
def test_a_command_writes_nothing_where_a_run_does(tmp_path: Path, command: str) -> None:
    folder = made_run(tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    arguments = [command, str(folder), *(["-o", str(folder)] if command == "merge" else [])]
    with runfolder.alone(folder):
        told = CliRunner().invoke(main, arguments)
    assert told.exit_code == 2, told.output
    assert f"{folder}: another run writes its report there" in told.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
