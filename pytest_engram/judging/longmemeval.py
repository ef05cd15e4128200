"""How LongMemEval scores a ranking: its own recall and NDCG, at session and at turn granularity.

Source: Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory", ICLR 2025, and the
retrieval scripts published with it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from pytest_engram.judging.metrics import ndcg_any, recall_all, recall_any
from pytest_engram.suites.longmemeval.protocol import KS, Granularity, is_gold

MEASURES = {"recall_any": recall_any, "recall_all": recall_all, "ndcg_any": ndcg_any}


def scores(
    ranking: Sequence[int], haystack: Sequence[str], granularity: Granularity, k: int
) -> tuple[dict[str, float | None], dict[str, str]]:
    """All official metrics of a ranking, of which the first `k` documents were asked for.

    Args:
        ranking: positions in the haystack, best first.
        haystack: the official ids of its documents.
        granularity: what a document is.
        k: how many ids the method was allowed. A metric at a larger cut-off is not measurable.

    Returns:
        The metrics, None where one needs more than `k` ids, and the reason for each None.
    """
    found: dict[str, float | None] = {}
    missing: dict[str, str] = {}
    ids = [haystack[position] for position in ranking[:k]]
    gold = {id_ for id_ in haystack if is_gold(id_)}
    best = _best(haystack, gold)
    for cut in KS:
        for measure in MEASURES:
            name = f"{measure}@{cut}"
            if cut > k:
                found[name], missing[name] = None, f"needs {cut} ids, k is {k}: raise --engram-k for every method"
            else:
                found[name] = _measure(measure, ids, gold, cut, best)
    if granularity == "turn":
        _add_sessions(found, missing, ids, haystack, k)
    return found, missing


def _add_sessions(
    found: dict[str, float | None], missing: dict[str, str], ids: list[str], haystack: Sequence[str], k: int
) -> None:
    """Score turns as sessions: ids and gold lose their number, the cut-off grows until it covers that many sessions.

    One session can stand under two ids, `answer_x` and `noans_x`: they count as two, as in the official code.
    """
    gold = {_session_of(id_) for id_ in haystack if is_gold(id_)}
    best = _best([_session_of(id_) for id_ in haystack], gold)
    ranked = [_session_of(id_) for id_ in ids]
    # A method that returns less than it may has no more to say; one that returns all it may is cut off by k.
    ended = len(ids) < k or len(ids) >= len(haystack)
    for cut in KS:
        reach = _reach(ranked, cut, len(haystack))
        for measure in MEASURES:
            name = f"session_{measure}@{cut}"
            if cut > k or (reach > len(ids) and not ended):
                found[name] = None
                missing[name] = f"needs more ids, to cover {cut} sessions, than k, which is {k}: raise --engram-k"
            else:
                found[name] = _measure(measure, ranked, gold, reach, best)


def _session_of(turn_id: str) -> str:
    return turn_id.rpartition("_")[0]


def _reach(ranked: Sequence[str], cut: int, size: int) -> int:
    """The first cut-off, from `cut` on, that covers `cut` different sessions; one past the haystack where none does."""
    covered = set(ranked[:cut])
    reach = cut
    while reach <= size and len(covered) < cut:
        covered.update(ranked[reach : reach + 1])
        reach += 1
    return reach


def _best(haystack: Sequence[str], gold: Set[str]) -> list[str]:
    """The ideal ranking. Sorted once for all cut-offs."""
    return sorted(haystack, key=gold.__contains__, reverse=True)


def _measure(measure: str, ids: Sequence[str], gold: Set[str], k: int, best: Sequence[str]) -> float:
    if measure == "ndcg_any":
        return ndcg_any(ids, gold, k, best[:k])
    return MEASURES[measure](ids, gold, k)
