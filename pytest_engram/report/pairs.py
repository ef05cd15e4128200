"""Paired comparisons of two methods on the same questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_engram import statistics as stats
from pytest_engram.report.log import Log, Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05  # below it, an adjusted p is significant
BASELINES = ("bm25", "dense")
GRADED = "gradual_override"


def recency_of(log: Log, method: str) -> str | None:
    """The ablation of a method that replaces its support with time, where one ran: `NAME-recency`."""
    sibling = f"{method.partition('-')[0]}-recency"
    return sibling if sibling in log.methods and sibling != method else None


def paired(log: Log) -> list[dict[str, Any]]:
    """Every method against the anchors, and each experiment against Tide and its own recency ablation.

    Two methods are compared once, whatever is named. Holm's adjustment is over all tests of a suite.
    """
    rows: list[dict[str, Any]] = []
    for suite in log.suites:
        tests = [
            row
            for metric in log.metrics(suite)
            for method, baseline in _comparisons(log, suite, metric)
            if (row := _row(log, suite, metric, method, baseline)) is not None
        ]
        adjusted = stats.holm([row["p"] for row in tests])
        rows += [{**row, "p_holm": p_holm} for row, p_holm in zip(tests, adjusted, strict=True)]
    return rows


def _comparisons(log: Log, suite: str, metric: str) -> Iterator[tuple[str, str]]:
    """Method and baseline. Where each would be the other's baseline, the one that was named first is the method."""
    named = {name: at for at, name in enumerate(log.manifest.get("named") or ())}
    place = {name: (named.get(name, len(named)), at) for at, name in enumerate(log.methods)}
    wanted = list(dict.fromkeys(_wanted(log, suite, metric)))
    for method, baseline in wanted:
        # A test and its mirror image are one: as two, Holm's adjustment would count it twice.
        if (baseline, method) not in wanted or place[method] < place[baseline]:
            yield method, baseline


def _wanted(log: Log, suite: str, metric: str) -> Iterator[tuple[str, str]]:
    pilot = log.kind(suite) == "pilot"
    for method, info in log.methods.items():
        baselines: list[str] = []
        if pilot and (info["role"] != "anchor" or info["named"]):
            baselines += BASELINES
        if info["role"] == "experiment" and (pilot or (log.family(suite) == GRADED and metric == "correct")):
            baselines += ["tide", recency_of(log, method) or ""]
        for baseline in baselines:
            if baseline in log.methods and baseline != method:
                yield method, baseline


def _row(log: Log, suite: str, metric: str, method: str, baseline: str) -> dict[str, Any] | None:
    ours, theirs = log.measured(suite, method, metric), log.measured(suite, baseline, metric)
    a, b = _aligned([(ours, theirs)])
    if a is None or b is None:
        return None
    found = compare(a, b, binary=_is_binary(log, suite, metric, ours, theirs))
    status, reason = max(
        ((m.status, m.reason) for m in (ours, theirs)), key=lambda s: ("ok", "partial", "covers").index(s[0])
    )
    return {
        "method": method,
        "label": log.label(method),
        "baseline": baseline,
        "baseline_label": log.label(baseline),
        "suite": suite,
        "metric": metric,
        **found,
        "status": status,
        "reason": reason,
    }


def pooled(log: Log, cells: Sequence[tuple[str, str]], method: str, baseline: str) -> dict[str, Any] | None:
    """One comparison over the questions of several (suite, metric), or None where nothing can be compared."""
    both = [(log.measured(s, method, m), log.measured(s, baseline, m)) for s, m in cells]
    usable = [
        (cell, pair) for cell, pair in zip(cells, both, strict=True) if {p.status for p in pair} <= {"ok", "partial"}
    ]
    a, b = _aligned([pair for _, pair in usable])
    if a is None or b is None:
        return None
    binary = all(_is_binary(log, *cell, *pair) for cell, pair in usable)
    partial = any(p.status == "partial" for _, pair in usable for p in pair)
    return {**compare(a, b, binary=binary), "cells": [cell for cell, _ in usable], "partial": partial}


def compare(a: NDArray[np.float64], b: NDArray[np.float64], *, binary: bool) -> dict[str, Any]:
    """`a` minus `b`, question by question: exact McNemar for 0/1 values, else the paired bootstrap.

    Returns:
        n, difference, its 95% interval as low and high (Newcombe's for 0/1 values, else the bootstrap's), p, test, how
        many questions are better or worse, and the smallest difference that this test finds with 80% power.
    """
    ours, theirs = a.tolist(), b.tolist()
    if binary:
        difference, low, high = stats.newcombe(ours, theirs)
        p = stats.mcnemar(ours, theirs)
    else:
        difference, low, high, p = stats.paired_bootstrap(ours, theirs)
    return {
        "n": len(a),
        "difference": float(difference),
        "low": float(low),
        "high": float(high),
        "p": float(p),
        "test": "mcnemar" if binary else "paired bootstrap",
        "better": int((a > b).sum()),
        "worse": int((a < b).sum()),
        "smallest_difference": (
            stats.smallest_difference(len(a))
            if binary
            else stats.smallest_mean_difference(float((a - b).std(ddof=1)), len(a))
            if len(a) > 1
            else None
        ),
    }


def smallest_at(row: dict[str, Any], level: float) -> float | None:
    """What the test of a row finds with 80% power at another level than 0.05; None: nothing."""
    if row["test"] == "mcnemar":
        return stats.smallest_difference(row["n"], alpha=level)
    if row["smallest_difference"] is None:
        return None
    # The level changes the normal quantiles alone; spread and n stay.
    wider = stats.smallest_mean_difference(1, 1, alpha=level) / stats.smallest_mean_difference(1, 1)
    return float(row["smallest_difference"] * wider)


def _is_binary(log: Log, suite: str, metric: str, *both: Measured) -> bool:
    # Means over several seeds are no 0/1 values any more.
    return log.binary(suite, metric) and all(m.values is not None and m.values.shape[1] == 1 for m in both)


def _aligned(
    both: Sequence[tuple[Measured, Measured]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | tuple[None, None]:
    import numpy as np

    a: list[float] = []
    b: list[float] = []
    for ours, theirs in both:
        mine, other = ours.per_question(), theirs.per_question()
        shared = [question for question in mine if question in other]
        a += [mine[question] for question in shared]
        b += [other[question] for question in shared]
    return (np.array(a), np.array(b)) if a else (None, None)


def power(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smallest difference that the tests of a suite, metric and n could have found; of several, the largest."""
    sizes: dict[tuple[str, str, int], list[float | None]] = defaultdict(list)
    for row in rows:
        sizes[row["suite"], row["metric"], row["n"]].append(row["smallest_difference"])
    return [
        {
            "suite": suite,
            "metric": metric,
            "n": n,
            "smallest_difference": None if None in found else max(value for value in found if value is not None),
        }
        for (suite, metric, n), found in sorted(sizes.items(), key=lambda item: item[0][2])
    ]
