"""From cases to levels: slots are filled, the sweep is unrolled, and the entries are put in the order of writing.

Order of writing, which is the order of time: the first half of the background, the belief, the facts that back it, the
second half of the background (time passes), the update, the facts that back it or the remarks that repeat it, further
values, and the belief once more where a case says `again`. Ids number the entries in that order and tell nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from pytest_engram.memory import Entry
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.files import Lines, Location, dotted
from pytest_engram.suites.microtests.model import Case, Cases, Sweep
from pytest_engram.suites.microtests.winners import RULES, Backing, Expected, Rule

_PLACEHOLDER = re.compile(r"\{\s*([^{}]*?)\s*\}")
_LISTS = ("web", "backers", "repeats", "also")
_MARGIN = 2  # a background must be this many times larger than the default k of 10 (standing rule 10)


@dataclass(frozen=True, slots=True)
class Filled:
    """A case with its slots filled."""

    name: str
    belief: str
    web: tuple[str, ...]
    update: str
    backers: tuple[str, ...]
    repeats: tuple[str, ...]
    again: str | None
    also: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class Level:
    """One item: a case, how many facts back each side, and what the rule makes of it."""

    name: str
    case: Filled
    web: int
    backers: int  # of the axis
    axis: Literal["backers", "repeats"]
    expected: Expected | None
    template: int = 0  # place of its case in the file: rows of slots share one, and so do all levels

    def written(self, background: Sequence[str]) -> tuple[list[Entry], dict[str, tuple[str, ...]]]:
        """The entries in the order of writing, and the ids of the parts "belief" (again included), "update", "also"."""
        case, half = self.case, len(background) // 2
        backing = case.repeats if self.axis == "repeats" else case.backers
        parts: list[tuple[str, Sequence[str]]] = [
            ("", background[:half]),
            ("belief", [case.belief]),
            ("", case.web[: self.web]),
            ("", background[half:]),
            ("update", [case.update]),
            ("", backing[: self.backers]),
            ("also", case.also),
            ("belief", [case.again] if case.again else []),
        ]
        entries: list[Entry] = []
        ids: dict[str, tuple[str, ...]] = {"belief": (), "update": (), "also": (), "": ()}
        for part, texts in parts:
            for text in texts:
                number = len(entries) + 1
                entries.append(Entry(f"e{number:03d}", text, float(number)))
                ids[part] = (*ids[part], entries[-1].id)
        return entries, ids


def rule_of(name: str, path: Path, lines: Lines) -> Rule:
    """The rule of that name.

    Raises:
        SuiteError: there is none.
    """
    if name in RULES:
        return RULES[name]
    close = difflib.get_close_matches(name, RULES, 1)
    meant = f"; did you mean {close[0]}?" if close else "."
    raise SuiteError(path, lines[("rule",)], "rule", f"no rule {name!r}{meant} Known are {', '.join(RULES)}")


def expand(spec: Cases, background: Sequence[str], path: Path, lines: Lines) -> list[Level]:
    """All levels of a suite, in the order of the file.

    Raises:
        SuiteError: a case can't be filled, swept or told from another.
    """
    rule = rule_of(spec.rule, path, lines)
    levels: list[Level] = []
    names: dict[str, int] = {}
    for i, case in enumerate(spec.cases):
        where: Location = ("cases", i)
        _check_winner(case, rule, path, lines, where)
        sweep, sweep_at = (case.sweep, (*where, "sweep")) if case.sweep else (spec.sweep, ("sweep",))
        axis, webs, counts = _axes(case, sweep, path, lines, sweep_at)
        for filled in _fill(case, path, lines, where):
            if filled.name in names:
                first = lines[("cases", names[filled.name], "name")]
                raise SuiteError(
                    path,
                    lines[(*where, "name")],
                    dotted((*where, "name")),
                    f"{filled.name!r} names a case already (line {first}); names must differ, and so must first slots",
                )
            names[filled.name] = i
            _check_texts(filled, background, path, lines, where)
            for web, count in product(webs, counts):
                backers = count if axis == "backers" else 0
                backing = Backing(web, backers, case.again is not None, case.winner)
                name = f"{filled.name}-web{web}-{axis}{count}"
                levels.append(Level(name, filled, web, count, axis, rule.decide(backing), i))
    return levels


def _check_winner(case: Case, rule: Rule, path: Path, lines: Lines, where: Location) -> None:
    at = (*where, "winner")
    if case.winner and rule.name != "stated":
        problem = f"the rule {rule.name} names the winner; delete this line, or write `rule: stated`"
        raise SuiteError(path, lines[at], dotted(at), problem)
    if rule.name == "stated" and not case.winner:
        problem = "`rule: stated` needs a winner in each case; add `winner: belief` or `winner: update`"
        raise SuiteError(path, lines[at], dotted(at), problem)


def _axes(
    case: Case, sweep: Sweep, path: Path, lines: Lines, where: Location
) -> tuple[Literal["backers", "repeats"], list[int], list[int]]:
    if case.backers and case.repeats:
        at = lines[(*where, "repeats")]
        raise SuiteError(path, at, f"case {case.name}", "has both `backers` and `repeats`; make two cases of it")
    axis: Literal["backers", "repeats"] = "repeats" if case.repeats else "backers"
    for name in ("web", "backers", "repeats"):
        counts: list[int] = getattr(sweep, name) or []
        given = len(getattr(case, name))
        here = (*where, name)
        if counts and max(counts) > given:
            problem = (
                f"asks for {max(counts)} facts and case {case.name} gives {given}; "
                f"write {max(counts) - given} more under `{name}`, or sweep to {given}"
            )
            raise SuiteError(path, lines[here], dotted(here), problem)
        if len(set(counts)) < len(counts):
            raise SuiteError(path, lines[here], dotted(here), f"holds a number twice: {counts}; delete one")
    swept: list[int] | None = getattr(sweep, axis)
    return axis, sweep.web or [len(case.web)], swept or [len(getattr(case, axis))]


def _fill(case: Case, path: Path, lines: Lines, where: Location) -> Iterator[Filled]:
    for row_number, row in enumerate(case.slots or [{}]):

        def fill(text: str, *at: str | int, row: dict[str, str] = row, number: int = row_number) -> str:
            def value(match: re.Match[str]) -> str:
                slot = match[1]
                if slot in row:
                    return row[slot]
                here = (*where, *at)
                if not case.slots:
                    problem = (
                        f"{{{slot}}} has no slot; add `slots: [{{{slot}: ...}}]` to the case, or delete the braces"
                    )
                elif any(slot in other for other in case.slots):
                    here = (*where, "slots", number)
                    problem = f"row {number + 1} lacks {slot!r}; add `{slot}: ...`"
                else:
                    close = difflib.get_close_matches(slot, row, 1)
                    problem = f"{{{slot}}} has no slot; " + (
                        f"did you mean {{{close[0]}}}?" if close else f"add `{slot}: ...` to every row of slots"
                    )
                raise SuiteError(path, lines[here], dotted(here), problem)

            return _PLACEHOLDER.sub(value, text)

        lists = {name: tuple(fill(text, name, j) for j, text in enumerate(getattr(case, name))) for name in _LISTS}
        yield Filled(
            name=slug(case.name, next(iter(row.values()), "")),
            belief=fill(case.belief, "belief"),
            update=fill(case.update, "update"),
            again=fill(case.again, "again") if case.again else None,
            query=fill(case.query, "query"),
            **lists,
        )


def slug(*parts: str) -> str:
    """A name for items: lower case, letters and digits of any script, single dashes."""
    return re.sub(r"[\W_]+", "-", " ".join(parts).casefold()).strip("-")


def _check_texts(filled: Filled, background: Sequence[str], path: Path, lines: Lines, where: Location) -> None:
    seen: dict[str, str] = dict.fromkeys(background, "background")
    fields: list[tuple[Location, str]] = [(("belief",), filled.belief), (("update",), filled.update)]
    if filled.again and filled.again != filled.belief:
        fields.append((("again",), filled.again))
    fields += [((name, j), text) for name in _LISTS for j, text in enumerate(getattr(filled, name))]
    for at, text in fields:
        here = (*where, *at)
        if text in seen:
            problem = f"case {filled.name}: the same text as {seen[text]}: {text!r}; a level needs different facts"
            raise SuiteError(path, lines[here], dotted(here), problem)
        seen[text] = dotted(here)


def check_background(background: Sequence[str], path: Path, lines: Lines) -> None:
    """Refuse a background that ten ids could cover, and one that says the same twice.

    Raises:
        SuiteError: so it is.
    """
    least = _MARGIN * 10
    if len(background) < least:
        problem = (
            f"{len(background)} facts; write at least {least}, so that k does not cover the haystack, "
            "or leave it out: a list is shipped"
        )
        raise SuiteError(path, lines[("background",)], "background", problem)
    seen: dict[str, int] = {}
    for i, text in enumerate(background):
        if text in seen:
            at = ("background", i)
            raise SuiteError(path, lines[at], dotted(at), f"the same text as background[{seen[text]}]; delete one")
        seen[text] = i
