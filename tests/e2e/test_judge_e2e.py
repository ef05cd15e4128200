"""A real model as reader and as judge: what it says of known answers stands beside its verdicts, and is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from server import MODEL, Server, missing

from pytest_engram.plugin.session import shipped_cases

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

QUESTIONS = 3


def run(folder: Path, server: Server) -> tuple[str, dict[str, Any]]:
    """A run on the first questions of the demo, judged by the model that answered; its output and its results."""
    spec = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text(encoding="utf-8"))
    spec |= {"name": "handful", "metrics": ["answer@10", "judged"], "questions": spec["questions"][:QUESTIONS]}
    (folder / "handful.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    ours = ("ENGRAM_", "OPENAI_", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
        "OPENAI_BASE_URL": server.base_url,
        "ENGRAM_CACHE": str(folder / "cache"),
        "ENGRAM_READER_CONCURRENCY": "1",
    }
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "handful.yaml",
        "--engram-method=bm25", "--engram-no-controls",
        f"--engram-reader=openai:{MODEL}", f"--engram-judge=openai:{MODEL}",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results: dict[str, Any] = json.loads((folder / "reports/latest/results.json").read_text(encoding="utf-8"))
    return done.stdout, results


def test_a_model_judges_and_is_judged(tmp_path: Path) -> None:
    with Server(tmp_path / "log.txt") as server:
        shown, results = run(tmp_path, server)
        again, _ = run(tmp_path, server)
    assert again.count("0 asked") == 2  # reader and judge: the same again is asked of nobody
    known = [json.loads(line) for line in (tmp_path / "reports/latest/known_answers.jsonl").read_text().splitlines()]
    assert {one["truth"] for one in known} == {"wrong", "right"}
    # A small model may give no label: then there is a reason in place of the verdicts, and never a "wrong".
    assert all(one.get("verdicts") or one.get("reason") for one in known)
    (rates,) = (row for row in results["judges"] if row["kind"] == "all")
    for truth, rate, count in (("wrong", "wrong_accepted", "n"), ("right", "right_rejected", "right_n")):
        told = [
            sum(one["verdicts"]) / len(one["verdicts"]) for one in known if one["truth"] == truth and one["verdicts"]
        ]
        assert rates[count] == len(told)
        if told:
            share = sum(told) / len(told)
            assert rates[rate] == pytest.approx(share if truth == "wrong" else 1 - share)
    assert f"judge {MODEL}" in shown
