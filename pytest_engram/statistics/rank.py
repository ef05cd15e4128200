"""Whether two things rise together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_engram.statistics.resampling import SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        resamples: how many samples of n pairs are drawn. Those in which tau is undefined are left out. 0: no interval
            is wanted, and both bounds are tau.
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
    tau = float(taus[0])
    if not resamples:
        return tau, tau, tau
    low, high = np.quantile(taus[1:], [(1 - confidence) / 2, (1 + confidence) / 2])
    return tau, float(low), float(high)


def kendall_tau_clusters(
    x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> tuple[float, float, float, float]:
    """Kendall's tau-b, and its interval and two-sided p by cluster.

    Each cluster is left out once; the spread of what is left gives the error, and Student's t with one degree of
    freedom less than there are clusters the rest (the cluster jackknife: Cameron and Miller, Journal of Human Resources
    2015, VI.B). Zero lies outside the interval just where p is below `1 - confidence`.

    Args:
        x: shape (n,); only the order matters, so infinity is a value like any other.
        y: shape (n,).
        clusters: what each pair was drawn with, shape (n,).
        confidence: 0 to 1.

    Returns:
        tau, low, high, p; the first three in -1 to 1.

    Raises:
        ValueError: unequal lengths, or tau is undefined for all pairs or without one of the clusters, or there are
            fewer than two.
    """
    from scipy.special import stdtr, stdtrit

    names = list(dict.fromkeys(clusters))
    if len(names) < 2:
        raise ValueError("one cluster tells no spread")
    kept = [range(len(x)), *([at for at, name in enumerate(clusters) if name != out] for out in names)]
    tau, *without = (kendall_tau([x[at] for at in some], [y[at] for at in some], resamples=0)[0] for some in kept)
    freedom = len(names) - 1
    error = float(np.sqrt(freedom / len(names) * sum((left - tau) ** 2 for left in without)))
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(tau) / error)) if error else float(tau == 0)
    return tau, max(-1.0, tau - reach), min(1.0, tau + reach), p


def _quadratic(weights: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = ((weights @ matrix) * weights).sum(axis=1)
    return products
