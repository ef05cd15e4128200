"""Samples drawn again from a sample, and what every function asks of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20261008
BATCH = 1000  # resamples drawn at a time: bounds memory


def resample_mean(
    values: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float, NDArray[np.float64]]:
    """Percentile interval of the mean, and the resampled means, shape (resamples,): `scipy.stats.bootstrap`'s."""
    if (values == values[0]).all():  # summing equal values would not give exactly their mean
        return float(values[0]), float(values[0]), np.full(resamples, values[0])
    random, n = np.random.default_rng(seed), len(values)
    sizes = [min(BATCH, resamples - start) for start in range(0, resamples, BATCH)]
    means = np.concatenate([values[random.integers(0, n, (size, n))].mean(axis=1) for size in sizes])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high), means


def finite(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        raise ValueError("no interval and no test without a value")
    if not np.isfinite(array).all():
        raise ValueError("a value is missing or not finite")
    return array
