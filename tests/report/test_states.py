"""Which versions of contradicted facts came back: counted by hand, in every form of the report."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from pytest_engram.report import blocks, document, page, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.runs.outcome import Outcome

SUITE: dict[str, Any] = {"kind": "pilot", "metrics": ["answer@10", "resolved@10"], "n": 3, "official": True}


def line(method: str, number: int, *chain: tuple[str, int], suite: str = "facts", seed: int = 1) -> Outcome:
    """A question whose facts are in these states; the number says how many versions each superseded."""
    states = [
        {"state": state, "valid": [f"{at}"], "superseded": [f"{at}{n}" for n in range(superseded)]}
        for at, (state, superseded) in enumerate(chain)
    ]
    return Outcome(
        suite=suite,
        question_id=f"q{number}",
        method=method,
        seed=seed,
        k=10,
        ids=["0"],
        metrics={"answer@10": 1.0, "resolved@10": float(all(state == "new" for state, _ in chain))},
        status="ok",
        item=f"q{number}[{method}]",
        haystack=400,
        fields={"states": states},
    )


# By hand. Contradicted are, of q0 both facts, of q1 the first, of q2 the second and the third.
CHAINED = [
    line("loom", 0, ("new", 1), ("old", 2)),
    line("loom", 1, ("both", 1), ("neither", 0)),
    line("loom", 2, ("new", 0), ("neither", 1), ("new", 1)),
    line("dense", 0, ("both", 1), ("both", 2)),
    line("dense", 1, ("both", 1), ("new", 0)),
    line("dense", 2, ("new", 0), ("neither", 1), ("old", 1)),
]


def results(lines: list[Outcome], **changes: Any) -> dict[str, Any]:
    methods = {
        "loom": {"label": "Loom", "role": "experiment", "stochastic": True},
        "dense": {"label": "Dense", "role": "anchor"},
    }
    manifest = {"k": 10, "suites": {"facts": {**SUITE, **changes}}, "methods": methods, "named": ["loom"]}
    return aggregate(lines, manifest)


def counted(found: dict[str, Any], method: str) -> dict[Any, tuple[float, ...]]:
    rows = [row for row in found["states"] if row["method"] == method]
    return {row["hop"]: tuple(row[name] for name in ("n", "new", "old", "both", "neither")) for row in rows}


def test_counts_are_of_contradicted_facts_alone() -> None:
    found = results(CHAINED)
    assert counted(found, "loom") == {
        None: (5, 2, 1, 1, 1),
        "last": (2, 1, 1, 0, 0),
        1: (2, 1, 0, 1, 0),
        2: (2, 0, 1, 0, 1),
        3: (1, 1, 0, 0, 0),
    }
    assert counted(found, "dense") == {
        None: (5, 0, 1, 3, 1),
        "last": (2, 0, 1, 1, 0),
        1: (2, 0, 0, 2, 0),
        2: (2, 0, 0, 1, 1),
        3: (1, 0, 1, 0, 0),
    }
    assert {(row["suite"], row["metric"]) for row in found["states"]} == {("facts", "resolved@10")}


def test_several_seeds_are_counted_as_their_mean() -> None:
    seeds = [line("loom", 0, ("new", 1), seed=1), line("loom", 0, ("old", 1), seed=2)]
    assert counted(results(seeds), "loom")["last"] == (1, 0.5, 0.5, 0, 0)


def test_what_did_not_end_well_or_tells_nothing_is_not_counted() -> None:
    failed = line("loom", 0, ("new", 1))
    failed.status = "error"
    silent = line("dense", 0, ("new", 1))
    silent.fields = {}
    found = results([failed, silent])
    assert found["states"] == []
    assert "versions" not in tables.to_markdown(found)


def grids(found: dict[str, Any]) -> list[blocks.Grid]:
    return list(document.states(found, "facts"))


def test_the_table_of_single_hops() -> None:
    (grid,) = grids(results([line("loom", 0, ("new", 1)), line("loom", 1, ("old", 1)), line("loom", 2, ("new", 0))]))
    assert grid.caption.startswith("Of 2 questions whose answer was contradicted earlier: ")
    assert "the first 10" in grid.caption
    assert grid.headers == ["method", "new alone", "old alone", "both", "neither", "n"]
    assert grid.rows == [["Loom", "1", "1", "0", "0", "2"]]


def test_the_table_of_several_hops() -> None:
    (grid,) = grids(results(CHAINED))
    assert grid.headers[6:] == ["hop 1, n = 2", "hop 2, n = 2", "hop 3, n = 1", "all hops, n = 5"]
    assert grid.rows == [
        ["Loom", "1", "1", "0", "0", "2", "1 / 0 / 1 / 0", "0 / 1 / 0 / 1", "1 / 0 / 0 / 0", "2 / 1 / 1 / 1"],
        ["Dense", "0", "1", "1", "0", "2", "0 / 0 / 2 / 0", "0 / 0 / 1 / 1", "0 / 1 / 0 / 0", "0 / 1 / 3 / 1"],
    ]


def test_no_answer_was_contradicted() -> None:
    assert grids(results([line("loom", 0, ("new", 0))])) == []


@pytest.mark.parametrize("form", ["markdown", "latex", "page"])
def test_it_stands_in_every_form(form: str) -> None:
    found = results(CHAINED)
    text = {
        "markdown": lambda: tables.to_markdown(found),
        "latex": lambda: tables.to_latex(found),
        "page": lambda: page.render(found, CHAINED, {}),
    }[form]()
    assert text.count("Of 2 questions whose answer was contradicted earlier") == 1
    assert "0 / 1 / 3 / 1" in text


def test_tidy_rows() -> None:
    rows = list(csv.DictReader(io.StringIO(tables.to_csv(results(CHAINED)))))
    told = {(row["method"], row["of"], row["statistic"]): row["number"] for row in rows if row["table"] == "states"}
    assert told["loom", "last", "old"] == "1"
    assert told["dense", "", "both"] == "3"
    assert told["dense", "2", "n"] == "2"
    assert len(told) == 2 * 5 * 5


def test_resolved_is_0_or_1_and_measured_over_what_is_not_left_out() -> None:
    unknown = line("loom", 2, ("new", 1))
    unknown.metrics = {"answer@10": 1.0}
    unknown.left_out = {"resolved@10": "no chain"}
    unknown.fields = {}
    found = results([line("loom", 0, ("new", 1)), line("loom", 1, ("old", 1)), unknown])
    row = next(row for row in found["rows"] if row["metric"] == "resolved@10" and row["method"] == "loom")
    assert (row["n"], row["value"], row["interval"], row["status"]) == (2, 0.5, "wilson", "ok")
    answered = next(row for row in found["rows"] if row["metric"] == "answer@10" and row["method"] == "loom")
    assert answered["n"] == 3
