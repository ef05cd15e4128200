"""From what was recalled to what it is worth: one function of key and log line, whoever brought the line.

A run judges its lines with it as they come in; `engram verify` judges them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_engram.judging import luck, named, prompts, versions
from pytest_engram.judging.named import Found, Unmeasured
from pytest_engram.judging.scoring import SCORERS, Score
from pytest_engram.reading import RECORDED
from pytest_engram.reading.desk import ANSWER
from pytest_engram.runs.outcome import READ, Outcome
from pytest_engram.runs.withheld import WITHHELD
from pytest_engram.suites.base import Gold, Key, parse_metric

SIDES = ("family", "case", "web", "backers", "winner", "expected")
NO_READER = "no reader: choose one with --engram-reader"
NO_JUDGE = "no judge: choose one with --engram-judge"
# What `fields` of a line holds before it is judged: what the reader took, and what a judge or people said.
# And, of a recorded method, why nobody knows what was recalled: then nothing is measured by it, and nothing is a 0.
BEFORE = ("tokens_in", "tokens_out", "cost", "cached", "verdicts", "judge", "human", "unrecalled", WITHHELD)
UNRECALLED = "unrecalled"
VERDICT = "verdict"  # in `missing` of a line before it is judged, as ANSWER is: why there is none


def judge(key: Key, line: Outcome, metrics: Mapping[str, Any]) -> Outcome:
    """A line as it stands in the log, from the same line as the asking left it.

    Args:
        key: of the line's suite.
        line: what was recalled.
        metrics: by name without depth, as `named.of` takes them.

    Raises:
        KeyError: the suite has no such question.
        scoring.BeyondTheLog: the line lacks what the item is measured by.
    """
    gold = key.gold(line.question_id)
    fields = {**line.fields, **gold.fields}
    names, left_out = wanted(key, gold, metrics)
    score = Score(metrics=dict.fromkeys(names))
    lost = None
    met: list[str] = []
    if line.status == "ok":
        score = _score(key, gold, line, metrics, names)
        dropped = {str(drop["id"]): drop.get("rank") for drop in line.dropped}
        relevant = frozenset(gold.relevant)
        met = [id_ for id_ in dict.fromkeys([*line.ids, *dropped]) if id_ in relevant]
        if line.lost is not None:
            within = [id_ for id_, rank in dropped.items() if isinstance(rank, int) and rank <= line.k]
            lost = not relevant.isdisjoint(within) and relevant.isdisjoint(line.ids)
    fields |= score.fields
    decisive = score.metrics.get(key.metrics[0])
    return replace(
        line,
        metrics=score.metrics,
        missing=score.missing,
        hit=score.hit if score.hit is not None or decisive is None else decisive >= 1.0 and not _vacuous(key, gold),
        gold=list(gold.shown),
        gold_ids=met,
        ceiling=gold.ceiling,
        excluded=None if key.not_run else gold.excluded,
        left_out=left_out,
        cluster=gold.cluster,
        group=gold.group,
        disputed=gold.disputed,
        lost=lost,
        fields={name: value for name, value in fields.items() if name not in SIDES},
        **{name: fields[name] for name in SIDES if name in fields},
    )


def wanted(key: Key, gold: Gold, metrics: Mapping[str, Any]) -> tuple[Sequence[str], dict[str, str]]:
    """The metrics that the official protocol has for a question, and the rule that leaves out each other one.

    A question that the means of what was returned leave out is answered, and judged, all the same.
    """
    unjudged = prompts.skipped(key.prompts, gold.prompt)
    if key.family is not None or not (gold.excluded or gold.left_out or unjudged):
        return key.metrics, {}
    names: list[str] = []
    left_out: dict[str, str] = {}
    for name in key.metrics:
        base = parse_metric(name)[0]
        metric = named.of(metrics[base])
        if why := gold.left_out.get(base) or (unjudged if metric.judged else None):
            left_out[name] = why
        elif metric.reads or not gold.excluded:
            names.append(name)
    return names, left_out


def reads(key: Key, gold: Gold, metrics: Mapping[str, Any]) -> list[str]:
    """Of these, the metrics of an answer: where there are none, nobody needs to answer."""
    if key.family is not None:
        return []
    names, _ = wanted(key, gold, metrics)
    return [name for name in names if named.of(metrics[parse_metric(name)[0]]).reads]


def _score(key: Key, gold: Gold, line: Outcome, metrics: Mapping[str, Any], names: Sequence[str]) -> Score:
    """All metrics of the question."""
    unrecalled = line.fields.get(UNRECALLED, "")
    if line.unrecalled and key.family is not None:
        return Score(metrics=dict.fromkeys(key.metrics), missing=dict.fromkeys(key.metrics, unrecalled))
    by_ids = key.judged_by and not line.unrecalled and not gold.excluded
    given = SCORERS[str(key.judged_by)](gold, line) if by_ids else Score()
    if key.family is not None:
        _limit(given, line.k)
        return given
    score = Score(hit=given.hit, fields=given.fields)
    found = Found.of(line, gold)
    for name in names:
        if name in given.metrics:
            score.metrics[name] = given.metrics[name]
            if name in given.missing:
                score.missing[name] = given.missing[name]
            continue
        try:
            score.metrics[name] = _measure(name, found, line, metrics)
        except Unmeasured as reason:
            score.metrics[name], score.missing[name] = None, str(reason)
    _limit(score, line.k)
    score.fields |= _versions(found, score, names)
    if chance := luck.by_chance(found, score.metrics):
        score.fields["by_chance"] = chance
    return score


def _vacuous(key: Key, gold: Gold) -> bool:
    """Whether the metric that decides is 1.0 because there is nothing to recall: that is no hit."""
    return parse_metric(key.metrics[0])[0] in luck.VACUOUS and not gold.relevant


def _versions(found: Found, score: Score, names: Sequence[str]) -> dict[str, Any]:
    """What came back of each fact that the question needs: where the suite asks for it, as deep as it first does."""
    if not found.gold.hops:
        return {}
    asked = [name for name in names if parse_metric(name)[0] == "resolved" and score.metrics[name] is not None]
    return {"states": versions.states(found, named.depth_of(parse_metric(asked[0])[1]))} if asked else {}


def _measure(name: str, found: Found, line: Outcome, metrics: Mapping[str, Any]) -> float:
    base, depth = parse_metric(name)
    metric = named.of(metrics[base])
    if not metric.reads and line.unrecalled:
        raise Unmeasured(line.fields[UNRECALLED])
    # A verdict from elsewhere counts without the answer that it is of.
    told = metric.judged and found.verdicts and line.reader == RECORDED
    if metric.reads and found.answer is None and not told:
        raise Unmeasured(line.missing.get(ANSWER, NO_READER))
    if metric.judged and not found.verdicts:
        raise Unmeasured(line.missing.get(VERDICT, NO_JUDGE))
    if depth is not None and depth > found.k:
        raise Unmeasured("")  # `_limit` says why
    return float(metric.measure(found, depth))


def _limit(score: Score, k: int) -> None:
    """Take out the metrics that need more ids than k."""
    for name in score.metrics:
        needed = name.rpartition("@")[2]
        if needed.isdigit() and int(needed) > k:
            score.metrics[name] = None
            score.missing[name] = f"needs {needed} ids, k is {k}: raise --engram-k for every method"


def asked(line: Outcome) -> Outcome:
    """A judged line as the asking left it: nothing in it comes from gold."""
    missing: dict[str, str] = {}
    if line.answer is None:  # then that is why it was not judged, too
        unread = next((why for name, why in line.missing.items() if parse_metric(name)[0] in READ), None)
        missing = {ANSWER: unread} if unread else {}
    elif "judged" in line.missing:
        missing = {VERDICT: line.missing["judged"]}
    return replace(
        line,
        metrics={},
        missing=missing,
        hit=None,
        gold=[],
        gold_ids=[],
        ceiling=None,
        excluded=None,
        left_out={},
        cluster=None,
        group=None,
        disputed=None,
        lost=None if line.lost is None else False,
        fields={name: line.fields[name] for name in BEFORE if name in line.fields},
        family=None,
        case=None,
        web=None,
        backers=None,
        winner=None,
        expected=None,
    )
