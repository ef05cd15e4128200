"""An interval for every number and a paired test for every comparison.

Nothing is computed from nothing: without a single value, every function raises `ValueError`. The same seed gives the
same result. Quantiles and tails of distributions are those of `scipy.special`, imported by the functions that need
them: `scipy.stats`, which the tests compare with, takes longer to import than a pilot set to run.
"""

from __future__ import annotations

from pytest_engram.statistics.comparisons import holm, mcnemar, newcombe, paired_bootstrap
from pytest_engram.statistics.intervals import bootstrap, wilson
from pytest_engram.statistics.power import smallest_difference, smallest_mean_difference
from pytest_engram.statistics.rank import kendall_tau
from pytest_engram.statistics.resampling import SEED

__all__ = [
    "SEED",
    "bootstrap",
    "holm",
    "kendall_tau",
    "mcnemar",
    "newcombe",
    "paired_bootstrap",
    "smallest_difference",
    "smallest_mean_difference",
    "wilson",
]
