"""The interval of a mean over questions, by what they were drawn with: the same in every table and plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_engram import statistics as stats
from pytest_engram.report.log import Drawn, Log, wilson

Row = dict[str, Any]


def estimate(log: Log, suite: str, values: Mapping[str, float], *, binary: bool) -> Row:
    """Of the mean of values by question.

    Args:
        log: of the run.
        suite: whose questions they are.
        values: by question id; at least one.
        binary: whether each is 0 or 1.

    Returns:
        value, and its 95% interval: low, high and the interval's name; where questions were drawn together, cluster (a
        noun) and clusters (how many). Questions of one cluster tell no spread, and have no interval.
    """
    import numpy as np

    single, drawn = list(values.values()), log.clusters(suite, values.keys())
    value = float(np.mean(single))
    if not drawn:
        low, high = wilson(int(sum(single)), len(single)) if binary else stats.bootstrap(single)
        return {"value": value, "low": low, "high": high, "interval": "wilson" if binary else "bootstrap"}
    clusters: list[Drawn] = [drawn[question] for question in values]
    found = {"value": value, "cluster": log.noun(suite), "clusters": len(set(clusters))}
    if found["clusters"] == 1:
        return found
    low, high = stats.cluster_interval(single, clusters)
    return {**found, "low": low, "high": high, "interval": "cluster t"}
