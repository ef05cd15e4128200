"""A method that returns both sides throughout decides nothing: no table gives it a number to be ranked by."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import runs

from pytest_engram.report import plots, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome

SIDES = ((0, "belief"), (1, None), (2, "update"))
LEVELS = [(f"c{case}", backers, side) for case in range(6) for backers, side in SIDES]
ALWAYS = {"dense": "both", "bm25": "neither", "tide": "update"}


def level(method: str, case: str, backers: int, expected: str | None, winner: str) -> Outcome:
    metrics = {"correct": float(winner == expected)} if expected else {}
    more: dict[str, Any] = {"family": "crowd", "case": case, "web": 1, "backers": backers, "expected": expected}
    more |= {"winner": winner, "metrics": metrics, "group": "sport" if case < "c3" else "work"}
    return runs.outcome(f"{case}-{backers}", None, method, "crowd", **more, item=f"{case}-{backers}[{method}]")


def results(winners: dict[str, str], expected: str | None = "") -> dict[str, Any]:
    outcomes = [
        level(method, case, backers, side if expected == "" else expected, winner)
        for method, winner in winners.items()
        for case, backers, side in LEVELS
    ]
    found = runs.manifest(outcomes, named=["tide"])
    found["suites"] = {"crowd": {"kind": "micro", "family": "crowd", "metrics": ["correct"], "n": len(LEVELS)}}
    return aggregate(outcomes, found)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return results(ALWAYS)


def test_what_it_returned_instead_stands_in_rows_and_families(told: dict[str, Any]) -> None:
    wanted = {"dense": "both", "bm25": "neither", "tide": None}
    assert {row["method"]: row["sides"] for row in told["families"]} == wanted
    for group in (None, "sport", "work"):
        rows = [row for row in told["rows"] if (row["metric"], row["group"]) == ("correct", group)]
        assert {row["method"]: row["sides"] for row in rows} == wanted
    assert {row["sides"] for row in told["rows"] if row["metric"] == "decided"} == {None}  # a share of 0 is one


def cells(text: str, label: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_table_says_so_in_place_of_a_number(told: dict[str, Any]) -> None:
    text = tables.to_markdown(told)
    assert cells(text, "Dense")[-1] == "both, always"
    assert cells(text, "Bm25")[-1] == "neither, always"
    assert cells(text, "Tide")[-1].startswith("0.500 [")  # the update wins at half of the scored levels by right
    by_category = text[text.index("correct, by category") :]
    assert cells(by_category, "Dense") == ["Dense", "both, always", "both, always", "both, always"]
    assert "both, always" in tables.to_latex(told)
    lines = [line for line in csv.DictReader(io.StringIO(tables.to_csv(told))) if line["table"] == "rows"]
    dense = [line["status"] for line in lines if (line["method"], line["metric"]) == ("dense", "correct")]
    assert set(dense) == {"both, always"}
    shown = terminal(told, 200, colour=False)
    assert "both, always" in shown[shown.index("Micro-tests") :]
    page = render(told, [], {})
    micro = page[page.index('id="micro"') :]
    assert micro.count("both, always</span></td>") == micro.count("neither, always</span></td>") == 1


def test_a_plot_has_no_dot_for_it(told: dict[str, Any]) -> None:
    drawn = plots.intervals(told)
    assert drawn.count("Dense") == drawn.count("Tide") - 1  # of `decided`, not of `correct`


def test_one_decision_anywhere_and_it_has_a_number() -> None:
    found = results(ALWAYS | {"loom": "both"})
    assert next(row for row in found["families"] if row["method"] == "loom")["sides"] == "both"
    winners = ["belief" if (case, b) == ("c0", 1) else "both" for case, b, _ in LEVELS]
    outcomes = [level("loom", *place, winner) for place, winner in zip(LEVELS, winners, strict=True)]
    facts = runs.manifest(outcomes)
    facts["suites"] = {"crowd": {"kind": "micro", "family": "crowd", "metrics": ["correct"], "n": len(LEVELS)}}
    (line,) = aggregate(outcomes, facts)["families"]
    assert (line["sides"], line["correct"]["value"]) == (None, 0)


@pytest.mark.parametrize("expected", ["both", "either"])
def test_where_both_is_right_it_is_a_number(expected: str) -> None:
    found = results({"dense": "both"}, expected)
    assert found["families"][0]["sides"] is None
    assert "both, always" not in tables.to_markdown(found)
