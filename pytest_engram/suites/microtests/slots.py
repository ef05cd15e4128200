"""Slots: `{name}` in a case's texts stands for what each row of its slots says under `name`.

Braces that stay are written twice: `{{"port": 80}}` is the text `{"port": 80}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path

from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.files import Lines, Location, dotted
from pytest_engram.suites.microtests.model import Case

LISTS = ("web", "backers", "repeats", "also")
_BRACES = re.compile(r"\{\{|\}\}|\{\s*([^{}]*?)\s*\}")
_NAME = re.compile(r"\w[\w .-]*")  # as somebody may call a slot; JSON is no such name


def filler(case: Case, number: int, path: Path, lines: Lines, where: Location) -> Callable[..., str]:
    """Fills texts by one row of slots: called with a text and its place in the case.

    Args:
        case: whose texts they are.
        number: of the row; 0 where the case has none.
        path: the suite file.
        lines: where each part of it stands.
        where: where the case stands in it.

    Raises (when called):
        SuiteError: a text has braces that no slot of the row fills.
    """
    row = case.slots[number] if case.slots else {}

    def fill(text: str, *at: str | int) -> str:
        def value(match: re.Match[str]) -> str:
            slot = match[1]
            if slot is None:
                return match[0][0]
            if slot in row:
                return row[slot]
            here, problem = _unfilled(case, number, slot, match[0])
            raise SuiteError(path, lines[(*where, *(here or at))], dotted((*where, *(here or at))), problem)

        return _BRACES.sub(value, text)

    return fill


def _unfilled(case: Case, number: int, slot: str, braces: str) -> tuple[Location, str]:
    """The place in the case that is wrong, empty where it is the text's, and what is wrong there."""
    stay = f"for braces that stay, write {{{braces}}}"
    if not _NAME.fullmatch(slot):
        return (), f"{braces} is read as a slot, and there is none; {stay}"
    if not case.slots:
        return (), f"{{{slot}}} has no slot; add `slots: [{{{slot}: ...}}]` to the case; {stay}"
    if any(slot in other for other in case.slots):
        return ("slots", number), f"row {number + 1} lacks {slot!r}; add `{slot}: ...`"
    close = get_close_matches(slot, case.slots[number], 1)
    cure = f"did you mean {{{close[0]}}}?" if close else f"add `{slot}: ...` to every row of slots"
    return (), f"{{{slot}}} has no slot; {cure}"


def check_used(case: Case, path: Path, lines: Lines, where: Location) -> None:
    """Refuse a slot that no text of its case uses.

    Raises:
        SuiteError: there is one.
    """
    used = dict.fromkeys(match[1] for text in _texts(case) for match in _BRACES.finditer(text) if match[1])
    for number, row in enumerate(case.slots):
        for slot in row:
            if slot not in used:
                at = (*where, "slots", number, slot)
                close = get_close_matches(slot, used, 1)
                cure = f"did you mean {close[0]}?" if close else f"delete it, or write {{{slot}}} into a text"
                raise SuiteError(path, lines[at], dotted(at), f"no text uses this slot; {cure}")


def _texts(case: Case) -> Iterator[str]:
    yield from (text for text in (case.belief, case.update, case.again, case.query) if text)
    for name in LISTS:
        yield from getattr(case, name)
