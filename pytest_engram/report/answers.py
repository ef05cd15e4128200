"""What verdicts are made of: the paired tests of the tables, what each answers, and how that reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from pytest_engram.report.log import Log
from pytest_engram.report.pairs import ALPHA, significant, smallest_at
from pytest_engram.report.wording import difference, drawn, number, p_value, tested, where_seen

Row: TypeAlias = dict[str, Any]
REGISTERED = "loom"  # whose claims stand in docs/method.md; nobody made one for any other method


class Tests:
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
        seen = row if row["method"] == method else mirrored(row)
        return {**seen, "over": over, "found": smallest_at(row, ALPHA / left) if left else None}

    def between(self, method: str, baseline: str) -> list[Row]:
        """The rows of all tables, `method` minus `baseline`; those that a named method is part of with `over`."""
        pair = {method, baseline}
        rows = [row for row in self._compared if {row["method"], row["baseline"]} == pair and row["status"] != "covers"]
        seen = [row if row["method"] == method else mirrored(row) for row in rows]
        return [self.of(r["suite"], r["metric"], method, baseline) or r for r in seen]


def mirrored(row: Row) -> Row:
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


def answered(row: Row) -> bool | None:
    """Whether the first method is better; None: its test is not significant."""
    return row["difference"] > 0 if significant(row) else None


def verdict(
    method: str,
    name: str,
    holds: bool | None,
    text: str,
    *,
    ran: bool = True,
    claimed: bool = True,
    answer: str | None = None,
) -> Row:
    """One row of the results' `verdicts`.

    Args:
        method: whose it is.
        name: the statement.
        holds: whether it does; None: can't tell.
        text: the numbers behind the answer.
        ran: whether there are any.
        claimed: whether the registered experiment claimed it; nobody did for any other method.
        answer: where it is none of yes, no and can't tell: a number.
    """
    plain = "can't tell" if holds is None else "yes" if holds else "no"
    answer = "not run" if not ran else plain if answer is None else answer
    claimed = claimed and method == REGISTERED
    return {"name": name, "method": method, "claimed": claimed, "holds": holds, "answer": answer, "text": text}


def together(rows: Sequence[Row]) -> bool | None:
    """Whether the first method is better, over several suites: on one at least, and on none worse; None: can't tell.

    Suites are not pooled: where they differ as much as these do, the mean of all is true of none.
    """
    answers = {answered(row) for row in rows} - {None}
    return answers.pop() if len(answers) == 1 else None


def by_suite(log: Log, rows: Sequence[Row]) -> str:
    """Two methods on several suites: each difference, its test, and what that could have found."""
    lead = f"{log.label(rows[0]['method'])} minus {log.label(rows[0]['baseline'])}: "
    return lead + " ".join(told(log, row) + missed(row) for row in rows)


def decisive(log: Log, suite: str) -> str:
    """The metric that decides a suite of contradicted facts: one that nobody has by resolving nothing, if there is."""
    metrics = log.metrics(suite)
    return next((metric for metric in metrics if metric.startswith("resolved@")), metrics[0])


def told(log: Log, row: Row) -> str:
    """Two methods on one suite: both figures, their difference and its test."""
    suite, metric = row["suite"], row["metric"]
    both = [log.measured(suite, row[who], metric).per_question() for who in ("method", "baseline")]
    ours, theirs = (number(sum(values.values()) / len(values)) for values in both)
    partial = " (only a part of the questions was measured)" if row["status"] == "partial" else ""
    return (
        f"{suite} {metric} {ours} against {theirs}, {difference(row)}, {tested(row)} p {equals(row['p'])}, Holm p "
        f"{equals(row['p_holm'])}{row['over']}, n = {drawn(row)}{partial}."
    )


def missed(row: Row) -> str:
    """Of a test that is not significant: what it could have found."""
    if significant(row):
        return ""
    if row["found"] is None:
        return f" Not significant; with n = {drawn(row)} no difference could be."
    if row["found"] == 0:  # no spread to tell it from
        return f" Not significant; all {row['n']} differences are equal."
    found = f"{number(row['found'])}{where_seen(row, row['found'])}"
    return f" Not significant; the smallest difference that it finds with 80% power is {found}."


def equals(p: float) -> str:
    """`= 0.031`, or `< 0.001`."""
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"
