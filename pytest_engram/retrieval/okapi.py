"""BM25Okapi over many haystacks of one pool of texts: the scores of rank-bm25 0.2.2, bit for bit, from flat arrays.

rank-bm25 is the reference of both benchmarks, but it counts every text again for each haystack and looks every query
token up in every document. Here the pool is tokenised and counted once, as arrays that processes can map; a haystack is
a list of positions in the pool. Every floating-point operation, and the order of every sum, is rank-bm25's.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# The defaults of rank_bm25.BM25Okapi.
K1, B, EPSILON = 1.5, 0.75, 0.25

K = TypeVar("K")

_BATCH = 2000  # texts that Arrow splits at once: bounds memory
_ARRAYS = ("starts", "tokens", "counts", "lengths", "words", "word_starts")


class Okapi:
    """A pool of texts, counted.

    Attributes, as arrays (`to_arrays`), where T texts have E different tokens altogether and V among them all:
        starts: int64 (T + 1,), where each text's tokens begin in the next two.
        tokens: int32 (E,), numbers of its different tokens, in the order in which they first stand in it.
        counts: int32 (E,), how often each stands in it.
        lengths: int64 (T,), how many tokens each text has, repetitions included.
        words: uint8, all V tokens as UTF-8, sorted, without a separator; a token's number is its place there.
        word_starts: int64 (V + 1,), where each begins in `words`.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._arrays = {name: np.asarray(arrays[name]) for name in _ARRAYS}
        self.starts, self.tokens, self.counts, self.lengths, self.words, self.word_starts = self._arrays.values()
        self.scratch = np.empty(len(self.word_starts) - 1, dtype=np.int32)  # scratch of all haystacks
        self._asked = np.zeros(len(self.word_starts) - 1, dtype=np.bool_)  # scratch of `scores_once`, cleared after use
        self._numbers: dict[str, int | None] = {}  # of tokens that were asked for
        # Single elements are read several times as fast through a view as through an array.
        self._views = self.word_starts.data, self.words.data

    @classmethod
    def build(cls, tokenised_texts: Iterable[Sequence[str]]) -> Okapi:
        """Count texts, each given as its tokens; they are read one by one and not kept."""
        numbers = _Numbers[str]()
        sizes, tokens, counts, lengths = array("q"), array("i"), array("i"), array("q")
        for text in tokenised_texts:
            counted = Counter(text)  # in order of first appearance
            sizes.append(len(counted))
            tokens.extend(map(numbers.__getitem__, counted))
            counts.extend(counted.values())
            lengths.append(len(text))
        encoded = {_encode(word): number for word, number in numbers.items()}
        return cls._assemble(encoded, *map(np.array, (sizes, tokens, counts, lengths)))

    @classmethod
    def build_split(cls, texts: Iterable[str]) -> Okapi:
        """`build` of `text.split(" ")` for each text, twice as fast: Arrow splits and numbers the tokens."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = _Numbers[bytes]()
        parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]] = []
        remaining = iter(texts)
        while batch := [_encode(text) for text in islice(remaining, _BATCH)]:
            split = pc.split_pattern(pa.array(batch, pa.large_binary()), " ")
            numbered = split.values.dictionary_encode()
            words = np.fromiter(map(numbers.__getitem__, numbered.dictionary.to_pylist()), np.int32)
            lengths = np.diff(split.offsets.to_numpy()).astype(np.int64)
            scratch = np.empty(len(words), dtype=np.int32)
            firsts, counts = [], []
            for text in np.split(numbered.indices.to_numpy(), np.cumsum(lengths)[:-1]):
                order, number = _number_by_appearance(text, scratch)
                firsts.append(order)
                counts.append(np.bincount(number))
            sizes = np.fromiter(map(len, firsts), np.int64, len(firsts))
            parts.append((sizes, words[np.concatenate(firsts)], np.concatenate(counts), lengths))
        joined = map(np.concatenate, zip(*parts, strict=True)) if parts else [np.zeros(0, np.int64)] * 4
        return cls._assemble(numbers, *joined)

    @classmethod
    def _assemble(
        cls,
        numbers: Mapping[bytes, int],
        sizes: NDArray[np.integer],
        tokens: NDArray[np.integer],
        counts: NDArray[np.integer],
        lengths: NDArray[np.integer],
    ) -> Okapi:
        """From words numbered in any order; `sizes` (T,) says how many different tokens each text has."""
        words = sorted(numbers)
        place = np.empty(len(words), dtype=np.int32)
        place[np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))] = np.arange(len(words))
        return cls(
            {
                "starts": np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
                "tokens": place[tokens],
                "counts": counts.astype(np.int32),
                "lengths": lengths.astype(np.int64),
                "words": np.frombuffer(b"".join(words), dtype=np.uint8),
                "word_starts": np.cumsum([0, *map(len, words)], dtype=np.int64),
            }
        )

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """What to save; `from_arrays` takes it back, memory-mapped or not."""
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Okapi:
        """The pool that `to_arrays` gave. Nothing is read before it is needed."""
        return cls(arrays)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def haystack(self, positions: Sequence[int] | NDArray[np.integer]) -> Haystack:
        """The documents at these positions of the pool, in this order, a repeated one as often as it stands there.

        Raises:
            IndexError: a position is not in 0 to `len(self) - 1`.
        """
        chosen = np.asarray(positions, dtype=np.intp)
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(f"positions {chosen.min()} to {chosen.max()} in a pool of {len(self)} texts")
        return Haystack(self, chosen)

    def scores(self, query: Iterable[str], positions: Sequence[int] | NDArray[np.integer]) -> NDArray[np.float64]:
        """Scores of one query over one haystack: `haystack(positions).scores(query)`."""
        return self.haystack(positions).scores(query)

    def scores_once(self, query: Iterable[str], positions: Sequence[int], average_idf: float) -> NDArray[np.float64]:
        """The same as `scores`, for a haystack that is asked about once and was counted before: nothing is sorted.

        Args:
            query: its tokens.
            positions: the haystack.
            average_idf: what its `Haystack.average_idf` said.
        """
        chosen = np.asarray(positions, dtype=np.intp)
        known = [number for token in query if (number := self.number(token)) is not None]

        # Documents that follow each other in the pool are read as one piece.
        first = np.flatnonzero(np.diff(chosen, prepend=-2) != 1)
        last = np.append(first[1:], len(chosen))[: len(first)] - 1
        starts, ends = self.starts[chosen], self.starts[chosen + 1]
        tokens = _join(self.tokens, starts[first], ends[last])
        self._asked[known] = True
        hits = np.flatnonzero(self._asked[tokens])
        self._asked[known] = False

        tokens = tokens[hits]
        counts = _join(self.counts, starts[first], ends[last])[hits]
        documents = np.searchsorted(np.cumsum(ends - starts), hits, side="right")
        weights = counts * (K1 + 1) / (counts + norms(self.lengths[chosen])[documents])
        scores = np.zeros(len(chosen))
        for number in known:
            posting = np.flatnonzero(tokens == number)
            idf = float(idf_of(len(chosen), np.array([len(posting)]))[0])
            scores[documents[posting]] += (idf if idf >= 0 else EPSILON * average_idf) * weights[posting]
        return scores

    def number(self, token: str) -> int | None:
        """The token's number, or None if no text of the pool has it."""
        if token not in self._numbers:
            wanted = _encode(token)
            size = len(self.word_starts) - 1
            place = bisect_left(range(size), wanted, key=self._word)
            self._numbers[token] = place if place < size and self._word(place) == wanted else None
        return self._numbers[token]

    def _word(self, number: int) -> bytes:
        starts, words = self._views
        return bytes(words[starts[number] : starts[number + 1]])


class Haystack:
    """Some documents as BM25Okapi sees them: what does not depend on a query is computed once.

    Where rank-bm25 divides by zero (no documents, or all of them empty), every score is 0.

    Attributes:
        average_idf: over its different words; it stands in for the idf of those in more than half of the documents.
    """

    def __init__(self, pool: Okapi, positions: NDArray[np.intp]) -> None:
        self._pool = pool
        self._size = len(positions)
        starts, ends = pool.starts[positions], pool.starts[positions + 1]
        tokens = _join(pool.tokens, starts, ends)
        counts = _join(pool.counts, starts, ends)

        # Numbered in the order in which they first appear, which is the order of rank-bm25's sums.
        self._words, words = _number_by_appearance(tokens, pool.scratch)
        frequencies = np.bincount(words, minlength=len(self._words))
        self._idf = idf_of(self._size, frequencies)
        # cumsum adds one by one, sum does not
        self.average_idf = float(np.cumsum(self._idf)[-1] / len(self._idf)) if len(tokens) else 0.0
        self._idf[self._idf < 0] = EPSILON * self.average_idf

        # Postings: documents and counts, word by word. 16 bits where they do, as numpy sorts these by radix.
        order = np.argsort(words.astype(np.uint16) if len(self._words) <= 1 << 16 else words, kind="stable")
        self._documents = np.repeat(np.arange(self._size, dtype=np.int32), ends - starts)[order]
        self._counts = counts[order]
        self._begins = np.concatenate(([0], np.cumsum(frequencies)))
        self._norms = norms(pool.lengths[positions])

    def scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        """Scores of all documents, shape (number of documents,): `BM25Okapi(documents).get_scores(query)`.

        A token that is repeated in the query counts as often; one that no document has counts nothing.
        """
        scores = np.zeros(self._size)
        for token in query:
            number = self._pool.number(token)
            for word in np.flatnonzero(self._words == number) if number is not None else ():
                posting = slice(self._begins[word], self._begins[word + 1])
                documents, counts = self._documents[posting], self._counts[posting]
                scores[documents] += self._idf[word] * (counts * (K1 + 1) / (counts + self._norms[documents]))
        return scores


@dataclass(frozen=True, slots=True)
class Lexical:
    """BM25 over some texts, as a benchmark's own retriever tokenises them and breaks ties.

    Attributes:
        scores: gives the scores of the texts, in the order in which the benchmark indexes them, from a query's tokens.
        tokenize, ranking: the benchmark's; see `tokenize` and `rank` of `memory.Bench`.
        places: intp (n,), where each of them stands among the texts that were asked about; None: in the same order.
        add: takes more texts, each as its tokens; None: they were counted ahead, and are no others.
    """

    scores: Callable[[list[str]], NDArray[np.float64]]
    tokenize: Callable[[str], list[str]]
    ranking: Callable[[NDArray[np.float64], int | None], NDArray[np.intp]]
    places: NDArray[np.intp] | None = None
    add: Callable[[Iterable[Sequence[str]]], None] | None = None

    def rank(self, query: str, k: int | None = None) -> NDArray[np.intp]:
        """Positions of all texts, best first, shape (n,); with `k` of the first k alone."""
        order = self.ranking(self.scores(self.tokenize(query)), k)
        return order if self.places is None else self.places[order]


class _Numbers(dict[K, int]):
    """Numbers keys from 0 on, as they come."""

    def __missing__(self, key: K) -> int:
        self[key] = number = len(self)
        return number


def _number_by_appearance(
    tokens: NDArray[np.int32], scratch: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The different tokens (m,) in the order in which they first appear, and for each of `tokens` (n,) its place there.

    `scratch` has a place for every token that there is, and any content: so the vocabulary of a whole pool need not be
    sorted, or cleared, for each haystack.
    """
    places = np.arange(len(tokens), dtype=np.int32)
    scratch[tokens[::-1]] = places[::-1]  # the last assignment to a place stays: going backwards, the first token
    first = scratch[tokens]
    new = first == places
    return tokens[new], (np.cumsum(new, dtype=np.int32) - 1)[first]


def _join(values: NDArray[np.int32], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    parts = [values[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return np.concatenate(parts) if parts else values[:0]


def norms(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each document's length adds to a count, by BM25's saturation."""
    words = int(lengths.sum())
    return np.asarray(K1 * (1 - B + B * lengths / (words / len(lengths) if words else 1.0)))


def idf_of(documents: int, frequencies: NDArray[np.integer]) -> NDArray[np.float64]:
    """Inverse document frequency of words by how many of the documents have each, shape of `frequencies`.

    By `math.log` as in rank-bm25: numpy's logarithm may differ in the last digit.
    """
    different = np.flatnonzero(np.bincount(frequencies, minlength=1))
    values = np.empty(documents + 1)
    values[different] = [math.log(documents - n + 0.5) - math.log(n + 0.5) for n in different.tolist()]
    found: NDArray[np.float64] = values[frequencies]
    return found


def _encode(token: str) -> bytes:
    return token.encode("utf-8", "surrogatepass")
