"""The verdicts: claims that were stated before the run, and what a run compares besides, held against its numbers.

Every sentence is made from numbers. A paired test answers where its adjusted p, the one that is shown, is below 0.05;
else nothing can be told. A trend of flip points answers by its own p, and a share by its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pytest_engram.report import backing
from pytest_engram.report.answers import REGISTERED, Tests, answered, by_suite, decisive, equals, together, verdict
from pytest_engram.report.flips import UNSEEN
from pytest_engram.report.log import Log
from pytest_engram.report.pairs import ALPHA, BASELINES, GRADED, SOURCE, recency_of
from pytest_engram.report.wording import flip_point, number, undecided

Row: TypeAlias = dict[str, Any]
_RULE = (
    "Each answer is computed from the numbers beside it. A paired test answers where its Holm-adjusted p is below "
    f"{ALPHA}, a trend where its p is, a share by its interval. The 95% intervals are not adjusted."
)


def verdicts(
    log: Log, flipped: dict[str, list[Row]], compared: Sequence[Row], rows: Sequence[Row], frontier: Sequence[Row]
) -> list[Row]:
    """Those of every named experiment; of all experiments where no method was named.

    Args:
        log: of the run.
        flipped: what `flips` made of it.
        compared: the paired tests of its tables.
        rows: the figures of its tables.
        frontier: the points of its frontiers.
    """
    experiments = [name for name, info in log.methods.items() if info["role"] == "experiment"]
    anyone = not any(info["named"] for info in log.methods.values())
    methods = [name for name in experiments if anyone or log.methods[name]["named"]]
    tests = Tests(log, compared)
    found: list[Row] = []
    for method in methods:
        graded = _graded(log, method, flipped)
        found += [*_against_tide(tests, method, graded), *graded, *_against_recency(tests, method)]
        if method == REGISTERED:
            found += [*backing.lands_on_tide(tests), *backing.embeddings(tests, rows), *backing.asks_its_side(tests)]
            found += backing.poisoned(log, frontier)
        else:
            found += _against_anchors(tests, method)
    return found


def grouped(rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Heading, lead and verdicts of what was claimed, then of what the run just compared."""
    claims, others = [row for row in rows if row["claimed"]], [row for row in rows if not row["claimed"]]
    if claims:
        yield "Claims stated before the run", _RULE, claims
    if others:
        yield "Comparisons of this run", f"Nobody claimed any of this beforehand. {_RULE}", others


def _against_tide(tests: Tests, method: str, graded: Sequence[Row]) -> list[Row]:
    log = tests.log
    if "tide" not in log.methods:
        return []
    claimed = method == REGISTERED
    label, tide = log.label(method), log.label("tide")
    name = f"{label} {'does not beat' if claimed else 'beats'} {tide} on FactConsolidation at equal k"
    rows, reason = _official(tests, method, "tide")
    if not rows:
        return [verdict(method, name, None, reason + _on_demo(tests, method, "tide"), ran=False)]
    better = together(rows)
    holds = better if better is None or not claimed else not better
    text = by_suite(log, rows)
    if claimed and holds and graded:
        expected = "As expected" if graded[0]["holds"] else "To be expected only if the micro-test is graded"
        text += f" {expected}: the later fact wins here by design."
    return [verdict(method, name, holds, text)]


def _against_recency(tests: Tests, method: str) -> list[Row]:
    log = tests.log
    sibling = recency_of(log, method)
    if sibling is None:
        return []
    name = f"{log.label(method)} does not lose to {log.label(sibling)} on FactConsolidation"
    rows, reason = _official(tests, method, sibling)
    micro = _on_graded(tests, method, sibling)
    if not rows:
        return [verdict(method, name, None, reason + _on_demo(tests, method, sibling) + micro, ran=False)]
    holds = together(rows)
    text = by_suite(log, rows)
    if holds is False:
        text += " Where data settles conflicts by date, the date decides and support does not."
    return [verdict(method, name, holds, text + micro)]


def _against_anchors(tests: Tests, method: str) -> list[Row]:
    log, found = tests.log, []
    for suite in log.suites:
        for baseline in BASELINES:
            if log.kind(suite) != "pilot" or baseline not in log.methods or not log.metrics(suite):
                continue
            if baseline == method:
                continue
            row = tests.of(suite, log.metrics(suite)[0], method, baseline)
            if row is not None:
                name = f"{log.label(method)} beats {log.label(baseline)} on {suite}"
                found.append(verdict(method, name, answered(row), by_suite(log, [row])))
    return found


def _graded(log: Log, method: str, flipped: dict[str, list[Row]]) -> list[Row]:
    suites = [suite for suite in log.suites if log.family(suite) == GRADED and log.kind(suite) == "micro"]
    if not suites:
        return []
    label = log.label(method)
    name = f"{label} needs backing to flip a backed belief, and more of it to flip a better backed one"
    trend = next((t for t in flipped["flip_trend"] if t["method"] == method and t["suite"] in suites), None)
    if trend is None:
        why = log.measured(suites[0], method, "correct")
        return [verdict(method, name, None, why.reason or "no flip point was measured", ran=False)]
    summary = [s for s in flipped["flip_summary"] if s["method"] == method and s["suite"] == trend["suite"]]
    webs = ", ".join(str(s["web"]) for s in summary)
    if trend["undecided"]:
        text = f"{label}'s flip points at a web of {webs}: {undecided(trend)}."
        return [verdict(method, name, None, text)]
    amount, trending = _amount(trend), _rises(trend)
    points = ", ".join(flip_point(s) for s in summary)
    seen = f"Conflict seen in {trend['seen']} of {trend['cases']} cases, the others left out."
    medians = f"{label}'s median flip point is {points} backers at a web of {webs}"
    text = f"{seen} {amount[1]} {medians}{trending[1]}"
    if trend["tau"] is None and not trend["constant"]:
        return [verdict(method, name, None, text, ran=False)]
    halves = (amount[0], trending[0])
    holds = False if False in halves else None if None in halves else True
    return [verdict(method, name, holds, text + _tide_flips(log, trend["suite"], flipped["flips"]))]


RARE = 0.1  # an update that nothing backs may win against a backed belief in so few cases


def _amount(trend: Row) -> tuple[bool | None, str]:
    """The first half: whether an unbacked update rarely wins against a backed belief."""
    if trend["unbacked"] is None:
        return None, "How often an unbacked update beats a backed belief was not asked."
    low, high = trend["unbacked_low"], trend["unbacked_high"]
    holds = None if low is None else True if high < RARE else False if low > RARE else None
    told = "" if low is None else f" [{number(low)}, {number(high)}]"
    answer = {True: "yes", False: "no", None: "can't tell"}[holds]
    text = (
        f"The amount ({answer}): with no backer at all the update beats a backed belief in {number(trend['unbacked'])}"
    )
    return holds, f"{text}{told} of {trend['backed']}; rarely would be below {number(RARE)}."


def _rises(trend: Row) -> tuple[bool | None, str]:
    """The second half: whether flip points rise with what backs the belief."""
    pairs = f"n = {trend['n']} pairs of case and web size" + (
        f" in {trend['clusters']} {trend['cluster']}s" if trend["cluster"] else ""
    )
    if trend["constant"]:
        return False, f": the same whatever backs the belief ({pairs}); the trend: no."
    if trend["tau"] is None:
        return None, "; one web size tells no trend."
    if trend["p"] is None:
        return None, f"; Kendall's tau with web size {number(trend['tau'])} ({pairs}), too few to tell a trend."
    holds = trend["tau"] > 0 if trend["p"] < ALPHA else None
    answer = {True: "yes", False: "no", None: "can't tell"}[holds]
    tau = f"{number(trend['tau'])} [{number(trend['low'])}, {number(trend['high'])}], p {equals(trend['p'])}"
    return holds, f"; the trend ({answer}): Kendall's tau with web size {tau} ({pairs})."


def _tide_flips(log: Log, suite: str, rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row["method"] == "tide" and row["suite"] == suite]
    seen = [row["flip_point"] for row in mine if row["state"] != UNSEEN]
    if not seen:
        return ""
    first = sum(point == 0 for point in seen)
    return f" {log.label('tide')} flips on the first newer fact in {first} of {len(seen)}."


def _official(tests: Tests, method: str, baseline: str) -> tuple[list[Row], str]:
    """The comparisons on the official FactConsolidation suites; without any, why."""
    log = tests.log
    cells = [(s, decisive(log, s)) for s in log.suites if log.suites[s].get("source") == SOURCE and log.metrics(s)]
    if not cells:
        return [], "No FactConsolidation suite was part of this run."
    rows = [row for suite, metric in cells if (row := tests.of(suite, metric, method, baseline)) is not None]
    whys = (log.measured(s, who, metric).reason for s, metric in cells for who in (method, baseline))
    return rows, "" if rows else f"{next((why for why in whys if why), 'nothing was measured').rstrip('.')}."


def _on_demo(tests: Tests, method: str, baseline: str) -> str:
    """What generated data says. It stands beside a verdict and never decides one."""
    log = tests.log
    suites = [
        suite
        for suite, info in log.suites.items()
        if str(info.get("source") or "").startswith("demo") and log.kind(suite) == "pilot" and log.metrics(suite)
    ]
    rows = [row for s in suites if (row := tests.of(s, decisive(log, s), method, baseline)) is not None]
    return f" On generated data, which decides nothing here: {by_suite(log, rows)}" if rows else ""


def _on_graded(tests: Tests, method: str, sibling: str) -> str:
    log = tests.log
    suites = [s for s in log.suites if log.kind(s) == "micro" and log.family(s) == GRADED]
    rows = [row for s in suites if (row := tests.of(s, "correct", method, sibling)) is not None]
    if not rows:
        return ""
    return f" Where support and date disagree (hand-built: suggestive, not evidence): {by_suite(log, rows)}"
