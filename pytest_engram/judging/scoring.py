"""What a line of the log is worth where no metric by name can tell: one judge a kind of suite.

A judge is a function of gold and log line. It gives metrics, and whatever else the line should say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_engram.judging import longmemeval
from pytest_engram.judging.named import UNTRACED, Found
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.backed.levels import METRICS
from pytest_engram.suites.base import Gold
from pytest_engram.suites.longmemeval.protocol import metric_names
from pytest_engram.suites.microtests.winners import correct, outcome


@dataclass(slots=True)
class Score:
    """What was found. A metric that can't be measured is None, and `missing` says why."""

    metrics: dict[str, float | None] = field(default_factory=dict)
    hit: bool | None = None
    missing: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)


Scorer: TypeAlias = Callable[[Gold, Outcome], Score]

NO_SUPPORT = "the method has no support()"


class BeyondTheLog(Exception):
    """The line lacks what it was measured by: it was written by an earlier version."""


def sides(gold: Gold, line: Outcome) -> Score:
    """Which side the ids decide for, and whether the rule named it."""
    level = gold.detail
    if (untraced := _untraced(line)) is not None:
        return untraced
    found = set(line.ids)
    winner = outcome(bool(found.intersection(level.belief)), bool(found.intersection(level.update)))
    fields: dict[str, Any] = {"winner": winner}
    if level.also:
        fields["also_lost"] = len(set(level.also) - found)
    if level.expected is None:
        return Score(fields=fields)
    hit = correct(level.expected, winner) and not (level.expected == "both" and fields.get("also_lost"))
    return Score(metrics={"correct": float(hit)}, hit=hit, fields=fields)


def backed(gold: Gold, line: Outcome) -> Score:
    """Whether the side that is backed came back alone. Which questions each metric is over, gold says."""
    score = sides(gold, line)
    if "correct" in score.metrics:
        score.metrics = dict.fromkeys(METRICS, score.metrics["correct"])
        score.missing = dict.fromkeys(METRICS, score.missing["correct"]) if score.missing else {}
    return score


def sites(gold: Gold, line: Outcome) -> Score:
    """Whether a memory that was written entry by entry answers as the one that was written in one call."""
    one_by_one = _asked(line, "one_by_one")
    fields = sides(gold, line).fields
    same = (line.recalled or line.ids) == one_by_one
    if not same:
        fields["one_by_one"] = one_by_one
    return Score(metrics={"correct": float(same)}, hit=same, fields=fields)


def density(gold: Gold, line: Outcome) -> Score:
    """Whether the original has more support than its update."""
    support = _asked(line, "support")
    if support is None:
        return Score(metrics={"correct": None}, missing={"correct": NO_SUPPORT})
    original, update = (support[id_] for id_ in gold.detail)
    denser = original > update
    fields = {"support_original": round(original, 6), "support_update": round(update, 6)}
    return Score(metrics={"correct": float(denser)}, hit=denser, fields=fields)


def hub(gold: Gold, line: Outcome) -> Score:  # noqa: ARG001 (what is right is the same for all)
    """Whether a hub's percentile of the method's own support is lower than with plain nearest neighbours.

    Support at random would be right with the chance that the percentile with plain neighbours states.
    """
    measured = _asked(line, "hub")
    if measured is None:
        return Score(metrics={"correct": None}, missing={"correct": NO_SUPPORT})
    lower = measured["percentile_method"] < measured["percentile_plain"]
    return Score(metrics={"correct": float(lower)}, hit=lower, fields=dict(measured))


def ranked(gold: Gold, line: Outcome) -> Score:
    """LongMemEval's official metrics of the returned ids."""
    documents, granularity = gold.detail
    ids = Found.of(line, gold).ids
    if not all(ids):
        names = metric_names(granularity)
        return Score(metrics=dict.fromkeys(names), missing=dict.fromkeys(names, UNTRACED))
    places = [int(id_[1:]) for id_ in ids]
    metrics, missing = longmemeval.scores(places, documents, granularity, line.k)
    return Score(metrics=metrics, missing=missing)


def _untraced(line: Outcome) -> Score | None:
    """Where a memory does not say what is behind its own texts, nobody can tell whose side they take."""
    if all("id" in place or place["sources"] for place in line.recalled):
        return None
    return Score(metrics={"correct": None}, missing={"correct": UNTRACED})


def _asked(line: Outcome, name: str) -> Any:
    if name not in line.asked:
        raise BeyondTheLog
    return line.asked[name]


SCORERS: dict[str, Scorer] = {
    "sides": sides,
    "backed": backed,
    "sites": sites,
    "density": density,
    "hub": hub,
    "longmemeval": ranked,
}
