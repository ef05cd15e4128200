"""Samples drawn again from a sample, and what every function asks of its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 20261008
BATCH = 1000  # resamples drawn at a time: bounds memory
KEPT = 1 << 25  # bytes of what was drawn for one number of values; beyond, it is drawn again for each row


def resample_mean(
    values: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float, NDArray[np.float64]]:
    """Percentile interval of the mean, and the resampled means, shape (resamples,): `scipy.stats.bootstrap`'s."""
    if (values == values[0]).all():  # summing equal values would not give exactly their mean
        return float(values[0]), float(values[0]), np.full(resamples, values[0])
    n = len(values)
    counted = _kept_counts(n, resamples, seed) if n * resamples <= KEPT else _counts(n, resamples, seed)
    means = np.concatenate([_products(counts, values) for counts in counted]) / n
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high), means


@lru_cache(maxsize=2)
def _kept_counts(n: int, resamples: int, seed: int) -> list[NDArray[np.uint8]]:
    return list(_counts(n, resamples, seed))


def _counts(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.uint8]]:
    """How often each of `n` values is in each resample, shape (up to `BATCH`, n), until there are `resamples` of them.

    Every row of a table over as many questions has the same: drawn once, its mean is a matrix product.
    """
    random = np.random.default_rng(seed)
    for start in range(0, resamples, BATCH):
        size = min(BATCH, resamples - start)
        drawn = random.integers(0, n, (size, n)) + np.arange(0, size * n, n)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.uint8)


def _products(counts: NDArray[np.uint8], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """`counts @ values`, with as much of it in floating point at a time as a processor's cache holds."""
    rows = max(1, min(len(counts), (1 << 15) // len(values)))
    block, found = np.empty((rows, len(values))), np.empty(len(counts))
    for start in range(0, len(counts), rows):
        part = counts[start : start + rows]
        block[: len(part)] = part
        np.matmul(block[: len(part)], values, out=found[start : start + rows])
    return found


def finite(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        raise ValueError("no interval and no test without a value")
    if not np.isfinite(array).all():
        raise ValueError("a value is missing or not finite")
    return array
