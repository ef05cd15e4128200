"""The micro-tests' own numbers: families, flip points, and how they depend on what backs the belief."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from pytest_engram import statistics as stats
from pytest_engram.report.log import DECIDED, Log, wilson
from pytest_engram.runs.outcome import Outcome

Row = dict[str, Any]


class _Levels(NamedTuple):
    """The winners of one case at one web size, by number of backers."""

    case: str
    seed: int
    web: int
    winners: dict[int, str]

    @property
    def flip_point(self) -> int | None:
        return next((backers for backers, winner in sorted(self.winners.items()) if winner == "update"), None)

    @property
    def monotone(self) -> bool:
        point = self.flip_point
        return point is None or all(winner == "update" for b, winner in self.winners.items() if b > point)


def _swept(log: Log) -> Iterator[tuple[Row, list[_Levels]]]:
    """Each method on each suite whose cases are asked at several numbers of backers."""
    for suite in log.suites:
        for method in log.methods:
            group = log.groups.get((suite, method), [])
            if any(outcome.status != "ok" for outcome in group):
                continue
            found: dict[tuple[str, int, int], dict[int, str]] = defaultdict(dict)
            for o in group:
                if o.case is not None and o.backers is not None and o.winner is not None:
                    found[o.case, o.seed, o.web or 0][o.backers] = o.winner
            if len({backers for winners in found.values() for backers in winners}) > 1:
                sides = _sides({winner for winners in found.values() for winner in winners.values()})
                who = {"method": method, "label": log.label(method), "suite": suite, "family": log.family(suite)}
                yield (
                    {**who, "axis": _axis(group), "undecided": sides is not None, "sides": sides},
                    [_Levels(*key, found[key]) for key in sorted(found)],
                )


def _axis(group: Sequence[Outcome]) -> str:
    return next((str(o.fields["axis"]) for o in group if o.fields.get("axis")), "backers")


def _sides(winners: set[str]) -> str | None:
    """What came back, where it was never one side alone: then there is no flip point."""
    if winners & {"belief", "update"}:
        return None
    return "both or neither" if len(winners) > 1 else next(iter(winners), None)


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
    points = sorted(math.inf if c.flip_point is None else c.flip_point for c in cases)
    return {
        "n": len(points),
        "never": sum(map(math.isinf, points)),
        "median": _finite(median(points)),
        "low": _finite(points[0]),
        "high": _finite(points[-1]),
        "most": max(max(c.winners) for c in cases),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _trend(cases: Sequence[_Levels]) -> Row:
    # A case that never flips ranks above every number of backers that was tried; of several seeds, the mean counts.
    never = 1 + max(max(c.winners) for c in cases)
    points: dict[tuple[int, str], list[int]] = defaultdict(list)
    for c in cases:
        points[c.web, c.case].append(never if c.flip_point is None else c.flip_point)
    webs = [web for web, _ in points]
    means = [sum(found) / len(found) for found in points.values()]
    possible = len(set(webs)) > 1 and len(set(means)) > 1
    tau, low, high = stats.kendall_tau(webs, means) if possible else (None, None, None)
    return {
        "n": len(points),
        "tau": tau,
        "low": low,
        "high": high,
        "constant": len(set(webs)) > 1 and len(set(means)) == 1,
        "flips_back": sum(not c.monotone for c in cases),
    }


def _curve(cases: Sequence[_Levels]) -> Iterator[Row]:
    seeds = sorted({c.seed for c in cases})
    for backers in sorted({b for c in cases for b in c.winners}):
        asked = [c for c in cases if backers in c.winners]
        flipped = [sum(c.winners[backers] == "update" for c in asked if c.seed == seed) for seed in seeds]
        n = len({c.case for c in asked})
        shares = [count / n for count in flipped]
        low, high = wilson(flipped[0], n) if len(seeds) == 1 else (min(shares), max(shares))
        yield {
            "backers": backers,
            "n": n,
            "flipped": sum(flipped) / len(seeds),
            "share": sum(shares) / len(seeds),
            "low": float(low),
            "high": float(high),
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
    low, high = 1 - correct["high"], 1 - correct["low"]
    return {"value": 1 - correct["value"], "low": low, "high": high, "interval": correct["interval"], "n": correct["n"]}
