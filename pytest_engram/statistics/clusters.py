"""Questions that were drawn together: what was drawn independently is the cluster, and chance goes by it.

Two figures, two rules. A mean has the interval of Student's t with one degree of freedom less than there are clusters,
around the cluster-robust standard error: percentiles of resampled clusters are too narrow where clusters are few
(Cameron, Gelbach and Miller, Review of Economics and Statistics 2008). A paired difference is tested by flipping the
signs of whole clusters, and its interval is what that test does not reject.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_engram.statistics.intervals import score_interval
from pytest_engram.statistics.resampling import BATCH, SEED, finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 16  # clusters up to which all flips of signs are looked at


def cluster_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Cluster-robust standard error of the mean.

    The root of `G / (G - 1) * sum over clusters of (sum of residuals)^2`, over n: the clustered error of Miller,
    "Adding error bars to evals" (arXiv:2411.00640), with the correction for few clusters of Cameron and Miller (Journal
    of Human Resources 2015). A least-squares regression on a constant alone has the same.

    Args:
        values: finite, shape (n,).
        clusters: what each value was drawn with, shape (n,).

    Returns:
        In the values' unit; 0.0 or more.

    Raises:
        ValueError: fewer than two clusters, no value, one that is not finite, or unequal lengths.
    """
    array, sums, sizes = _by_cluster(values, clusters)
    count = len(sums)
    if count < 2:
        raise ValueError("one cluster tells no spread")
    residuals = sums - array.mean() * sizes
    return math.sqrt(count / (count - 1) * float((residuals**2).sum())) / len(array)


def cluster_interval(
    values: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of a mean by cluster: "cluster t".

    Fractions have Wilson's score interval for the number of independent questions that would have this standard error,
    with Student's t in place of the normal quantile (Korn and Graubard, Survey Methodology 1998; Dean and Pagano,
    Journal of Survey Statistics and Methodology 2015): it stays in 0 to 1, and holds near both ends, where `mean ± t *
    error` does not. The error is never taken to be smaller than that of independent questions. Other values have
    `mean ± t * error`.

    Args:
        values: finite, shape (n,).
        clusters: what each value was drawn with, shape (n,).
        confidence: 0 to 1.

    Returns:
        Lower and upper bound.

    Raises:
        ValueError: as `cluster_error` does.
    """
    from scipy.special import stdtrit

    array, sums, _ = _by_cluster(values, clusters)
    n = len(array)
    error = max(cluster_error(values, clusters), float(array.std(ddof=1)) / math.sqrt(n))
    quantile = float(stdtrit(len(sums) - 1, (1 + confidence) / 2))
    mean = float(array.mean())
    if array.min() < 0 or array.max() > 1:
        return mean - quantile * error, mean + quantile * error
    if array.min() == array.max():
        return score_interval(mean * n, n, quantile) if mean in (0.0, 1.0) else (mean, mean)
    alone = mean * (1 - mean) / error**2  # so many independent questions would have this error
    return score_interval(mean * alone, alone, quantile)


def paired_clusters(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = SEED,
) -> tuple[float, float, float, float]:
    """Mean of `a - b` over the same questions, with interval and two-sided p by flipping the signs of clusters.

    p is the share of all flips of the clusters' summed differences whose sum is as far from zero as the observed one:
    exact up to 16 clusters; else of random flips, with the observed sum among them, and never below 2^(1 - m), where m
    clusters differ at all (Fisher's randomization test; with few clusters: Canay, Romano and Shaikh, Econometrica
    2017). The interval is every d for which the same test of `a - b - d` does not reject: zero lies in it just where p
    is not below `1 - confidence`. Of values in 0 to 1 it is cut to -1 to 1, which is all of it where clusters are too
    few for any flip to be rare.

    A flip is as far out as the observed sum just where d lies between the mean difference of the flipped clusters and
    that of the others, so that the bounds are order statistics of these, and nothing has to be searched.

    Args:
        a: finite, shape (n,), n at least 1.
        b: of the same questions in the same order, shape (n,).
        clusters: what each question was drawn with, shape (n,).
        confidence: 0 to 1, of the interval.
        resamples: how many random flips are drawn where there are too many to look at all.
        seed: of numpy's default generator.

    Returns:
        difference, low, high, p.

    Raises:
        ValueError: no pairs, unequal lengths, or a value that is not finite.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values against {len(b)}: not the same questions")
    ours, theirs = finite(a), finite(b)
    differences, sums, sizes = _by_cluster((ours - theirs).tolist(), clusters)
    order = np.lexsort((sizes, sums))  # neither names of clusters nor the order of questions change what is drawn
    sums, sizes = sums[order], sizes[order]
    flipped, counts = _all_flips(sums, sizes) if len(sums) <= EXACT else _some_flips(sums, sizes, resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = flipped / counts, (sums.sum() - flipped) / (sizes.sum() - counts)
    lows, highs = np.minimum(one, other).round(12), np.maximum(one, other).round(12)
    none = (counts == 0) | (counts == sizes.sum())  # all signs alike: the observed sum itself, whatever d is
    lows[none], highs[none] = -np.inf, np.inf

    p = float(((lows <= 0) & (highs >= 0)).mean())
    needed = math.ceil(round((1 - confidence) * len(lows), 9))  # flips as far out that keep a d
    low = float(np.partition(lows, needed - 1)[needed - 1]) if needed else -math.inf
    high = float(-np.partition(-highs, needed - 1)[needed - 1]) if needed else math.inf
    least = 2.0 ** (1 - int(np.count_nonzero(sums.round(12))))
    if least > p:
        p = min(1.0, least)
        if p >= 1 - confidence:
            low, high = min(low, 0.0), max(high, 0.0)
    if min(ours.min(), theirs.min()) >= 0 and max(ours.max(), theirs.max()) <= 1:
        low, high = max(low, -1.0), min(high, 1.0)
    return float(differences.mean()), low, high, p


def smallest_cluster_difference(error: float, clusters: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true difference that flipping the signs of clusters finds with this power, about.

    `(t_{1 - alpha/2} + t_{power}) * error` with one degree of freedom less than there are clusters: the minimum
    detectable effect of cluster-randomized trials (Bloom, Evaluation Review 1995).

    Args:
        error: `cluster_error` of the paired differences, in the metric's unit.
        clusters: how many there are.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        In the metric's unit, or None where there are so few clusters that no difference could be significant.
    """
    from scipy.special import stdtrit

    if clusters < 2 or 2.0 ** (1 - clusters) > alpha:
        return None
    return float(stdtrit(clusters - 1, 1 - alpha / 2) + stdtrit(clusters - 1, power)) * error


def _by_cluster(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The values, and by cluster, in the order of their first values, their sums and how many there are."""
    array = finite(values)
    if len(array) != len(clusters):
        raise ValueError(f"{len(array)} values of {len(clusters)} clusters: each value has one")
    numbers = {cluster: at for at, cluster in enumerate(dict.fromkeys(clusters))}
    place = np.array([numbers[cluster] for cluster in clusters])
    return array, np.bincount(place, array).astype(np.float64), np.bincount(place).astype(np.float64)


def _all_flips(
    sums: NDArray[np.float64], sizes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and number of values of every choice of clusters to flip; never the first, as a choice mirrors its rest."""
    flipped, counts = np.zeros(1), np.zeros(1)
    for total, size in zip(sums[1:], sizes[1:], strict=True):
        flipped, counts = np.concatenate([flipped, flipped + total]), np.concatenate([counts, counts + size])
    return flipped, counts


def _some_flips(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], resamples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same for random choices, the first of them none."""
    random, both = np.random.default_rng(seed), np.stack([sums, sizes], axis=1)
    batches = [min(BATCH, resamples - start) for start in range(0, resamples, BATCH)]
    drawn = [random.integers(0, 2, (size, len(sums))).astype(np.float64) @ both for size in batches]
    flipped, counts = np.concatenate([np.zeros((1, 2)), *drawn]).T
    return flipped, counts
