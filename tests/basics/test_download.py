"""A download goes on where it stopped, and says what is wrong: against a server that does it."""

from __future__ import annotations

import random
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fileserver import Files
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_engram.basics.download import ATTEMPTS, PIECE, DownloadError, Resuming

WHOLE = random.Random(12).randbytes(300_000)


def got(files: Files, folder: Path, size: int = len(WHOLE)) -> bytes:
    target = folder / "target"
    get = Resuming(folder / "part", size, "Fetching")
    get(f"{files.url}/file", target, None)
    assert not (folder / "part").exists()
    return target.read_bytes()


def test_a_whole_file_is_asked_for_once(tmp_path: Path) -> None:
    with Files({"/file": WHOLE}).serving() as files:
        assert got(files, tmp_path) == WHOLE
        assert files.asked == [("/file", None)]


def test_a_connection_that_is_cut_is_taken_up_again(tmp_path: Path) -> None:
    with Files({"/file": WHOLE}, cuts=[12 * PIECE, 18 * PIECE]).serving() as files:
        assert got(files, tmp_path) == WHOLE
        assert files.asked == [("/file", None), ("/file", f"bytes={12 * PIECE}-"), ("/file", f"bytes={30 * PIECE}-")]


def test_a_part_of_an_earlier_call_is_gone_on_from(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(WHOLE[:299_999])
    with Files({"/file": WHOLE}).serving() as files:
        assert got(files, tmp_path) == WHOLE
        assert files.asked == [("/file", "bytes=299999-")]


def test_nothing_is_asked_where_all_of_it_had_come(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(WHOLE)
    with Files({"/file": WHOLE}).serving() as files:
        assert got(files, tmp_path) == WHOLE
        assert files.asked == []


def test_a_server_that_ignores_range_starts_over(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"x" * 1000)
    with Files({"/file": WHOLE}, ranges=False).serving() as files:
        assert got(files, tmp_path) == WHOLE


def test_a_part_longer_than_the_file_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(WHOLE + b"x")
    with Files({"/file": WHOLE}).serving() as files:
        assert got(files, tmp_path) == WHOLE
        assert files.asked == [("/file", None)]


def test_a_part_that_the_server_s_file_has_not_is_dropped(tmp_path: Path) -> None:
    """416: the server's file is shorter than what is here; what it sends is then for the sha256 to tell."""
    (tmp_path / "part").write_bytes(b"x" * 1000)
    with Files({"/file": b"short"}).serving() as files:
        assert got(files, tmp_path) == b"short"
        assert files.asked == [("/file", "bytes=1000-"), ("/file", None)]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 120_000), max_size=ATTEMPTS - 1), st.booleans(), st.integers(0, len(WHOLE)))
def test_however_it_is_cut_it_is_whole_or_not_there(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], ranges: bool, begun: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    (folder / "part").write_bytes(WHOLE[:begun])
    with Files({"/file": WHOLE}, cuts=list(cuts), ranges=ranges).serving() as files:
        with suppress(DownloadError):
            got(files, folder)
        if not (folder / "target").exists():
            assert WHOLE.startswith((folder / "part").read_bytes())
            files.cuts.clear()
            got(files, folder)
    assert (folder / "target").read_bytes() == WHOLE


def test_a_server_that_only_breaks_is_given_up_and_what_came_is_kept(tmp_path: Path) -> None:
    with Files({"/file": WHOLE}, cuts=[PIECE] * 99).serving() as files:
        with pytest.raises(DownloadError, match=r"broke at 40,960 of 300,000 bytes") as told:
            got(files, tmp_path)
        assert len(files.asked) == ATTEMPTS
    assert not told.value.unreachable
    assert (tmp_path / "part").read_bytes() == WHOLE[: 5 * 8192]


def test_a_server_that_sends_nothing_more_is_not_asked_again(tmp_path: Path) -> None:
    with Files({"/file": WHOLE}, cuts=[PIECE, 0, PIECE]).serving() as files:
        with pytest.raises(DownloadError, match="broke at 8,192 of"):
            got(files, tmp_path)
        assert len(files.asked) == 2


def test_an_end_that_nobody_announced_may_be_a_cut(tmp_path: Path) -> None:
    with Files({"/file": WHOLE}, announce=False, cuts=[PIECE]).serving() as files:
        assert got(files, tmp_path) == WHOLE


def test_more_than_the_file_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    with (
        Files({"/file": WHOLE}).serving() as files,
        pytest.raises(DownloadError, match="sends more than the 1,000 bytes"),
    ):
        got(files, tmp_path, size=1000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "words"), [(404, "404 Not Found"), (500, "500 Internal Server Error"), (403, "403")]
)
def test_what_a_server_answers_is_told(tmp_path: Path, status: int, words: str) -> None:
    with (
        Files({"/file": WHOLE}, status=status).serving() as files,
        pytest.raises(DownloadError, match=f"answers {words}") as told,
    ):
        got(files, tmp_path)
    assert not told.value.unreachable
    assert "\n" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_nobody_listens_at_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, and not listening
        files = Files({}, port=nobody.getsockname()[1])
        started = time.monotonic()
        with pytest.raises(DownloadError, match=r"could not be reached \(Connection refused\)") as told:
            got(files, tmp_path)
    assert told.value.unreachable
    assert time.monotonic() - started < 3
