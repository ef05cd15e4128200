"""What a paired test could have found is told for questions that differ as they did, and at Holm's first step."""

from __future__ import annotations

import math
from typing import Any

import pytest
import runs
from scipy.optimize import brentq
from scipy.stats import binom, binomtest

from pytest_engram.report import tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.page import render
from pytest_engram.runs.outcome import Outcome

N = 60


def answers(method: str, hits: set[int]) -> list[Outcome]:
    return [runs.outcome(f"q{q:02d}", float(q in hits), method) for q in range(N)]


def results(outcomes: list[Outcome], named: list[str]) -> dict[str, Any]:
    return aggregate(outcomes, runs.manifest(outcomes, named=named))


def found_in(share: float, difference: float, alpha: float) -> float:
    """How often exact McNemar finds a difference, over all numbers of pairs that differ and all ways they point."""
    wrong = (1 - difference / share) / 2
    return math.fsum(
        binom.pmf(m, N, share) * binom.pmf(worse, m, wrong)
        for m in range(1, N + 1)
        for worse in range((m + 1) // 2)
        if binomtest(worse, m).pvalue <= alpha
    )


def smallest(share: float, alpha: float) -> float:
    return float(brentq(lambda d: found_in(share, d, alpha) - 0.8, 1e-9, share, xtol=1e-10))


@pytest.fixture(scope="module")
def scattered() -> dict[str, Any]:
    """Loom wins 13 questions of BM25 and loses 11 to it; it differs from Dense on 2."""
    log = answers("loom", set(range(13)) | {40, 41}) + answers("bm25", set(range(13, 24)) | {40, 41})
    return results(log + answers("dense", set(range(13))), ["loom"])


def test_it_goes_by_the_questions_that_were_seen_to_differ(scattered: dict[str, Any]) -> None:
    rows = {row["baseline"]: row for row in scattered["paired"] if row["method"] == "loom"}
    assert rows["bm25"]["smallest_difference"] == pytest.approx(smallest(24 / 60, 0.05), abs=1e-8)
    assert rows["bm25"]["first_step"] == pytest.approx(smallest(24 / 60, 0.05 / 2), abs=1e-8)
    # With 2 that differ none could be found: more must differ, at least as many as all of these at 80%.
    assert binom.sf(5, N, rows["dense"]["smallest_difference"]) == pytest.approx(0.8)
    assert binom.sf(6, N, rows["dense"]["first_step"]) == pytest.approx(0.8)  # 2 * 0.5^7 < 0.025 < 2 * 0.5^6


def test_of_several_tests_the_largest_stands_with_its_discordance_and_the_number_of_tests(
    scattered: dict[str, Any],
) -> None:
    (found,) = scattered["power"]
    assert found["smallest_difference"] == pytest.approx(smallest(0.4, 0.05), abs=1e-8)
    assert found["first_step"] == pytest.approx(smallest(0.4, 0.025), abs=1e-8)
    assert (found["discordance"], found["tests"], found["n"]) == (0.4, 2, 60)


def test_tables_and_page_say_so_in_words(scattered: dict[str, Any]) -> None:
    alone, first = (f"{smallest(0.4, alpha):.3f}" for alpha in (0.05, 0.025))
    told = f"{alone} (n = 60, of which 0.400 differ), {first} at Holm's first step of 2 tests"
    lead = "a paired test finds with 80% power, where questions differ as much as they did here"
    assert f"Smallest difference that {lead}: tiny answer@10 {told}." in tables.to_markdown(scattered)
    assert told.replace("'", "&#39;") in render(scattered, [], {})


def test_where_more_would_have_to_differ_that_is_said() -> None:
    (found,) = (log := results(answers("loom", {1, 2}) + answers("bm25", {1}), ["loom"]))["power"]
    assert binom.sf(5, N, found["smallest_difference"]) == pytest.approx(0.8)
    told = f"tiny answer@10 {found['smallest_difference']:.3f} (n = 60, of which more must differ than 0.017)."
    assert told in tables.to_markdown(log)


def test_an_unadjusted_test_has_no_first_step_and_decides_no_row() -> None:
    log = answers("tide", set(range(30))) + answers("bm25", set(range(30, 60))) + answers("dense", set(range(30)))
    found = results(log + answers("loom", {1}), ["loom"])
    others = [row for row in found["paired"] if "loom" not in (row["method"], row["baseline"])]
    assert {row["first_step"] for row in others} == {None}
    (power,) = found["power"]
    mine = [row for row in found["paired"] if row["p_holm"] is not None]
    assert power["smallest_difference"] == max(row["smallest_difference"] for row in mine)
    assert power["tests"] == len(mine)
