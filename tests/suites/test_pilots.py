"""What is scored is read from every pilot file, whoever wrote it; a file that can't be read is not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_engram.suites import pilots
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.fingerprints import Scored

PILOT = 'engram: pilot\nname: mine\nsource: whatever\nquestions:\n  - {id: a, text: "00ff"}\n'


def test_folders_and_files_each_once(tmp_path: Path) -> None:
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    (inner / "mine.yaml").write_text(PILOT)
    (tmp_path / "micro.yml").write_text("engram: micro\nname: m\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "notes.txt").write_text(PILOT)
    expected = [Scored("mine", "a", "00ff")]
    assert pilots.scored([tmp_path]) == expected
    assert pilots.scored([inner / "mine.yaml", tmp_path, tmp_path]) == expected
    assert pilots.scored([tmp_path / "absent"]) == []


def test_shipped_pilots() -> None:
    found = pilots.scored([Path(__file__).parents[2] / "cases"])
    counts = {name: sum(question.suite == name for question in found) for name in {q.suite for q in found}}
    expected = {"fc_sh_6k": 100, "fc_mh_6k": 100, "fc_sh_262k": 100, "fc_mh_262k": 100, "demo_fc": 80}
    assert counts.items() >= expected.items()


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ("questions: 3", r":4: questions: must be a list of questions"),
        ("", r"questions: must be a list of questions"),
        ("questions:\n  - {id: a, text: '00'}\n  - {text: b}", r":6: questions\[1\]: must have an `id`"),
        ("questions: [a]", r":4: questions\[0\]: must have an `id`"),
        ("questions: [", r"not YAML"),
    ],
)
def test_unreadable_pilot_is_an_error(tmp_path: Path, questions: str, problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"engram: pilot\nname: mine\nsource: whatever\n{questions}\n")
    with pytest.raises(SuiteError, match=problem):
        pilots.scored([tmp_path])


def test_script_says_how_it_is_called(tmp_path: Path) -> None:
    assert str(pilots.main([])).startswith("usage: ")
    assert str(pilots.main([str(tmp_path / "absent"), "x"])).startswith("usage: ")


def test_script_writes_the_committed_files(tmp_path: Path, shared_data: Path) -> None:
    assert pilots.main([str(shared_data), str(tmp_path / "out")]) == 0
    committed = Path(__file__).parents[2] / "cases" / "pilot"
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == [
        "demo_fc.yaml",
        "fc_mh_262k.yaml",
        "fc_mh_6k.yaml",
        "fc_sh_262k.yaml",
        "fc_sh_6k.yaml",
    ]
    for path in written:
        assert path.read_bytes() == (committed / path.name).read_bytes()
