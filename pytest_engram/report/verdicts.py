"""The verdicts: claims that were stated before the run, held against its numbers.

Every sentence is made from numbers. A claim holds or fails where the 95% interval lies on one side of zero; where it
spans zero nothing can be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_engram.report.log import Log
from pytest_engram.report.pairs import BASELINES, GRADED, pooled, recency_of
from pytest_engram.report.wording import backers, difference, number, p_value

Row = dict[str, Any]
SOURCE = "factconsolidation"
TEST = {"mcnemar": "exact McNemar", "paired bootstrap": "paired bootstrap"}


def verdicts(log: Log, flipped: dict[str, list[Row]]) -> list[Row]:
    """Those of every named experiment; of all experiments where none was named."""
    experiments = [name for name, info in log.methods.items() if info["role"] == "experiment"]
    found: list[Row] = []
    for method in [name for name in experiments if log.methods[name]["named"]] or experiments:
        graded = _graded(log, method, flipped)
        found += [*_against_tide(log, method, graded), *graded, *_against_recency(log, method)]
        if not _is_loom(method):
            found += _against_anchors(log, method)
    return found


def _is_loom(method: str) -> bool:
    return method.partition("-")[0] == "loom"


def _verdict(method: str, name: str, holds: bool | None, text: str, *, ran: bool = True) -> Row:
    answer = "not run" if not ran else "can't tell" if holds is None else "yes" if holds else "no"
    return {"name": name, "method": method, "holds": holds, "answer": answer, "text": text}


def _against_tide(log: Log, method: str, graded: Sequence[Row]) -> list[Row]:
    if "tide" not in log.methods:
        return []
    beats = _is_loom(method)
    label, tide = log.label(method), log.label("tide")
    name = f"{label} {'does not beat' if beats else 'beats'} {tide} on FactConsolidation at equal k"
    row, reason = _official(log, method, "tide")
    if row is None:
        return [_verdict(method, name, None, reason + _on_demo(log, method, "tide"), ran=False)]
    above, below = row["low"] > 0, row["high"] < 0 or row["low"] == row["high"] == 0
    holds = (not above if above or below else None) if beats else above if above or below else None
    text = _told(log, row, method, "tide")
    if beats and holds and graded:
        expected = "As expected" if graded[0]["holds"] else "To be expected only if the micro-test is graded"
        text += f" {expected}: the later fact wins here by design."
    return [_verdict(method, name, holds, text)]


def _against_recency(log: Log, method: str) -> list[Row]:
    sibling = recency_of(log, method)
    if sibling is None:
        return []
    name = f"{log.label(method)} does not lose to {log.label(sibling)} on FactConsolidation"
    row, reason = _official(log, method, sibling)
    micro = _on_graded(log, method, sibling)
    if row is None:
        return [_verdict(method, name, None, reason + _on_demo(log, method, sibling) + micro, ran=False)]
    holds = False if row["high"] < 0 else True if row["low"] >= 0 else None
    text = _told(log, row, method, sibling)
    if holds is False:
        text += " Where data settles conflicts by date, the date decides and support does not."
    return [_verdict(method, name, holds, text + micro)]


def _against_anchors(log: Log, method: str) -> list[Row]:
    found = []
    for suite in log.suites:
        for baseline in BASELINES:
            if log.kind(suite) != "pilot" or baseline not in log.methods or not log.metrics(suite):
                continue
            row = pooled(log, [(suite, log.metrics(suite)[0])], method, baseline)
            if row is not None:
                holds = True if row["low"] > 0 else False if row["high"] < 0 else None
                name = f"{log.label(method)} beats {log.label(baseline)} on {suite}"
                found.append(_verdict(method, name, holds, _told(log, row, method, baseline)))
    return found


def _graded(log: Log, method: str, flipped: dict[str, list[Row]]) -> list[Row]:
    suites = [suite for suite in log.suites if log.family(suite) == GRADED and log.kind(suite) == "micro"]
    if not suites:
        return []
    label = log.label(method)
    name = f"{label} needs more backing to flip a better backed belief"
    trend = next((t for t in flipped["flip_trend"] if t["method"] == method and t["suite"] in suites), None)
    if trend is None:
        why = log.measured(suites[0], method, "correct")
        return [_verdict(method, name, None, why.reason or "no flip point was measured", ran=False)]
    summary = [s for s in flipped["flip_summary"] if s["method"] == method and s["suite"] == trend["suite"]]
    points = ", ".join(backers(s["median"], s["most"]) for s in summary)
    webs = ", ".join(str(s["web"]) for s in summary)
    text = f"{label}'s median flip point is {points} backers at a web of {webs}"
    if trend["constant"]:
        holds: bool | None = False
        text += f": the same whatever backs the belief (n = {trend['n']} pairs of case and web size)."
    elif trend["tau"] is None:
        return [_verdict(method, name, None, f"{text}; one web size tells no trend.", ran=False)]
    else:
        holds = True if trend["low"] > 0 else False if trend["high"] <= 0 else None
        tau = f"{number(trend['tau'])} [{number(trend['low'])}, {number(trend['high'])}]"
        text += f"; Kendall's tau with web size {tau} (n = {trend['n']} pairs of case and web size)."
    return [_verdict(method, name, holds, text + _tide_flips(log, trend["suite"], flipped["flips"]))]


def _tide_flips(log: Log, suite: str, rows: Sequence[Row]) -> str:
    points = [row["flip_point"] for row in rows if row["method"] == "tide" and row["suite"] == suite]
    if not points:
        return ""
    first = sum(point == 0 for point in points)
    return f" {log.label('tide')} flips on the first newer fact in {first} of {len(points)}."


def _official(log: Log, method: str, baseline: str) -> tuple[Row | None, str]:
    """The comparison over all questions of the official FactConsolidation suites, by their first metric."""
    cells = [(s, log.metrics(s)[0]) for s in log.suites if log.suites[s].get("source") == SOURCE and log.metrics(s)]
    if not cells:
        return None, "No FactConsolidation suite was part of this run."
    row = pooled(log, cells, method, baseline)
    if row is not None:
        return row, ""
    whys = (log.measured(s, who, metric).reason for s, metric in cells for who in (method, baseline))
    return None, f"{next((why for why in whys if why), 'nothing was measured').rstrip('.')}."


def _told(log: Log, row: Row, method: str, baseline: str) -> str:
    parts = []
    for suite, metric in row["cells"]:
        both = [log.measured(suite, who, metric).per_question() for who in (method, baseline)]
        ours, theirs = (sum(values.values()) / len(values) for values in both)
        parts.append(f"{suite} {metric} {number(ours)} against {number(theirs)}")
    partial = " (only a part of the questions was asked)" if row["partial"] else ""
    return (
        f"{log.label(method)} minus {log.label(baseline)}: {difference(row)}, {TEST[row['test']]} p "
        f"{_equals(row['p'])}, n = {row['n']}{partial} ({', '.join(parts)})."
    )


def _equals(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"


def _on_demo(log: Log, method: str, baseline: str) -> str:
    """What generated data says. It stands beside a verdict and never decides one."""
    cells = [
        (suite, log.metrics(suite)[0])
        for suite, info in log.suites.items()
        if str(info.get("source") or "").startswith("demo") and log.kind(suite) == "pilot" and log.metrics(suite)
    ]
    row = pooled(log, cells, method, baseline)
    return "" if row is None else f" On generated data, which decides nothing here: {_told(log, row, method, baseline)}"


def _on_graded(log: Log, method: str, sibling: str) -> str:
    cells = [(s, "correct") for s in log.suites if log.kind(s) == "micro" and log.family(s) == GRADED]
    row = pooled(log, cells, method, sibling)
    if row is None:
        return ""
    return (
        f" Where support and date disagree (hand-built: suggestive, not evidence): {_told(log, row, method, sibling)}"
    )
