"""How texts are compared with answers: normalised, and searched. SubEM and `answer@k` are made of it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


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
