"""Numbers as people read them: the same in every table."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


def p_value(value: float | None) -> str:
    """A p value as journals print it."""
    if value is None:
        return NONE
    return f"< {LIMIT}" if value < LIMIT else f"{value:.3f}"


def count(value: float | None) -> str:
    """A count, or a mean of counts."""
    return NONE if value is None else f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def backers(value: float | None, most: int) -> str:
    """A number of backers; None: more than were tried."""
    return f"> {most}" if value is None else count(value)


def flip_points(row: Mapping[str, Any]) -> str:
    """`median (low to high)` of a line of `flip_summary`."""
    if row["undecided"]:
        return "undecided"
    low, high = backers(row["low"], row["most"]), backers(row["high"], row["most"])
    middle = backers(row["median"], row["most"])
    return middle if low == high else f"{middle} ({low} to {high})"


def _minus(text: str) -> str:
    return text.replace("-", "−")
