"""A bar on a terminal, plain lines else."""

from __future__ import annotations

import io
import time

import pytest

from pytest_engram.basics import progress as module
from pytest_engram.basics.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Latin(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), encoding="ascii")


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_nothing_is_shown_for_an_empty_job():
    for stream in (io.StringIO(), Terminal()):
        with progress("Embedding", 0, file=stream) as bar:
            bar.advance(0)
        assert stream.getvalue() == ""


def test_a_short_job_in_a_log_file_is_two_lines(clock):
    stream = io.StringIO()
    with progress("Embedding", 455, file=stream) as bar:
        for _ in range(455):
            bar.advance()
            clock[0] += 0.01
    assert stream.getvalue() == "Embedding: 455 texts\nEmbedding: 455 texts in 4.5 s\n"


def test_what_a_job_has_taken_stands_beside_how_far_it_is(clock):
    stream = io.StringIO()
    with progress("Answering", 4, unit="answer", file=stream) as bar:
        for number in range(1, 5):
            clock[0] += 60
            bar.advance(1, f"{number}00 tokens, $0.0{number}")
    assert stream.getvalue().splitlines() == [
        "Answering: 4 answers",
        "Answering: 1 of 4 (25%), about 3 min 0 s left; 100 tokens, $0.01",
        "Answering: 2 of 4 (50%), about 2 min 0 s left; 200 tokens, $0.02",
        "Answering: 3 of 4 (75%), about 1 min 0 s left; 300 tokens, $0.03",
        "Answering: 4 answers in 4 min 0 s; 400 tokens, $0.04",
    ]
    terminal = Terminal()
    with progress("Answering", 2, unit="answer", file=terminal) as bar:
        bar.advance(2, "7 tokens, $0.01")
    assert "7 tokens, $0.01" in terminal.getvalue()


def test_one_unit_is_no_plural(clock):
    stream = io.StringIO()
    with progress("Reading", 1, unit="file", file=stream) as bar:
        bar.advance()
    assert stream.getvalue() == "Reading: 1 file\nReading: 1 file in 0.0 s\n"


def test_a_long_job_says_how_far_it_is_and_what_is_left(clock):
    stream = io.StringIO()
    with progress("Embedding", 100, file=stream) as bar:
        for _ in range(10):
            clock[0] += 30  # 300 s for all
            bar.advance(10)
    lines = stream.getvalue().splitlines()
    assert lines[1] == "Embedding: 10 of 100 (10%), about 4 min 30 s left"
    assert len(lines) == 1 + 9 + 1
    assert lines[-1] == "Embedding: 100 texts in 5 min 0 s"


def test_no_more_than_a_line_every_ten_seconds_and_ten_per_cent(clock):
    stream = io.StringIO()
    with progress("Embedding", 10_000, file=stream) as bar:
        for _ in range(10_000):
            clock[0] += 0.02  # 200 s: ten lines of 20 s
            bar.advance()
    assert 9 <= len(stream.getvalue().splitlines()) - 2 <= 10


def test_a_slow_job_gives_a_sign_every_minute(clock):
    stream = io.StringIO()
    with progress("Embedding", 1000, file=stream) as bar:
        for _ in range(60):
            clock[0] += 10
            bar.advance()
    assert 9 <= len(stream.getvalue().splitlines()) - 2 <= 10


def test_an_interrupted_job_says_so(clock):
    stream = io.StringIO()

    def job():
        with progress("Embedding", 9, file=stream) as bar:
            bar.advance(3)
            clock[0] += 4000
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job()
    assert stream.getvalue().splitlines()[-1] == "Embedding: stopped after 3 of 9, 1 h 6 min"


def test_a_terminal_gets_a_bar_with_the_time_left():
    stream = Terminal()
    with progress("Embedding", 40, file=stream) as bar:
        for _ in range(4):
            time.sleep(0.11)
            bar.advance(10)
    shown = stream.getvalue()
    assert "Embedding: 100%" in shown
    assert "40/40" in shown
    assert "<00:00" in shown  # time left
    assert shown.endswith("\n")


def test_a_stream_that_can_not_show_the_label():
    stream = Latin()
    with progress("Größe", 1, file=stream) as bar:
        bar.advance()
    stream.seek(0)
    assert stream.read().startswith("Gr??e: 1 text\n")


def test_standard_error_is_the_default(capsys):
    with progress("Embedding", 1) as bar:
        bar.advance()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Embedding: 1 text\n")
