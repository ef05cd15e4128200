"""The interval of one number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_engram.statistics.resampling import SEED, finite, resample_mean


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
    return score_interval(successes, n, float(ndtri((1 + confidence) / 2)))


def score_interval(successes: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's interval for a quantile; `n`, the number of independent questions, need be no whole number."""
    centre = successes + quantile**2 / 2
    half = quantile * math.sqrt(successes * (n - successes) / n + quantile**2 / 4)
    # The bounds of nothing and of everything are exactly 0 and 1; only rounding says otherwise.
    low = 0.0 if successes == 0 else (centre - half) / (n + quantile**2)
    high = 1.0 if successes == n else (centre + half) / (n + quantile**2)
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
    array = finite(values)
    low, high, _ = resample_mean(array, confidence, resamples, seed)
    return low, high
