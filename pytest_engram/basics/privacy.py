"""What a report must not tell: where things lie on the machine that made it, and its secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache

# Absolute, so not behind a word, a dot or another slash: `a/b`, `../b` and `https://host/b` stay.
_POSIX = re.compile(r"(?<![\w.~:/\\…-])/(?:[\w.@+~-]+/)+(?=[\w.@+~-])")
_WINDOWS = re.compile(r"(?<!\w)(?:[A-Za-z]:|\\)\\(?:[^\\/:*?\"<>|\r\n]+\\)+")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_SHORTEST = 8  # characters: shorter values, such as "none", are words of any text


def public(text: str, environment: Mapping[str, str] | None = None) -> str:
    """A message without the folders of absolute paths and without the values of secret environment variables."""
    for name, value in _secrets() if environment is None else _secrets_of(environment):
        text = text.replace(value, f"${name}")
    return _WINDOWS.sub("…/", _POSIX.sub("…/", text))


def _secrets_of(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(k, v) for k, v in environment.items() if len(v) >= _SHORTEST and _SECRET.search(k)]


@cache
def _secrets() -> list[tuple[str, str]]:
    # Of the process as it is when the first message is made public: thousands follow in one run.
    return _secrets_of(os.environ)
