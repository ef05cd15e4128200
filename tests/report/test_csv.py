"""CSV: a text that a spreadsheet would run, or that steers a terminal, is a text; a number stays a number."""

from __future__ import annotations

import csv
import io

import pytest
import runs

from pytest_engram.report import aggregate, tables
from pytest_engram.report.tables import escape_csv


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ('=cmd|"/C calc"!A0', '\'=cmd|"/C calc"!A0'),
        ("+1", "'+1"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\r=1", "'=1"),
        (" =1", "'=1"),
        ("\x1b[31m=1", "[31m=1"),
        ("\x00=1", "'=1"),
        ("＝1＋1", "'＝1＋1"),  # what some spreadsheets take for the ASCII ones
        ("Loom (sided)", "Loom (sided)"),
        ("k = 10", "k = 10"),
        ("−0.5", "−0.5"),  # a minus sign, which begins no formula
        ("a\nb\x9b2Jc", "a b 2Jc"),
        ("", ""),
    ],
)
def test_a_text_is_read_as_a_text(given: str, written: str) -> None:
    assert escape_csv(given) == written


def test_of_a_whole_run_no_cell_is_a_formula_and_numbers_are_numbers() -> None:
    evil = '=cmd|"/C calc"!A0\x1b[31m'
    outcomes = [runs.outcome(f"q{number}", float(number % 2)) for number in range(8)]
    outcomes += [runs.outcome(f"q{number}", 1.0, method="dense") for number in range(8)]
    for outcome in outcomes:
        outcome.group = "@category"
    manifest = runs.manifest(outcomes)
    manifest["methods"]["loom"]["label"] = evil
    text = tables.to_csv(aggregate.aggregate(outcomes, manifest))
    assert "\x1b" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["label"] for row in rows} >= {"'" + evil.replace("\x1b", " "), "Dense"}
    assert {row["group"] for row in rows} == {"", "'@category"}
    numbers = [row["number"] for row in rows if row["number"]]
    assert any(float(number) < 0 for number in numbers)  # loom minus dense
    for row in rows:
        assert all(not (cell and cell[0] in "=+-@\t\r") for name, cell in row.items() if name != "number"), row
