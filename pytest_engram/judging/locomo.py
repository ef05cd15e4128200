"""LoCoMo's F1 of an answer, by the question's category.

Source: Maharana et al., ACL 2024, `eval_question_answering` of snap-research/locomo: words without punctuation and
articles, stemmed, compared as a bag. It is officially computed with the `regex` module and nltk's Porter stemmer,
extensions and all; so it is here, because another word boundary or another stem is another digit.
"""

from __future__ import annotations

import string
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from pytest_engram.suites.locomo.protocol import CATEGORIES

_MULTI_HOP, _OPEN_DOMAIN, _ADVERSARIAL = 1, 3, 5
_DECLINES = ("no information available", "not mentioned")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def f1(prediction: str, answers: Sequence[str], category: int | None = None) -> float:
    """The F1 of an answer, best over the accepted ones.

    Multi-hop (1): each comma-separated part of the accepted answer with the best part of the given one, on average.
    Open-domain (3): what stands before the first `;` of the accepted answer. Adversarial (5): 1.0 where the answer
    says that nothing is mentioned or no information available. All others: of the whole.

    Args:
        prediction: the answer.
        answers: the accepted ones.
        category: LoCoMo's, from 1 to 5; None for a question of another benchmark.

    Returns:
        0.0 to 1.0; 0.0 where no answer is accepted.

    Raises:
        ValueError: there is no such category.
    """
    if category is not None and category not in CATEGORIES:
        raise ValueError(f"LoCoMo has no category {category}")
    if category == _ADVERSARIAL:
        return float(any(phrase in prediction.lower() for phrase in _DECLINES))
    if category == _OPEN_DOMAIN:
        answers = [answer.split(";")[0].strip() for answer in answers]
    measure = _parts if category == _MULTI_HOP else overlap
    return max((measure(prediction, answer) for answer in answers), default=0.0)


def _parts(prediction: str, answer: str) -> float:
    import numpy as np

    given = [part.strip() for part in prediction.split(",")]
    wanted = [part.strip() for part in answer.split(",")]
    return float(np.mean([max(overlap(one, part) for one in given) for part in wanted]))


def overlap(prediction: str, answer: str) -> float:
    """F1 of the stems of two texts, each as often as it stands there."""
    given, wanted = stems(prediction), stems(answer)
    same = sum((Counter(given) & Counter(wanted)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(given), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def stems(text: str) -> list[str]:
    """The stems of a text's words: lower case, without punctuation, "a", "an", "the" and "and"."""
    bare = text.replace(",", "").lower().translate(_PUNCTUATION)
    return [_stem(word) for word in _articles().sub(" ", bare).split()]


@cache
def _articles() -> Any:
    import regex

    return regex.compile(r"\b(a|an|the|and)\b")


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    """The Porter stemmer of nltk, imported without all else that `import nltk` imports: 0.1 s in place of 3 s.

    The packages around its module are put there empty while it is imported, and taken away again.
    """
    from importlib.util import find_spec

    added: list[str] = []
    if "nltk" not in sys.modules and (spec := find_spec("nltk")) and spec.submodule_search_locations:
        for name, path in (("nltk", ""), ("nltk.stem", "/stem")):
            module = ModuleType(name)
            module.__path__ = [f"{place}{path}" for place in spec.submodule_search_locations]
            sys.modules[name] = module
            added.append(name)
    try:
        from nltk.stem.porter import PorterStemmer
    finally:
        if added:
            for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
                del sys.modules[name]
    stem: Callable[[str], str] = PorterStemmer().stem
    return stem
