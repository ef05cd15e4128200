"""Intervals of 20 rows of 500 questions by 10,000 resamples, beside scipy.

    python -m benchmarks.resampling

Means that are no fractions of hits have the percentile interval of `scipy.stats.bootstrap`. Of questions that were
drawn together the interval is Student's t by cluster, as percentiles of few resampled clusters are too narrow: nothing
is drawn; their paired test flips the signs of clusters, and its peer is `scipy.stats.permutation_test`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measure import Row
from benchmarks.table import table
from pytest_engram.statistics.clusters import paired_clusters
from pytest_engram.statistics.resampling import SEED, _kept_counts, resample_mean

ROWS, QUESTIONS, CLUSTERS, RESAMPLES = 20, 500, 50, 10_000
LIMIT = 0.2

Found: TypeAlias = NDArray[np.float64]  # an interval or a p for each row


def rows(times: int = 5) -> Iterator[Row]:
    """The bootstrap, which has a limit, and the flips."""
    random = np.random.default_rng(SEED)
    values = random.random((ROWS, QUESTIONS))
    name = f"{RESAMPLES:,} resamples, {ROWS} rows x {QUESTIONS} questions"
    ours, peer = _in_turn(lambda: _bootstrap(values), lambda: _bootstrap_of_scipy(values), times, 1e-12)
    yield Row(name, "scipy.stats.bootstrap", ours, peer, ours / peer, LIMIT)
    ours, peer = _in_turn(lambda: _flips(values), lambda: _flips_of_scipy(values), times, 0.02)
    yield Row(f"{name}, signs of {CLUSTERS} clusters", "scipy.stats.permutation_test", ours, peer, ours / peer)


def _in_turn(ours: Callable[[], Found], peer: Callable[[], Found], times: int, within: float) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = [], []
    for _ in range(times):
        found = []
        for call, seconds in zip((ours, peer), took, strict=True):
            start = time.process_time()
            found.append(call())
            seconds.append(time.process_time() - start)
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=within)
    return min(took[0]), min(took[1])


def _bootstrap(values: NDArray[np.float64]) -> Found:
    _kept_counts.cache_clear()  # as in a run that has just begun
    return np.array([resample_mean(row, 0.95, RESAMPLES, SEED)[:2] for row in values])


def _bootstrap_of_scipy(values: NDArray[np.float64]) -> Found:
    found = (
        stats.bootstrap(
            (row,), np.mean, n_resamples=RESAMPLES, batch=1000, method="percentile", rng=np.random.default_rng(SEED)
        )
        for row in values
    )
    return np.array([(result.confidence_interval.low, result.confidence_interval.high) for result in found])


def _clusters() -> list[int]:
    return [question % CLUSTERS for question in range(QUESTIONS)]


def _flips(values: NDArray[np.float64]) -> Found:
    zero, clusters = [0.5] * QUESTIONS, _clusters()
    return np.array([paired_clusters(row.tolist(), zero, clusters, resamples=RESAMPLES)[3] for row in values])


def _flips_of_scipy(values: NDArray[np.float64]) -> Found:
    """Only p: scipy has no interval of this test. Each draws its own flips, so p agrees to chance."""
    sums = [np.bincount(_clusters(), row - 0.5) for row in values]
    found = (
        stats.permutation_test(
            (total,),
            np.sum,
            permutation_type="samples",
            n_resamples=RESAMPLES,
            vectorized=True,
            rng=np.random.default_rng(SEED),
        ).pvalue
        for total in sums
    )
    return np.array(list(found))


if __name__ == "__main__":
    print(table(list(rows())))
