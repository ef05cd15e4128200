"""Which questions are scored somewhere, by id and by the fingerprint of their text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_KEPT = 1 << 14  # texts: every method that learnt from the development data asks about all of them again
_SPACE = re.compile(r"[\W_]+")
_ACCENT = 200  # from this combining class on, a mark stands over or under a letter; vowel signs have others
# What shows nothing, and is no format character: the joiner of graphemes, fillers of Hangul, selectors of variants.
_BLANK = frozenset("\u034f\u115f\u1160\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))


@lru_cache(maxsize=_KEPT)
def normalise(text: str) -> str:
    """A question's text for comparison: what is seen of it, case folded, letters and digits, words one space apart.

    Accents go as well: one that combines can be put onto any letter of a copy.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _SPACE.sub(" ", "".join(filter(_seen, folded))).strip()


def _seen(character: str) -> bool:
    if character.isascii():
        return True
    accent = unicodedata.combining(character) >= _ACCENT
    return not (accent or character in _BLANK or unicodedata.category(character) == "Cf")


@lru_cache(maxsize=_KEPT)
def fingerprint(text: str) -> str:
    """The first 16 hex digits of the sha256 of the normalised text: pilot sets commit it in place of the text."""
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Scored:
    """One question that is scored somewhere: its suite, id, its text's fingerprint, and the text where it is here."""

    suite: str
    id: str
    fingerprint: str
    text: str | None = None
