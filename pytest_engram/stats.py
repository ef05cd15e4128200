"""Intervals and paired tests, for scripts; defined in `pytest_engram.statistics`."""

from pytest_engram.statistics import bootstrap, mcnemar, paired_bootstrap, wilson

__all__ = ["bootstrap", "mcnemar", "paired_bootstrap", "wilson"]
