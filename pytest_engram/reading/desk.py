"""The reader of a run at work, in the process that judges: at once where it is cheap, else beside the run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pytest_engram.reading.base import Answer, Asked, Reader, ReaderSpec, ReaderUnavailable
from pytest_engram.runs.outcome import Outcome

ANSWER = "answer"  # in `missing` of a line that is not judged yet
WAITING = "the run ended before its reader did"


class Desk:
    """Questions that are being answered.

    Args:
        spec: whose label a line gets, and whether there is a model, so that threads ask it.
        reader: who is asked.
        threads: how many ask.
    """

    def __init__(self, spec: ReaderSpec, reader: Reader, threads: int) -> None:
        self.spec = spec
        self._reader = reader
        self._count = threads
        self._threads: list[threading.Thread] = []
        self._asked: queue.SimpleQueue[tuple[Outcome, Asked] | None] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[tuple[Outcome, Answer | Exception]] = queue.SimpleQueue()
        self._waiting = 0

    def __len__(self) -> int:
        """How many questions wait for an answer that was not taken yet."""
        return self._waiting

    def read(self, line: Outcome, asked: Asked) -> bool:
        """Have a line's question answered; whether the line is complete, or will come by `ready` or `rest`."""
        line.reader = self.spec.label
        if self.spec.model is None:
            put_down(line, self._ask(asked))
            return True
        line.missing[ANSWER] = WAITING
        self._waiting += 1
        self._asked.put((line, asked))
        if len(self._threads) < min(self._count, self._waiting):
            # Daemons: a run that is interrupted does not wait for what an endpoint still has to say.
            self._threads.append(threading.Thread(target=self._work, name="engram-reader", daemon=True))
            self._threads[-1].start()
        return False

    def ready(self) -> Iterator[Outcome]:
        """The lines that were answered meanwhile, without waiting."""
        while self._waiting:
            try:
                yield self._take(self._answered.get_nowait())
            except queue.Empty:
                return

    def rest(self) -> Iterator[Outcome]:
        """All lines that still wait, as they are answered."""
        while self._waiting:
            try:
                # With a timeout, so that an interrupt is heard on every platform.
                yield self._take(self._answered.get(timeout=0.5))
            except queue.Empty:
                continue

    def _take(self, found: tuple[Outcome, Answer | Exception]) -> Outcome:
        self._waiting -= 1
        line, answer = found
        put_down(line, answer)
        return line

    def _work(self) -> None:
        while (given := self._asked.get()) is not None:
            line, asked = given
            self._answered.put((line, self._ask(asked)))

    def _ask(self, asked: Asked) -> Answer | Exception:
        try:
            return self._reader.answer(asked)
        except Exception as error:  # a reader's own fault must not end the run
            return error

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        return {**self.spec.describe(), **getattr(self._reader, "describe", dict)()}

    def notes(self) -> list[str]:
        """What else is told at the end of a run."""
        return list(getattr(self._reader, "notes", list)())

    def close(self) -> None:
        """Ask nobody any more."""
        with suppress(queue.Empty):
            while True:
                self._asked.get_nowait()
        for _ in self._threads:
            self._asked.put(None)


def unread(line: Outcome) -> bool:
    """Whether a reader may answer: of a recorded method not where an answer was given, or judged, elsewhere."""
    return line.status == "ok" and line.reader is None and ANSWER not in line.missing


def put_down(line: Outcome, answer: Answer | Exception) -> None:
    """An answer, or why there is none, into its line."""
    if isinstance(answer, Answer):
        line.missing.pop(ANSWER, None)
        line.answer = answer.text
        line.fields |= answer.fields()
        return
    if isinstance(answer, ReaderUnavailable):
        line.missing[ANSWER] = str(answer)
        if answer.spent is not None:
            line.fields |= answer.spent.fields()
        return
    line.missing[ANSWER] = f"{type(answer).__name__}: {' '.join(str(answer).split())}"[:500]
