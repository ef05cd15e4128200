"""Small records that are kept between runs, each sealed with the sha256 of its content: one that was damaged is none.

And what is told of it: whatever the cache held and could not be used is made anew, with a note.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_NOTES: dict[str, None] = {}  # of this process, each once


def note(line: str) -> None:
    """Tell a user something at the end of the run or command."""
    _NOTES[line] = None


def noted() -> list[str]:
    """What was noted since this was last asked."""
    lines = list(_NOTES)
    _NOTES.clear()
    return lines


def damaged(path: Path) -> None:
    """Note that what the cache holds is not what was put there."""
    note(f"{path}: damaged in the cache; made anew")


def recall(path: Path) -> dict[str, Any]:
    """What `keep` put there; nothing where there is none. A damaged record is noted, once, and taken away.

    Raises:
        OSError: it is there and can't be read.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    try:
        told = json.loads(content)
        record = told["record"]
        if isinstance(record, dict) and told["sha256"] == _seal(record):
            return record
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    damaged(path)
    with suppress(OSError):  # else it is noted by every run until somebody has a reason to write it again
        path.unlink()
    return {}


def keep(path: Path, record: Mapping[str, Any]) -> None:
    """Put a record down whole, in a folder that is made where it is missing.

    Args:
        path: of its file.
        record: plain JSON values, finite.

    Raises:
        OSError: it can't be written.
    """
    placed(path, json.dumps({"sha256": _seal(record), "record": record}).encode())


def placed(path: Path, content: bytes) -> None:
    """Write a file whole, in a folder that is made where it is missing: nobody ever sees a part of it.

    Raises:
        OSError: it can't be written; what stood there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _seal(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
