"""From cases to levels: slots are filled, the sweep is unrolled, and the entries are put in an order.

The order of writing, which is the order of time, is drawn from a seed: background, statements and whatever backs or
repeats them stand anywhere. Only the update comes after the belief, and the belief that is stated once more after both
(in a mirror between them).
So where an entry stands, and how many stand before or behind it, tells nothing of who is backed. A level with one fact
more is the same order with that fact put in. Ids number the entries in their order and tell nothing else.

A suite that says `mirror` asks every case twice. In its mirror the other side deserves to win: belief and update trade
places in time, each with what backs or repeats it, so that neither a side, nor a wording, nor an encoder's liking for
one of two values can win by itself. Where the belief is stated once more, that comes before the update.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from pytest_engram.basics.texts import visible
from pytest_engram.memory import Entry
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.files import LEVELS, Lines, Location, dotted
from pytest_engram.suites.microtests.model import Case, Cases, Sweep
from pytest_engram.suites.microtests.slots import LISTS, check_used, filler
from pytest_engram.suites.microtests.winners import RULES, Backing, Expected, Rule

_SEED = 20_261_008  # of the order of entries
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
    mirrored: bool = False

    def mirror(self) -> Filled:
        """The case in which the other side deserves to win."""
        made = replace(self, name=f"{self.name}-mirrored", mirrored=True)
        if self.again:
            return made  # stated once more before the update, and not behind it
        made = replace(made, belief=self.update, update=self.belief)
        return made if self.repeats else replace(made, web=self.backers, backers=self.web)


@dataclass(frozen=True, slots=True)
class Level:
    """One item: a case, how many facts back each side, and what the rule makes of it.

    On the axis of repeats, `web` counts the facts that back the side which is not repeated: the belief, in a mirrored
    case the update.
    """

    name: str
    case: Filled
    web: int
    backers: int  # of the axis
    axis: Literal["backers", "repeats"]
    expected: Expected | None
    template: int = 0  # place of its case in the file: rows of slots share one, and so do all levels

    def written(self, background: Sequence[str]) -> tuple[list[Entry], dict[str, tuple[str, ...]]]:
        """The entries in the order of writing, and the ids of the parts "belief" (again included), "update", "also"."""
        case = self.case
        backing = case.repeats if self.axis == "repeats" else case.backers
        parts: list[tuple[str, Sequence[str]]] = [
            ("", background),
            ("", case.web[: self.web]),
            ("", backing[: self.backers]),
            ("also", case.also),
        ]
        placed = [(self._place(text), part, text) for part, texts in parts for text in texts]
        sides = [("belief", case.belief), ("update", case.update)]
        if case.again:
            sides.insert(1 if case.mirrored else 2, ("belief", case.again))
        # In which order the sides were stated is what a case is about. Which places they have is not.
        places = sorted(self._place(f"{number} {text}") for number, (_, text) in enumerate(sides))
        placed += [(place, part, text) for place, (part, text) in zip(places, sides, strict=True)]
        entries: list[Entry] = []
        ids: dict[str, tuple[str, ...]] = {"belief": (), "update": (), "also": (), "": ()}
        for number, (_, part, text) in enumerate(sorted(placed), 1):
            entries.append(Entry(f"e{number:03d}", text, float(number)))
            ids[part] = (*ids[part], entries[-1].id)
        return entries, ids

    def _place(self, text: str) -> bytes:
        """Where a text stands in the order: drawn, the same at every level of a case."""
        return hashlib.blake2b(f"{_SEED} {self.case.name} {text}".encode(), digest_size=8).digest()


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
    others = frozenset(map(visible, background))
    for i, case in enumerate(spec.cases):
        where: Location = ("cases", i)
        _check_winner(case, rule, path, lines, where)
        sweep, sweep_at = (case.sweep, (*where, "sweep")) if case.sweep else (spec.sweep, ("sweep",))
        axis, webs, counts = _axes(case, sweep, path, lines, sweep_at)
        rows = [
            form
            for filled in _fill(case, path, lines, where)
            for form in ([filled, filled.mirror()] if spec.mirror else [filled])
        ]
        for filled in rows:
            if filled.name in names:
                first = lines[("cases", names[filled.name], "name")]
                raise SuiteError(
                    path,
                    lines[(*where, "name")],
                    dotted((*where, "name")),
                    f"{filled.name!r} names a case already (line {first}); names must differ, and so must first slots",
                )
            names[filled.name] = i
            _check_texts(filled, others, path, lines, where)
            for web, count in product(webs, counts):
                if filled.mirrored and axis == "backers" and not filled.again:
                    web, count = count, web  # the facts go with the side that they back
                backing = _backing(filled, case, axis, web, count)
                name = f"{filled.name}-web{web}-{axis}{count}"
                expected = None if case.disputed else rule.decide(backing)
                levels.append(Level(name, filled, web, count, axis, expected, i))
    return levels


def _backing(filled: Filled, case: Case, axis: str, web: int, count: int) -> Backing:
    """What the rule may know of a level."""
    stated = case.winner
    if filled.mirrored and stated:
        stated = "update" if stated == "belief" else "belief"
    backs = (0, web) if axis == "repeats" and filled.mirrored else (web, 0 if axis == "repeats" else count)
    return Backing(*backs, filled.again is not None and not filled.mirrored, stated)


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
    for number, row in enumerate(case.slots or [{}]):
        fill = filler(case, number, path, lines, where)

        def filled(name: str, of: Callable[..., str] = fill) -> tuple[str, ...]:
            return tuple(of(text, name, j) for j, text in enumerate(getattr(case, name)))

        yield Filled(
            name=slug(case.name, next(iter(row.values()), "")),
            belief=fill(case.belief, "belief"),
            web=filled("web"),
            update=fill(case.update, "update"),
            backers=filled("backers"),
            repeats=filled("repeats"),
            again=fill(case.again, "again") if case.again else None,
            also=filled("also"),
            query=fill(case.query, "query"),
        )
    check_used(case, path, lines, where)


def slug(*parts: str) -> str:
    """A name for items: lower case, letters and digits of any script, single dashes."""
    return re.sub(r"[\W_]+", "-", " ".join(parts).casefold()).strip("-")


def _check_texts(filled: Filled, others: frozenset[str], path: Path, lines: Lines, where: Location) -> None:
    seen: dict[str, str] = {}
    fields: list[tuple[Location, str]] = [(("belief",), filled.belief), (("update",), filled.update)]
    if filled.again and filled.again != filled.belief:
        fields.append((("again",), filled.again))
    fields += [((name, j), text) for name in LISTS for j, text in enumerate(getattr(filled, name))]
    for at, text in fields:
        here = (*where, *at)
        shown = visible(text)
        if shown in seen or shown in others:
            first = seen.get(shown, "background")
            problem = f"case {filled.name}: the same text as {first}: {text!r}; a level needs different facts"
            raise SuiteError(path, lines[here], dotted(here), problem)
        seen[shown] = dotted(here)


def check_background(background: Sequence[str], path: Path, lines: Lines) -> None:
    """Refuse a background that ten ids could cover, and one that says the same twice.

    Raises:
        SuiteError: so it is.
    """
    if len(background) > LEVELS:
        problem = f"more than {LEVELS:,} facts, all of them in every level; write fewer"
        raise SuiteError(path, lines[("background", LEVELS)], "background", problem)
    least = _MARGIN * 10
    if len(background) < least:
        problem = (
            f"{len(background)} facts; write at least {least}, so that k does not cover the haystack, "
            "or leave it out: a list is shipped"
        )
        raise SuiteError(path, lines[("background",)], "background", problem)
    seen: dict[str, int] = {}
    for i, text in enumerate(background):
        shown = visible(text)
        if shown in seen:
            at = ("background", i)
            raise SuiteError(path, lines[at], dotted(at), f"the same text as background[{seen[shown]}]; delete one")
        seen[shown] = i
