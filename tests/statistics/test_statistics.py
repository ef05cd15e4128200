"""Statistics against scipy, statsmodels, exact enumeration and hand calculations."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats import contingency_tables, multitest, power, proportion

from pytest_engram import statistics as stats

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
@settings(deadline=None)
def test_wilson_equals_statsmodels(case: tuple[int, int], confidence: float) -> None:
    successes, n = case
    expected = proportion.proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    assert stats.wilson(successes, n, confidence) == pytest.approx(expected, abs=1e-12)


def test_wilson_by_hand() -> None:
    # Centre (39 + z²/2) / (100 + z²), half-width z / (100 + z²) * sqrt(39 * 61 / 100 + z² / 4), z = 1.959964.
    assert stats.wilson(39, 100) == pytest.approx((0.30019, 0.48795), abs=1e-4)
    assert stats.wilson(0, 10)[0] == 0.0
    assert stats.wilson(10, 10)[1] == 1.0


@pytest.mark.parametrize("case", [(0, 0), (5, 4), (-1, 4)])
def test_wilson_refuses_what_is_no_proportion(case: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is no proportion"):
        stats.wilson(*case)


def test_bootstrap_is_near_the_exact_distribution_of_resampled_means() -> None:
    values = [0.0, 0.3, 0.5, 1.0, 0.9]
    exact = sorted(sum(sample) / 5 for sample in itertools.product(values, repeat=5))  # all 3125 resamples
    low, high = stats.bootstrap(values)
    assert low == pytest.approx(np.quantile(exact, 0.025), abs=0.02)
    assert high == pytest.approx(np.quantile(exact, 0.975), abs=0.02)


def test_bootstrap_of_many_values_nears_the_normal_interval() -> None:
    values = np.random.default_rng(3).beta(2, 3, 400)
    half = 1.959964 * values.std() / math.sqrt(400)
    assert stats.bootstrap(values) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.002)


@pytest.mark.parametrize("n", [2, 100, 499])
def test_bootstrap_equals_scipy_with_the_same_generator(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    expected = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", batch=1000, rng=np.random.default_rng(stats.SEED)
    ).confidence_interval
    assert stats.bootstrap(values.tolist()) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_bootstrap_repeats_and_stays_among_the_values(values: list[float]) -> None:
    low, high = stats.bootstrap(values, resamples=200)
    assert (low, high) == stats.bootstrap(values, resamples=200)
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12


@pytest.mark.parametrize("values", [[0.1] * 7, [0.7], [1.0] * 500])
def test_bootstrap_of_equal_values_is_that_value(values: list[float]) -> None:
    assert stats.bootstrap(values) == (values[0], values[0])


def test_bootstrap_depends_on_seed_and_confidence() -> None:
    values = list(np.random.default_rng(1).random(50))
    assert stats.bootstrap(values, seed=1) != stats.bootstrap(values, seed=2)
    narrow, wide = stats.bootstrap(values, confidence=0.5), stats.bootstrap(values, confidence=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("values", [[], [0.5, math.nan], [0.5, None], [math.inf, 1.0]])
def test_bootstrap_refuses_no_values_and_missing_ones(values: list[float]) -> None:
    with pytest.raises(ValueError, match="value"):
        stats.bootstrap(values)


@given(BITS)
@settings(deadline=None)
def test_mcnemar_equals_statsmodels(pairs: list[tuple[int, int]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    table = np.zeros((2, 2))
    np.add.at(table, (a, b), 1)
    expected = contingency_tables.mcnemar(table, exact=True).pvalue if table[0, 1] + table[1, 0] else 1.0
    assert stats.mcnemar(a, b) == pytest.approx(expected, abs=1e-12)


def test_mcnemar_by_hand() -> None:
    assert stats.mcnemar([1] * 6, [0] * 6) == pytest.approx(2 / 2**6)
    # 1 against 4 of 5 discordant pairs: 2 * (1 + 5) / 32.
    assert stats.mcnemar([1, 0, 0, 0, 0, 1], [0, 1, 1, 1, 1, 1]) == pytest.approx(0.375)
    assert stats.mcnemar([True, False], [True, False]) == 1.0


@pytest.mark.parametrize("test", [stats.mcnemar, stats.paired_bootstrap])
def test_paired_tests_refuse_what_is_not_paired(test) -> None:
    with pytest.raises(ValueError, match="3 values against 2: not the same questions"):
        test([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="without a value"):
        test([], [])


def test_mcnemar_refuses_other_than_0_and_1() -> None:
    with pytest.raises(ValueError, match="0 and 1 only"):
        stats.mcnemar([0.5, 1], [0, 1])


def test_paired_bootstrap_agrees_with_a_permutation_test() -> None:
    rng = np.random.default_rng(7)
    for shift in (0.0, 0.03, 0.08):
        b = rng.random(120)
        a = b + rng.normal(shift, 0.2, 120)
        difference, low, high, p = stats.paired_bootstrap(a, b)
        expected = scipy_stats.permutation_test(
            (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", rng=np.random.default_rng(1)
        )
        assert difference == pytest.approx(expected.statistic)
        assert p == pytest.approx(expected.pvalue, abs=0.02)
        assert (p < 0.05) is not (low <= 0 <= high)


@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 0.63, 1]), st.sampled_from([0, 0.5, 1])), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_paired_bootstrap_is_the_same_from_the_other_side(pairs: list[tuple[float, float]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    difference, low, high, p = stats.paired_bootstrap(a, b, resamples=300)
    assert stats.paired_bootstrap(b, a, resamples=300) == pytest.approx((-difference, -high, -low, p), abs=1e-9)
    assert p >= min(1, 2 * 0.5 ** sum(x != y for x, y in pairs))  # no smaller than the exact sign test can go


def test_paired_bootstrap_without_a_difference() -> None:
    assert stats.paired_bootstrap([0.3, 0.7, 0.1], [0.3, 0.7, 0.1]) == (0, 0, 0, 1)
    assert stats.paired_bootstrap([1.0], [0.5]) == (0.5, 0.5, 0.5, 1.0)  # one question proves nothing


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=20, deadline=None)
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    assert stats.holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_of_nothing() -> None:
    assert stats.holm([]) == []


def test_kendall_tau_and_its_interval_equal_resampling_with_scipy() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(1, 5, 30)
    y = x + rng.integers(0, 4, 30)
    tau, low, high = stats.kendall_tau(x, y, resamples=400, seed=9)
    assert tau == pytest.approx(scipy_stats.kendalltau(x, y).statistic, abs=1e-12)
    drawn = np.random.default_rng(9).integers(0, 30, (400, 30))
    taus = [scipy_stats.kendalltau(x[sample], y[sample]).statistic for sample in drawn]
    assert (low, high) == pytest.approx(np.nanquantile(taus, [0.025, 0.975]), abs=1e-12)


def test_kendall_tau_by_hand() -> None:
    assert stats.kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])[0] == pytest.approx((5 - 1) / 6)
    assert stats.kendall_tau([1, 2, 3], [5, 6, math.inf]) == (1, 1, 1)  # never flipped: later than any


def test_kendall_tau_by_cluster_equals_a_jackknife_with_scipy() -> None:
    random = np.random.default_rng(4)
    clusters = [f"t{number // 9}" for number in range(54)]
    x, y = random.integers(0, 6, 54), random.integers(0, 6, 54) + random.integers(0, 4, 6).repeat(9)
    tau, low, high, p = stats.kendall_tau_clusters(x.tolist(), y.tolist(), clusters)
    whole = scipy_stats.kendalltau(x, y).statistic
    without = [
        scipy_stats.kendalltau(np.delete(x, slice(at, at + 9)), np.delete(y, slice(at, at + 9))).statistic
        for at in range(0, 54, 9)
    ]
    error = math.sqrt(5 / 6 * sum((left - whole) ** 2 for left in without))
    reach = scipy_stats.t.ppf(0.975, 5) * error
    assert (tau, low, high) == pytest.approx((whole, whole - reach, whole + reach), abs=1e-12)
    assert p == pytest.approx(2 * scipy_stats.t.sf(abs(whole) / error, 5))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), min_size=6, max_size=30))
def test_interval_and_p_of_a_clustered_tau_agree(rows: list[tuple[int, int, int]]) -> None:
    x, y, clusters = (list(column) for column in zip(*rows, strict=True))
    try:
        tau, low, high, p = stats.kendall_tau_clusters(x, y, clusters)
    except ValueError:
        return  # undefined, or one cluster: nothing to agree on
    assert -1 <= low <= tau <= high <= 1
    if abs(p - 0.05) > 1e-9:
        assert (p < 0.05) == (low > 0 or high < 0)


def test_one_cluster_has_no_trend() -> None:
    with pytest.raises(ValueError, match="one cluster"):
        stats.kendall_tau_clusters([1, 2, 3], [1, 2, 3], ["a", "a", "a"])


@pytest.mark.parametrize("pairs", [([], []), ([1], [1]), ([1, 2, 3], [4, 4, 4])])
def test_kendall_tau_refuses_where_it_is_undefined(pairs: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="undefined"):
        stats.kendall_tau(*pairs)


@pytest.mark.parametrize("n", [6, 20, 100, 419])
def test_smallest_difference_has_just_the_power_by_enumeration(n: int) -> None:
    d = stats.smallest_difference(n)
    assert d is not None
    # Every discordant pair is a gain: add up the probability of each count at which the exact test is significant.
    found = sum(
        math.comb(n, m) * d**m * (1 - d) ** (n - m)
        for m in range(1, n + 1)
        if scipy_stats.binomtest(m, m).pvalue <= 0.05
    )
    assert found == pytest.approx(0.8, abs=1e-9)


def test_smallest_difference_by_hand() -> None:
    assert stats.smallest_difference(5) is None  # 2 / 2^5 > 0.05: not even five of five
    assert stats.smallest_difference(6) == pytest.approx(0.8 ** (1 / 6))  # all six must differ
    # 2 * 0.5^3 is exactly alpha, and so significant.
    assert stats.smallest_difference(3, power=0.5, alpha=0.25) == pytest.approx(0.5 ** (1 / 3))


def found_in(n: int, share: float, difference: float, alpha: float) -> float:
    """How often exact McNemar finds a difference: every number of pairs that differ, and every way they may point."""
    gain = (1 + difference / share) / 2
    return math.fsum(
        scipy_stats.binom.pmf(m, n, share)
        * math.fsum(
            scipy_stats.binom.pmf(worse, m, 1 - gain)
            for worse in range(m // 2 + 1)
            if worse < m - worse and scipy_stats.binomtest(worse, m).pvalue <= alpha
        )
        for m in range(1, n + 1)
    )


@pytest.mark.parametrize(("n", "discordant", "alpha"), [(40, 20, 0.05), (60, 15, 0.05 / 4), (36, 36, 0.05)])
def test_smallest_difference_for_the_pairs_that_were_seen_to_differ_by_enumeration(
    n: int, discordant: int, alpha: float
) -> None:
    d = stats.smallest_difference(n, discordant, alpha=alpha)
    assert d is not None
    assert d < discordant / n
    assert found_in(n, discordant / n, d, alpha) == pytest.approx(0.8, abs=1e-9)


def test_smallest_difference_for_the_pairs_that_were_seen_to_differ_by_simulation() -> None:
    n, share = 100, 0.3
    d = stats.smallest_difference(n, 30)
    assert d is not None
    rng = np.random.default_rng(11)
    tables = rng.multinomial(n, [(share + d) / 2, (share - d) / 2, 1 - share], 4000)
    ps = {
        (better, worse): contingency_tables.mcnemar([[0, better], [worse, 0]], exact=True).pvalue
        for better, worse in {(int(b), int(w)) for b, w, _ in tables}
    }
    found = sum(ps[int(b), int(w)] < 0.05 and b > w for b, w, _ in tables) / len(tables)
    assert found == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / 4000))


def test_smallest_difference_where_too_few_differ_is_that_of_the_best_case() -> None:
    """A difference can't be larger than the share that differs: more must differ, and all of them one way."""
    best = stats.smallest_difference(100)
    assert best is not None
    assert scipy_stats.binom.sf(5, 100, best) == pytest.approx(0.8)  # 2 * 0.5^6 is the first below 0.05
    assert stats.smallest_difference(100, 3) == best
    assert stats.smallest_difference(5, 5) is None
    sizes = [stats.smallest_difference(100, differing) for differing in range(0, 101, 4)]
    assert sizes == sorted(sizes, key=lambda size: size or 0.0)


@pytest.mark.parametrize("discordant", [-1, 11])
def test_no_more_pairs_differ_than_there_are(discordant: int) -> None:
    with pytest.raises(ValueError, match="of 10 pairs"):
        stats.smallest_difference(10, discordant)


@pytest.mark.parametrize("n", [30, 100, 500])
def test_smallest_mean_difference_equals_statsmodels(n: int) -> None:
    effect = power.NormalIndPower().solve_power(nobs1=n, ratio=0, power=0.8, alpha=0.05)
    assert stats.smallest_mean_difference(0.3, n) == pytest.approx(0.3 * effect, rel=1e-4)


def test_importing_it_leaves_scipy_alone() -> None:
    code = "import sys, pytest_engram.statistics; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), pp. 2635-2650, Table II, method 10.
        ((36, 12, 2, 0), 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.0562, 0.3292),
        ((18, 14, 0, 18), 0.1441, 0.3963),
    ],
)
def test_newcombe_gives_the_published_intervals(table: tuple[int, ...], low: float, high: float) -> None:
    both, only_a, only_b, neither = table
    a = [1] * (both + only_a) + [0] * (only_b + neither)
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
    found = stats.newcombe(a, b)
    assert found == pytest.approx(((only_a - only_b) / sum(table), low, high), abs=5e-5)


def test_no_difference_on_a_hundred_questions_is_no_proof_that_there_is_none() -> None:
    low, high = stats.wilson(100, 100)
    assert stats.newcombe([1] * 100, [1] * 100) == pytest.approx((0.0, low - high, high - low))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_newcombe_is_antisymmetric_and_holds_the_difference(pairs: list[tuple[bool, bool]]) -> None:
    a, b = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    difference, low, high = stats.newcombe(a, b)
    assert -1 <= low <= difference <= high <= 1
    assert (-difference, -high, -low) == pytest.approx(stats.newcombe(b, a))


def test_newcombe_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    shares = [0.3, 0.12, 0.06, 0.52]
    covered = 0
    for both, only_a, only_b, neither in rng.multinomial(100, shares, size=400).tolist():
        a = [1] * (both + only_a) + [0] * (only_b + neither)
        b = [1] * both + [0] * only_a + [1] * only_b + [0] * neither
        _, low, high = stats.newcombe(a, b)
        covered += low <= 0.06 <= high
    assert 0.92 <= covered / 400 <= 0.98


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 0]), ([0.5], [1])])
def test_newcombe_takes_pairs_of_0_and_1_alone(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        stats.newcombe(a, b)
