"""Statistics at the edge of what is defined, by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats as scipy_stats

from pytest_engram import statistics as stats


def test_tau_of_a_single_pair_is_undefined_and_of_two_values_is_not() -> None:
    with pytest.raises(ValueError, match=r"^Kendall's tau is undefined: all values of one side are equal$"):
        stats.kendall_tau([1], [2])
    for pairs in (([1, 1], [1, 2]), ([1, 2], [1, 1])):
        with pytest.raises(ValueError, match="undefined"):
            stats.kendall_tau(*pairs)
    # Two pairs that rise together: every resample with both values has tau 1, and the others have none.
    assert stats.kendall_tau([1, 2], [3, 5]) == (1.0, 1.0, 1.0)
    assert stats.kendall_tau([1, 2], [5, 3], resamples=0) == (-1.0, -1.0, -1.0)
    # Two values a side. One pair of pairs agrees, one is tied in x, one in y: 1 / sqrt(2 * 2).
    assert stats.kendall_tau([1, 1, 2], [1, 2, 2], resamples=0)[0] == pytest.approx(0.5, abs=1e-15)
    with pytest.raises(ValueError, match=r"^3 values against 2: not pairs$"):
        stats.kendall_tau([1, 2, 3], [1, 2])


def test_tau_of_two_clusters_by_hand() -> None:
    # Whole: 5 of 6 pairs agree, tau = 4/6. Without either cluster the other's two pairs agree: tau 1. The jackknife's
    # error is sqrt(1/2 * 2 * (1/3)^2) = 1/3; with one degree of freedom p = 2 * (1/2 - atan(2)/pi).
    tau, low, high, p = stats.kendall_tau_clusters([1, 2, 3, 4], [1, 3, 2, 4], ["a", "a", "b", "b"])
    assert tau == pytest.approx(2 / 3, abs=1e-15)
    assert p == pytest.approx(1 - 2 * math.atan(2) / math.pi, abs=1e-12)
    assert (low, high) == (-1.0, 1.0)  # 12.7 errors reach beyond what a tau can be


def test_tau_of_clusters_without_spread() -> None:
    alike = ["a", "a", "b", "b"]
    assert stats.kendall_tau_clusters([1, 2, 3, 4], [1, 2, 3, 4], alike) == (1.0, 1.0, 1.0, 0.0)
    # One pair of pairs agrees, one does not, in each cluster and in both: tau 0, without doubt.
    flat = stats.kendall_tau_clusters([1, 1, 2, 2] * 2, [1, 2, 1, 2] * 2, ["a"] * 4 + ["b"] * 4)
    assert flat == (0.0, 0.0, 0.0, 1.0)


def test_tau_of_three_clusters_equals_a_jackknife_by_hand() -> None:
    x, y = [1, 2, 3, 4, 5, 6], [1, 2, 4, 3, 6, 5]
    clusters = ["a", "a", "b", "b", "c", "c"]
    whole = scipy_stats.kendalltau(x, y).statistic
    assert whole == pytest.approx(11 / 15, abs=1e-15)  # 13 of 15 pairs agree
    # Without a: 4 of 6 agree, tau 1/3. Without b or c: 5 of 6, tau 2/3.
    error = math.sqrt(2 / 3 * ((1 / 3 - 11 / 15) ** 2 + 2 * (2 / 3 - 11 / 15) ** 2))
    tau, low, high, p = stats.kendall_tau_clusters(x, y, clusters, confidence=0.5)
    reach = scipy_stats.t(2).ppf(0.75) * error
    assert (tau, low, high) == pytest.approx((whole, whole - reach, min(1.0, whole + reach)), abs=1e-12)
    assert p == pytest.approx(2 * scipy_stats.t(2).sf(whole / error), abs=1e-12)


def test_an_interval_of_tau_is_of_ten_thousand_resamples_and_95_percent() -> None:
    x, y = list(range(12)), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    default = stats.kendall_tau(x, y)
    assert default == stats.kendall_tau(x, y, confidence=0.95, resamples=10_000, seed=20261008)
    assert default[0] == pytest.approx(scipy_stats.kendalltau(x, y).statistic, abs=1e-12)
    assert default[1:] != stats.kendall_tau(x, y, resamples=10_001)[1:]


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_bounds_of_nothing_and_of_everything_are_exact(confidence: float) -> None:
    for n in range(1, 300):
        assert stats.wilson(0, n, confidence)[0] == 0.0
        assert stats.wilson(n, n, confidence)[1] == 1.0
