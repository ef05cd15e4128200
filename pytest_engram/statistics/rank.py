"""Whether two things rise together."""

from __future__ import annotations

from collections.abc import Sequence
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


def _quadratic(weights: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = ((weights @ matrix) * weights).sum(axis=1)
    return products
