"""Metrics by name: what `pytest_engram_metrics` brings, and the shipped ones, which come the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pytest_engram.judging import locomo, metrics
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold
from pytest_engram.suites.locomo.protocol import Evidence

UNTRACED = "can't be traced: the memory does not say which entries are behind what it returned"
NO_EVIDENCE = "no entry of the haystack is known to answer: there is nothing to recall"


class Unmeasured(Exception):
    """A metric that can't be measured on this line. The message is the reason, in one line."""


class Found(NamedTuple):
    """What a metric sees of one item.

    Attributes:
        ids: what the memory returned, best first. In place of a text of its own stands the entry behind it that
            answers, else the first one behind it, else nothing ("").
        k: how many it was allowed.
        gold: what is right.
        answer: the reader's; None where nobody answered.
        verdicts: of a judge on that answer, one a time it was asked; empty where none judged.
        texts: the memory's own text at each place, None where there is an entry; empty where it has none of its own.
        behind: the ids of all entries behind each place, where it has texts of its own; else empty.
    """

    ids: Sequence[str]
    k: int
    gold: Gold
    answer: str | None = None
    verdicts: Sequence[bool] = ()
    texts: Sequence[str | None] = ()
    behind: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, line: Outcome, gold: Gold) -> Found:
        """Of a line of the log."""
        verdicts = line.fields.get("verdicts", ())
        if not line.recalled:
            return cls(line.ids, line.k, gold, line.answer, verdicts)
        behind = [[place["id"]] if "id" in place else list(place["sources"]) for place in line.recalled]
        texts = [place.get("text") for place in line.recalled]
        relevant = frozenset(gold.relevant)
        ids = [next((id_ for id_ in place if id_ in relevant), place[0] if place else "") for place in behind]
        return cls(ids, line.k, gold, line.answer, verdicts, texts, behind)

    def traced(self, depth: int) -> Sequence[str]:
        """`ids`, for a metric of the first `depth` of them.

        Raises:
            Unmeasured: nobody can tell which entries are behind one of these.
        """
        if not all(self.ids[:depth]):
            raise Unmeasured(UNTRACED)
        return self.ids

    def reached(self, depth: int) -> Sequence[str]:
        """The ids of all entries that are among the first `depth` places, or behind them.

        Raises:
            Unmeasured: nobody can tell which these are.
        """
        ids = self.traced(depth)[:depth]
        return [id_ for place in self.behind[:depth] for id_ in place] if self.behind else ids


Measure: TypeAlias = Callable[[Found, int | None], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: what it is of an item, for the depth in its name (`recall_any@5`: 5), or None where that has none.

    Attributes:
        measure: gives 0 to 1, or raises `Unmeasured`.
        reads: whether it is of a reader's answer.
        judged: whether it is of a judge's verdicts. Those of a recorded method may come without the answer.
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


def depth_of(depth: int | None) -> int:
    """The depth in a metric's name.

    Raises:
        Unmeasured: there is none.
    """
    if depth is None:
        raise Unmeasured("this metric needs a depth, such as @10: write it behind the name")
    return depth


@metric()
def answer(found: Found, depth: int | None) -> float:
    """Whether any of the first results contains an accepted answer: by its own text, where the memory wrote it."""
    first = depth_of(depth)
    if not found.texts:
        return metrics.recall_any(found.ids, found.gold.answering, first)
    relevant = frozenset(found.gold.answering)
    results = zip(found.ids[:first], found.texts[:first], strict=True)
    return float(
        any(id_ in relevant if text is None else metrics.sub_em(text, found.gold.answers) for id_, text in results)
    )


@metric()
def recall_any(found: Found, depth: int | None) -> float:
    """Whether any entry that answers is among the first."""
    return metrics.recall_any(found.traced(depth_of(depth)), found.gold.relevant, depth_of(depth))


@metric()
def recall_all(found: Found, depth: int | None) -> float:
    """Whether all entries that answer are among the first, or behind them."""
    ids = found.reached(depth_of(depth))
    return metrics.recall_all(ids, found.gold.relevant, max(1, len(ids)))


@metric()
def recall(found: Found, depth: int | None) -> float:
    """The share of the evidence that is among the first, or behind them: by the benchmark's list, where it has one."""
    ids = found.reached(depth_of(depth))
    evidence = found.gold.detail.ids if isinstance(found.gold.detail, Evidence) else list(found.gold.relevant)
    if not evidence:
        raise Unmeasured(NO_EVIDENCE)
    return metrics.recall(ids, evidence, max(1, len(ids)))


@metric()
def ndcg_any(found: Found, depth: int | None) -> float:
    """LongMemEval's NDCG, where every entry stands once in its haystack."""
    return metrics.ndcg_any(found.traced(depth_of(depth)), found.gold.relevant, depth_of(depth))


@metric()
def ndcg(found: Found, depth: int | None) -> float:
    """The textbook's NDCG, by the grades of relevance; where there are none, each entry that answers is worth 1."""
    grades = found.gold.grades or dict.fromkeys(found.gold.relevant, 1)
    if not grades:
        raise Unmeasured(NO_EVIDENCE)
    return metrics.ndcg(found.traced(depth_of(depth)), grades, depth_of(depth))


@metric(reads=True)
def subem(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """Whether the reader's answer contains an accepted one."""
    return float(metrics.sub_em(found.answer or "", found.gold.answers))


@metric(reads=True)
def f1(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """LoCoMo's F1 of the reader's answer by the question's category; of a question without one, the plain F1."""
    return locomo.f1(found.answer or "", found.gold.answers, found.gold.prompt.get("category"))


@metric(reads=True, judged=True)
def judged(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """The share of a judge's verdicts that accept the reader's answer."""
    return sum(found.verdicts) / len(found.verdicts)


@metric()
def session(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """LongMemEval's metrics of turns, scored as sessions: measured by its own judge, and nowhere else."""
    raise Unmeasured("only LongMemEval's turns are scored as sessions")


@metric()
def backed(found: Found, depth: int | None) -> float:  # noqa: ARG001 (every metric is called alike)
    """Which of two contradicting facts came back: measured by its own judge, and nowhere else."""
    raise Unmeasured("only where facts back one side of a contradiction, a side can be right")
