"""The micro-tests' own numbers: families, flip points, and how they depend on what backs the belief.

A case at one web size is in one of three states: the update won at some number of backers (flipped), the belief came
back alone and the update never did (held), or no side ever came back alone. Of the last, nobody can tell whether the
memory saw that two facts contradict each other: it is counted, and is no part of medians, trends and curves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from pytest_engram import statistics as stats
from pytest_engram.report.log import DECIDED, Log, wilson
from pytest_engram.runs.outcome import Outcome

Row = dict[str, Any]
FLIPPED, HELD, UNSEEN = "flipped", "held", "no conflict seen"


@dataclass(frozen=True)
class _Levels:
    """The winners of one case at one web size, by number of backers."""

    case: str
    seed: int
    web: int
    winners: dict[int, str]
    cluster: str  # what the case was drawn with; itself, where nothing says so

    @cached_property
    def flip_point(self) -> int | None:
        return next((backers for backers, winner in sorted(self.winners.items()) if winner == "update"), None)

    @cached_property
    def state(self) -> str:
        if self.flip_point is not None:
            return FLIPPED
        return HELD if "belief" in self.winners.values() else UNSEEN

    @property
    def monotone(self) -> bool:
        return set(self.later) <= {"update"}

    @property
    def later(self) -> list[str]:
        """The winners at larger numbers of backers than the flip point."""
        point = self.flip_point
        return [] if point is None else [winner for b, winner in self.winners.items() if b > point]


def _swept(log: Log) -> Iterator[tuple[Row, list[_Levels]]]:
    """Each method on each suite whose cases are asked at several numbers of backers."""
    for suite in log.suites:
        for method in log.methods:
            group = log.groups.get((suite, method), [])
            if any(outcome.status != "ok" for outcome in group):
                continue
            found: dict[tuple[str, int, int], dict[int, str]] = defaultdict(dict)
            drawn = {o.case: o.cluster or o.case for o in group if o.case is not None}
            for o in group:
                # In the mirror of a repeated update the belief is repeated: its levels lead to no flip.
                turned = o.fields.get("mirrored") and o.fields.get("axis") == "repeats"
                if o.case is not None and o.backers is not None and o.winner is not None and not turned:
                    found[o.case, o.seed, o.web or 0][o.backers] = o.winner
            if len({backers for winners in found.values() for backers in winners}) > 1:
                sides = _sides({winner for winners in found.values() for winner in winners.values()})
                who = {"method": method, "label": log.label(method), "suite": suite, "family": log.family(suite)}
                swept = [_Levels(*key, found[key], drawn[key[0]]) for key in sorted(found)]
                seen = {c.case for c in swept if c.state != UNSEEN}
                told = {"cases": len({c.case for c in swept}), "seen": len(seen), "cluster": log.cluster(suite)}
                yield {**who, "axis": _axis(group), "undecided": sides is not None, "sides": sides, **told}, swept


def _axis(group: Sequence[Outcome]) -> str:
    return next((str(o.fields["axis"]) for o in group if o.fields.get("axis")), "backers")


def _sides(winners: set[str]) -> str | None:
    """What came back, where it was never one side alone: then there is no flip point."""
    if winners & {"belief", "update"}:
        return None
    return "both or neither" if len(winners) > 1 else next(iter(winners), None)


def sides(group: Iterable[Outcome]) -> str | None:
    """What a method returned that never returned one side alone: "both", "neither" or "both or neither".

    None where it did at some level, or where it need not: at every scored level one side is right.
    """
    asked = [outcome for outcome in group if outcome.status == "ok" and outcome.winner is not None]
    right = {outcome.expected for outcome in asked if "correct" in outcome.metrics}
    if not right or not right <= {"belief", "update"}:
        return None
    return _sides({str(outcome.winner) for outcome in asked})


def flips(log: Log) -> dict[str, list[Row]]:
    """`flips`, `flip_summary`, `flip_trend` and `curves` of the results."""
    found: dict[str, list[Row]] = {"flips": [], "flip_summary": [], "flip_trend": [], "curves": []}
    for who, cases in _swept(log):
        found["flips"] += [
            {
                **who,
                "case": c.case,
                "seed": c.seed,
                "web": c.web,
                "state": c.state,
                "flip_point": c.flip_point,
                "monotone": c.monotone,
                "winners": [list(level) for level in sorted(c.winners.items())],
            }
            for c in cases
        ]
        found["flip_trend"].append({**who, **_trend(cases)})
        for web in sorted({c.web for c in cases}):
            same = [c for c in cases if c.web == web]
            found["flip_summary"].append({**who, "web": web, **_summary(same)})
            found["curves"] += [{**who, "web": web, **point} for point in _curve(same)]
    return found


def _summary(cases: Sequence[_Levels]) -> Row:
    seen = [c for c in cases if c.state != UNSEEN]
    points = sorted(math.inf if c.flip_point is None else c.flip_point for c in seen)
    return {
        "n": len(points),
        "unseen": len(cases) - len(points),
        "held": sum(map(math.isinf, points)),
        "median": _finite(median(points)) if points else None,
        "low": _finite(points[0]) if points else None,
        "high": _finite(points[-1]) if points else None,
        "most": max(max(c.winners) for c in cases),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _trend(cases: Sequence[_Levels]) -> Row:
    # A case that holds ranks above every number of backers that was tried; of several seeds, the mean counts.
    most = max(max(c.winners) for c in cases)
    seen = [c for c in cases if c.state != UNSEEN]
    points: dict[tuple[int, str, str], list[int]] = defaultdict(list)
    for c in seen:
        points[c.web, c.case, c.cluster].append(1 + most if c.flip_point is None else c.flip_point)
    webs, clusters = [web for web, *_ in points], [cluster for *_, cluster in points]
    means = [sum(found) / len(found) for found in points.values()]
    tau = low = high = p = None
    if len(set(webs)) > 1 and len(set(means)) > 1:
        tau = stats.kendall_tau(webs, means, resamples=0)[0]
        with suppress(ValueError):  # of one cluster, or undefined without one of them
            tau, low, high, p = stats.kendall_tau_clusters(webs, means, clusters)
    backed = [c for c in seen if c.web > 0 and 0 in c.winners]
    return {
        "n": len(points),
        "tau": tau,
        "low": low,
        "high": high,
        "p": p,
        "clusters": len(set(clusters)),
        "constant": len(set(webs)) > 1 and len(set(means)) == 1,
        "flips_back": sum("belief" in c.later for c in seen),
        "loses_both": sum("neither" in c.later for c in seen),
        "backed": len(backed),
        **_unbacked(backed),
    }


def _unbacked(backed: Sequence[_Levels]) -> Row:
    """How often an update that nothing backs beats a belief that something backs."""
    wins = [float(c.winners[0] == "update") for c in backed]
    low, high = _interval(wins, [c.cluster for c in backed])
    return {"unbacked": sum(wins) / len(wins) if wins else None, "unbacked_low": low, "unbacked_high": high}


def _interval(values: Sequence[float], clusters: Sequence[str]) -> tuple[float | None, float | None]:
    if len(set(clusters)) == len(values) > 0:
        return wilson(int(sum(values)), len(values))
    return stats.cluster_interval(values, clusters) if len(set(clusters)) > 1 else (None, None)


def _curve(cases: Sequence[_Levels]) -> Iterator[Row]:
    cases = [c for c in cases if c.state != UNSEEN]
    seeds = sorted({c.seed for c in cases})
    for backers in sorted({b for c in cases for b in c.winners}):
        asked = [c for c in cases if backers in c.winners]
        flipped = [[float(c.winners[backers] == "update") for c in asked if c.seed == seed] for seed in seeds]
        n = len({c.case for c in asked})
        shares = [sum(won) / n for won in flipped]
        single = len(seeds) == 1
        low, high = _interval(flipped[0], [c.cluster for c in asked]) if single else (min(shares), max(shares))
        yield {
            "backers": backers,
            "n": n,
            "flipped": sum(map(sum, flipped)) / len(seeds),
            "share": sum(shares) / len(seeds),
            "low": low,
            "high": high,
        }


def families(log: Log, rows: Sequence[Row]) -> list[Row]:
    """Decided and correct, one row a micro-test suite and method."""
    cells = {(row["suite"], row["method"], row["metric"]): row for row in rows}
    found: list[Row] = []
    for suite in log.suites:
        if log.kind(suite) != "micro":
            continue
        for method in log.methods:
            group = log.groups.get((suite, method), [])
            parts = {name: cells.get((suite, method, name)) for name in (DECIDED, "correct")}
            known = [part for part in parts.values() if part is not None]
            told = next((part for part in known if part["value"] is None), known[0] if known else None)
            found.append(
                {
                    "suite": suite,
                    "family": log.family(suite),
                    "method": method,
                    "label": log.label(method),
                    "role": log.methods[method]["role"],
                    "cases": len({o.case for o in group if o.case is not None}),
                    "levels": len({o.question_id for o in group}),
                    "scored": parts["correct"]["n"] if parts["correct"] else 0,
                    **{name: _part(part) for name, part in parts.items()},
                    "false_conflicts": _false_conflicts(group, parts["correct"]),
                    "sides": parts["correct"]["sides"] if parts["correct"] else None,
                    "status": told["status"] if told else "not run",
                    "reason": told["reason"] if told else "nothing of this suite is scored",
                }
            )
    return found


def _part(row: Row | None) -> Row | None:
    if row is None or row["value"] is None:
        return None
    return {name: row[name] for name in ("value", "low", "high", "interval", "n")}


def _false_conflicts(group: Sequence[Outcome], correct: Row | None) -> Row | None:
    # Where nothing contradicts anything, whatever is not kept was dropped in a conflict that is none.
    if not any(o.expected == "both" for o in group) or correct is None or correct["value"] is None:
        return None
    low, high = (None if bound is None else 1 - bound for bound in (correct["high"], correct["low"]))
    return {"value": 1 - correct["value"], "low": low, "high": high, "interval": correct["interval"], "n": correct["n"]}
