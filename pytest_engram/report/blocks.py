"""What a report is made of, whatever it is written in: headings, paragraphs, plots, lists and tables of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_engram.report.wording import NONE, always, estimate, flag


@dataclass(frozen=True, slots=True)
class Heading:
    """Of a section (level 1 is the document's)."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A file of the same folder that holds a picture, and what it shows in words."""

    file: str
    alt: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list: what stands out, and what it says."""

    items: list[tuple[str, str]]


@dataclass(slots=True)
class Grid:
    """A table: what it is, with what it was measured, what stands in it, numbered reasons, and remarks below."""

    title: str
    caption: str
    headers: list[str]
    rows: list[list[str]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """The number of a reason, from 1, in brackets; the same reason has one number."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"({self.reasons.index(reason) + 1})"

    def cell(self, row: Mapping[str, Any], unit: str = "") -> str:
        """A value with its interval and, where it is none to rely on, why."""
        status = row["status"]
        if status == "copied":
            return f"{row['printed']} copied"
        if status == "not reported":
            return NONE
        told = always(row["sides"]) if row.get("sides") else estimate(row, unit)
        shown = [] if row["value"] is None else [told]
        shown += [] if status == "ok" else [flag(row)]
        shown += [self.mark(row["reason"])] if row["reason"] else []
        if row["value"] is not None:
            shown += [self.mark(mark) for mark in row.get("marks", ())]
        return " ".join(shown)


Block: TypeAlias = Heading | Text | Plot | Items | Grid


def drop_empty(grid: Grid) -> None:
    """Leave out columns that say nothing for any method."""
    kept = [at for at in range(len(grid.headers)) if any(row[at] != NONE for row in grid.rows)]
    grid.headers = [grid.headers[at] for at in kept]
    grid.rows = [[row[at] for at in kept] for row in grid.rows]
