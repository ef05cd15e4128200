"""The benchmarks' dates: read into seconds since 1970, and written again as each benchmark writes them.

A date without a zone is taken as UTC. No locale plays a part: months and days of the week are English.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = {month.lower(): number for number, month in enumerate(MONTHS, 1)}
_LONGMEMEVAL = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})(?: \(\w+\))?(?: ([0-9]{1,2}):([0-9]{2}))?")
_LOCOMO = re.compile(
    rf"([0-9]{{1,2}}):([0-9]{{2}}) ([ap])m on ([0-9]{{1,2}}) ({'|'.join(MONTHS)}),? ([0-9]{{4}})", re.IGNORECASE
)


@lru_cache(maxsize=65_536)
def seconds(date: str) -> float | None:
    """Seconds since 1970, UTC; None where the date can't be read.

    Args:
        date: as LongMemEval has it ("2023/05/20 (Sat) 02:21", the day of the week unchecked), as LoCoMo has it
            ("1:56 pm on 8 May, 2023"), or ISO 8601 with or without a zone ("2023-05-20T01:00+09:00").
    """
    text = date.strip()
    try:
        if match := _LONGMEMEVAL.fullmatch(text):
            year, month, day, hour, minute = (int(part or 0) for part in match.groups())
            found = datetime(year, month, day, hour, minute, tzinfo=UTC)
        elif match := _LOCOMO.fullmatch(text):
            found = _twelve_hours(*match.groups())
        else:
            found = datetime.fromisoformat(text)
            found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return (found - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None


def _twelve_hours(hour: str, minute: str, half: str, day: str, month: str, year: str) -> datetime:
    """12 am is midnight, 12 pm noon."""
    if not 1 <= int(hour) <= 12:
        raise ValueError(f"{hour} is no hour of twelve")
    of_day = int(hour) % 12 + 12 * (half in "pP")
    return datetime(int(year), _NUMBER[month.lower()], int(day), of_day, int(minute), tzinfo=UTC)


def locomo(time: float) -> str:
    """Seconds since 1970 as LoCoMo writes a session's date: "1:56 pm on 8 May, 2023", UTC, seconds left off.

    Raises:
        OverflowError: it lies outside the years 1 to 9999.
    """
    at = _at(time)
    half = "am" if at.hour < 12 else "pm"
    return f"{at.hour % 12 or 12}:{at.minute:02d} {half} on {at.day} {MONTHS[at.month - 1]}, {at.year:04d}"


def longmemeval(time: float) -> str:
    """Seconds since 1970 as LongMemEval writes a date: "2023/05/20 (Sat) 02:21", UTC, seconds left off.

    Raises:
        OverflowError: it lies outside the years 1 to 9999.
    """
    at = _at(time)
    day = DAYS[at.weekday()]
    return f"{at.year:04d}/{at.month:02d}/{at.day:02d} ({day}) {at.hour:02d}:{at.minute:02d}"


def _at(time: float) -> datetime:
    return _EPOCH + timedelta(seconds=time)
