"""What knowing nothing gets, and what nobody exceeds, stands beside the figures of every suite."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import runs

from pytest_engram.report import tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome

METRICS = ["recall@10", "recall@5", "f1"]


def graded() -> dict[str, Any]:
    """A suite of evidence, as LoCoMo is: half of it has no entry, for one question in four."""
    outcomes = [
        runs.outcome(f"q{q}", 0.5, method, metrics=dict.fromkeys(METRICS, 0.5), ceiling=q % 4 > 0, hit=None)
        for method in ("loom", "dense")
        for q in range(8)
    ]
    found = runs.manifest(outcomes, named=["loom"])
    found["suites"]["tiny"] |= {
        "floor": {"recall@10": 0.017, "recall@5": 0.009},
        "ceiling": {"recall@10": 0.9965, "recall@5": 0.9481},
        "constant": {"answer": "Not mentioned", "metrics": {"f1": 0.2254}},
    }
    return aggregate(outcomes, found)


def micro(winners: dict[str, str]) -> dict[str, Any]:
    outcomes: list[Outcome] = []
    for method, winner in winners.items():
        for q in range(6):
            correct = {"correct": float(winner == "update")}
            more: dict[str, Any] = {"family": "crowd", "case": f"c{q}", "expected": "update", "winner": winner}
            outcomes.append(runs.outcome(f"q{q}", None, method, "crowd", metrics=correct, **more))
    found = runs.manifest(outcomes, named=["loom"])
    about = {"kind": "micro", "family": "crowd", "metrics": ["correct"], "n": 6, "floor": {"correct": 0.1923}}
    found["suites"] = {"crowd": about}
    return aggregate(outcomes, found)


def cells(text: str, label: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {label} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_share_of_the_evidence_has_the_best_that_k_entries_get() -> None:
    found = graded()
    text = tables.to_markdown(found)
    assert cells(text, "the best 10 entries (ceiling)")[2:6] == ["0.997", "0.948", "–", "8"]
    assert "any entry of the haystack" not in text  # 6 of 8 have some: no bound of a share
    told = [(row["of"], row["metric"], row["value"], row["n"]) for row in found["ceilings"]]
    assert told == [("k entries", "recall@10", 0.9965, 8), ("k entries", "recall@5", 0.9481, 8)]
    lines = [row for row in csv.DictReader(io.StringIO(tables.to_csv(found))) if row["table"] == "ceilings"]
    assert ("recall@10", "value", "0.9965") in {(row["metric"], row["statistic"], row["number"]) for row in lines}


def test_metrics_of_an_answer_have_what_one_answer_gets() -> None:
    found = graded()
    text = tables.to_markdown(found)
    assert cells(text, "10 random entries (floor)")[2:5] == ["0.017", "0.009", "–"]
    assert cells(text, "“Not mentioned”, always (floor)")[2:5] == ["–", "–", "0.225"]
    assert [(row["metric"], row["answer"], row["k"]) for row in found["floors"]] == [
        ("recall@10", None, 10),
        ("recall@5", None, 10),
        ("f1", "Not mentioned", None),
    ]


def test_the_page_has_both() -> None:
    page = " ".join(render(graded(), [], {}).split())
    assert "10 random entries get 0.017 in recall@10 on average" in page
    assert "“Not mentioned” in answer to every question gets 0.225 in f1" in page
    assert "The best 10 entries get 0.997 in recall@10 (n = 8): no method can score more." in page


def test_a_micro_test_has_a_row_for_random_entries() -> None:
    found = micro({"loom": "update", "dense": "both"})
    assert cells(tables.to_markdown(found), "10 random entries (floor)")[-1] == "0.192"
    page = " ".join(render(found, [], {}).split())
    assert "10 random entries (floor)</th>" in page
    assert "19.2" in page[page.index("10 random entries (floor)</th>") :][:400]
    shown = terminal(found, 200, colour=False)
    (line,) = (line for line in shown.splitlines() if line.startswith("crowd "))
    assert line.split()[-1] == "0.192"
    assert "10 random" in shown


@pytest.mark.parametrize("of", ["loom", "dense"])
def test_without_a_floor_there_is_no_row(of: str) -> None:
    outcomes = [runs.outcome("q1", 1.0, of, ceiling=True)]
    found = aggregate(outcomes, runs.manifest(outcomes))
    assert found["floors"] == []
    assert [(row["of"], row["metric"]) for row in found["ceilings"]] == [("entry", "answer@10")]
    text = tables.to_markdown(found) + terminal(found, 100, colour=False)
    assert "random" not in text
    assert "any entry of the haystack (ceiling)" in text
