"""Rows of a table that no method is behind: what knowing nothing gets, and what nobody can exceed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_engram.report.wording import NONE, number

Values = Mapping[str, float]  # by metric


def floors(results: Mapping[str, Any], suite: str) -> Iterator[tuple[str, Values]]:
    """Label and values of k random entries, of one answer to every question, and of whoever reads no text."""
    rows = [row for row in results["floors"] if row["suite"] == suite]
    for answer in dict.fromkeys(row["answer"] for row in rows):
        who = f"{results['manifest'].get('k')} random entries" if answer is None else f"“{answer}”, always"
        yield f"{who} (floor)", {row["metric"]: row["value"] for row in rows if row["answer"] == answer}
    blind = [row for row in results["strategies"] if row["suite"] == suite]
    for name in dict.fromkeys(row["strategy"] for row in blind):
        yield f"{name} (reads nothing)", {row["metric"]: row["value"] for row in blind if row["strategy"] == name}


def best(results: Mapping[str, Any], suite: str) -> tuple[str, Values, int] | None:
    """Label and values of the best k entries, and over how many questions; None where one entry is enough."""
    rows = [row for row in results["ceilings"] if row["suite"] == suite and row["of"] == "k entries"]
    if not rows:
        return None
    label = f"the best {results['manifest'].get('k')} entries (ceiling)"
    return label, {row["metric"]: row["value"] for row in rows}, rows[0]["n"]


def cells(values: Values, metrics: Sequence[str], units: Mapping[str, str]) -> list[str]:
    """One for each metric."""
    return [number(values[metric], units.get(metric, "")) if metric in values else NONE for metric in metrics]
