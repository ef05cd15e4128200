"""What a memory that knows nothing gets: the exact expectation of a metric for k random entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import comb
from statistics import mean
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pytest_engram.suites.backed.levels import METRICS, Statements
from pytest_engram.suites.base import Hop, Key, Suite, Version, parse_metric
from pytest_engram.suites.locomo.protocol import Evidence

if TYPE_CHECKING:
    from pytest_engram.suites.base import Gold
    from pytest_engram.suites.microtests.winners import Expected


def expected(name: str, relevant: int, entries: int, k: int) -> float | None:
    """The mean of a metric of ids over all draws of k different entries, in all orders.

    Args:
        name: such as "answer@10".
        relevant: how many of the entries answer.
        entries: how many there are.
        k: how many are drawn; all of them where there are fewer.

    Returns:
        0 to 1; None for a metric of which this is not known.
    """
    base, depth = parse_metric(name)
    first = min(k, entries, depth or k)
    draws = comb(entries, first)
    if base in ("answer", "recall_any"):
        return 1 - comb(entries - relevant, first) / draws
    if base == "recall_all":
        return comb(entries - relevant, first - relevant) / draws if relevant <= first else 0.0
    if base == "recall":
        return first / entries if relevant else 0.0
    if base == "ndcg_any":
        # Each place holds a relevant entry with the same probability; only the ideal depends on how many there are.
        places = np.arange(1, max(entries, depth or k) + 1)
        discounts = np.where(places == 1, 1.0, 1 / np.log2(np.maximum(places, 2)))
        ideal = discounts[: min(relevant, depth or k)].sum()
        return float(relevant / entries * discounts[:first].sum() / ideal) if relevant else 0.0
    return None


def resolved(hops: Sequence[Hop], entries: int, k: int) -> float:
    """The share of all draws of k different entries in which every hop's valid version is and no superseded one is.

    By inclusion and exclusion over the hops whose valid version is missing: where each has one of its own,
    C(n - v - s, k - v) / C(n, k) for v valid and s superseded entries.

    Args:
        hops: the facts that a question needs.
        entries: how many there are.
        k: how many are drawn; all of them where there are fewer.
    """
    drawn = min(k, entries)
    superseded = {version.id for hop in hops for version in hop.superseded}
    valid = {frozenset(version.id for version in hop.valid) - superseded for hop in hops}
    draws = 0
    for size in range(len(valid) + 1):
        for missing in combinations(valid, size):
            draws += (-1) ** size * comb(entries - len(superseded.union(*missing)), drawn)
    return draws / comb(entries, drawn)


class Sided(Protocol):
    """The detail of gold that knows two sides: ids of each, of what else must stay, and who is right; None: nobody."""

    @property
    def expected(self) -> Expected | None: ...
    @property
    def belief(self) -> Sequence[str]: ...
    @property
    def update(self) -> Sequence[str]: ...
    @property
    def also(self) -> Sequence[str]: ...


def sided(sides: Sided, entries: int, k: int) -> float | None:
    """The share of all draws of k different entries that a micro-test's rule calls right; None: it names no side.

    One side is right where any of its statements is drawn and none of the other's; "both" where each side and all that
    belongs to them is; "either" where any statement is.
    """
    belief, update = ([Version(id_, "") for id_ in side] for side in (sides.belief, sides.update))
    if sides.expected is None:
        return None
    if sides.expected == "either":
        return resolved([Hop((*belief, *update))], entries, k)
    if sides.expected == "both":
        others = [Hop((Version(id_, ""),)) for id_ in sides.also]
        return resolved([Hop(tuple(belief)), Hop(tuple(update)), *others], entries, k)
    right, wrong = (belief, update) if sides.expected == "belief" else (update, belief)
    return resolved([Hop(tuple(right), tuple(wrong))], entries, k)


def floors(suite: Suite, key: Key, k: int) -> Mapping[str, float]:
    """By metric, what k random entries get on average over a suite's scored questions.

    Of micro-tests, where cases have two sides. Metrics of an answer have no such floor: what somebody would answer who
    was given random entries is up to who answers.
    """
    found: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    for question in suite.runnable() if key.family is None or key.judged_by == "sides" else ():
        gold: Gold = key.gold(question.id)
        if gold.excluded:
            continue
        if question.haystack not in sizes:
            sizes[question.haystack] = len(suite.haystack(question.haystack))
        for name in key.metrics:
            entries = sizes[question.haystack]
            value = sided(gold.detail, entries, k) if key.judged_by == "sides" else _of(name, gold, entries, k)
            if value is not None:
                found.setdefault(name, []).append(value)
    return {name: mean(values) for name, values in found.items()}


def _of(name: str, gold: Gold, entries: int, k: int) -> float | None:
    depth = parse_metric(name)[1]
    if not entries or (depth is not None and depth > k):
        return None
    if parse_metric(name)[0] == "recall" and isinstance(gold.detail, Evidence):
        there = [id_ in gold.relevant for id_ in gold.detail.ids]
        return min(k, entries, depth or k) / entries * sum(there) / len(there) if there else None
    if parse_metric(name)[0] == "resolved":
        return resolved(gold.hops, entries, depth or k) if gold.hops else None
    if name in METRICS and isinstance(gold.detail, Statements):
        return None if name in gold.left_out else _alone(gold.detail, entries, k)
    if parse_metric(name)[0] in gold.left_out:
        return None
    if parse_metric(name)[0] == "ndcg":
        return graded(gold.grades, gold.relevant, entries, k, depth or k)
    relevant = gold.answering if parse_metric(name)[0] == "answer" else gold.relevant
    return expected(name, len(set(relevant)), entries, k)


def graded(grades: Mapping[str, int], there: Collection[str], entries: int, k: int, depth: int) -> float | None:
    """The mean of the textbook's NDCG over all draws of k different entries, in all orders; None without relevance.

    Each place holds each entry with the same probability.

    Args:
        grades: by id; empty: all of `there` are worth 1.
        there: ids of the relevant entries of the haystack.
        entries: how many it has.
        k: how many are drawn; all of them where there are fewer.
        depth: in the metric's name.
    """
    grades = grades or dict.fromkeys(there, 1)
    gains = sorted(grades.values(), reverse=True)[:depth]
    discounts = 1 / np.log2(np.arange(2, max(entries, depth) + 2))
    ideal = float(np.dot(gains, discounts[: len(gains)]))
    if not ideal:
        return None
    mean_gain = sum(grades[id_] for id_ in there) / entries
    return float(mean_gain * discounts[: min(k, entries, depth)].sum() / ideal)


def _alone(statements: Statements, entries: int, k: int) -> float:
    """Of two statements, how often one is among k random entries and the other is not: C(n - 2, k - 1) / C(n, k)."""
    one, other = (tuple(Version(id_, "") for id_ in side) for side in (statements.belief, statements.update))
    return resolved([Hop(one, other)], entries, k)
