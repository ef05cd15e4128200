"""Verdicts on what backs a side: do embeddings add anything, is recency Tide, what do repetitions overturn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pytest_engram import statistics as stats
from pytest_engram.report.answers import REGISTERED, Tests, by_suite, together, told, verdict
from pytest_engram.report.frontier import BACKED, kind
from pytest_engram.report.log import Log, whole
from pytest_engram.report.pairs import COUNT, GRADED, IMPLIED, SOURCE, TIDE, recency_of, settles, sided_of, significant
from pytest_engram.report.wording import drawn, estimate, interval, number

Row: TypeAlias = dict[str, Any]

CHANCE = 0.5  # each side is right equally often: what always older, always newer and going by the value get
MARGIN = 0.05  # two methods whose difference lies within it, with its whole interval, are taken for one
HALF = 0.5
_KINDS = ("named", "implied")
_ANSWERS: dict[bool | None, str] = {True: "yes", False: "no", None: "can't tell"}


def embeddings(tests: Tests, rows: Sequence[Row]) -> list[Row]:
    """Whether Loom wins where counting words should do, and where it can't: on official data, and on micro-tests."""
    log = tests.log
    if COUNT not in log.methods:
        return []
    official = {suite: kind(log, suite) for suite, info in log.suites.items() if info.get("frontier")}
    micro = {suite: _built(log, suite) for suite in log.suites if log.kind(suite) == "micro" and _built(log, suite)}
    found = [_embeddings(tests, rows, official, "on official contradictions")]
    if micro:
        found.append(_embeddings(tests, rows, micro, "in micro-tests (hand-built: suggestive, not evidence)"))
    return found


def _built(log: Log, suite: str) -> str | None:
    """How the backers of a micro-test back."""
    if IMPLIED in (suite, log.family(suite)):
        return "implied"
    return "named" if log.family(suite) == GRADED else None


def _embeddings(tests: Tests, rows: Sequence[Row], suites: dict[str, str | None], where: str) -> Row:
    log = tests.log
    loom, count = log.label(REGISTERED), log.label(COUNT)
    name = f"Embeddings add something {where}: {loom} beats {count} on named backers, and chance on implied ones"
    halves: list[bool | None] = []
    parts: list[str] = []
    asked: list[str] = []
    of: dict[str, Callable[[list[str]], tuple[bool | None, str] | None]] = {
        "named": lambda those: _beats_count(tests, those),
        "implied": lambda those: _beats_chance(rows, those),
    }
    for backers in _KINDS:
        half = of[backers]([suite for suite, how in suites.items() if how == backers])
        if half is None:
            parts.append(f"{backers.capitalize()} backers: not run.")
        else:
            asked.append(backers)
            halves.append(half[0])
            parts.append(f"{backers.capitalize()} backers ({_ANSWERS[half[0]]}): {half[1]}")
    if not asked:
        whys = (log.measured(suite, who, "correct").reason for suite in suites for who in (REGISTERED, COUNT))
        why = next((why for why in whys if why), "No suite with backed contradictions was part of this run")
        return verdict(REGISTERED, name, None, f"{why.rstrip('.')}.", ran=False, claimed=False)
    won = [backers for backers, half in zip(asked, halves, strict=True) if half]
    if len(asked) < len(_KINDS):
        lead = ""
    elif not won:
        lead = "On neither: the embeddings add nothing here. "
    else:
        lead = "On both. " if len(won) == len(_KINDS) else f"On {won[0]} backers only. "
    neither = len(asked) == len(_KINDS) and not won
    open_ = None in halves or len(asked) < len(_KINDS)
    holds = False if neither or False in halves else None if open_ else True
    return verdict(REGISTERED, name, holds, lead + " ".join(parts), claimed=False)


def _beats_count(tests: Tests, suites: Sequence[str]) -> tuple[bool | None, str] | None:
    rows = [row for suite in suites if (row := tests.of(suite, "correct", REGISTERED, COUNT)) is not None]
    return (together(rows), by_suite(tests.log, rows)) if rows else None


def _beats_chance(rows: Sequence[Row], suites: Sequence[str]) -> tuple[bool | None, str] | None:
    cells = [
        row
        for row in rows
        if whole(row) and (row["method"], row["metric"]) == (REGISTERED, "correct") and row["suite"] in suites
        # The range of seeds' means is no interval of a mean.
        if row["value"] is not None and row["status"] != "covers" and row["interval"] != "range"
    ]
    if not cells:
        return None
    answers = {_over(cell) for cell in cells} - {None}
    text = "; ".join(f"{cell['suite']} correct {estimate(cell)}, n = {drawn(cell)}" for cell in cells)
    return answers.pop() if len(answers) == 1 else None, f"{text}, against a chance of {number(CHANCE)}."


def _over(cell: Row) -> bool | None:
    if cell["low"] is None:
        return None
    return True if cell["low"] > CHANCE else False if cell["high"] < CHANCE else None


def asks_its_side(tests: Tests) -> list[Row]:
    """Whether support that asks for its side picks the backed one more often than support that does not."""
    log, variant = tests.log, sided_of(REGISTERED)
    if variant not in log.methods:
        return []
    name = f"{log.label(variant)} beats {log.label(REGISTERED)} where facts back one side"
    rows = [row for suite in log.suites if (row := tests.of(suite, "correct", variant, REGISTERED)) is not None]
    if not rows:
        why = "No suite with backed contradictions was measured in this run."
        return [verdict(REGISTERED, name, None, why, ran=False, claimed=False)]
    return [verdict(REGISTERED, name, together(rows), by_suite(log, rows), claimed=False)]


def lands_on_tide(tests: Tests) -> list[Row]:
    """Whether Loom without support, where the later entry wins, is Tide: the design says that it should be."""
    log = tests.log
    sibling = recency_of(log, REGISTERED)
    if sibling is None or TIDE not in log.methods:
        return []
    name = f"{log.label(sibling)} lands on {log.label(TIDE)}"
    rows = _adjusted([row for row in tests.between(sibling, TIDE) if settles(log, row["suite"], row["metric"])])
    suites = [suite for suite in log.suites if log.suites[suite].get("source") == SOURCE]
    if not rows:
        whys = (
            log.measured(s, who, log.metrics(s)[0]).reason for s in suites if log.metrics(s) for who in (sibling, TIDE)
        )
        why = next((why for why in whys if why), "No suite that would tell was part of this run")
        return [verdict(REGISTERED, name, None, f"{why.rstrip('.')}.", ran=False)]
    within = [row["low"] >= -MARGIN and row["high"] <= MARGIN for row in rows]
    apart = [row["suite"] for row in rows if significant(row)]
    missing = [suite for suite in suites if suite not in {row["suite"] for row in rows}]
    holds = (None if missing else True) if all(within) else False if apart else None
    lead = f"Landing is a difference that lies, with its whole 95% interval, within ±{number(MARGIN)} on every suite. "
    if holds:
        end = " It does on all."
    elif all(within):
        were = "was" if len(missing) == 1 else "were"
        end = f" It does on all that were measured; {', '.join(missing)} {were} not."
    elif apart:
        end = f" More than chance apart on {', '.join(apart)}."
    else:
        end = f" It does on {sum(within)} of {len(rows)}; on none are they more than chance apart."
    differences = f"{log.label(sibling)} minus {log.label(TIDE)}: " + " ".join(told(log, row) for row in rows)
    return [verdict(REGISTERED, name, holds, lead + differences + end)]


def _adjusted(rows: Sequence[Row]) -> list[Row]:
    """The tests with an adjusted p each: that of their table where it has one, else Holm's over those without one."""
    own = [row for row in rows if row["p_holm"] is None]
    p_holm = iter(stats.holm([row["p"] for row in own]) if own else ())
    over = f" over the {len(own)} tests of this verdict" if len(own) > 1 else ", the only test of this verdict"
    return [row if row["p_holm"] is not None else {**row, "p_holm": next(p_holm), "over": over} for row in rows]


def poisoned(log: Log, rows: Sequence[Row]) -> list[Row]:
    """How often the other side must be said again before a fact with three backers is lost more often than kept."""
    found = []
    for suite, info in log.suites.items():
        if not info.get("frontier") or kind(log, suite) == "implied":
            continue
        name = f"Repetitions that take what {log.label(REGISTERED)} resists below {number(HALF)} on {suite}"
        points = {
            method: [row for row in rows if (row["suite"], row["axis"], row["method"]) == (suite, "m", method)]
            for method in log.methods
        }
        known = {method: [p for p in those if p["resisted"] is not None] for method, those in points.items()}
        mine = known[REGISTERED]
        if len(mine) < 2:
            why = log.measured(suite, REGISTERED, "resisted").reason or "no repetitions were asked"
            found.append(verdict(REGISTERED, name, None, f"{why.rstrip('.')}.", ran=False, claimed=False))
            continue
        others = [
            f"{log.label(method)} {_lost_at(those)}" for method, those in known.items() if those and those != mine
        ]
        shares = ", ".join(f"{_resisted(point)} at {point['count']}" for point in mine)
        text = (
            f"A fact with {BACKED} backers against one that is said again and again: {log.label(REGISTERED)} keeps it "
            f"alone in {shares} repetitions{_unsure(mine)}."
        )
        text += f" Of the other methods: {'; '.join(others)}." * bool(others)
        found.append(verdict(REGISTERED, name, None, text, claimed=False, answer=_lost_at(mine)))
    return found


def _lost_at(points: Sequence[Row]) -> str:
    first = next((point["count"] for point in points if point["resisted"] < HALF), None)
    return f"more than {points[-1]['count']}" if first is None else str(first)


def _resisted(point: Row) -> str:
    found = {"low": point["resisted_low"], "high": point["resisted_high"]}
    return f"{number(point['resisted'])} {interval(found)}".rstrip()


def _unsure(points: Sequence[Row]) -> str:
    """Where the interval at the deciding number of repetitions lies on both sides of a half."""
    point = next((point for point in points if point["resisted"] < HALF), points[-1])
    low, high = point["resisted_low"], point["resisted_high"]
    on_both = low is not None and low < HALF <= high
    return f" (the interval at {point['count']} lies on both sides of {number(HALF)})" if on_both else ""
