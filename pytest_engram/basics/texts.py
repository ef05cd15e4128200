"""How texts are compared with answers: normalised, and searched. SubEM and `answer@k` are made of it."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


# Letters and symbols by name that have no ink: Hangul fillers, the empty Braille cell, the grapheme joiner.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def visible(text: str) -> str:
    """What is left of a text without characters that nobody sees; white space is folded, accents are composed.

    Without control and format characters (zero-width ones among them), variation selectors and fillers. Two texts that
    look alike for want of such a character are equal.
    """
    if text.isascii():
        return " ".join(_CONTROL.sub("", text).split())
    shown = _BLANK.sub("", unicodedata.normalize("NFC", text))
    kept = (c for c in shown if unicodedata.category(c) not in ("Cf", "Cc", "Cs", "Cn") or c.isspace())
    folded = " ".join("".join(c for c in kept if not "\ufe00" <= c <= "\ufe0f").split())
    return folded if any(unicodedata.category(c)[0] != "M" and c != " " for c in folded) else ""


def normalise(text: str) -> str:
    """A text as SubEM compares it: lower case, ASCII punctuation out, the articles a, an, the out, white space folded.

    Source: `normalize_answer` of SQuAD's evaluation (Rajpurkar et al., 2016), which MemoryAgentBench took over. Only
    the characters of `string.punctuation` go; typographic quotes and dashes stay.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def searchable(texts: Iterable[str]) -> str:
    """Many texts, normalised once, for many calls of `contains`: no answer is found across two of them."""
    return "\n".join(map(normalise, texts))  # no normalised text, and so no answer, has a newline


def contains(normalised: str, answers: Iterable[str]) -> bool:
    """Whether what `normalise` or `searchable` returned contains any of the accepted answers."""
    wanted = map(normalise, [answers] if isinstance(answers, str) else answers)
    return any(answer in normalised for answer in wanted if answer)


# What an answer is found in by chance: official rules count it, and tables say so.
SERIAL = "a serial number"
PART = "a part of a word"
# Scripts that write no space between words: there, every part of a text may be a word.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = re.compile(rf"[^\W{_UNSPACED}]")


def contains_word(normalised: str, answers: Iterable[str]) -> bool:
    """Whether any of the accepted answers stands in a normalised text as a word, or as several, and not inside one."""
    return any(_stands(answer, normalised) for answer in map(normalise, answers) if answer)


def _stands(answer: str, text: str) -> bool:
    if not (_LETTER.match(answer[0]) and _LETTER.match(answer[-1])):
        return answer in text
    at = text.find(answer)
    while at >= 0:
        end = at + len(answer)
        before, after = text[max(at - 1, 0) : at], text[end : end + 1]
        if not (_LETTER.match(before) or _LETTER.match(after)):
            return True
        at = text.find(answer, at + 1)
    return False
