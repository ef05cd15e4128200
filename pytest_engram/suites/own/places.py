"""Where the gold of own data lies: a method that opens one of these files reads the answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pytest_engram.suites import files
from pytest_engram.suites.base import SuiteError

# Told without a YAML parser, to be cheap: most suites are others'.
_OURS = re.compile(rb"""^(["']?)source\1\s*:\s*["']?(?:own|beir)\b""", re.MULTILINE)
_NAMED = {"own": ("questions", "qrels"), "beir": ("folder",)}


def answers(path: Path, data: Path | None) -> list[Path]:
    """The files and folders with questions and gold that a suite file names, where they are here.

    Args:
        path: the suite file; one that can't be read names none, because it is not run.
        data: the folder of `--engram-data`, if any.
    """
    try:
        if not _OURS.search(path.read_bytes()):
            return []
        content: dict[str, Any] = files.read(path)[0]
    except (OSError, SuiteError):
        return []
    fields = _NAMED.get(str(content.get("source")), ())
    names = [name for field in fields if isinstance(name := content.get(field), str) and name]
    return [place / name for name in names for place in (path.parent, data) if place and (place / name).exists()]
