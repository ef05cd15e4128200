"""The verdicts: claims that were stated before the run, and what a run compares besides, held against its numbers.

Every sentence is made from numbers. A paired test answers where its adjusted p, the one that is shown, is below 0.05;
else nothing can be told. A trend of flip points answers by its own p, and a share by its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pytest_engram.report.flips import UNSEEN
from pytest_engram.report.log import Log
from pytest_engram.report.pairs import ALPHA, BASELINES, GRADED, recency_of, significant, smallest_at
from pytest_engram.report.wording import difference, drawn, flip_point, number, p_value, tested, undecided

Row: TypeAlias = dict[str, Any]
SOURCE = "factconsolidation"
REGISTERED = "loom"  # whose claims stand in docs/method.md; nobody made one for any other method
_RULE = (
    "Each answer is computed from the numbers beside it. A paired test answers where its Holm-adjusted p is below "
    f"{ALPHA}, a trend where its p is. The 95% intervals are not adjusted."
)


def verdicts(log: Log, flipped: dict[str, list[Row]], compared: Sequence[Row]) -> list[Row]:
    """Those of every named experiment; of all experiments where no method was named.

    Args:
        log: of the run.
        flipped: what `flips` made of it.
        compared: the paired tests of its tables.
    """
    experiments = [name for name, info in log.methods.items() if info["role"] == "experiment"]
    anyone = not any(info["named"] for info in log.methods.values())
    methods = [name for name in experiments if anyone or log.methods[name]["named"]]
    tests = _Tests(log, compared)
    found: list[Row] = []
    for method in methods:
        graded = _graded(log, method, flipped)
        found += [*_against_tide(tests, method, graded), *graded, *_against_recency(tests, method)]
        if method != REGISTERED:
            found += _against_anchors(tests, method)
    return found


def grouped(rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """Heading, lead and verdicts of what was claimed, then of what the run just compared."""
    claims, others = [row for row in rows if row["claimed"]], [row for row in rows if not row["claimed"]]
    if claims:
        yield "Claims stated before the run", _RULE, claims
    if others:
        yield "Comparisons of this run", f"Nobody claimed any of this beforehand. {_RULE}", others


class _Tests:
    """The paired tests of the tables, each with its adjusted p, and what it could have found."""

    def __init__(self, log: Log, compared: Sequence[Row]) -> None:
        self.log = log
        self._compared = compared

    def of(self, suite: str, metric: str, method: str, baseline: str) -> Row | None:
        """The row of a table, `method` minus `baseline`; None where there is none."""
        pair = {method, baseline}
        where = [row for row in self._compared if row["suite"] == suite and row["p_holm"] is not None]
        row = next((r for r in where if r["metric"] == metric and {r["method"], r["baseline"]} == pair), None)
        if row is None or row["status"] == "covers":
            return None
        # Where some tests are significant, Holm holds the next one to ALPHA over the number of those left.
        left = sum(not significant(test) for test in where)
        over = f" over the {len(where)} tests of {suite}" if len(where) > 1 else f", the only test of {suite}"
        told = row if row["method"] == method else _mirrored(row)
        return {**told, "over": over, "found": smallest_at(row, ALPHA / left) if left else None}


def _mirrored(row: Row) -> Row:
    """Two methods are compared once; this is the other's view."""
    return {
        **row,
        "method": row["baseline"],
        "baseline": row["method"],
        "difference": -row["difference"],
        "low": -row["high"],
        "high": -row["low"],
        "better": row["worse"],
        "worse": row["better"],
    }


def _answered(row: Row) -> bool | None:
    """Whether the first method is better; None: its test is not significant."""
    return row["difference"] > 0 if significant(row) else None


def _verdict(method: str, name: str, holds: bool | None, text: str, *, ran: bool = True) -> Row:
    answer = "not run" if not ran else "can't tell" if holds is None else "yes" if holds else "no"
    claimed = method == REGISTERED
    return {"name": name, "method": method, "claimed": claimed, "holds": holds, "answer": answer, "text": text}


def _together(rows: Sequence[Row]) -> bool | None:
    """Whether the first method is better, over several suites: on one at least, and on none worse; None: can't tell.

    Suites are not pooled: where they differ as much as these do, the mean of all is true of none.
    """
    answers = {_answered(row) for row in rows} - {None}
    return answers.pop() if len(answers) == 1 else None


def _against_tide(tests: _Tests, method: str, graded: Sequence[Row]) -> list[Row]:
    log = tests.log
    if "tide" not in log.methods:
        return []
    claimed = method == REGISTERED
    label, tide = log.label(method), log.label("tide")
    name = f"{label} {'does not beat' if claimed else 'beats'} {tide} on FactConsolidation at equal k"
    rows, reason = _official(tests, method, "tide")
    if not rows:
        return [_verdict(method, name, None, reason + _on_demo(tests, method, "tide"), ran=False)]
    better = _together(rows)
    holds = better if better is None or not claimed else not better
    text = _by_suite(log, rows)
    if claimed and holds and graded:
        expected = "As expected" if graded[0]["holds"] else "To be expected only if the micro-test is graded"
        text += f" {expected}: the later fact wins here by design."
    return [_verdict(method, name, holds, text)]


def _against_recency(tests: _Tests, method: str) -> list[Row]:
    log = tests.log
    sibling = recency_of(log, method)
    if sibling is None:
        return []
    name = f"{log.label(method)} does not lose to {log.label(sibling)} on FactConsolidation"
    rows, reason = _official(tests, method, sibling)
    micro = _on_graded(tests, method, sibling)
    if not rows:
        return [_verdict(method, name, None, reason + _on_demo(tests, method, sibling) + micro, ran=False)]
    holds = _together(rows)
    text = _by_suite(log, rows)
    if holds is False:
        text += " Where data settles conflicts by date, the date decides and support does not."
    return [_verdict(method, name, holds, text + micro)]


def _by_suite(log: Log, rows: Sequence[Row]) -> str:
    lead = f"{log.label(rows[0]['method'])} minus {log.label(rows[0]['baseline'])}: "
    return lead + " ".join(_told(log, row) + _missed(row) for row in rows)


def _against_anchors(tests: _Tests, method: str) -> list[Row]:
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
                found.append(_verdict(method, name, _answered(row), _by_suite(log, [row])))
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
        return [_verdict(method, name, None, why.reason or "no flip point was measured", ran=False)]
    summary = [s for s in flipped["flip_summary"] if s["method"] == method and s["suite"] == trend["suite"]]
    webs = ", ".join(str(s["web"]) for s in summary)
    if trend["undecided"]:
        text = f"{label}'s flip points at a web of {webs}: {undecided(trend)}."
        return [_verdict(method, name, None, text)]
    amount, trending = _amount(trend), _rises(trend)
    points = ", ".join(flip_point(s) for s in summary)
    seen = f"Conflict seen in {trend['seen']} of {trend['cases']} cases, the others left out."
    medians = f"{label}'s median flip point is {points} backers at a web of {webs}"
    text = f"{seen} {amount[1]} {medians}{trending[1]}"
    if trend["tau"] is None and not trend["constant"]:
        return [_verdict(method, name, None, text, ran=False)]
    halves = (amount[0], trending[0])
    holds = False if False in halves else None if None in halves else True
    return [_verdict(method, name, holds, text + _tide_flips(log, trend["suite"], flipped["flips"]))]


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
    tau = f"{number(trend['tau'])} [{number(trend['low'])}, {number(trend['high'])}], p {_equals(trend['p'])}"
    return holds, f"; the trend ({answer}): Kendall's tau with web size {tau} ({pairs})."


def _tide_flips(log: Log, suite: str, rows: Sequence[Row]) -> str:
    mine = [row for row in rows if row["method"] == "tide" and row["suite"] == suite]
    seen = [row["flip_point"] for row in mine if row["state"] != UNSEEN]
    if not seen:
        return ""
    first = sum(point == 0 for point in seen)
    return f" {log.label('tide')} flips on the first newer fact in {first} of {len(seen)}."


def _official(tests: _Tests, method: str, baseline: str) -> tuple[list[Row], str]:
    """The comparisons on the official FactConsolidation suites; without any, why."""
    log = tests.log
    cells = [(s, _decisive(log, s)) for s in log.suites if log.suites[s].get("source") == SOURCE and log.metrics(s)]
    if not cells:
        return [], "No FactConsolidation suite was part of this run."
    rows = [row for suite, metric in cells if (row := tests.of(suite, metric, method, baseline)) is not None]
    whys = (log.measured(s, who, metric).reason for s, metric in cells for who in (method, baseline))
    return rows, "" if rows else f"{next((why for why in whys if why), 'nothing was measured').rstrip('.')}."


def _decisive(log: Log, suite: str) -> str:
    """The metric that decides a suite of contradicted facts: one that nobody has by resolving nothing, if there is."""
    metrics = log.metrics(suite)
    return next((metric for metric in metrics if metric.startswith("resolved@")), metrics[0])


def _told(log: Log, row: Row) -> str:
    suite, metric = row["suite"], row["metric"]
    both = [log.measured(suite, row[who], metric).per_question() for who in ("method", "baseline")]
    ours, theirs = (number(sum(values.values()) / len(values)) for values in both)
    partial = " (only a part of the questions was measured)" if row["status"] == "partial" else ""
    return (
        f"{suite} {metric} {ours} against {theirs}, {difference(row)}, {tested(row)} p {_equals(row['p'])}, Holm p "
        f"{_equals(row['p_holm'])}{row['over']}, n = {drawn(row)}{partial}."
    )


def _missed(row: Row) -> str:
    """Of a test that is not significant: what it could have found."""
    if significant(row):
        return ""
    if row["found"] is None:
        return f" Not significant; with n = {drawn(row)} no difference could be."
    if row["found"] == 0:  # no spread to tell it from
        return f" Not significant; all {row['n']} differences are equal."
    # What McNemar's test finds is known for the best case only; the tables' figures are of the same case.
    best = ", if all questions that differ point one way" if row["test"] == "mcnemar" else ""
    return f" Not significant; the smallest difference that it finds with 80% power is {number(row['found'])}{best}."


def _equals(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"


def _on_demo(tests: _Tests, method: str, baseline: str) -> str:
    """What generated data says. It stands beside a verdict and never decides one."""
    log = tests.log
    suites = [
        suite
        for suite, info in log.suites.items()
        if str(info.get("source") or "").startswith("demo") and log.kind(suite) == "pilot" and log.metrics(suite)
    ]
    rows = [row for s in suites if (row := tests.of(s, _decisive(log, s), method, baseline)) is not None]
    return f" On generated data, which decides nothing here: {_by_suite(log, rows)}" if rows else ""


def _on_graded(tests: _Tests, method: str, sibling: str) -> str:
    log = tests.log
    suites = [s for s in log.suites if log.kind(s) == "micro" and log.family(s) == GRADED]
    rows = [row for s in suites if (row := tests.of(s, "correct", method, sibling)) is not None]
    if not rows:
        return ""
    return f" Where support and date disagree (hand-built: suggestive, not evidence): {_by_suite(log, rows)}"
