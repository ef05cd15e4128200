"""Costs of two runs side by side, errors in one of them, and a budget that the other did not have."""

from __future__ import annotations

import json
from typing import Any

import pytest
import runs

from pytest_engram.report import comparison
from pytest_engram.review import compare
from pytest_engram.runs.folder import Run


def asked(name: str, seconds: float, tokens: int, errors: int = 0, **more: Any) -> Run:
    outcomes = [runs.outcome(f"q{i:02d}", 1.0, seconds=seconds, tokens=tokens) for i in range(10 - errors)]
    outcomes += [
        runs.outcome(f"q{i:02d}", None, status="error", reason="RateLimit: 429", ids=[]) for i in range(10 - errors, 10)
    ]
    outcomes[0].wrote = {"entries": 100, "seconds": 1.0}
    return runs.by_hand(outcomes, name, **more)


FORMATS = [
    lambda found: comparison.to_terminal(found, 160, False),
    comparison.to_markdown,
    comparison.to_html,
]


def test_costs_of_both_runs_stand_side_by_side_and_decide_nothing() -> None:
    found = compare.compare(asked("old", 0.004, 50), asked("new", 0.4, 5000))
    (row,) = found["costs"]
    assert (row["suite"], row["method"], row["label"]) == ("tiny", "loom", "Loom")
    assert (row["earlier"]["search_p50"], row["later"]["search_p50"]) == pytest.approx((0.004, 0.4))
    assert (row["earlier"]["tokens_returned"], row["later"]["tokens_returned"]) == (50.0, 5000.0)
    assert row["earlier"]["write_seconds"] == pytest.approx(10.0)
    assert list(compare.worse(found)) == []
    assert all(r["difference"] == 0 for r in found["rows"])
    for shown in (to(found) for to in FORMATS):
        for text in ("Costs", "5,000", "4.0", "400", "10.00", "Quality alone decides"):
            assert text in shown
    json.dumps(found, allow_nan=False)


def test_a_run_of_an_earlier_version_has_no_costs() -> None:
    old = runs.by_hand([runs.outcome(f"q{i:02d}", 1.0) for i in range(10)], "old")
    (row,) = compare.compare(old, asked("new", 0.4, 5000))["costs"]
    assert row["earlier"] is None
    found = compare.compare(old, old)
    assert found["costs"] == []
    assert "Costs" not in comparison.to_markdown(found)


def test_a_comparison_with_errors_is_partial_and_says_how_many() -> None:
    found = compare.compare(asked("old", 0.1, 5), asked("new", 0.1, 5, errors=3))
    (row,) = found["rows"]
    assert (row["n"], row["status"], row["later_errors"]) == (7, "partial", 3)
    assert row["reason"] == "later: 3 of 10 items ended in an error; the first: RateLimit: 429"
    for shown in (to(found) for to in FORMATS):
        assert "partial (1)" in shown
        assert "3 of 10 items ended in an error" in shown


def test_another_budget_is_another_question() -> None:
    with pytest.raises(compare.Incomparable, match=r"the budget of tokens differs \(None, 200\)"):
        compare.compare(asked("old", 0.1, 5), asked("new", 0.1, 5, budget=200))
