"""What a paid-for answer needs: a store that survives kills, a limit over all workers, one notice of an outage.

All of it is files in the cache, so that the workers of a run, and runs after one another, share it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

POLL_SECONDS = 0.05
KEPT_SECONDS = 24 * 3600.0  # notices of runs older than that are deleted


class StoreError(Exception):
    """The store can't be written. The message is one line, with the cure, and names no path."""


class CompletionStore:
    """Completions by the sha256 of all that they depend on, one JSON file each.

    Args:
        folder: where they lie; made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_or_ask(self, request: Mapping[str, Any], ask: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
        """The stored completion of `request`, else what `ask` gives, which is stored at once.

        Processes that want the same at the same time wait for the one that asks. A damaged file counts as none.

        Args:
            request: all that the completion depends on, as JSON.
            ask: gives the completion as JSON, with its `text`; what it raises goes through, and nothing is stored.

        Returns:
            The completion, and whether it was stored before.

        Raises:
            StoreError: the store can't be written. A store that can't be is found out before anybody is asked.
        """
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        path = self._folder / digest[:2] / f"{digest}.json"
        if (found := _read(path)) is not None:
            return found, True
        lock = path.with_suffix(".lock")
        with _writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            held = FileLock(lock)
            held.acquire()
        try:
            if (found := _read(path)) is not None:
                return found, True
            completion = ask()
            with _writing():
                _replace(path, completion)
            return completion, False
        finally:
            held.release()
            # Whoever still waits for the deleted lock, or makes it anew, finds the completion.
            with suppress(OSError):
                lock.unlink()


@contextmanager
def slot(folder: Path, name: str, slots: int) -> Iterator[None]:
    """Hold one of `slots` places that all processes share under `name`; wait for one to become free.

    The operating system frees the place of a process that dies.

    Raises:
        StoreError: the folder can't be written.
    """
    with _writing():
        folder.mkdir(parents=True, exist_ok=True)
        held = _first_free([FileLock(folder / f"{name}-{number}.lock") for number in range(slots)])
    try:
        yield
    finally:
        held.release()


def _first_free(locks: list[FileLock]) -> FileLock:
    while True:
        for lock in locks:
            with suppress(Timeout):
                lock.acquire(blocking=False)
                return lock
        time.sleep(POLL_SECONDS)


class Outage:
    """What one worker found out about an endpoint, for the others of its run: they need not find out themselves.

    Args:
        path: of the notice, one for each run.
        seconds: how long a passing outage is believed; after that one worker tries again while the others go by it.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds

    def reason(self) -> str | None:
        """Why asking is pointless now, else None. Who gets None after an outage is the one who tries again."""
        notice = _read(self._path)
        if notice is None:
            return None
        if notice.get("until") is None or time.time() < notice["until"]:
            return str(notice["text"])
        self.declare(str(notice["text"]), lasting=False)
        return None

    def declare(self, reason: str, *, lasting: bool) -> None:
        """Tell the others; `lasting` where trying again in this run is pointless."""
        with suppress(OSError):  # without a notice each worker finds out by itself: slower, but right
            self._path.parent.mkdir(parents=True, exist_ok=True)
            for old in self._path.parent.glob("*.json"):
                if time.time() - old.stat().st_mtime > KEPT_SECONDS:
                    old.unlink(missing_ok=True)
            _replace(self._path, {"text": reason, "until": None if lasting else time.time() + self._seconds})

    def over(self) -> None:
        """The endpoint answers."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("text"), str) else None


def _replace(path: Path, record: Mapping[str, Any]) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(record), encoding="utf-8")
    os.replace(part, path)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StoreError(f"the cache can't be written ({why}); set ENGRAM_CACHE to a folder that can") from None
