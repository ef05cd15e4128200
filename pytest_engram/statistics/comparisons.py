"""Two methods on the same questions: the difference, its interval, and a test; and the tests of many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_engram.statistics.intervals import wilson
from pytest_engram.statistics.resampling import SEED, finite, resample_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    low, high, means = resample_mean(differences, confidence, resamples, seed)
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


def _pairs(a: Sequence[float], b: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values against {len(b)}: not the same questions")
    return finite(a), finite(b)
