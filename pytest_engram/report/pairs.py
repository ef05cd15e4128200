"""Paired comparisons of two methods on the same questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_engram import statistics as stats
from pytest_engram.report.log import Log, Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05  # below it, an adjusted p is significant
BASELINES = ("bm25", "dense")
TIDE, COUNT = "tide", "count"  # newest wins; the most often named wins
GRADED, IMPLIED = "gradual_override", "gradual_implied"
SOURCE = "factconsolidation"


class Shared(NamedTuple):
    """What two methods have on the questions that both were measured on, each array of shape (n,).

    `clusters` is what each question was drawn with, and `cluster` a noun for that; None where all were drawn alone.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    clusters: Sequence[Hashable] | None = None
    cluster: str | None = None


def recency_of(log: Log, method: str) -> str | None:
    """The ablation of a method that replaces its support with time, where one ran: `NAME-recency`."""
    sibling = f"{method.partition('-')[0]}-recency"
    return sibling if sibling in log.methods and sibling != method else None


def paired(log: Log) -> list[dict[str, Any]]:
    """Every method against the anchors, and each experiment against Tide and its own recency ablation.

    Where facts back a side, each experiment is compared with Count as well, and where facts are contradicted, Loom's
    recency ablation with Tide, which it should be.

    Two methods are compared once, whatever is named, and on all questions: not by category, and with disputed keys as
    they were published. Holm's adjustment is over the tests of a suite that the run is about: those of a named method.
    The others have no adjusted p.
    """
    named = set(log.manifest.get("named") or log.methods)
    rows: list[dict[str, Any]] = []
    for suite in log.suites:
        tests = [
            row
            for metric in log.metrics(suite)
            for method, baseline in _comparisons(log, suite, metric)
            if (row := _row(log, suite, metric, method, baseline)) is not None
        ]
        family = [row for row in tests if named.intersection((row["method"], row["baseline"]))]
        for row, p_holm in zip(family, stats.holm([row["p"] for row in family]), strict=True):
            row |= {"p_holm": p_holm, "first_step": smallest_at(row, ALPHA / len(family))}
        rows += tests
    return rows


def significant(row: Mapping[str, Any]) -> bool:
    """Whether a difference is more than chance: the one rule for words, colours, gates and exit codes."""
    return row["p_holm"] is not None and bool(row["p_holm"] < ALPHA)


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
            baselines += [TIDE, recency_of(log, method) or ""]
        if info["role"] == "experiment" and metric == "correct" and _is_backed(log, suite):
            baselines += [COUNT, sided_of(method)]
        if method == recency_of(log, "loom") and settles(log, suite, metric):
            baselines.append(TIDE)
        for baseline in baselines:
            if baseline in log.methods and baseline != method:
                yield method, baseline


def sided_of(method: str) -> str:
    """The name of a method's variant whose support asks which side a neighbour is nearer to."""
    return f"{method}-sided"


def _is_backed(log: Log, suite: str) -> bool:
    """Whether facts back one of two sides, so that the side that more of them name can be counted."""
    return bool(log.suites[suite].get("frontier")) or bool({suite, log.family(suite)} & {GRADED, IMPLIED})


def settles(log: Log, suite: str, metric: str) -> bool:
    """Whether a metric tells how conflicts are settled: on official data `resolved@k`, and in gradual override."""
    if log.kind(suite) == "micro":
        return log.family(suite) == GRADED and metric == "correct"
    return log.suites[suite].get("source") == SOURCE and metric.startswith("resolved@")


def _row(log: Log, suite: str, metric: str, method: str, baseline: str) -> dict[str, Any] | None:
    ours, theirs = log.measured(suite, method, metric), log.measured(suite, baseline, metric)
    both = shared(log, [(suite, ours, theirs)])
    if both is None:
        return None
    found = compare(both, binary=_is_binary(log, suite, metric, ours, theirs))
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
        "p_holm": None,
        "first_step": None,
        "status": status,
        "reason": reason,
    }


def compare(both: Shared, *, binary: bool) -> dict[str, Any]:
    """`a` minus `b`, question by question: exact McNemar for 0/1 values, else the paired bootstrap.

    Where questions were drawn together, signs of whole clusters are flipped instead.

    Returns:
        n, difference, its 95% interval as low and high (Newcombe's for 0/1 values, else the bootstrap's; by cluster,
        what the test does not reject), p, test, the noun and the number of the clusters, how many questions are better
        or worse, and the smallest difference that this test finds with 80% power: where as many questions differ as
        here, or where they spread as here.
    """
    a, b, clusters, cluster = both
    ours, theirs = a.tolist(), b.tolist()
    if clusters is not None:
        difference, low, high, p = stats.paired_clusters(ours, theirs, clusters)
        if binary and ours == theirs and len(set(clusters)) > 1:  # no flip tells how much it might have been
            _, low, high = stats.newcombe(ours, theirs)
    elif binary:
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
        "test": "sign flips" if clusters is not None else "mcnemar" if binary else "paired bootstrap",
        "cluster": cluster,
        "clusters": None if clusters is None else len(set(clusters)),
        "better": int((a > b).sum()),
        "worse": int((a < b).sum()),
        "smallest_difference": _smallest(both, binary=binary),
    }


def _smallest(both: Shared, *, binary: bool) -> float | None:
    differences, clusters, n = both.a - both.b, both.clusters, len(both.a)
    if clusters is not None:
        count = len(set(clusters))
        error = stats.cluster_error(differences.tolist(), clusters) if count > 1 else 0.0
        return stats.smallest_cluster_difference(error, count)
    if binary:
        return stats.smallest_difference(n, int((differences != 0).sum()))
    return stats.smallest_mean_difference(float(differences.std(ddof=1)), n) if n > 1 else None


def smallest_at(row: dict[str, Any], level: float) -> float | None:
    """What the test of a row finds with 80% power at another level than 0.05; None: nothing."""
    if row["test"] == "mcnemar":
        return stats.smallest_difference(row["n"], row["better"] + row["worse"], alpha=level)
    if row["smallest_difference"] is None:
        return None
    if row["clusters"] is not None:  # the error of the differences stays; the quantiles change
        at, usual = (stats.smallest_cluster_difference(1, row["clusters"], alpha=p) for p in (level, ALPHA))
        return row["smallest_difference"] * at / usual if at is not None and usual is not None else None
    # The level changes the normal quantiles alone; spread and n stay.
    wider = stats.smallest_mean_difference(1, 1, alpha=level) / stats.smallest_mean_difference(1, 1)
    return float(row["smallest_difference"] * wider)


def _is_binary(log: Log, suite: str, metric: str, *both: Measured) -> bool:
    # Means over several seeds are no 0/1 values any more.
    return log.binary(suite, metric) and all(m.values is not None and m.values.shape[1] == 1 for m in both)


def shared(log: Log, both: Sequence[tuple[str, Measured, Measured]]) -> Shared | None:
    """What two methods have on the same questions of some suites; None: there are none. Clusters are the log's."""
    import numpy as np

    a: list[float] = []
    b: list[float] = []
    drawn: list[Hashable] = []
    nouns: set[str | None] = set()
    for suite, ours, theirs in both:
        mine, other = ours.per_question(), theirs.per_question()
        known = [question for question in mine if question in other]
        clusters = log.clusters(suite, known)
        a += [mine[question] for question in known]
        b += [other[question] for question in known]
        drawn += [(suite, *clusters.get(question, (None, question))) for question in known]
        nouns.add(log.cluster(suite, known))
    if not a:
        return None
    if nouns == {None}:
        return Shared(np.array(a), np.array(b))
    return Shared(np.array(a), np.array(b), drawn, nouns.pop() if len(nouns) == 1 else "cluster")


def power(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smallest difference that the tests of a suite, metric and n could have found; of several, the largest.

    Of tests that have an adjusted p, where there are any: those are the ones that answer something.
    """
    tests: dict[tuple[str, str, int, str | None, int | None], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        tests[row["suite"], row["metric"], row["n"], row["cluster"], row["clusters"]].append(row)
    found = []
    for (suite, metric, n, cluster, clusters), those in sorted(tests.items(), key=lambda item: item[0][2]):
        family = [row for row in those if row["p_holm"] is not None] or those
        row = max(family, key=lambda row: math.inf if (size := row["smallest_difference"]) is None else size)
        found.append(
            {
                "suite": suite,
                "metric": metric,
                "n": n,
                "cluster": cluster,
                "clusters": clusters,
                "smallest_difference": row["smallest_difference"],
                "discordance": (row["better"] + row["worse"]) / n if row["test"] == "mcnemar" else None,
                "first_step": row["first_step"],
                "tests": sum(one["suite"] == suite and one["p_holm"] is not None for one in rows) or None,
            }
        )
    return found
