"""Log lines of a suite with a frontier, by hand: who is backed by how much, and which side came back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import runs
import statsmodels.api as sm
from scipy.stats import t

from pytest_engram.report.aggregate import aggregate
from pytest_engram.runs.outcome import Outcome

UNBACKED = "nothing is backed"
METRICS = ["correct", "followed", "resisted"]
ROLES = {
    "loom-recency": "ablation",
    "loom-distinct": "ablation",
    "tide": "control",
    "count": "control",
    "bm25": "anchor",
    "dense": "anchor",
}
LABELS = {"loom-recency": "Loom, recency", "loom-distinct": "Loom, distinct", "bm25": "BM25"}
WINNERS = {"newer": "update", "older": "belief"}


def line(
    method: str,
    question: str,
    winner: str,
    *,
    backed: str | None = None,
    b: int = 0,
    m: int = 0,
    relation: str = "sport",
    kind: str = "named",
    suite: str = "backed_fc",
    **more: Any,
) -> Outcome:
    """One item, judged: the metrics that its level has."""
    right = WINNERS.get(backed or "")
    metrics = {"correct": float(winner == right)} if b else {}
    if b >= 3 and backed:
        metrics[{"newer": "followed", "older": "resisted"}[backed]] = metrics["correct"]
    left_out = {name: UNBACKED if b == 0 else "another level's" for name in METRICS if name not in metrics}
    fields = {"relation": relation, "backed": backed, "b": b, "m": m, "kind": kind}
    fields["speakers"] = "one" if m else None
    return runs.outcome(
        question,
        None,
        method,
        suite,
        **{
            "metrics": metrics,
            "left_out": left_out,
            "winner": winner,
            "expected": right,
            "hit": metrics.get("correct") == 1.0 if metrics else None,
            "cluster": relation,
            "fields": fields,
            **more,
        },
    )


def results(outcomes: Sequence[Outcome], named: Sequence[str] = ("loom",), **suites: dict[str, Any]) -> dict[str, Any]:
    """Of a run with these lines. Whatever has `backed` in its fields is of a suite with a frontier."""
    facts = manifest(outcomes, named, **suites)
    return aggregate(outcomes, facts)


def manifest(outcomes: Sequence[Outcome], named: Sequence[str] = ("loom",), **suites: dict[str, Any]) -> dict[str, Any]:
    """Of such a run: the methods with the roles that the shipped ones have."""
    found = runs.manifest(outcomes, named=list(named))
    for name, info in found["methods"].items():
        info |= {"role": ROLES.get(name, "experiment"), "label": LABELS.get(name, info["label"])}
    for outcome in outcomes:
        if "backed" in outcome.fields:
            about = {"frontier": True, "metrics": METRICS, "cluster": "relation", "source": "backed_fc"}
            found["suites"][outcome.suite] |= about
    for name, about in suites.items():
        found["suites"].setdefault(name, {}).update(about)
    return found


LEVELS = [(0, 0), (1, 0), (3, 0), (5, 0), (3, 1), (3, 3), (3, 5)]


def swept(
    method: str,
    winner: Callable[[str | None, int, int, int], str],
    *,
    relations: int = 6,
    each: int = 4,
    kind: str = "named",
    suite: str = "backed_fc",
) -> list[Outcome]:
    """Every level of `each` contradictions of some relations, in both orders; half of each backs the older side.

    `winner` is given the side that is backed, b, m, and the number of the contradiction.
    """
    return [
        line(
            method,
            f"{suite}-r{relation}-c{at}-b{b}-m{m}-{order}",
            winner(backed if b else None, b, m, relation * each + at),
            backed=backed if b else None,
            b=b,
            m=m,
            relation=f"r{relation}",
            kind=kind,
            suite=suite,
        )
        for relation in range(relations)
        for at in range(each)
        for backed in [("older", "newer")[at % 2]]
        for b, m in LEVELS
        for order in ("ab", "ba")
    ]


def by_cluster(values: list[float], clusters: list[str]) -> tuple[float, float]:
    """Korn and Graubard's interval of a share: statsmodels' clustered error, scipy's t, Wilson's formula."""
    y = np.array(values)
    groups = np.unique(clusters, return_inverse=True)[1]
    n, mean, count = len(y), y.mean(), len(set(clusters))
    fit = sm.OLS(y, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True})
    # statsmodels also has (n - 1) / (n - k), which is 1 for a constant alone.
    error = max(float(fit.bse[0]), float(y.std(ddof=1)) / math.sqrt(n))
    alone, z = mean * (1 - mean) / error**2, float(t.ppf(0.975, count - 1))
    middle = (mean + z**2 / (2 * alone)) / (1 + z**2 / alone)
    half = z / (1 + z**2 / alone) * math.sqrt(mean * (1 - mean) / alone + z**2 / (4 * alone**2))
    return middle - half, middle + half
