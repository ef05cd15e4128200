"""A store for what was paid for: it survives kills, and runs after one another or beside one another share it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from pytest_engram.basics import sealed


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

        Threads and processes that want the same at the same time wait for the one that asks. A damaged file counts as
        none.

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
        if (found := _completion(path)) is not None:
            return found, True
        lock = path.with_suffix(".lock")
        with _writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            held = FileLock(lock)
            held.acquire()
        try:
            if (found := _completion(path)) is not None:
                return found, True
            completion = ask()
            with _writing():
                sealed.keep(path, completion)
            return completion, False
        finally:
            held.release()
            # Whoever still waits for the deleted lock, or makes it anew, finds the completion.
            with suppress(OSError):
                lock.unlink()


def remembered(path: Path) -> dict[str, Any]:
    """What `remember` put there; nothing where there is nothing that can be read, and a note where it is damaged."""
    try:
        return sealed.recall(path)
    except OSError:
        return {}


def remember(path: Path, record: Mapping[str, Any]) -> None:
    """Put down a small fact, for runs to come; where it can't be written, they find it out themselves."""
    with suppress(OSError):
        sealed.keep(path, record)


def _completion(path: Path) -> dict[str, Any] | None:
    record = remembered(path)
    return record if isinstance(record.get("text"), str) else None


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StoreError(f"the cache can't be written ({why}); set ENGRAM_CACHE to a folder that can") from None
