"""`--engram-fail-under` and `--engram-fail-worse-than`: what makes a run exit with 1."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import runs

from pytest_engram.plugin import gates
from pytest_engram.plugin.options import Floor
from pytest_engram.runs.folder import Run

ALL_HITS = {f"q{i}": 1.0 for i in range(20)}


def told(now: Run, earlier: Run) -> list[str]:
    return gates.failures(gates.decided([], earlier, ["loom"], now.outcomes, now.manifest))


def asked(values: dict[str, float], **more: object) -> Run:
    return runs.by_hand([runs.outcome(q, value) for q, value in values.items()], "main", **more)


def test_significantly_worse_is_told_with_its_numbers() -> None:
    now = asked({q: float(int(q[1:]) >= 6) for q in ALL_HITS})
    assert told(now, asked(ALL_HITS)) == [
        "--engram-fail-worse-than main: loom on tiny:answer@10: 0.7000, was 1.0000 "
        "(n=20, 6 worse, 0 better, p=0.031)"  # exact McNemar: 2 * 0.5^6
    ]


def test_worse_by_chance_and_better_are_no_failures() -> None:
    five = asked({q: float(int(q[1:]) >= 5) for q in ALL_HITS})  # 2 * 0.5^5 = 0.0625
    assert told(five, asked(ALL_HITS)) == []
    assert told(asked(ALL_HITS), five) == []


def test_several_suites_are_judged_by_the_adjusted_p() -> None:
    def several(worse: int, suites: int) -> Run:
        names = ["tiny", "other", "third"][:suites]
        values = {"tiny": {q: float(int(q[1:]) >= worse) for q in ALL_HITS}}
        outcomes = [runs.outcome(q, values.get(s, ALL_HITS)[q], suite=s) for s in names for q in ALL_HITS]
        return runs.by_hand(outcomes, "main")

    assert len(told(several(6, 1), several(0, 1))) == 1  # 2 * 0.5^6 = 0.031
    assert told(several(6, 2), several(0, 2)) == []  # of two tests: 0.0625
    (line,) = told(several(8, 3), several(0, 3))  # 3 * 2 * 0.5^8 = 0.0234
    assert line.endswith("8 worse, 0 better, Holm p=0.023 over 3 tests)")


def test_another_k_is_a_failure_not_a_pass() -> None:
    (line,) = told(asked(ALL_HITS, k=5), asked(ALL_HITS))
    assert line == "--engram-fail-worse-than main: can't be compared: k differs (10, 5)"


def test_a_method_that_the_earlier_run_lacks_is_a_failure() -> None:
    earlier = runs.by_hand([runs.outcome("q1", 1.0, "dense")], "main")
    (line,) = told(asked(ALL_HITS), earlier)
    assert "no method 'loom' in the earlier run; there: dense" in line


def test_a_number_that_was_lost_is_a_failure() -> None:
    broken = runs.by_hand([runs.outcome("q0", None, status="error", reason="on fire")], "main")
    (line,) = told(broken, asked(ALL_HITS))
    assert "tiny:answer@10: measured then, not now: later: 1 of 1 items" in line


def decided(now: Run, *floors: Floor, earlier: Run | None = None) -> list[dict[str, Any]]:
    return gates.decided(floors, earlier, ["loom"], now.outcomes, now.manifest)


def test_what_a_floor_decided_has_its_numbers_whether_it_passed_or_failed() -> None:
    now = asked({q: float(int(q[1:]) >= 5) for q in ALL_HITS})  # 15 of 20
    floors = [Floor("tiny", "answer@10", 0.75), Floor("tiny", "answer@10", 0.8), Floor("tiny", "no", 0.1)]
    passed, failed, unknown = decided(now, *floors)
    assert passed == {
        "gate": "fail-under",
        "name": "--engram-fail-under tiny:answer@10=0.75",
        "suite": "tiny",
        "metric": "answer@10",
        "method": "loom",
        "label": "Loom",
        "threshold": 0.75,
        "value": 0.75,
        "n": 20,
        "difference": 0.0,
        "low": None,
        "high": None,
        "p": None,
        "p_holm": None,
        "tests": None,
        "passed": True,
        "reason": "loom has 0.7500 (n=20)",
    }
    assert (failed["threshold"], failed["value"], failed["passed"]) == (0.8, 0.75, False)
    assert failed["difference"] == pytest.approx(-0.05)
    assert failed["reason"] == "loom has 0.7500 (n=20)"
    assert (unknown["method"], unknown["value"], unknown["passed"]) == (None, None, False)
    assert unknown["reason"] == "no such number in this run; its suites and metrics: tiny:answer@10"


def test_what_a_comparison_decided_has_its_test_whether_it_passed_or_failed() -> None:
    now = asked({q: float(int(q[1:]) >= 6) for q in ALL_HITS})
    (failed,) = decided(now, earlier=asked(ALL_HITS))
    assert (failed["gate"], failed["name"]) == ("fail-worse-than", "--engram-fail-worse-than main")
    assert (failed["suite"], failed["metric"], failed["method"]) == ("tiny", "answer@10", "loom")
    assert (failed["threshold"], failed["value"], failed["n"], failed["tests"]) == (1.0, 0.7, 20, 1)
    assert failed["difference"] == pytest.approx(-0.3)
    assert failed["p"] == failed["p_holm"] == 2 * 0.5**6
    assert failed["low"] < -0.3 < failed["high"] < 0
    assert failed["passed"] is False
    (passed,) = decided(asked(ALL_HITS), earlier=now)
    assert (passed["difference"], passed["passed"]) == (pytest.approx(0.3), True)
    assert passed["reason"] == "1.0000, was 0.7000 (n=20, 0 worse, 6 better, p=0.031)"


def test_what_only_this_run_measured_is_neither_passed_nor_failed() -> None:
    earlier = runs.by_hand([runs.outcome(q, None, status="not run", reason="no data") for q in ALL_HITS], "main")
    (row,) = decided(asked(ALL_HITS), earlier=earlier)
    assert row["passed"] is None
    assert row["reason"] == "not compared: earlier: no data"
    assert told(asked(ALL_HITS), earlier) == []


def test_a_comparison_that_can_not_be_made_is_a_row_without_numbers() -> None:
    (row,) = decided(asked(ALL_HITS, k=5), earlier=asked(ALL_HITS))
    assert (row["suite"], row["value"], row["passed"]) == (None, None, False)
    assert row["reason"] == "can't be compared: k differs (10, 5)"


def test_a_run_fails_where_it_is_worse_even_if_it_writes_over_the_earlier_one(tmp_path: Path) -> None:
    project = runs.project(tmp_path)
    latest = project / "reports" / "latest"
    arguments = ["--engram-method=bm25", "--engram-no-controls", "--engram-reader=newest"]
    same = runs.pytest_in(project, *arguments, f"--engram-fail-worse-than={latest}")
    assert same.returncode == 0, same.stdout + same.stderr
    for _ in range(8):  # as if it had been better once
        runs.edit(latest / "items.jsonl", '"answer@10": 0.0', '"answer@10": 1.0')
    runs.rewritten(latest)
    shutil.copytree(latest, tmp_path / "main")
    done = runs.pytest_in(project, *arguments, "--engram-fail-worse-than=reports/latest")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "--engram-fail-worse-than latest: bm25 on demo_fc:answer@10:" in done.stdout
    done = runs.pytest_in(project, *arguments, f"--engram-fail-worse-than={tmp_path / 'main'}", "--engram-k=20")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "can't be compared: k differs (10, 20)" in done.stdout


def test_an_earlier_run_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    done = runs.pytest_in(tmp_path, "--engram-method=bm25", "--engram-fail-worse-than=nowhere")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--engram-fail-worse-than: " in done.stderr
    assert "no run here; give a report folder" in done.stderr
