"""A report folder that may be passed on: figures and ids of a benchmark whose texts may not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs import pytest_in

SECRET = "zebrafish"
ANSWER = "aquamarine"
TURNS = [f"Well, number {n} is nothing to me." for n in range(30)]

SUITE = """\
engram: pilot
name: talk
source: locomo
metrics: [recall@10, f1]
questions: all
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation of which every text says a word that stands nowhere else."""
    at = tmp_path_factory.mktemp("talk")
    said = [*TURNS, f"My {SECRET} is {ANSWER}."]
    turns = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"{text} {SECRET}"} for n, text in enumerate(said, 1)]
    held = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = {"question": f"What is the {SECRET}?", "answer": f"{ANSWER} {SECRET}", "evidence": ["D1:31"], "category": 4}
    data = at / "data" / "locomo"
    data.mkdir(parents=True)
    (data / "locomo10.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": held, "qa": [asked]}]))
    (at / "talk.yaml").write_text(SUITE)
    run = ["talk.yaml", "--engram-method=bm25", "--engram-no-controls", "--engram-data=data"]
    done = pytest_in(at, *run, "--engram-withhold-texts", "--engram-report=withheld")
    assert done.returncode == 0, done.stdout + done.stderr
    assert pytest_in(at, *run, "--engram-report=whole").returncode == 0
    return at


def test_no_text_of_it_is_in_any_file(folder: Path) -> None:
    for word in (SECRET, ANSWER):
        assert [path.name for path in (folder / "whole").iterdir() if word in path.read_text()]
        assert not [path.name for path in (folder / "withheld").iterdir() if word in path.read_text()]


def test_figures_and_ids_are_those_of_the_whole_report(folder: Path) -> None:
    one, other = (json.loads((folder / name / "items.jsonl").read_text()) for name in ("whole", "withheld"))
    assert one["metrics"] == other["metrics"]
    assert one["metrics"]["f1"] > 0
    assert one["ids"] == other["ids"]


def test_verify_says_what_it_could_not_check_and_checks_the_rest(folder: Path) -> None:
    def verified() -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("engram")), "verify", "withheld", "--cases", "."]
        return subprocess.run(
            [*command, "--data", "data"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )

    done = verified()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "withheld from the folder" in done.stdout
    log = folder / "withheld" / "items.jsonl"
    kept = log.read_text()
    try:
        log.write_text(kept.replace('"recall@10": 1.0', '"recall@10": 0.0'))
        assert log.read_text() != kept
        assert "recall@10: 0.0, should be 1.0" in verified().stdout
    finally:
        log.write_text(kept)
