"""The benchmarks' own metrics: recall and NDCG of LongMemEval and LoCoMo, MemoryAgentBench's SubEM, answer in top k.

LoCoMo's F1, which needs a stemmer, is in `judging.locomo`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.basics.texts import contains, normalise, searchable


def recall_any(ids: Sequence[str], gold: Collection[str], k: int) -> float:
    """1.0 where any of the gold ids is among the first `k` ids, else 0.0; 0.0 without gold.

    LongMemEval (Wu et al., ICLR 2025), `recall_any` of its retrieval evaluation.
    """
    return float(not set(gold).isdisjoint(_first(ids, k)))


def recall_all(ids: Sequence[str], gold: Collection[str], k: int) -> float:
    """1.0 where all of the gold ids are among the first `k` ids, else 0.0; 1.0 without gold, as in the official code.

    LongMemEval (Wu et al., ICLR 2025), `recall_all` of its retrieval evaluation.
    """
    return float(set(gold).issubset(_first(ids, k)))


def recall(ids: Sequence[str], evidence: Sequence[str], k: int) -> float:
    """The share of the evidence that is among the first `k` ids; 1.0 without evidence, as in the official code.

    LoCoMo (Maharana et al., ACL 2024), `recall_acc` of its evaluation. Evidence that stands twice counts twice, and
    what names no entry is never found.
    """
    found = set(_first(ids, k))
    return sum(named in found for named in evidence) / len(evidence) if evidence else 1.0


def ndcg_any(ids: Sequence[str], gold: Collection[str], k: int, haystack: Iterable[str] | None = None) -> float:
    """LongMemEval's NDCG: `DCG = rel_1 + sum_{i=2}^{k} rel_i / log2(i)`, over the DCG of the best possible order.

    Not the textbook's: the second place is discounted by log2(2) = 1, so it costs nothing. A relevance is 0 or 1. The
    ideal order sorts the relevance of every entry of the haystack, an id that stands in it twice counting twice.

    Args:
        ids: official ids in ranked order.
        gold: the relevant ids; one that stands in the haystack several times may be repeated as often.
        k: cut-off of both sums.
        haystack: the official ids of all entries, with their repetitions. Without it, the haystack is taken to be the
            smallest that holds `ids` and `gold`: the same value, where `ids` is the whole ranking, or at least `k`
            of it with `gold` repeated as in the haystack.

    Returns:
        0.0 to 1.0; 0.0 where the haystack has no gold.
    """
    relevant = set(gold)
    found = [id_ in relevant for id_ in _first(ids, k)]
    if haystack is None:
        returned = Counter(ids)
        returned.subtract(gold)
        missing = [id_ for id_, count in returned.items() for _ in range(-count)]
        haystack = [*ids, *missing]
    ideal = _dcg(sorted((id_ in relevant for id_ in haystack), reverse=True)[:k])
    return float(_dcg(found) / ideal) if ideal else 0.0


def ndcg(ids: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """The textbook's NDCG: `DCG = sum_{i=1}^{k} rel_i / log2(i + 1)`, over the DCG of the best possible order.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002, in the form of
    trec_eval's `ndcg_cut`, which BEIR reports: the gain is the grade itself. An id that stands twice counts once.

    Args:
        ids: in ranked order.
        grades: by id, above 0; of whatever is relevant, returned or not.
        k: cut-off of both sums.

    Returns:
        0.0 to 1.0; 0.0 where nothing is relevant.
    """
    first = dict.fromkeys(_first(ids, k))
    gains = [grades.get(id_, 0) for id_ in first]
    ideal = _discounted(sorted(grades.values(), reverse=True)[:k])
    return _discounted(gains) / ideal if ideal else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def _dcg(relevances: Sequence[bool]) -> np.float64:
    # The zeros matter too: numpy's order of summation, and so the last digit, depends on the array's length.
    gains: NDArray[np.float64] = np.asarray(relevances, dtype=np.float64)
    if not gains.size:
        return np.float64(0)
    discounts = np.log2(np.arange(2, gains.size + 1))
    return np.float64(gains[0] + np.sum(gains[1:] / discounts))


def _first(ids: Sequence[str], k: int) -> Sequence[str]:
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    return ids[:k]


def sub_em(prediction: str, answers: Iterable[str]) -> bool:
    """Whether any accepted answer is a substring of the prediction, both normalised.

    MemoryAgentBench (Hu et al., 2025), `substring_exact_match`, best over the accepted answers. An answer with nothing
    left after normalisation never counts as found (officially it would always).
    """
    return contains(normalise(prediction), answers)


def answer_at(texts: Sequence[str], answers: Iterable[str], k: int) -> bool:
    """Whether any of the first `k` texts contains an accepted answer, compared as `sub_em` does."""
    return contains(searchable(_first(texts, k)), answers)
