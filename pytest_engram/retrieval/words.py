"""How BM25 splits a text into tokens where no benchmark says it: at white space, or also between characters.

Chinese, Japanese, Thai, Lao, Khmer and Burmese write no space between words: split at white space, a sentence is one
token, and BM25 finds it only by a question that has all of it. `characters` makes each letter of these scripts a token
of its own, and leaves other words whole. It knows no dictionary; `icu` would, and needs a library that is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# Han, kana, Bopomofo and their marks, Thai and Lao, Burmese, Khmer. Korean writes spaces.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = re.compile(rf"[{_UNSPACED}]")
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_LONG = 4  # letters of such a script in a token, on average, from which on tokens are rather sentences than words


def words(text: str) -> list[str]:
    """Lower case, split at white space."""
    return text.lower().split()


def characters(text: str) -> list[str]:
    """The same, and every letter of a script without spaces is a token."""
    return _TOKEN.findall(text.lower())


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"words": words, "characters": characters}


def unsplit(tokens: Sequence[str]) -> bool:
    """Whether the tokens of a text in a script without spaces are rather sentences than words."""
    if all(map(str.isascii, tokens)):
        return False
    letters = [len(found) for token in tokens if (found := _LETTER.findall(token))]
    return bool(letters) and sum(letters) > _LONG * len(letters)
