"""Whether BM25 recalled what rank-bm25 itself finds: a sample of its questions, asked again.

The plugin's own BM25 (`pytest_engram.retrieval`) is held to rank-bm25's scores in every bit by its tests. Here the
reference stands beside it at run time: it gets the haystack's texts, as the suite parts them and breaks ties, and has
to find the ids that the log holds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pytest_engram.retrieval.words import words
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Suite

METHOD = "bm25"
SAMPLE = 20  # questions of a suite
SEED = 20261008


class Again(NamedTuple):
    """What came of it: how many were asked, and where rank-bm25 found something else, a line each."""

    asked: int
    problems: list[str]

    @property
    def agree(self) -> int:
        """For how many it found the same."""
        return self.asked - len(self.problems)


def asked_again(suite: Suite, outcomes: Sequence[Outcome]) -> Again:
    """Ask rank-bm25 a sample of what the shipped BM25 was asked.

    Args:
        suite: with its data; asked by a search.
        outcomes: BM25's, each with ids. Of a question that the suite does not have it is told elsewhere.
    """
    questions = {question.id: question for question in suite.questions}
    found = [one for one in outcomes if one.question_id in questions]
    drawn = random.Random(SEED).sample(found, min(SAMPLE, len(found)))
    reference = _Reference(suite)
    problems: list[str] = []
    for outcome in sorted(drawn, key=lambda one: questions[one.question_id].haystack):
        question = questions[outcome.question_id]
        should = reference.ids(question.haystack, question.query, outcome.k)
        problems += list(_differing(outcome, should))[:1]
    return Again(len(drawn), problems)


def _differing(outcome: Outcome, should: list[str]) -> Iterator[str]:
    if len(should) != len(outcome.ids):
        yield f"{outcome.item}: {len(outcome.ids)} ids, rank-bm25 finds {len(should)}"
    for rank, (one, other) in enumerate(zip(outcome.ids, should, strict=False), 1):
        if one != other:
            yield f"{outcome.item}: id {one!r} at rank {rank}, rank-bm25 finds {other!r}"


class _Reference:
    """rank-bm25 over a suite's haystacks; the one asked last is kept."""

    def __init__(self, suite: Suite) -> None:
        from rank_bm25 import BM25Okapi

        self._make = BM25Okapi
        self._suite = suite
        self._tokenize = suite.tokenize or words
        self._last: tuple[str, list[str], Any] | None = None

    def ids(self, haystack: str, query: str, k: int) -> list[str]:
        """The ids of the first k, best first; of equal scores in the benchmark's order, else the earlier entry."""
        import numpy as np

        if self._last is None or self._last[0] != haystack:
            self._last = haystack, *self._indexed(haystack)
        _, ids, index = self._last
        # Without any word rank-bm25 divides by zero: there every score is 0.
        scores = np.asarray(index.get_scores(self._tokenize(query))) if index else np.zeros(len(ids))
        order = self._suite.rank(scores) if self._suite.rank else np.argsort(-scores, kind="stable")
        return [ids[place] for place in order[:k].tolist()]

    def _indexed(self, haystack: str) -> tuple[list[str], Any]:
        """Ids and an index, in the order in which the benchmark indexes them."""
        entries = self._suite.haystack(haystack)
        ahead = self._suite.haystacks.lexical([entry.text for entry in entries])
        if ahead is not None and ahead.places is not None:
            entries = [entries[place] for place in ahead.places.tolist()]
        documents = [self._tokenize(entry.text) for entry in entries]
        return [entry.id for entry in entries], self._make(documents) if any(documents) else None
