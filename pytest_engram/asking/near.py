"""When one question is nearly another, and an index of many that finds one without comparing with each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

NEAR = 0.75  # of the longer one's words are the shorter one


def nearly(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one question is the other with a few words put in or left out: "Please: ...", a missing "the".

    All words of the shorter one stand in the longer one in their order, and are three quarters of it. A word in place
    of another is another question: benchmarks ask the same of many names. Among the 400 different official questions of
    FactConsolidation no two are near in this sense, of LoCoMo's 1,974 three pairs.

    Args:
        one: the words of a normalised question.
        other: those of the other one.
    """
    from rapidfuzz.distance import LCSseq

    shorter, longer = sorted((one, other), key=len)
    enough = len(shorter) >= NEAR * len(longer)
    return enough and LCSseq.similarity(shorter, longer, score_cutoff=len(shorter)) == len(shorter)


class Near:
    """Many questions, each given as the words of its normalised text.

    Of two that are near, the shorter one has no word that the longer one lacks. So whoever is longer than a question
    has its rarest word, and whoever is shorter than it is found at that word of its own that is the rarest here.
    """

    def __init__(self, questions: Sequence[Sequence[str]]) -> None:
        self._questions = questions
        self._having: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(questions):
            for word in dict.fromkeys(words):
                self._having[word].append(place)
        often = Counter({word: len(places) for word, places in self._having.items()})
        self._rarest: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(questions):
            if words:
                self._rarest[min(words, key=often.__getitem__)].append(place)

    def first(self, words: Sequence[str]) -> int | None:
        """The place of the first question that is nearly this one; None: none is."""
        places = {place for word in words for place in self._rarest.get(word, ())}
        rarest = min(words, key=lambda word: len(self._having.get(word, ())), default="")
        places.update(self._having.get(rarest, ()))
        return next((place for place in sorted(places) if nearly(words, self._questions[place])), None)
