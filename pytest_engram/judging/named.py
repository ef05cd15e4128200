"""Metrics by name: what `pytest_engram_metrics` brings, and the shipped ones, which come the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pytest_engram.judging import metrics
from pytest_engram.suites.base import Gold


class Unmeasured(Exception):
    """A metric that can't be measured on this line. The message is the reason, in one line."""


class Found(NamedTuple):
    """What a metric sees of one item.

    Attributes:
        ids: what the memory returned, best first.
        k: how many it was allowed.
        gold: what is right.
        answer: the reader's; None where nobody answered.
        verdicts: of a judge on that answer, one a time it was asked; empty where none judged.
    """

    ids: Sequence[str]
    k: int
    gold: Gold
    answer: str | None = None
    verdicts: Sequence[bool] = ()


Measure: TypeAlias = Callable[[Found, int | None], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: what it is of an item, for the depth in its name (`recall_any@5`: 5), or None where that has none.

    Attributes:
        measure: gives 0 to 1, or raises `Unmeasured`.
        reads: whether it is of a reader's answer.
        judged: whether it is of a judge's verdicts.
    """

    measure: Measure
    reads: bool = False
    judged: bool = False


def of(given: Metric | Measure) -> Metric:
    """A plain function is a metric of the returned ids."""
    return given if isinstance(given, Metric) else Metric(given)


def metric(*, reads: bool = False, judged: bool = False) -> Callable[[Measure], Metric]:
    """Make a metric of the decorated function; see `Metric`."""
    return lambda measure: Metric(measure, reads, judged)


def _deep(depth: int | None) -> int:
    if depth is None:
        raise Unmeasured("this metric needs a depth, such as @10: write it behind the name")
    return depth


@metric()
def answer(found: Found, depth: int | None) -> float:
    """Whether any of the first entries contains an accepted answer."""
    return metrics.recall_any(found.ids, found.gold.relevant, _deep(depth))


@metric()
def recall_any(found: Found, depth: int | None) -> float:
    """Whether any entry that answers is among the first."""
    return metrics.recall_any(found.ids, found.gold.relevant, _deep(depth))


@metric()
def recall_all(found: Found, depth: int | None) -> float:
    """Whether all entries that answer are among the first."""
    return metrics.recall_all(found.ids, found.gold.relevant, _deep(depth))


@metric()
def ndcg_any(found: Found, depth: int | None) -> float:
    """LongMemEval's NDCG, where every entry stands once in its haystack."""
    return metrics.ndcg_any(found.ids, found.gold.relevant, _deep(depth))


@metric(reads=True)
def subem(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """Whether the reader's answer contains an accepted one."""
    return float(metrics.sub_em(found.answer or "", found.gold.answers))


@metric(reads=True, judged=True)
def judged(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """The share of a judge's verdicts that accept the reader's answer."""
    return sum(found.verdicts) / len(found.verdicts)


@metric()
def session(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """LongMemEval's metrics of turns, scored as sessions: measured by its own judge, and nowhere else."""
    raise Unmeasured("only LongMemEval's turns are scored as sessions")
