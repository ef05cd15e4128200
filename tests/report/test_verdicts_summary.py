"""What the graded claim tells of flip points: by hand, of the method and suite that it is about alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import runs
from scipy.stats import binomtest

from pytest_engram.report.aggregate import aggregate
from pytest_engram.runs.outcome import Outcome

CASES, WEBS, BACKERS = 12, 2, 4


def swept(method: str, suite: str, flips_at: Callable[[int, int], int], webs: int = WEBS) -> list[Outcome]:
    """Cases at webs of 0, 1, ...; the update wins from `flips_at(case, web)` backers on."""
    return [
        runs.outcome(
            f"c{case}-w{web}-b{backers}",
            None,
            method,
            suite,
            metrics={"correct": None},
            family="gradual_override",
            case=f"c{case}",
            web=web,
            backers=backers,
            winner="update" if backers >= flips_at(case, web) else "belief",
        )
        for case in range(CASES)
        for web in range(webs)
        for backers in range(BACKERS)
    ]


def claim(outcomes: list[Outcome], method: str = "mine") -> dict[str, Any]:
    found = runs.manifest(outcomes, named=[method])
    for info in found["suites"].values():
        info |= {"kind": "micro", "family": "gradual_override", "metrics": ["correct"]}
    if "tide" in found["methods"]:
        found["methods"]["tide"]["role"] = "control"
    (told,) = (one for one in aggregate(outcomes, found)["verdicts"] if "needs backing to flip" in one["name"])
    return told  # type: ignore[no-any-return]


def by_web(_: int, web: int) -> int:
    return 1 + 2 * web  # medians: 1 backer at a web of 0, 3 at a web of 1


def test_the_medians_are_of_its_own_suite_and_method_alone() -> None:
    others = [
        *swept("mine", "second", lambda *_: 2, webs=3),  # another suite of the family, at other webs
        *swept("dense", "first", lambda *_: 0),  # another method
    ]
    told = claim([*swept("mine", "first", by_web), *others])
    assert "Mine's median flip point is 1 and 3 backers at a web of 0, 1;" in told["text"].replace("1, 3", "1 and 3")
    assert told["text"].count("web of 0, 1") == 1
    assert "0, 1, 0" not in told["text"]


def test_amount_and_trend_hold_where_each_half_does() -> None:
    # No backed belief falls to an unbacked update: 0 of 12, so that Wilson's upper bound is z²/(n + z²) = 0.243.
    upper = binomtest(0, CASES).proportion_ci(method="wilson").high
    assert upper == pytest.approx(3.8415 / (CASES + 3.8415), abs=1e-4)
    told = claim(swept("mine", "first", by_web))
    beaten = "with no backer at all the update beats a backed belief in"
    assert f"The amount (can't tell): {beaten} 0.000 [0.000, {upper:.3f}] of 12" in told["text"]
    assert "rarely would be below 0.100." in told["text"]
    # Every case flips at 1 without a web and at 3 with one: all 144 pairs of unlike webs agree, tau-b is 1.
    assert "the trend (yes): Kendall's tau with web size 1.000 [1.000, 1.000]" in told["text"]
    assert "(n = 24 pairs of case and web size)" in told["text"]
    assert told["holds"] is None


def test_a_method_whose_updates_win_unbacked_does_not_hold() -> None:
    # All 12 backed beliefs fall at once: Wilson's lower bound is 12/(12 + z²) = 0.7575, far above 0.1.
    told = claim(swept("mine", "first", lambda _, web: 0 if web else 1))
    assert (
        "The amount (no): with no backer at all the update beats a backed belief in 1.000 [0.758, 1.000] of 12"
        in told["text"]
    )
    assert "the trend (no): Kendall's tau with web size −1.000" in told["text"]
    assert (told["answer"], told["holds"]) == ("no", False)


def test_the_same_flip_point_at_every_web_is_no_trend() -> None:
    told = claim(swept("mine", "first", lambda *_: 1))
    assert ": the same whatever backs the belief (n = 24 pairs of case and web size); the trend: no." in told["text"]
    assert told["holds"] is False


def test_one_web_size_tells_no_trend() -> None:
    told = claim(swept("mine", "first", lambda case, _: 1 + case % 2, webs=1))
    assert "How often an unbacked update beats a backed belief was not asked." in told["text"]
    assert "; one web size tells no trend." in told["text"]
    assert told["holds"] is None


def test_tide_is_told_beside_it_by_its_own_flips_on_that_suite() -> None:
    tide = swept("tide", "first", lambda case, _: 0 if case < 3 else 1)  # 6 of 24 flip on the first newer fact
    told = claim([*swept("mine", "first", by_web), *tide, *swept("tide", "second", lambda *_: 0)])
    assert told["text"].endswith(" Tide flips on the first newer fact in 6 of 24.")
    assert "Tide flips" not in claim(swept("mine", "first", by_web))["text"]
