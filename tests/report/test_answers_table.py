"""The table of answers: methods between what the reader has without any memory, and with all that it could have."""

from __future__ import annotations

from typing import Any

import pytest
import runs
from runs import outcome
from statsmodels.stats.proportion import proportion_confint

from pytest_engram.judging.baselines import NAMES
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.blocks import Grid
from pytest_engram.report.document import document
from pytest_engram.report.screen import render
from pytest_engram.report.tables import to_csv, to_latex, to_markdown
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

JUDGE = {"name": "openai:m", "label": "m", "runs": 1, "prompts": {"tiny": {"label": "official prompt"}}}


def lines(name: str, right: int, of: int, *, tokens: int, metric: str = "subem", **more: Any) -> list[Outcome]:
    """As many answers, of which the first are right."""
    return [
        outcome(
            f"q{at:03d}",
            None,
            method=name,
            metrics={metric: float(at < right)},
            answer="a",
            reader="R",
            tokens=tokens,
            **more,
        )
        for at in range(of)
    ]


def results(found: list[Outcome], beside: list[Outcome], known: list[KnownAnswer] | None = None) -> dict[str, Any]:
    told = {name: dict(NAMES[name]) for name in dict.fromkeys(line.method for line in beside)}
    return aggregate(found, runs.manifest(found, judge=JUDGE, answer_baselines=told), known or (), beside)


LOOM = lines("loom", 12, 20, tokens=150)
BESIDE = [
    *lines("no-memory", 2, 20, tokens=0),
    *lines("placebo", 1, 20, tokens=31),
    *lines("oracle", 18, 20, tokens=30),
    *lines("full-context", 9, 20, tokens=5000),
]


def test_each_has_its_figure_and_what_it_was_given() -> None:
    rows = results(LOOM, BESIDE)["answer_baselines"]
    assert [row["baseline"] for row in rows] == ["no-memory", "placebo", "oracle", "full-context"]
    assert [row["value"] for row in rows] == [0.1, 0.05, 0.9, 0.45]
    assert [row["tokens"] for row in rows] == [0, 31, 30, 5000]
    assert [row["apart"] for row in rows][2:] == ["knows the evidence", "no k"]
    for row, right in zip(rows, (2, 1, 18, 9), strict=True):
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(right, 20, method="wilson"))
        assert (row["suite"], row["metric"], row["n"], row["status"], row["unit"]) == ("tiny", "subem", 20, "ok", "%")
        assert not {"method", "role", "effective_k"} & row.keys()


def test_they_compete_with_nobody() -> None:
    with_, without = results(LOOM, BESIDE), aggregate(LOOM, runs.manifest(LOOM, judge=JUDGE))
    assert without["answer_baselines"] == []
    for table in without.keys() - {"answer_baselines", "manifest"}:
        assert with_[table] == without[table], table


def test_the_table_goes_from_the_least_to_the_most() -> None:
    told = results(LOOM, BESIDE)
    (grid,) = grids(told)
    assert [line[0] for line in grid.rows] == ["no memory", "placebo", "Loom", "full context", "oracle"]
    assert [line[1] for line in grid.rows if not line[1]] == [""]  # the method alone is not set apart
    assert [line[2] for line in grid.rows] == ["0", "31", "150", "5,000", "30"]
    assert grid.rows[4][3].startswith("90.0 [")
    for text in (to_markdown(told), to_latex(told), render(told, 100, colour=False)):
        assert "knows the evidence" in text
        assert "full context" in text
    assert "answer_baselines,tiny,,,oracle,oracle,subem" in to_csv(told)


def test_questions_whose_evidence_nobody_knows_are_in_no_mean_and_counted() -> None:
    why = "no evidence: nobody knows"
    unknown = [
        outcome(f"q{at:03d}", None, method="oracle", metrics={}, left_out={"subem": why}) for at in range(15, 20)
    ]
    (row,) = results(LOOM, [*lines("oracle", 12, 15, tokens=30), *unknown])["answer_baselines"]
    assert (row["value"], row["n"], row["status"], row["tokens"]) == (0.8, 15, "ok", 30)
    assert row["marks"][0] == f"5 of 20 questions are not in it: {why}"
    every = [outcome(f"q{at:03d}", None, method="oracle", metrics={}, left_out={"subem": why}) for at in range(20)]
    (row,) = results(LOOM, every)["answer_baselines"]
    assert (row["value"], row["status"], row["reason"]) == (None, "not run", f"every question is left out: {why}")


def test_what_was_not_asked_says_so() -> None:
    """An interrupted run has the names in its manifest, and no line."""
    manifest = runs.manifest(LOOM, answer_baselines={"oracle": dict(NAMES["oracle"])})
    told = aggregate(LOOM, manifest)
    (row,) = told["answer_baselines"]
    assert (row["metric"], row["status"], row["reason"]) == ("subem", "not run", "none of its questions was asked")
    partial = results(LOOM, lines("oracle", 8, 10, tokens=30))["answer_baselines"]
    assert (partial[0]["status"], partial[0]["reason"]) == ("partial", "partial: 10 of 20 questions were asked")


def grids(told: dict[str, Any]) -> list[Grid]:
    return [block for block in document(told) if isinstance(block, Grid) and block.title == "tiny, answers"]


def test_a_metric_of_which_nobody_has_a_figure_is_no_column() -> None:
    unjudged = {"metrics": {"subem": 1.0, "judged": None}, "missing": {"judged": "no judge"}, "answer": "a"}
    found = [outcome(f"q{at}", None, **unjudged) for at in range(5)]
    beside = [outcome(f"q{at}", None, method="oracle", **unjudged) for at in range(5)]
    (grid,) = grids(results(found, beside))
    assert grid.headers == ["answers from", "set apart by", "tokens", "SubEM, %", "n"]
    for line in [*found, *beside]:
        line.metrics, line.missing = {"subem": None, "judged": None}, {"subem": "no reader", "judged": "no judge"}
    (grid,) = grids(results(found, beside))
    assert grid.headers[3:] == ["SubEM, %", "judged, %", "n"]
    assert grid.rows[1][3] == "not run (1)"


def test_a_suite_that_was_not_run_has_no_table() -> None:
    manifest = runs.manifest(LOOM, answer_baselines={"oracle": dict(NAMES["oracle"])})
    manifest["suites"]["tiny"]["not_run"] = "no data here"
    told = aggregate([], manifest)
    assert [row["reason"] for row in told["answer_baselines"]] == ["no data here"]
    assert grids(told) == []


def test_parts_have_theirs() -> None:
    found = [*lines("loom", 5, 10, tokens=9, group="a"), *(lines("loom", 5, 20, tokens=9, group="b")[10:])]
    beside = [*lines("oracle", 10, 10, tokens=9, group="a"), *(lines("oracle", 0, 20, tokens=9, group="b")[10:])]
    rows = {row["group"]: row for row in results(found, beside)["answer_baselines"]}
    assert {group: (row["value"], row["n"]) for group, row in rows.items()} == {
        None: (0.5, 20),
        "a": (1.0, 10),
        "b": (0.0, 10),
    }


def test_a_judged_one_is_corrected_as_a_method_s() -> None:
    fields = {"verdicts": [True], "judge": "m"}
    found = lines("loom", 12, 20, tokens=9, metric="judged", fields=fields)
    beside = lines("oracle", 12, 20, tokens=9, metric="judged", fields=fields)
    known = [KnownAnswer("tiny", f"k{at}", "vague", "wrong", "a", [at < 10]) for at in range(40)]
    known += [KnownAnswer("tiny", f"r{at}", "reworded", "right", "a", [True]) for at in range(40)]
    told = results(found, beside, known)
    (method,) = [row for row in told["rows"] if row["metric"] == "judged" and row["group"] is None]
    (oracle,) = told["answer_baselines"]
    for name in ("judge", "corrected", "corrected_low", "corrected_high", "correction"):
        assert oracle[name] == method[name]
    # Rogan and Gladen by hand: (0.6 - 0.25) / (1 - 0.25).
    assert oracle["corrected"] == pytest.approx(0.35 / 0.75)
