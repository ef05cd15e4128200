"""What goes by cluster, against statsmodels, scipy, Miller's formula and the enumeration of every flip of signs."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from pytest_engram import statistics as stats

GRADES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0])
DRAWN = st.lists(st.tuples(GRADES, GRADES, st.integers(0, 6)), min_size=2, max_size=40)
CLUSTERED = DRAWN.filter(lambda drawn: len({cluster for *_, cluster in drawn}) > 1)
Drawn = list[tuple[float, float, int]]


def apart(drawn: Drawn) -> tuple[list[float], list[float], list[int]]:
    a, b, clusters = (list(column) for column in zip(*drawn, strict=True))
    return a, b, clusters  # type: ignore[return-value]


def sample(count: int, size: int, share: float, spread: float, seed: int) -> tuple[list[float], list[int]]:
    """Hits in clusters whose own shares differ."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(max(1, size // 2), 2 * size, count)
    shares = rng.beta(share * (1 - spread) / spread, (1 - share) * (1 - spread) / spread, count)
    values = [float(v) for s, n in zip(shares, sizes, strict=True) for v in rng.random(n) < s]
    return values, [cluster for cluster, n in enumerate(sizes) for _ in range(n)]


@given(CLUSTERED)
@settings(deadline=None, max_examples=50)
def test_the_error_is_that_of_statsmodels_regression_on_a_constant(drawn: Drawn) -> None:
    values, _, clusters = apart(drawn)
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": np.array(clusters)})
    assert stats.cluster_error(values, clusters) == pytest.approx(float(fit.bse[0]), abs=1e-12)


def test_the_error_is_that_of_miller_s_formula() -> None:
    # SE² = SE²(CLT) + 1/n² * the sum over clusters, and over pairs of different questions in them, of the products of
    # their residuals; SE²(CLT) is the mean squared residual over n. Here with his G / (G - 1) for few clusters.
    values, clusters = [1.0, 1, 0, 1, 0, 0, 0.5], ["a", "a", "a", "b", "b", "c", "c"]
    mean = sum(values) / 7
    apart_ = sum((v - mean) ** 2 for v in values) / 7 / 7
    together = sum(
        (values[i] - mean) * (values[j] - mean)
        for i, j in itertools.permutations(range(7), 2)
        if clusters[i] == clusters[j]
    )
    assert stats.cluster_error(values, clusters) == pytest.approx(math.sqrt(3 / 2 * (apart_ + together / 49)))


def test_the_error_by_hand() -> None:
    # Mean 1/2; the clusters' residuals sum to 1 and -1: sqrt(2 / 1 * 2) / 4.
    assert stats.cluster_error([1, 1, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(0.5)
    assert stats.cluster_error([1, 0, 1, 0], ["a", "a", "b", "b"]) == 0


@pytest.mark.parametrize("function", [stats.cluster_error, stats.cluster_interval])
def test_one_cluster_has_no_spread_and_no_interval(function) -> None:
    with pytest.raises(ValueError, match="one cluster"):
        function([0.0, 1.0, 1.0], ["a", "a", "a"])
    with pytest.raises(ValueError, match="2 values of 1 clusters"):
        function([0.0, 1.0], ["a"])
    with pytest.raises(ValueError, match="without a value"):
        function([], [])


def test_the_interval_solves_the_score_equation_with_student_s_t() -> None:
    """Wilson's bounds are those p that lie t of their own standard errors from the share, and so are these."""
    values, clusters = sample(10, 20, 0.8, 0.2, seed=3)
    error, share = stats.cluster_error(values, clusters), sum(values) / len(values)
    alone = share * (1 - share) / error**2
    assert alone < len(values) / 2  # the clusters tell
    for bound in stats.cluster_interval(values, clusters):
        distance = abs(share - bound) / math.sqrt(bound * (1 - bound) / alone)
        assert distance == pytest.approx(scipy_stats.t.ppf(0.975, 9))


def test_values_that_are_no_fractions_have_the_symmetric_interval() -> None:
    values, clusters = [12.0, 40.0, 33.0, 80.0, 75.0, 10.0], [0, 0, 1, 1, 2, 2]
    half = scipy_stats.t.ppf(0.975, 2) * max(stats.cluster_error(values, clusters), scipy_stats.sem(values))
    low, high = stats.cluster_interval(values, clusters)
    assert (low, high) == pytest.approx((np.mean(values) - half, np.mean(values) + half))


@given(CLUSTERED, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_the_interval_knows_neither_names_nor_order(drawn: Drawn, order: random.Random) -> None:
    values, _, clusters = apart(drawn)
    low, high = stats.cluster_interval(values, clusters)
    mean = sum(values) / len(values)
    assert -1e-12 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1 + 1e-12
    shuffled = list(zip(values, [f"c{9 - c}" for c in clusters], strict=True))
    order.shuffle(shuffled)
    assert stats.cluster_interval(*zip(*shuffled, strict=True)) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(("hits", "n"), [(150, 300), (291, 300), (300, 300), (0, 300)])
def test_clusters_of_one_question_are_nearly_the_plain_interval(hits: int, n: int) -> None:
    values = [1.0] * hits + [0.0] * (n - hits)
    assert stats.cluster_interval(values, range(n)) == pytest.approx(stats.wilson(hits, n), abs=0.001)


def test_questions_that_go_together_widen_it_and_spreading_over_clusters_never_narrows_it() -> None:
    together = [1.0] * 30 + [0.0] * 30
    clusters = [at // 10 for at in range(60)]
    low, high = stats.cluster_interval(together, clusters)
    assert high - low > 2 * (stats.wilson(30, 60)[1] - stats.wilson(30, 60)[0])
    evenly = [1.0, 0.0] * 30  # every cluster has half of its questions: their spread says less than chance would
    low, high = stats.cluster_interval(evenly, clusters)
    assert high - low > stats.wilson(30, 60)[1] - stats.wilson(30, 60)[0]


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_holds_where_the_plain_one_and_the_percentiles_do_not(share: float) -> None:
    """Ten clusters of unequal size, as LoCoMo has them, whose own shares vary."""
    held = {"by cluster": 0, "plain": 0, "percentiles": 0}
    draw = np.random.default_rng(5).multinomial(10, [0.1] * 10, 1000)
    for seed in range(300):
        values, clusters = sample(10, 20, share, 0.1, seed)
        sums, sizes = np.bincount(clusters, values), np.bincount(clusters)
        bounds = {
            "by cluster": stats.cluster_interval(values, clusters),
            "plain": stats.wilson(int(sum(values)), len(values)),
            "percentiles": np.quantile((draw @ sums) / (draw @ sizes), [0.025, 0.975]),
        }
        for name, (low, high) in bounds.items():
            held[name] += low <= share <= high
    assert held["by cluster"] >= 0.92 * 300
    assert held["plain"] < 0.75 * 300
    assert held["percentiles"] < held["by cluster"] - 0.03 * 300


def by_all_flips(a: list[float], b: list[float], clusters: list[int], shift: float = 0.0) -> float:
    """The share of all flips as far out, by every flip of signs, one after the other."""
    names = sorted(set(clusters))
    sums = [sum(x - y - shift for x, y, c in zip(a, b, clusters, strict=True) if c == name) for name in names]
    seen = abs(sum(sums))
    flips = list(itertools.product([1, -1], repeat=len(sums)))
    return sum(abs(sum(s * v for s, v in zip(f, sums, strict=True))) >= seen - 1e-9 for f in flips) / len(flips)


@given(DRAWN)
@settings(deadline=None, max_examples=60)
def test_p_is_the_share_of_all_flips(drawn: Drawn) -> None:
    a, b, clusters = apart(drawn)
    difference, low, high, p = stats.paired_clusters(a, b, clusters)
    assert difference == pytest.approx(np.mean(a) - np.mean(b))
    assert p == pytest.approx(by_all_flips(a, b, clusters))
    assert (p < 0.05) is not (low <= 0 <= high)  # the interval and the test say the same
    sums = [sum(x - y for x, y, c in drawn if c == name) for name in set(clusters)]
    assert p >= min(1, 2.0 ** (1 - sum(abs(s) > 1e-9 for s in sums))) - 1e-12


@given(DRAWN)
@settings(deadline=None, max_examples=40)
def test_the_interval_is_what_the_test_does_not_reject(drawn: Drawn) -> None:
    a, b, clusters = apart(drawn)
    difference, low, high, _ = stats.paired_clusters(a, b, clusters, confidence=0.9)
    assert -1 <= low <= difference + 1e-9
    assert difference - 1e-9 <= high <= 1
    inside = [low + share * (high - low) for share in (0.001, 0.3, 0.7, 0.999)] if high - low > 1e-6 else []
    assert all(by_all_flips(a, b, clusters, shift) >= 0.1 for shift in inside)
    outside = [low - 1e-6] * (low > -1) + [high + 1e-6] * (high < 1)
    assert all(by_all_flips(a, b, clusters, shift) < 0.1 for shift in outside)


def test_p_equals_scipy_s_permutation_test_of_the_clusters_sums() -> None:
    rng = np.random.default_rng(8)
    clusters = np.repeat(np.arange(9), 12)
    for shift in (0.0, 0.08, 0.2):
        b = rng.random(108)
        a = b + rng.normal(shift, 0.3, 108) + np.repeat(rng.normal(0, 0.1, 9), 12)
        sums = np.bincount(clusters, a - b)
        expected = scipy_stats.permutation_test(
            (sums, np.zeros(9)), lambda x, y, axis: (x - y).sum(axis=axis), permutation_type="samples", n_resamples=1e5
        )
        found = stats.paired_clusters(a.tolist(), b.tolist(), clusters.tolist())
        assert found[3] == pytest.approx(expected.pvalue, abs=1e-9)


def test_flips_by_hand() -> None:
    # Six clusters, all for a: 2 of 64 flips are as far out. Five are too few for any flip to be rare.
    assert stats.paired_clusters([1] * 6, [0] * 6, range(6)) == (1, 1, 1, pytest.approx(2 / 64))
    assert stats.paired_clusters([1] * 5, [0] * 5, range(5)) == (1, -1, 1, pytest.approx(2 / 32))
    assert stats.paired_clusters([1, 1, 0], [0, 0, 0], ["a", "a", "a"]) == (pytest.approx(2 / 3), -1, 1, 1)
    assert stats.paired_clusters([0.5] * 9, [0.5] * 9, range(9)) == (0, 0, 0, 1)


def test_many_clusters_are_flipped_at_random_and_near_the_exact_answer() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), 5)
    sign = []
    for shift in (0.0, 0.05, 0.09, 0.2):
        b = rng.random(200)
        a = b + rng.normal(shift, 0.3, 200)
        difference, low, high, p = stats.paired_clusters(a.tolist(), b.tolist(), clusters.tolist())
        # Normal approximation of the sum of 40 symmetric terms.
        sums = np.bincount(clusters, a - b)
        z = abs(sums.sum()) / math.sqrt((sums**2).sum())
        assert p == pytest.approx(2 * scipy_stats.norm.sf(z), abs=0.02)
        half = scipy_stats.t.ppf(0.975, 39) * stats.cluster_error((a - b).tolist(), clusters.tolist())
        assert (low, high) == pytest.approx((difference - half, difference + half), abs=0.015)
        sign.append(p < 0.05)
        assert (p < 0.05) is not (low <= 0 <= high)
    assert sign[0] is False
    assert sign[-1] is True


def test_few_differing_clusters_among_many_are_no_evidence() -> None:
    a = [1.0] * 4 + [0.0] * 96
    _, low, high, p = stats.paired_clusters(a, [0.0] * 100, range(100))
    assert p >= 2 * 0.5**4
    assert low <= 0 < high
    assert stats.paired_clusters([1.0] * 8 + [0.0] * 92, [0.0] * 100, range(100))[3] < 0.05


@given(CLUSTERED, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_the_paired_test_knows_neither_sides_nor_names_nor_order(drawn: Drawn, order: random.Random) -> None:
    a, b, clusters = apart(drawn)
    difference, low, high, p = stats.paired_clusters(a, b, clusters)
    assert stats.paired_clusters(b, a, clusters) == pytest.approx((-difference, -high, -low, p), abs=1e-9)
    shuffled = [(x, y, f"c{9 - c}") for x, y, c in drawn]
    order.shuffle(shuffled)
    assert stats.paired_clusters(*zip(*shuffled, strict=True)) == pytest.approx((difference, low, high, p), abs=1e-9)


def test_random_flips_know_neither_names_nor_order() -> None:
    rng = np.random.default_rng(2)
    a, b, clusters = rng.random(200).tolist(), rng.random(200).tolist(), [at % 30 for at in range(200)]
    found = stats.paired_clusters(a, b, clusters)
    order = rng.permutation(200)
    again = stats.paired_clusters([a[i] for i in order], [b[i] for i in order], [f"c{29 - clusters[i]}" for i in order])
    assert again == pytest.approx(found, abs=1e-9)
    assert stats.paired_clusters(a, b, clusters, seed=1)[3] != found[3]


def test_the_test_by_cluster_keeps_its_level_where_mcnemar_s_does_not() -> None:
    """Two methods that are equally good, each of them better in some conversations."""
    rejected = {"clusters": 0, "mcnemar": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lean = np.repeat(rng.normal(0, 0.25, 10), 30)
        a, b = (rng.random(300) < 0.5 + lean).astype(float).tolist(), (rng.random(300) < 0.5).astype(float).tolist()
        rejected["clusters"] += stats.paired_clusters(a, b, [at // 30 for at in range(300)])[3] < 0.05
        rejected["mcnemar"] += stats.mcnemar(a, b) < 0.05
    assert rejected["clusters"] <= 0.05 * 200 + 3 * math.sqrt(200 * 0.05 * 0.95)
    assert rejected["mcnemar"] > 0.2 * 200


def test_the_smallest_difference_has_about_the_power_by_simulation() -> None:
    d = stats.smallest_cluster_difference(0.05, 10)
    assert d == pytest.approx((2.26216 + 0.88340) * 0.05, abs=1e-5)  # t of 9 degrees of freedom at .975 and .8
    rng, found = np.random.default_rng(6), 0
    for _ in range(400):
        means = rng.normal(d, 0.05 * math.sqrt(10), 10)  # the mean of ten has an error of .05
        found += stats.paired_clusters(means.tolist(), [0.0] * 10, range(10))[3] < 0.05
    assert found / 400 == pytest.approx(0.8, abs=0.06)


def test_too_few_clusters_find_nothing() -> None:
    assert stats.smallest_cluster_difference(0.05, 5) is None  # 2 / 2^5 > 0.05
    assert stats.smallest_cluster_difference(0.05, 6) is not None
    assert stats.smallest_cluster_difference(0.05, 10, alpha=0.001) is None  # 2 / 2^10
    assert stats.smallest_cluster_difference(0.05, 1) is None
    assert stats.smallest_cluster_difference(0.0, 10) == 0


@pytest.mark.parametrize(("a", "b", "told"), [([1], [1, 0], "not the same"), ([], [], "without a value")])
def test_what_is_not_paired_is_refused(a: list[float], b: list[float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        stats.paired_clusters(a, b, ["a"] * len(a))
