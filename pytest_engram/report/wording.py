"""Numbers as people read them: the same in every table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

NONE = "–"
LIMIT = 0.001  # p values below are told as such


# Control characters, halves of surrogate pairs, and marks that turn the direction of what follows: a name that holds
# them must not steer a terminal, break a table's line, or show a number backwards.
_UNSEEN = r"\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
UNPRINTABLE = re.compile(rf"[\x00-\x1f{_UNSEEN}]")
_UNPRINTABLE_BUT_LINES = re.compile(rf"[\x00-\x08\x0b-\x1f{_UNSEEN}]")


def plain(text: str) -> str:
    """On one line, without what steers instead of being read."""
    return " ".join(UNPRINTABLE.sub(" ", text).split())


def plain_lines(text: str) -> str:
    """The same for a text of many lines, which keeps its white space."""
    return _UNPRINTABLE_BUT_LINES.sub("\N{REPLACEMENT CHARACTER}", text)


def number(value: float | None, unit: str = "") -> str:
    """A metric's value: in per cent with one decimal where people print it so, else with three."""
    if value is None:
        return NONE
    return _minus(f"{value * 100:.1f}" if unit == "%" else f"{value:.3f}")


def interval(cell: Mapping[str, Any], unit: str = "") -> str:
    """`[low, high]`, or nothing where there is none."""
    if cell.get("low") is None or cell.get("high") is None:
        return ""
    return f"[{number(cell['low'], unit)}, {number(cell['high'], unit)}]"


def estimate(cell: Mapping[str, Any] | None, unit: str = "") -> str:
    """`value [low, high]`; `value (low to high)` where that is the range of the seeds' means."""
    if cell is None or cell.get("value") is None:
        return NONE
    if cell.get("interval") == "range":
        return f"{number(cell['value'], unit)} ({number(cell['low'], unit)} to {number(cell['high'], unit)})"
    return f"{number(cell['value'], unit)} {interval(cell, unit)}".strip()


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return NONE if value is None else _minus(f"{value:+.3f}")


def difference(row: Mapping[str, Any]) -> str:
    """`+0.100 [+0.010, +0.190]`."""
    return f"{signed(row['difference'])} [{signed(row['low'])}, {signed(row['high'])}]"


def by_cluster(noun: str, number: int | None = None) -> str:
    """`by conversation (10)`."""
    return f"by {noun}" + ("" if number is None else f" ({number})")


def drawn(row: Mapping[str, Any]) -> str:
    """`300`, or `300 in 10 conversations`: the n of a row, and what it was drawn as."""
    if row["cluster"] is None:
        return str(row["n"])
    return f"{row['n']} in {row['clusters']} {row['cluster']}{'s' * (row['clusters'] != 1)}"


def findable(row: Mapping[str, Any]) -> str:
    """A row of `power`: `0.161 (n = 100, of which 0.310 differ), 0.204 at Holm's first step of 12 tests`."""
    told = f"{number(row['smallest_difference'])} (n = {drawn(row)}{_of_which(row)})"
    if (row["tests"] or 1) == 1:
        return told
    return f"{told}, {number(row['first_step'])} at Holm's first step of {row['tests']} tests"


def _of_which(row: Mapping[str, Any]) -> str:
    share, size = row["discordance"], row["smallest_difference"]
    if share is None or size is None:
        return ""
    told = f"{number(share)} differ" if size <= share else f"more must differ than {number(share)}"
    return f", of which {told}"


def where_seen(row: Mapping[str, Any], size: float) -> str:
    """For which truth a McNemar test finds a difference of this size; nothing of another test."""
    if row["test"] != "mcnemar":
        return ""
    differ = row["better"] + row["worse"]
    if size <= differ / row["n"]:
        return f", where {differ} of {row['n']} questions differ, as here"
    return f", where more questions differ than the {differ} of {row['n']} here, and all point one way"


_TESTS = {"mcnemar": "exact McNemar", "paired bootstrap": "paired bootstrap", "sign flips": "sign flips"}


def tested(row: Mapping[str, Any]) -> str:
    """The name of a paired test, and by what it flips signs."""
    return _TESTS[row["test"]] + (f" {by_cluster(row['cluster'])}" if row["cluster"] else "")


def p_value(value: float | None) -> str:
    """A p value as journals print it."""
    if value is None:
        return NONE
    return f"< {LIMIT}" if value < LIMIT else f"{value:.3f}"


def flag(row: Mapping[str, Any]) -> str:
    """What is wrong with a number: how many errors it leaves out, else its status; nothing where it is sound."""
    if row["status"] == "partial" and (errors := row.get("errors")):
        return f"{errors} error{'s' if errors > 1 else ''}"
    return "" if row["status"] == "ok" else str(row["status"])


def count(value: float | None) -> str:
    """A count, or a mean of counts."""
    return NONE if value is None else f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def backers(value: float | None, most: int) -> str:
    """A number of backers; None: more than were tried."""
    return f"> {most}" if value is None else count(value)


_SIDES = {
    "both": "returned both sides at every level",
    "neither": "returned neither side at any level",
    "both or neither": "returned both sides or neither at every level",
}


def always(sides: str) -> str:
    """Of a method that never returned one side alone, where one of them is right."""
    return f"{sides}, always"


def undecided(row: Mapping[str, Any]) -> str:
    """Of a method that never returned one side alone, instead of a flip point."""
    return f"undecided ({_SIDES.get(row['sides'], 'never returned one side alone')})"


def all_undecided(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences below a table of flip points: which methods are undecided, and how."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        if row["undecided"]:
            labels.setdefault(undecided(row), []).append(row["label"])
    # Labels may have commas in them.
    return [f"{'; '.join(dict.fromkeys(found))}: {told}." for told, found in labels.items()]


def flip_points(row: Mapping[str, Any]) -> str:
    """`median (low to high)` of a line of `flip_summary`; `all_undecided` tells below the table what isn't one."""
    if row["undecided"]:
        return "undecided"
    if not row["n"]:
        return "no conflict seen"
    low, high = backers(row["low"], row["most"]), backers(row["high"], row["most"])
    middle = backers(row["median"], row["most"])
    return middle if low == high else f"{middle} ({low} to {high})"


def flip_point(row: Mapping[str, Any]) -> str:
    """The median alone, of a line of `flip_summary`."""
    return backers(row["median"], row["most"]) if row["n"] else "none seen"


def milliseconds(seconds: float | None) -> str:
    """Two digits that say something; a time is not known better than that."""
    if seconds is None:
        return NONE
    value = 1000 * seconds
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def seconds(value: float | None) -> str:
    """A time with its unit."""
    if value is None:
        return NONE
    return f"{milliseconds(value)} ms" if value < 0.0995 else f"{value:.2f} s" if value < 99.5 else f"{value:,.0f} s"


def size(count: float) -> str:
    """A number of bytes."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 99.5 else f"{count:.1f} {unit}"


def used(usage: Mapping[str, float]) -> str:
    """What a memory says that it used."""
    return ", ".join(f"{amount:,.10g} {name}" for name, amount in usage.items()) or NONE


def with_encoding(cost: Mapping[str, Any]) -> str | None:
    """What of a search's time is the embedding of its query; None where nothing is."""
    if cost["query_encoding"] is None:
        return "without embedding the query: not measured"
    return f"with {milliseconds(cost['query_encoding'])} ms for embedding the query" if cost["query_encoding"] else None


def _minus(text: str) -> str:
    return text.replace("-", "−")
