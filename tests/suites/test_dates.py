"""Dates in the forms of the benchmarks, whatever zone and locale; the seconds are those of `date -u -d ... +%s`."""

from __future__ import annotations

import json
import locale
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.suites import dates


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("1970/01/01 (Thu) 00:01", 60.0),
        ("2023/05/20 (Sat) 02:21", 1_684_549_260.0),
        ("2023/5/20 2:21", 1_684_549_260.0),
        ("2023-05-20T02:21:00", 1_684_549_260.0),
        ("2023-05-20 02:21", 1_684_549_260.0),
        ("2023-05-20T02:21:00Z", 1_684_549_260.0),
        ("2023-05-20T04:21:00+02:00", 1_684_549_260.0),
        ("2023-05-20T02:21:00.5", 1_684_549_260.5),
        ("2023/05/20", 1_684_540_800.0),
        ("1:56 pm on 8 May, 2023", 1_683_554_160.0),
        ("12:09 am on 13 September, 2023", 1_694_563_740.0),
        ("12:00 pm on 1 January, 1970", 43_200.0),
        (" 1:56 PM on 8 may, 2023\n", 1_683_554_160.0),
        ("13:56 pm on 8 May, 2023", None),
        ("0:56 am on 8 May, 2023", None),
        ("1:56 pm on 31 February, 2023", None),
        ("1:56 pm on 8 Mai, 2023", None),
        ("2023/02/30 (Thu) 02:21", None),
        ("2023-05-20T25:00", None),
        ("yesterday", None),
        ("?", None),
        ("", None),
    ],
)
def test_what_is_read(date: str, seconds: float | None) -> None:
    assert dates.seconds(date) == seconds


def test_zones_count() -> None:
    tokyo, london = dates.seconds("2023-05-20T01:00+09:00"), dates.seconds("2023-05-19T20:00+00:00")
    assert tokyo is not None
    assert london is not None
    assert (tokyo, london) == (1_684_512_000.0, 1_684_526_400.0)
    assert tokyo < london


moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)).map(lambda at: at.replace(second=0, microsecond=0))


@given(moments, st.floats(0, 59.99))
def test_both_forms_come_back_and_what_is_below_a_minute_is_left_off(at: datetime, more: float) -> None:
    time = (at.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    for write in (dates.locomo, dates.longmemeval):
        assert dates.seconds(write(time + more)) == time


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)), st.integers(-24 * 60 + 1, 24 * 60 - 1))
def test_an_iso_date_is_the_moment_that_it_names(at: datetime, minutes: int) -> None:
    zoned = at.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    found = dates.seconds(zoned.isoformat())
    assert found is not None
    # Arithmetic of whole microseconds, apart from `datetime`'s own of zones.
    naive = (at - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert found == pytest.approx((naive - minutes * 60 * 10**6) / 10**6, abs=1e-4)


@given(st.text(max_size=30))
def test_any_text_is_read_or_not_and_raises_nothing(text: str) -> None:
    found = dates.seconds(text)
    assert found is None or isinstance(found, float)


def test_as_the_benchmarks_write_them() -> None:
    assert dates.locomo(1_683_554_160.0) == "1:56 pm on 8 May, 2023"
    assert dates.locomo(1_694_563_740.0) == "12:09 am on 13 September, 2023"
    assert dates.locomo(43_200.0) == "12:00 pm on 1 January, 1970"
    assert dates.longmemeval(1_684_549_260.0) == "2023/05/20 (Sat) 02:21"


def test_no_locale_plays_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    before = locale.setlocale(locale.LC_TIME)
    there = [name for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8", "C") if _settable(name)]
    try:
        for name in there:
            locale.setlocale(locale.LC_TIME, name)
            dates.seconds.cache_clear()
            assert dates.locomo(1_683_554_160.0) == "1:56 pm on 8 May, 2023"
            assert dates.seconds("1:56 pm on 8 May, 2023") == 1_683_554_160.0
    finally:
        locale.setlocale(locale.LC_TIME, before)


def _settable(name: str) -> bool:
    before = locale.setlocale(locale.LC_TIME)
    try:
        locale.setlocale(locale.LC_TIME, name)
    except locale.Error:
        return False
    locale.setlocale(locale.LC_TIME, before)
    return True


def test_every_date_of_the_official_locomo_file_is_read_and_written_back(shared_data: Path) -> None:
    path = shared_data / "locomo" / "locomo10.json"
    found = [
        date
        for sample in json.loads(path.read_text(encoding="utf-8"))
        for name, date in sample["conversation"].items()
        if name.endswith("_date_time")
    ]
    assert len(found) == 288
    for date in found:
        time = dates.seconds(date)
        assert time is not None
        assert dates.locomo(time) == date
