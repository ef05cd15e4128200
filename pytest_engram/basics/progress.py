"""How far a long job has come: a bar on a terminal, and a few plain lines in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

EVERY_SECONDS = 10.0  # no plain line sooner than this after the last one
EVERY_SHARE = 0.1  # nor before this much more is done, ...
AT_LEAST_SECONDS = 60.0  # ... unless so much time has passed


class Bar(Protocol):
    """What `progress` gives."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """`n` more are done; `note` stands beside how far the job has come."""


@contextmanager
def progress(
    label: str, total: int, unit: str = "text", file: TextIO | None = None, patience: float = 0.0
) -> Iterator[Bar]:
    """Show how far a job of `total` units has come, with the time that is left. Nothing is shown for an empty job.

    Args:
        label: what is done, e.g. "Embedding with bge-small-en-v1.5".
        total: number of units.
        unit: one unit's name, in the singular; a symbol of bytes, like "kB", has no plural.
        file: where to show it; default: standard error. Under pytest that must be the terminal reporter's stream,
            as standard error is captured there.
        patience: seconds before anything is shown, for a job that is mostly quick.
    """
    if total <= 0:
        yield _Silent()
        return
    stream = sys.stderr if file is None else file
    label = "".join(character if character.isprintable() else " " for character in label)  # a model's name, of anywhere
    bar = (_Terminal if stream.isatty() else _Lines)(label, total, unit, stream, patience)
    try:
        yield bar
    finally:
        bar.close()


class _Silent:
    def advance(self, n: int = 1, note: str = "") -> None:
        pass


class _Terminal:
    def __init__(self, label: str, total: int, unit: str, stream: TextIO, patience: float) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=total, desc=label, unit=f" {_plural(unit)}", file=stream, dynamic_ncols=True, delay=patience
        )

    def advance(self, n: int = 1, note: str = "") -> None:
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(n)

    def close(self) -> None:
        self._bar.close()


class _Lines:
    def __init__(self, label: str, total: int, unit: str, stream: TextIO, patience: float) -> None:
        self._label, self._total, self._unit, self._stream = label, total, unit, stream
        self._done = self._told = 0
        self._start = self._last = time.monotonic()
        self._patience = patience
        self._note = ""
        self._begun = False
        self._begin()

    def _begin(self) -> None:
        if not self._begun and time.monotonic() - self._start >= self._patience:
            self._begun = True
            self._say(f"{self._label}: {_count(self._total, self._unit)}")

    def advance(self, n: int = 1, note: str = "") -> None:
        self._note = note and f"; {note}"
        self._done += n
        now = time.monotonic()
        self._begin()
        waited = now - self._last
        much = self._done - self._told >= EVERY_SHARE * self._total or waited >= AT_LEAST_SECONDS
        if waited >= EVERY_SECONDS and much and 0 < self._done < self._total:
            left = (now - self._start) / self._done * (self._total - self._done)
            share = f"{100 * self._done // self._total}%"
            far = f"{self._done} of {self._total} ({share})"
            self._say(f"{self._label}: {far}, about {_duration(left)} left{self._note}")
            self._last, self._told = now, self._done

    def close(self) -> None:
        if not self._begun:
            return
        took = _duration(time.monotonic() - self._start)
        if self._done < self._total:
            self._say(f"{self._label}: stopped after {self._done} of {self._total}, {took}{self._note}")
        else:
            self._say(f"{self._label}: {_count(self._done, self._unit)} in {took}{self._note}")

    def _say(self, text: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        self._stream.flush()


def _count(n: int, unit: str) -> str:
    return f"{n} {unit}" if n == 1 else f"{n} {_plural(unit)}"


def _plural(unit: str) -> str:
    return unit if unit.endswith("B") else f"{unit}s"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"
