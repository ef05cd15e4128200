"""The bounds of a metric that its scale does not tell: what the best k entries get, and one answer to all questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from pytest_engram.judging import locomo
from pytest_engram.suites.base import Key, Suite, parse_metric
from pytest_engram.suites.locomo.protocol import NOT_MENTIONED, Evidence

if TYPE_CHECKING:
    from pytest_engram.suites.base import Gold


def best_recall(evidence: Sequence[str], there: Collection[str], k: int) -> float:
    """The largest share of the evidence that any k entries have.

    Args:
        evidence: ids, each as often as the benchmark names it; at least one.
        there: those that the haystack has.
        k: number of entries.
    """
    counts = Counter(id_ for id_ in evidence if id_ in there)
    return sum(times for _, times in counts.most_common(k)) / len(evidence)


def ceilings(suite: Suite, key: Key, k: int) -> Mapping[str, float]:
    """By metric, the best that k entries get on average: of `recall@N`, where a share of the evidence counts.

    Of other metrics of ids, one entry that answers is enough, or all must be there: a question's `ceiling` tells.
    """
    found: dict[str, list[float]] = {}
    for question in suite.runnable() if key.family is None else ():
        gold: Gold = key.gold(question.id)
        for name in key.metrics:
            base, depth = parse_metric(name)
            known = base == "recall" and (depth is None or depth <= k)  # deeper than k, nothing is measured
            if known and not gold.excluded and base not in gold.left_out:
                evidence = gold.detail.ids if isinstance(gold.detail, Evidence) else list(gold.relevant)
                if evidence:
                    found.setdefault(name, []).append(best_recall(evidence, gold.relevant, min(k, depth or k)))
    return {name: mean(values) for name, values in found.items()}


def constant(suite: Suite, key: Key) -> tuple[str, Mapping[str, float]] | None:
    """What a reader gets that says the same to every question, and by metric its mean; None where no answer is meant.

    LoCoMo has such an answer: its adversarial questions are answered by saying that nothing was mentioned. SubEM has
    none, because no one answer is right more than now and then.
    """
    f1: list[float] = []
    for question in suite.runnable() if "f1" in key.metrics else ():
        gold: Gold = key.gold(question.id)
        if gold.prompt.get("category") is not None and "f1" not in gold.left_out:
            f1.append(locomo.f1(NOT_MENTIONED, gold.answers, gold.prompt["category"]))
    return (NOT_MENTIONED, {"f1": mean(f1)}) if f1 else None
