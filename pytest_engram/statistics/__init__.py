"""An interval for every number and a paired test for every comparison.

Nothing is computed from nothing: without a single value, every function raises `ValueError`. The same seed gives the
same result. Quantiles and tails of distributions are those of `scipy.special`, imported by the functions that need
them: `scipy.stats`, which the tests compare with, takes longer to import than a pilot set to run.
"""

from __future__ import annotations

from pytest_engram.statistics.accuracy import Estimate, Undefined, Verdicts, ppi_mean, rogan_gladen, youden
from pytest_engram.statistics.clusters import (
    cluster_error,
    cluster_interval,
    paired_clusters,
    smallest_cluster_difference,
)
from pytest_engram.statistics.comparisons import holm, mcnemar, newcombe, paired_bootstrap
from pytest_engram.statistics.intervals import bootstrap, wilson
from pytest_engram.statistics.power import smallest_difference, smallest_mean_difference
from pytest_engram.statistics.rank import kendall_tau, kendall_tau_clusters
from pytest_engram.statistics.resampling import SEED

__all__ = [
    "SEED",
    "Estimate",
    "Undefined",
    "Verdicts",
    "bootstrap",
    "cluster_error",
    "cluster_interval",
    "holm",
    "kendall_tau",
    "kendall_tau_clusters",
    "mcnemar",
    "newcombe",
    "paired_bootstrap",
    "paired_clusters",
    "ppi_mean",
    "rogan_gladen",
    "smallest_cluster_difference",
    "smallest_difference",
    "smallest_mean_difference",
    "wilson",
    "youden",
]
