"""Runs for the tests of what is done with them: a real one, made once, and small ones written by hand."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pytest_engram import report
from pytest_engram.plugin.session import shipped_cases
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome

SEED = 20261008
DEMO = shipped_cases() / "pilot" / "demo_fc.yaml"


def pytest_in(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A pytest run in a process of its own, with no setting of the user's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ENGRAM_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=300, check=False
    )


@cache
def _made() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="engram-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "suites").mkdir()
    shutil.copy(DEMO, folder / "suites")
    (folder / "pytest.ini").write_text("[pytest]\nengram_cases = suites\n")
    done = pytest_in(folder, "--engram-method=bm25", "--engram-no-controls", "--engram-reader=newest")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def project(to: Path) -> Path:
    """A copy of a project in which `bm25` ran on all of `demo_fc`."""
    return Path(shutil.copytree(_made(), to / "project"))


def run(to: Path) -> Path:
    """A copy of that run's report folder."""
    return Path(shutil.copytree(_made() / "reports" / "latest", to / "run"))


def rewritten(folder: Path) -> None:
    """Write a run again as a forger would who edited its log, and left nothing else as it was."""
    found = runfolder.read(folder)
    report.write_run(folder, found.outcomes, found.manifest, found.texts)


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first `old`, which must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old} is not in {path.name}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def edit_json(path: Path, change: Any) -> None:
    """Let `change` alter a JSON file's value."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def edit_json_escaped(path: Path, change: Any) -> None:
    """The same where a text holds what no file in UTF-8 can: half of a surrogate pair."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def outcome(question: str, value: float | None, method: str = "loom", suite: str = "tiny", **more: Any) -> Outcome:
    """One item of a suite with the metric `answer@10`."""
    fields: dict[str, Any] = {
        "seed": SEED,
        "k": 10,
        "ids": ["1", "2"],
        "metrics": {"answer@10": value},
        "status": "ok",
        "hit": None if value is None else value >= 1,
        "haystack": 100,
        "item": f"{question}[{method}]",
    }
    return Outcome(suite=suite, question_id=question, method=method, **(fields | more))


def manifest(outcomes: Sequence[Outcome], **more: Any) -> dict[str, Any]:
    """Of a run with these outcomes."""
    suites: dict[str, Any] = {}
    for found in outcomes:
        info = {"kind": "pilot", "metrics": list(found.metrics), "sha256": "f" * 64, "context_sha256": "c" * 64}
        suites.setdefault(found.suite, info | {"n": 0, "questions": set()})["questions"].add(found.question_id)
    for info in suites.values():
        info["n"] = len(info.pop("questions"))
    methods = {o.method: {"label": o.method.title(), "role": "experiment", "stochastic": False} for o in outcomes}
    found = {
        "engram": "0.1.0",
        "created": "2026-11-30T10:00:00+00:00",
        "duration_s": 1.0,
        "k": 10,
        "seeds": [SEED],
        "named": list(methods),
        "methods": methods,
        "encoder": None,
        "reader": None,
        "suites": suites,
        "planned": len(outcomes),
        "ran": len(outcomes),
        "complete": True,
    }
    return found | more


def by_hand(outcomes: Sequence[Outcome], folder: str = "run", **more: Any) -> Run:
    """A run that is nowhere on the disk."""
    return Run(Path(folder), list(outcomes), manifest(outcomes, **more), {})
