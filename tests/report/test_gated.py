"""What a gate decided stands in every table, on the page and in JUnit XML, and is written again from the folder."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import runs
from click.testing import CliRunner

from pytest_engram.cli.commands import main
from pytest_engram.plugin import gates
from pytest_engram.plugin.options import Floor
from pytest_engram.report import FILES, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.gated import gates as grids
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.review import merge
from pytest_engram.runs import schema
from pytest_engram.runs.folder import Run


def gated(errors: int = 0) -> tuple[Run, dict[str, Any]]:
    """14 of 20 hits where an earlier run had 20 of 20, under two floors."""
    values = [float(i >= 6) for i in range(20 - errors)]
    outcomes = [runs.outcome(f"q{i}", value) for i, value in enumerate(values)]
    outcomes += [runs.outcome(f"q{19 - i}", None, status="error", reason="on fire", ids=[]) for i in range(errors)]
    now = runs.by_hand(outcomes)
    earlier = runs.by_hand([runs.outcome(f"q{i}", 1.0) for i in range(20)], "main")
    floors = [Floor("tiny", "answer@10", 0.5), Floor("tiny", "answer@10", 0.9)]
    found = gates.decided(floors, earlier, ["loom"], now.outcomes, now.manifest)
    now.manifest["gates"] = found
    return now, aggregate(now.outcomes, now.manifest)


def test_results_have_what_the_manifest_has() -> None:
    now, results = gated()
    assert results["gates"] == now.manifest["gates"]
    assert [row["passed"] for row in results["gates"]] == [True, False, False]
    schema.check_manifest(json.loads(json.dumps(now.manifest)))


def test_tables_terminal_and_page_tell_passed_and_failed_with_their_numbers() -> None:
    now, results = gated()
    shown = {
        "markdown": tables.to_markdown(results),
        "latex": tables.to_latex(results).replace("$-$", "−"),
        "terminal": terminal(results, 240, colour=False),
        "page": render(results, now.outcomes, {}),
    }
    for told in shown.values():
        start = told.index("Gates")
        (rest := told[start:]).index("fail-under tiny:answer@10=0.5")
        # The floors 0.5 and 0.9, and the earlier run's 1; p of exact McNemar with 6 to 0: 2 * 0.5^6.
        for part in ("passed", "0.900", "failed", "loom has 0.7000 (n=20)", "fail-worse-than main", "−0.300", "0.031"):
            assert part in rest, part


def test_every_cell_by_hand() -> None:
    row = {"gate": "fail-under", "name": "floor", "suite": "tiny", "metric": "answer@10", "label": "Loom"}
    row |= {"threshold": 0.5, "value": 0.7, "n": 20, "difference": 0.2, "low": None, "high": None, "p_holm": None}
    held = row | {"passed": True, "reason": "never shown"}
    worse = row | {"gate": "fail-worse-than", "name": "main", "passed": False, "reason": "it is worse"}
    worse |= {"threshold": 1.0, "difference": -0.3, "low": -0.5, "high": -0.1, "p_holm": 0.03125}
    nothing = dict.fromkeys(row) | {"gate": "fail-worse-than", "name": "main", "passed": None, "reason": "no suite"}
    (grid,) = grids({"gates": [held, worse, nothing]})
    assert grid.title == "Gates"
    assert grid.headers == ["gate", "method", "on", "bound", "value", "n", "difference", "p (Holm)", "result"]
    assert grid.rows == [
        ["floor", "Loom", "tiny answer@10", "0.500", "0.700", "20", "+0.200", "–", "passed"],
        ["main", "Loom", "tiny answer@10", "1.000", "0.700", "20", "−0.300 [−0.500, −0.100]", "0.031", "failed (1)"],
        ["main", "–", "–", "–", "–", "–", "–", "–", "not compared (2)"],
    ]
    assert grid.reasons == ["it is worse", "no suite"]
    assert [text.partition(":")[0] for text in grid.below] == ["fail-under", "fail-worse-than"]


def test_the_rule_of_a_gate_that_was_not_asked_for_is_not_told_and_empty_columns_are_left_out() -> None:
    held = {"gate": "fail-under", "name": "floor", "suite": "tiny", "metric": "f1", "label": "Loom", "threshold": 0.5}
    held |= dict.fromkeys(("value", "n", "difference", "low", "high", "p_holm")) | {"passed": True, "reason": ""}
    (grid,) = grids({"gates": [held]})
    assert grid.headers == ["gate", "method", "on", "bound", "result"]
    assert grid.rows == [["floor", "Loom", "tiny f1", "0.500", "passed"]]
    assert [text.partition(":")[0] for text in grid.below] == ["fail-under"]
    assert list(grids({"gates": []})) == []


def test_a_figure_with_errors_or_without_a_value_says_so() -> None:
    _, results = gated(errors=2)
    first, _, third = results["gates"]
    assert [row["passed"] for row in results["gates"]] == [False, False, False]
    assert first["reason"] == "loom has 0.6667 (n=18), but 2 of 20 items ended in an error; the first: on fire"
    assert "measured on 18 questions, not on all" in third["reason"]
    assert "2 of 20 items ended in an error; the first: on fire" in tables.to_markdown(results).partition("Suite ")[0]
    _, results = gated(errors=20)
    assert results["gates"][0]["value"] is None
    assert results["gates"][0]["reason"] == "loom: error: 20 of 20 items; the first: on fire"
    assert "loom: error: 20 of 20 items" in terminal(results, 200, colour=False)


def test_csv_has_a_line_for_each_number() -> None:
    _, results = gated()
    lines = [row for row in csv.DictReader(io.StringIO(tables.to_csv(results))) if row["table"] == "gates"]
    assert [(row["statistic"], row["number"]) for row in lines[9:18] if row["number"]] == [
        ("threshold", "0.9"),
        ("value", "0.7"),
        ("difference", str(0.7 - 0.9)),
        ("n", "20"),
        ("passed", "0"),
    ]
    assert {row["reason"] for row in lines[9:18]} == {"loom has 0.7000 (n=20)"}


def test_without_a_gate_nothing_is_said_of_any() -> None:
    outcomes = [runs.outcome("q1", 1.0)]
    results = aggregate(outcomes, runs.manifest(outcomes))
    assert results["gates"] == []
    assert "Gates" not in tables.to_markdown(results) + terminal(results, 100, colour=False)
    assert 'id="gates"' not in render(results, outcomes, {})


def test_a_manifest_whose_gates_are_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gates\.0\.gate"):
        schema.check_manifest({"k": 10, "gates": [{"name": "x"}]})


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_run_has_them_in_its_folder_and_in_junit_and_writes_them_again(tmp_path: Path, workers: list[str]) -> None:
    project = runs.project(tmp_path)
    latest = project / "reports" / "latest"
    arguments = ["--engram-method=bm25", "--engram-no-controls", "--junitxml=junit.xml", *workers]
    floors = [f"--engram-fail-under=demo_fc:answer@10={bound}" for bound in ("0.01", "1.01")]
    done = runs.pytest_in(project, *arguments, *floors, f"--engram-fail-worse-than={latest}")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "Gates" in done.stdout
    found = json.loads((latest / "manifest.json").read_text())["gates"]
    assert [row["passed"] for row in found] == [True, False, True]
    assert json.loads((latest / "results.json").read_text())["gates"] == found
    suite = ET.parse(project / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    told = {p.get("name"): str(p.get("value")) for p in suite.findall("properties/property")}
    assert [told[f"engram_gate_{number}"].partition(": ")[0] for number in (1, 2, 3)] == ["passed", "failed", "passed"]
    assert told["engram_gate_2"].startswith("failed: --engram-fail-under demo_fc:answer@10=1.01: bm25 has 0.")
    assert "--engram-fail-worse-than latest: bm25 on demo_fc:answer@10: 0." in told["engram_gate_3"]
    assert len(suite.findall("testcase")) == 80
    before = {name: (latest / name).read_bytes() for name in FILES}
    assert CliRunner().invoke(main, ["report", str(latest)]).exit_code == 0
    assert {name: (latest / name).read_bytes() for name in FILES} == before
    verified = CliRunner().invoke(main, ["verify", str(latest)])
    assert verified.exit_code == 0, verified.output


def test_parts_of_a_run_keep_their_gates_and_the_whole_has_none(tmp_path: Path) -> None:
    now, _ = gated()
    (tmp_path / "items.jsonl").write_text("".join(o.to_line() + "\n" for o in now.outcomes))
    merged = merge.merge([Run(tmp_path, now.outcomes, now.manifest, {})])
    assert "gates" not in merged.manifest
    assert merged.manifest["parts"][0]["gates"] == now.manifest["gates"]
