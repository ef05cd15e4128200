"""BM25Okapi over texts that come one after the other: the scores of rank-bm25 0.2.2, bit for bit.

For one haystack that is in memory, and may be written to. (`okapi.Okapi` is for many haystacks of one pool that is
mapped from a file.) A text that is added is counted, and its words' lists grow at their end. What depends on the number
of texts and on their mean length, which is every score, is computed anew for the words that are asked for, once.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_engram.retrieval.okapi import EPSILON, K1, idf_of, norms


class Postings:
    """For each word the texts that have it.

    Where rank-bm25 divides by zero (no texts, or all of them empty), every score is 0.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # of words, in the order in which they first appear
        self._texts: list[array[int]] = []  # by a word's number: the texts that have it
        self._counts: list[array[int]] = []  # by a word's number: how often it stands in each
        self._frequencies = array("q")  # by a word's number: how many they are
        self._lengths = array("q")  # of each text, in words
        self._floor = 0.0  # what stands in for an idf below zero
        self._norms: NDArray[np.float64] | None = None
        self._weighted: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]] | None] = {}

    def __len__(self) -> int:
        return len(self._lengths)

    def extend(self, tokenised_texts: Iterable[Sequence[str]]) -> None:
        """Count more texts, each given as its tokens."""
        numbers, texts, counts, frequencies = self._numbers, self._texts, self._counts, self._frequencies
        for text in tokenised_texts:
            position = len(self._lengths)
            for word, count in Counter(text).items():  # in order of first appearance
                number = numbers.get(word)
                if number is None:
                    number = numbers[word] = len(numbers)
                    texts.append(array("q"))
                    counts.append(array("q"))
                    frequencies.append(0)
                texts[number].append(position)
                counts[number].append(count)
                frequencies[number] += 1
            self._lengths.append(len(text))
        self._norms = None
        self._weighted = {}

    def scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Scores of all texts, shape (n,): `BM25Okapi(texts).get_scores(query)`.

        A token that is repeated in the query counts as often; one that no text has counts nothing.
        """
        if self._norms is None:
            self._norms = norms(np.array(self._lengths))
            # rank-bm25 adds word by word; cumsum does, sum does not.
            values = idf_of(len(self), np.array(self._frequencies))
            self._floor = EPSILON * float(np.cumsum(values)[-1] / len(values)) if len(values) else 0.0
        scores = np.zeros(len(self))
        for token in query:
            if token not in self._weighted:
                self._weighted[token] = self._weigh(token, self._norms)
            if (found := self._weighted[token]) is not None:
                texts, weights = found
                scores[texts] += weights
        return scores

    def _weigh(self, token: str, norm: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
        """The texts that have a token, and what it adds to the score of each."""
        number = self._numbers.get(token)
        if number is None:
            return None
        texts, counts = np.array(self._texts[number]), np.array(self._counts[number])
        idf = float(idf_of(len(self), np.array([len(texts)]))[0])
        return texts, (idf if idf >= 0 else self._floor) * (counts * (K1 + 1) / (counts + norm[texts]))
