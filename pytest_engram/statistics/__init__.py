"""An interval for every number and a paired test for every comparison.

Nothing is computed from nothing: without a single value, every function raises `ValueError`. The same seed gives the
same result. Quantiles and tails of distributions are those of `scipy.special`, imported by the functions that need
them: `scipy.stats`, which the tests compare with, takes longer to import than a pilot set to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20261008
_BATCH = 1000  # resamples drawn at a time: bounds memory


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson, JASA 1927), without continuity correction.

    Args:
        successes: how many of `n` were hits.
        n: at least 1.
        confidence: 0 to 1.

    Returns:
        Lower and upper bound, 0 to 1.

    Raises:
        ValueError: `n` is 0, or `successes` is not in 0 to `n`.
    """
    from scipy.special import ndtri

    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no proportion")
    z = float(ndtri((1 + confidence) / 2))
    centre = successes + z**2 / 2
    half = z * math.sqrt(successes * (n - successes) / n + z**2 / 4)
    # The bounds of nothing and of everything are exactly 0 and 1; only rounding says otherwise.
    low = 0.0 if successes == 0 else (centre - half) / (n + z**2)
    high = 1.0 if successes == n else (centre + half) / (n + z**2)
    return low, high


def bootstrap(
    values: Sequence[float], confidence: float = 0.95, resamples: int = 10_000, seed: int = SEED
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron and Tibshirani 1993, chapter 13).

    Percentile and not BCa, so that it never leaves the values' range, and is defined where all of them are equal.

    Args:
        values: finite, shape (n,), n at least 1.
        confidence: 0 to 1.
        resamples: how many samples of n are drawn, with replacement.
        seed: of numpy's default generator.

    Returns:
        Lower and upper bound. Where all values are equal, one value alone among them, both are that value: a resample
        can not know of any other.

    Raises:
        ValueError: there is no value, or one that is not finite.
    """
    array = _finite(values)
    low, high, _ = _resample_mean(array, confidence, resamples, seed)
    return low, high


def newcombe(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Difference of two proportions on the same questions, with Newcombe's score interval.

    Method 10 of Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data" (Statistics in Medicine 17, 1998): the two Wilson intervals, joined with the correlation of the pairs.
    A bootstrap would give an interval of width 0 wherever no question tells the two apart; ten questions without a
    difference do not prove that there is none.

    Args:
        a: 0 or 1 for each question, shape (n,).
        b: of the same questions in the same order, shape (n,).
        confidence: 0 to 1.

    Returns:
        Mean of `a` minus mean of `b`, and the interval's lower and upper bound, -1 to 1.

    Raises:
        ValueError: there is no pair, the lengths differ, or a value is neither 0 nor 1.
    """
    first, second = _pairs(a, b)
    if not np.isin(np.concatenate([first, second]), (0.0, 1.0)).all():
        raise ValueError("a proportion is of values that are 0 or 1")
    n = len(first)
    both, only_a, only_b = (int(((first == x) & (second == y)).sum()) for x, y in ((1, 1), (1, 0), (0, 1)))
    neither = n - both - only_a - only_b
    cross = float(both * neither - only_a * only_b)
    if cross > 0:
        cross = max(cross - n / 2, 0)  # the paper's correction for continuity
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    phi = cross / np.sqrt(margins) if margins else 0.0
    p_a, p_b = (both + only_a) / n, (both + only_b) / n
    (low_a, high_a), (low_b, high_b) = wilson(both + only_a, n, confidence), wilson(both + only_b, n, confidence)
    below, above = p_a - low_a, high_b - p_b
    down = np.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    below, above = high_a - p_a, p_b - low_b
    up = np.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    difference = (only_a - only_b) / n
    return difference, float(difference - down), float(difference + up)


def mcnemar(a: Sequence[float], b: Sequence[float]) -> float:
    """Exact two-sided p of McNemar's test (Psychometrika 1947): the binomial test over the discordant pairs.

    Args:
        a: 0 or 1 for each question, shape (n,).
        b: of the same questions in the same order, shape (n,).

    Returns:
        p, 0 to 1; 1.0 where no pair is discordant.

    Raises:
        ValueError: no pairs, unequal lengths, or a value that is neither 0 nor 1.
    """
    from scipy.special import bdtr

    first, second = _pairs(a, b)
    if not np.isin([first, second], (0, 1)).all():
        raise ValueError("McNemar's test takes 0 and 1 only")
    gained, lost = int((first > second).sum()), int((first < second).sum())
    return min(1.0, 2 * float(bdtr(min(gained, lost), gained + lost, 0.5)))


def paired_bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = SEED,
) -> tuple[float, float, float, float]:
    """Mean of `a - b` over the same questions, its percentile bootstrap interval, and a two-sided p.

    p is twice the smaller share of resampled means at or beyond zero, the observed sample counted with them (Davison
    and Hinkley 1997, chapter 4), so that it agrees with the interval. It is never below 2^(1 - m), where m pairs differ
    at all: what an exact sign test finds if all of them point one way. Otherwise two or three differing questions,
    which a resample can not doubt, would look significant.

    Args:
        a: finite, shape (n,), n at least 1.
        b: of the same questions in the same order, shape (n,).
        confidence: 0 to 1, of the interval.
        resamples: how many samples of n are drawn, with replacement.
        seed: of numpy's default generator.

    Returns:
        difference, low, high, p.

    Raises:
        ValueError: no pairs, unequal lengths, or a value that is not finite.
    """
    first, second = _pairs(a, b)
    differences = first - second
    low, high, means = _resample_mean(differences, confidence, resamples, seed)
    means = means.round(12)  # sums that cancel are zero, whatever the order of summation left of them
    beyond = min(int((means <= 0).sum()), int((means >= 0).sum()))
    least = 2.0 ** (1 - int(np.count_nonzero(differences)))
    p = min(1.0, max(2 * (1 + beyond) / (1 + means.size), least))
    return float(differences.mean()), low, high, p


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (Scandinavian Journal of Statistics 1979), in the order of `p_values`."""
    p = np.asarray(p_values, dtype=float)
    order = p.argsort(kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)).clip(max=1.0)
    return [float(value) for value in adjusted]


def kendall_tau(
    x: Sequence[float],
    y: Sequence[float],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = SEED,
) -> tuple[float, float, float]:
    """Kendall's tau-b (Biometrika 1945) and its percentile bootstrap interval over pairs.

    Args:
        x: shape (n,), n at least 2; only the order matters, so infinity is a value like any other.
        y: shape (n,).
        confidence: 0 to 1.
        resamples: how many samples of n pairs are drawn. Those in which tau is undefined are left out.
        seed: of numpy's default generator.

    Returns:
        tau, low, high; each in -1 to 1.

    Raises:
        ValueError: unequal lengths, or tau is undefined, because all of `x` or all of `y` are equal.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} values against {len(y)}: not pairs")
    if len(set(x)) < 2 or len(set(y)) < 2:
        raise ValueError("Kendall's tau is undefined: all values of one side are equal")
    # Ranks, because the difference of two infinities has no sign. Equal pairs are counted together.
    ranks = np.array([np.unique(values, return_inverse=True)[1] for values in (x, y)])
    (ranks_x, ranks_y), pair = np.unique(ranks, axis=1, return_inverse=True)

    # A resample is how often it holds each pair; concordance is then a quadratic form in these counts. All sums are of
    # whole numbers far below 2^53, so that no order of summation changes them.
    n, different = len(x), ranks_x.size
    drawn = np.random.default_rng(seed).integers(0, n, (resamples, n))
    drawn = np.vstack([np.arange(n), drawn])  # the observed sample first
    places = pair.ravel()[drawn] + np.arange(len(drawn))[:, None] * different
    weights = np.bincount(places.ravel(), minlength=len(drawn) * different).reshape(-1, different).astype(float)
    order_x = np.sign(np.subtract.outer(ranks_x, ranks_x))
    order_y = np.sign(np.subtract.outer(ranks_y, ranks_y))
    concordance = _quadratic(weights, order_x * order_y)
    untied = _quadratic(weights, abs(order_x)) * _quadratic(weights, abs(order_y))
    taus = concordance[untied > 0] / np.sqrt(untied[untied > 0])
    low, high = np.quantile(taus[1:], [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(taus[0]), float(low), float(high)


def smallest_difference(n: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true difference of two proportions that the exact McNemar test at n pairs finds with this power.

    Under the assumption most favourable to the test: the better method loses no question that the other one has, so
    that every discordant pair points one way. Then the number of discordant pairs is binomial with the difference as
    its probability, and the test is significant from the smallest m with 2 * 0.5^m <= alpha on. Differences that go
    both ways need a larger one (Connor, Biometrics 1987; for benchmarks of language: Card et al., EMNLP 2020).

    Args:
        n: number of questions.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        0 to 1, or None where n is so small that no difference could be significant.
    """
    from scipy.special import betaincinv

    needed = int(np.ceil(1 - np.log2(alpha)))
    if n < needed:
        return None
    # P(Binomial(n, d) >= needed) = P(Beta(needed, n - needed + 1) <= d)
    return float(betaincinv(needed, n - needed + 1, power))


def smallest_mean_difference(sd: float, n: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The same for a paired test of means: `(z_{1 - alpha/2} + z_{power}) * sd / sqrt(n)`, the normal approximation.

    Args:
        sd: standard deviation of the paired differences, in the metric's unit.
        n: number of questions, at least 1.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        In the metric's unit. Source: Cohen 1988, chapter 2; as used by Card et al., EMNLP 2020.
    """
    from scipy.special import ndtri

    if n < 1:
        raise ValueError("no smallest difference without a value: n is 0")
    return float((ndtri(1 - alpha / 2) + ndtri(power)) * sd / np.sqrt(n))


def _resample_mean(
    values: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float, NDArray[np.float64]]:
    """Percentile interval of the mean, and the resampled means, shape (resamples,): `scipy.stats.bootstrap`'s."""
    if (values == values[0]).all():  # summing equal values would not give exactly their mean
        return float(values[0]), float(values[0]), np.full(resamples, values[0])
    random, n = np.random.default_rng(seed), len(values)
    sizes = [min(_BATCH, resamples - start) for start in range(0, resamples, _BATCH)]
    means = np.concatenate([values[random.integers(0, n, (size, n))].mean(axis=1) for size in sizes])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high), means


def _quadratic(weights: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = ((weights @ matrix) * weights).sum(axis=1)
    return products


def _pairs(a: Sequence[float], b: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values against {len(b)}: not the same questions")
    return _finite(a), _finite(b)


def _finite(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        raise ValueError("no interval and no test without a value")
    if not np.isfinite(array).all():
        raise ValueError("a value is missing or not finite")
    return array
