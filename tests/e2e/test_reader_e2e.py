"""Answers of a real model: a server that is killed in the middle of a run costs time, and changes no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from server import MODEL, Server, missing

from pytest_engram.plugin.session import shipped_cases

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

QUESTIONS = 6
DATA = Path(__file__).parents[3] / "shared" / "data"
OFFICIAL = (DATA / "memoryagentbench" / "Conflict_Resolution.json").is_file()
LABEL = f"{MODEL} (openai)"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first questions of the official single-hop pilot set; of the demo, where the official data is not here."""
    source = shipped_cases() / "pilot" / ("fc_sh_6k.yaml" if OFFICIAL else "demo_fc.yaml")
    spec = yaml.safe_load(source.read_text(encoding="utf-8"))
    spec |= {"name": "handful", "questions": spec["questions"][:QUESTIONS]}
    path = tmp_path_factory.mktemp("suite") / "handful.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server") / "log.txt") as running:
        yield running


class Run:
    """A run of the plugin in a folder, with a cache of its own there."""

    def __init__(self, folder: Path, suite: Path, server: Server) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", str(suite),
            "--engram-method=bm25", "--engram-no-controls", f"--engram-reader=openai:{MODEL}",
        ]  # fmt: skip
        ours = ("ENGRAM_", "OPENAI_", "PYTEST_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
            "OPENAI_BASE_URL": server.base_url,
            "ENGRAM_CACHE": str(folder / "cache"),
            "ENGRAM_READER_CONCURRENCY": "1",
        }
        if OFFICIAL:
            self.environment["ENGRAM_DATA"] = str(DATA)

    def start(self) -> subprocess.Popen[str]:
        """Start it, after whatever a run before it left in the report is gone."""
        (self.folder / "reports/latest/items.jsonl").unlink(missing_ok=True)
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
        )

    def to_the_end(self) -> str:
        """Run it; its output."""
        return finished(self.start())

    def log(self) -> list[dict[str, Any]]:
        """The lines that are whole."""
        path = self.folder / "reports/latest/items.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def answers(self) -> dict[str, str]:
        """By question; those that were answered."""
        return {record["question_id"]: record["answer"] for record in self.log() if "answer" in record}

    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "reports/latest/manifest.json").read_text(encoding="utf-8"))
        return found


def finished(process: subprocess.Popen[str]) -> str:
    shown, _ = process.communicate(timeout=600)
    assert process.returncode == 0, shown
    return shown


def test_a_server_killed_in_the_middle_changes_no_answer(tmp_path: Path, suite: Path, server: Server) -> None:
    undisturbed = Run(tmp_path / "undisturbed", suite, server)
    shown = undisturbed.to_the_end()
    wanted = undisturbed.answers()
    assert len(wanted) == QUESTIONS, shown
    assert f"reader {LABEL}: {QUESTIONS} answers; {QUESTIONS} asked, 0 from the store" in shown

    disturbed = Run(tmp_path / "disturbed", suite, server)
    process = disturbed.start()
    while len(disturbed.answers()) < 2 and process.poll() is None:
        time.sleep(0.02)
    server.kill()
    shown = finished(process)  # the run itself does not fail
    kept = disturbed.answers()
    assert 2 <= len(kept) < QUESTIONS
    assert kept.items() <= wanted.items()
    assert f"{LABEL.split()[0]} at loopback: can't be reached (" in shown
    unanswered = [record for record in disturbed.log() if "answer" not in record]
    assert {(r["status"], r["metrics"]["subem"]) for r in unanswered} == {("ok", None)}
    assert all("can't be reached" in r["missing"]["subem"] for r in unanswered)

    server.start()
    shown = disturbed.to_the_end()
    assert disturbed.answers() == wanted
    assert f"{QUESTIONS - len(kept)} asked, {len(kept)} from the store" in shown
    assert [r["metrics"] for r in disturbed.log()] == [r["metrics"] for r in undisturbed.log()]

    server.stop()  # a run that has all its answers needs no server
    shown = disturbed.to_the_end()
    assert disturbed.answers() == wanted
    assert f"0 asked, {QUESTIONS} from the store" in shown
    server.start()

    reader = disturbed.manifest()["reader"]
    assert (reader["label"], reader["model"], reader["endpoint"]) == (LABEL, MODEL, "loopback")
    assert reader["prompt"]["official"] is OFFICIAL
    assert str(server.port) not in json.dumps(reader)
