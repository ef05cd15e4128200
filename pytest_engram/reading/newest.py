"""`newest`: no model. It gives an SubEM on any machine, and shows what the newest-wins rule alone is worth."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pytest_engram.reading.base import Answer, Asked, ReaderSpec
from pytest_engram.reading.purse import Purse

USAGE = "newest"
LABEL = "newest (no LLM)"

_WORD = re.compile(r"\w+")
# Words of English that a question has whatever it is about.
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a an the this that these those of in on at to from by for with about as into and or but not no "
        "is are was were be been being am do does did has have had will would can could should may might "
        "what who whom whose which when where why how many much there it its he she they them his her their "
        "i you we me my your our s name"
    )
)


class Newest:
    """Of the entries, those that share the most different content words with the question; of these, the newest.

    Words are compared case-folded and whole; articles, prepositions, auxiliaries and question words don't count. Of
    two that are equally new, the one that the memory ranked higher. The answer is that entry's text.
    """

    def answer(self, asked: Asked) -> Answer:
        """The text of the chosen entry; empty where there is none."""
        wanted = content_words(asked.question)
        # max() keeps the first of equals, and the memory's best comes first.
        best = max(asked.entries, key=lambda e: (len(wanted & content_words(e.text)), e.time), default=None)
        return Answer("" if best is None else best.text)


@lru_cache(maxsize=4096)  # the same entries come back from one memory after the other
def content_words(text: str) -> frozenset[str]:
    """The different words of a text, case-folded, without function words."""
    return frozenset(_WORD.findall(text.casefold())) - _FUNCTION_WORDS


def resolve(argument: str, data: Path | None) -> ReaderSpec:  # noqa: ARG001
    """The one there is."""
    return ReaderSpec(name=USAGE, kind="newest", label=LABEL)


def make(spec: ReaderSpec, cache_dir: Path, purse: Purse) -> Newest:  # noqa: ARG001
    """A reader without any state."""
    return Newest()
