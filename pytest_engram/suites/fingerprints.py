"""Which questions are scored somewhere, by id and by the fingerprint of their text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SPACE = re.compile(r"[\W_]+")


def normalise(text: str) -> str:
    """A question's text for comparison: NFKC, case folded, letters and digits only, single spaces."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


@lru_cache(maxsize=4096)
def fingerprint(text: str) -> str:
    """The first 16 hex digits of the sha256 of the normalised text: pilot sets commit it in place of the text."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Scored:
    """One question that is scored somewhere: its suite, its id and its text's fingerprint."""

    suite: str
    id: str
    fingerprint: str
