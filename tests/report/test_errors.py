"""A figure with errors is shown over what was measured, and says so wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest
import runs
from statsmodels.stats.proportion import proportion_confint

from pytest_engram.report import plots, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome


def broken(question: str, method: str = "loom", **more: Any) -> Outcome:
    return runs.outcome(question, None, method, **({"status": "error", "reason": "RateLimit: 429", "ids": []} | more))


def some(errors: int = 6, of: int = 20, method: str = "loom") -> list[Outcome]:
    """Hits and misses in turn, and errors at the end."""
    measured = [runs.outcome(f"q{i:02d}", float(i % 2), method) for i in range(of - errors)]
    return measured + [broken(f"q{i:02d}", method) for i in range(of - errors, of)]


def results_of(outcomes: list[Outcome]) -> dict[str, Any]:
    return aggregate(outcomes, runs.manifest(outcomes, named=["loom"]))


def row(results: dict[str, Any], method: str = "loom") -> dict[str, Any]:
    (found,) = (r for r in results["rows"] if r["method"] == method)
    return found


def test_value_and_interval_are_those_of_what_was_measured() -> None:
    found = row(results_of(some()))
    assert (found["value"], found["n"], found["status"], found["errors"]) == (0.5, 14, "partial", 6)
    assert (found["low"], found["high"]) == pytest.approx(proportion_confint(7, 14, method="wilson"))
    assert found["reason"] == "6 of 20 items ended in an error; the first: RateLimit: 429"
    assert found["flags"] == ["partial"]


def test_one_error_is_one_item() -> None:
    assert row(results_of(some(1)))["reason"] == "1 of 20 items ended in an error; the first: RateLimit: 429"


def test_where_all_ended_in_an_error_there_is_no_number() -> None:
    found = row(results_of(some(20)))
    assert (found["value"], found["status"], found["errors"]) == (None, "error", 20)
    assert found["reason"] == "20 of 20 items; the first: RateLimit: 429"


def test_one_error_and_the_rest_not_run_is_an_error() -> None:
    outcomes = [*some(1, 1), runs.outcome("q01", None, status="not run", reason="holds nothing")]
    found = row(results_of(outcomes))
    assert (found["value"], found["status"]) == (None, "error")
    assert found["reason"] == "1 of 2 items; the first: RateLimit: 429"


def test_errors_do_not_show_a_number_that_the_items_not_run_hide() -> None:
    outcomes = [*some(1, 4), runs.outcome("q09", None, status="not run", reason="skipped")]
    assert row(results_of(outcomes))["value"] is None


def test_a_violation_beside_errors_takes_the_number_away() -> None:
    outcomes = [*some(), runs.outcome("q99", None, status="violation", reason="equal k: 11 ids")]
    found = row(results_of(outcomes))
    assert (found["value"], found["status"]) == (None, "violation")


def test_what_the_official_rules_leave_out_is_not_measured_by_errors_elsewhere() -> None:
    outcomes = [runs.outcome("q0", None, excluded="no gold", metrics={}), broken("q1")]
    assert (row(results_of(outcomes))["value"], row(results_of(outcomes))["status"]) == (None, "error")


def test_a_seed_that_ended_in_an_error_takes_its_question_out() -> None:
    outcomes = [runs.outcome(f"q{i}", 1.0, seed=seed) for i in range(4) for seed in (1, 2)]
    outcomes[3] = broken("q1", seed=2)
    manifest = runs.manifest(outcomes)
    manifest["methods"]["loom"]["stochastic"] = True
    found = row(aggregate(outcomes, manifest))
    assert (found["n"], found["status"], found["errors"]) == (3, "partial", 1)


def test_k_that_covers_the_haystack_is_told_first_and_the_errors_as_well() -> None:
    outcomes = [runs.outcome(f"q{i}", 1.0, haystack=5) for i in range(3)] + [broken("q3")]
    found = row(results_of(outcomes))
    assert found["status"] == "covers"
    assert "1 of 4 items ended in an error" in found["reason"]


def test_a_comparison_is_over_the_questions_that_both_measured_and_is_partial() -> None:
    outcomes = some() + [runs.outcome(f"q{i:02d}", 1.0, "dense") for i in range(20)]
    (pair,) = results_of(outcomes)["paired"]
    assert (pair["n"], pair["difference"], pair["status"]) == (14, pytest.approx(-0.5), "partial")
    assert "6 of 20 items ended in an error" in pair["reason"]
    results = results_of(outcomes)
    shown = terminal(results, 120, False)
    assert "partial (1)" in shown[shown.index("Paired differences") :]
    paired = render(results, outcomes, {}).partition('id="paired"')[2].partition("</section>")[0]
    assert '<span class="flag">partial</span>' in paired
    assert "6 of 20 items ended in an error" in paired


def test_every_table_marks_the_number_and_how_many_errors_there_were() -> None:
    outcomes = some()
    results = results_of(outcomes)
    reason = "6 of 20 items ended in an error; the first: RateLimit: 429"
    for text in (tables.to_markdown(results), tables.to_latex(results), terminal(results, 100, False)):
        assert "0.500" in text
        assert "6 errors (1)" in text
        assert reason in text.replace("\n      ", " ")
    assert reason in tables.to_csv(results)
    page = render(results, outcomes, {})
    assert '<span class="flag">6 errors</span>' in page
    assert reason in page
    assert "6 errors" in plots.intervals(results)
