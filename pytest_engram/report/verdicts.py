"""The verdicts: claims that were stated before the run, and what a run compares besides, held against its numbers.

Every sentence is made from numbers. A paired test answers where its adjusted p, the one that is shown, is below 0.05;
else nothing can be told. The trend of flip points has no p in any table; there its 95% interval answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pytest_engram import statistics as stats
from pytest_engram.report.log import Log
from pytest_engram.report.pairs import ALPHA, BASELINES, GRADED, pooled, recency_of, smallest_at
from pytest_engram.report.wording import backers, difference, number, p_value, undecided

Row: TypeAlias = dict[str, Any]
Cells: TypeAlias = Sequence[tuple[str, str]]
SOURCE = "factconsolidation"
REGISTERED = "loom"  # whose claims stand in docs/method.md; nobody made one for any other method
TEST = {"mcnemar": "exact McNemar", "paired bootstrap": "paired bootstrap"}
_RULE = (
    "Each answer is computed from the numbers beside it. A paired test answers where its Holm-adjusted p is below "
    f"{ALPHA}, a trend where its interval lies on one side of zero. The 95% intervals are not adjusted."
)


def verdicts(log: Log, flipped: dict[str, list[Row]], compared: Sequence[Row]) -> list[Row]:
    """Those of every named experiment; of all experiments where none was named.

    Args:
        log: of the run.
        flipped: what `flips` made of it.
        compared: the paired tests of its tables.
    """
    experiments = [name for name, info in log.methods.items() if info["role"] == "experiment"]
    methods = [name for name in experiments if log.methods[name]["named"]] or experiments
    tests = _Tests(log, methods, compared)
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


_Key: TypeAlias = tuple[str, frozenset[str]]  # metric ("" where suites are pooled) and the two methods
_Family: TypeAlias = dict[_Key, float]  # adjusted p


class _Tests:
    """The paired tests behind the verdicts, each with the adjusted p that is shown.

    A test on one suite is that of the suite's table, adjusted over all tests there. One that pools several suites
    stands in no table; it is adjusted over all tests here that pool them.
    """

    def __init__(self, log: Log, methods: Sequence[str], compared: Sequence[Row]) -> None:
        self.log = log
        self._compared = compared
        pairs = [(method, baseline) for method in methods for baseline in ("tide", recency_of(log, method))]
        # Two methods may be each other's baseline; that is one test.
        once = {frozenset((method, str(baseline))): (method, str(baseline)) for method, baseline in pairs}
        self._pairs = [pair for pair in once.values() if set(pair) <= set(log.methods) and len(set(pair)) == 2]

    def of(self, cells: Cells, method: str, baseline: str) -> Row | None:
        """A row of `pooled`; also `p_holm`, what that is adjusted over, and what the test could have found."""
        row = pooled(self.log, cells, method, baseline)
        if row is None:
            return None
        pair, where = frozenset((method, baseline)), f"of {row['cells'][0][0]}"
        family, key = self._shown(row, pair)
        if key not in family:
            family, key, where = self._pooling(cells), ("", pair), "of these suites together"
        # Where some tests are significant, Holm holds the next one to ALPHA over the number of those left.
        left = len(family) - sum(p < ALPHA for p in family.values())
        return {
            **row,
            "p_holm": family[key],
            "over": f" over the {len(family)} tests {where}" if len(family) > 1 else f", the only test {where}",
            "found": smallest_at(row, ALPHA / left) if left else None,
        }

    def _shown(self, row: Row, pair: frozenset[str]) -> tuple[_Family, _Key]:
        """The adjusted p of the table where this test stands, if one does, and its place there."""
        if len(row["cells"]) > 1:
            return {}, ("", pair)
        suite, metric = row["cells"][0]
        table = [test for test in self._compared if test["suite"] == suite]
        family = {(test["metric"], frozenset((test["method"], test["baseline"]))): test["p_holm"] for test in table}
        return family, (metric, pair)

    def _pooling(self, cells: Cells) -> _Family:
        tests: _Family = {}
        for method, baseline in self._pairs:
            pair, row = frozenset((method, baseline)), pooled(self.log, cells, method, baseline)
            if row is not None:
                family, key = self._shown(row, pair)
                if key not in family:
                    tests["", pair] = row["p"]
        return dict(zip(tests, stats.holm(list(tests.values())), strict=True))


def _answered(row: Row) -> bool | None:
    """Whether the first method is better; None: its test is not significant."""
    return row["difference"] > 0 if row["p_holm"] < ALPHA else None


def _verdict(method: str, name: str, holds: bool | None, text: str, *, ran: bool = True) -> Row:
    answer = "not run" if not ran else "can't tell" if holds is None else "yes" if holds else "no"
    claimed = method == REGISTERED
    return {"name": name, "method": method, "claimed": claimed, "holds": holds, "answer": answer, "text": text}


def _against_tide(tests: _Tests, method: str, graded: Sequence[Row]) -> list[Row]:
    log = tests.log
    if "tide" not in log.methods:
        return []
    claimed = method == REGISTERED
    label, tide = log.label(method), log.label("tide")
    name = f"{label} {'does not beat' if claimed else 'beats'} {tide} on FactConsolidation at equal k"
    row, reason = _official(tests, method, "tide")
    if row is None:
        return [_verdict(method, name, None, reason + _on_demo(tests, method, "tide"), ran=False)]
    better = _answered(row)
    holds = better if better is None or not claimed else not better
    text = _told(log, row, method, "tide") + _missed(row)
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
    row, reason = _official(tests, method, sibling)
    micro = _on_graded(tests, method, sibling)
    if row is None:
        return [_verdict(method, name, None, reason + _on_demo(tests, method, sibling) + micro, ran=False)]
    holds = _answered(row)
    text = _told(log, row, method, sibling) + _missed(row)
    if holds is False:
        text += " Where data settles conflicts by date, the date decides and support does not."
    return [_verdict(method, name, holds, text + micro)]


def _against_anchors(tests: _Tests, method: str) -> list[Row]:
    log, found = tests.log, []
    for suite in log.suites:
        for baseline in BASELINES:
            if log.kind(suite) != "pilot" or baseline not in log.methods or not log.metrics(suite):
                continue
            if baseline == method:
                continue
            row = tests.of([(suite, log.metrics(suite)[0])], method, baseline)
            if row is not None:
                name = f"{log.label(method)} beats {log.label(baseline)} on {suite}"
                text = _told(log, row, method, baseline) + _missed(row)
                found.append(_verdict(method, name, _answered(row), text))
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
    if trend["undecided"]:
        text = f"{label}'s flip points at a web of {webs}: {undecided(trend)}."
        return [_verdict(method, name, None, text)]
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


def _official(tests: _Tests, method: str, baseline: str) -> tuple[Row | None, str]:
    """The comparison over all questions of the official FactConsolidation suites, by their first metric."""
    log = tests.log
    cells = [(s, log.metrics(s)[0]) for s in log.suites if log.suites[s].get("source") == SOURCE and log.metrics(s)]
    if not cells:
        return None, "No FactConsolidation suite was part of this run."
    row = tests.of(cells, method, baseline)
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
    partial = " (only a part of the questions was measured)" if row["partial"] else ""
    return (
        f"{log.label(method)} minus {log.label(baseline)}: {difference(row)}, {TEST[row['test']]} p "
        f"{_equals(row['p'])}, Holm p {_equals(row['p_holm'])}{row['over']}, n = {row['n']}{partial} "
        f"({', '.join(parts)})."
    )


def _missed(row: Row) -> str:
    """Of a test that is not significant: what it could have found."""
    if row["p_holm"] < ALPHA:
        return ""
    if row["found"] is None:
        return f" Not significant; with n = {row['n']} no difference could be."
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
    cells = [
        (suite, log.metrics(suite)[0])
        for suite, info in log.suites.items()
        if str(info.get("source") or "").startswith("demo") and log.kind(suite) == "pilot" and log.metrics(suite)
    ]
    row = tests.of(cells, method, baseline)
    return "" if row is None else f" On generated data, which decides nothing here: {_told(log, row, method, baseline)}"


def _on_graded(tests: _Tests, method: str, sibling: str) -> str:
    log = tests.log
    cells = [(s, "correct") for s in log.suites if log.kind(s) == "micro" and log.family(s) == GRADED]
    row = tests.of(cells, method, sibling)
    if row is None:
        return ""
    return (
        f" Where support and date disagree (hand-built: suggestive, not evidence): {_told(log, row, method, sibling)}"
    )
