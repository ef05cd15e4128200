"""Steps 1 and 2 of `calibrate`: thresholds that tell best, on development data, what contradicts and what repeats.

What a conflict is, similarity aside, is each method's own; it is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from pytest_engram.development import devdata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    May: TypeAlias = Callable[[str, str], bool]

THRESHOLDS = tuple(round(0.30 + 0.01 * step, 2) for step in range(70))


def best_thresholds(embed: Embed, tests: Mapping[str, May]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The thresholds by name, and F1 at each of `THRESHOLDS` by name.

    Args:
        embed: the encoder's.
        tests: each method's own test of a conflict between two texts, by the name of its threshold.
    """
    compared = list(pairs())
    curves = {name: f1(conflicts(compared, embed, may)) for name, may in tests.items()}
    curves["duplicate"] = f1(_repeats(embed))
    return {name: best(curve) for name, curve in curves.items()}, curves


def pairs() -> Iterator[tuple[devdata.Fact, devdata.Fact]]:
    """The pairs of step 1."""
    yield from combinations(devdata.records(), 2)
    for case in devdata.cases():
        facts = case.facts(5, 5)
        yield case.belief, case.update
        for side in (case.belief, case.update):
            yield from ((side, fact) for fact in facts if fact not in (case.belief, case.update))
        yield from combinations([fact for fact in facts if fact.slot in case.many], 2)


def conflicts(
    compared: Sequence[tuple[devdata.Fact, devdata.Fact]], embed: Embed, may: May
) -> Iterator[tuple[float, bool]]:
    """Each pair's similarity, below every threshold where `may` forbids, and whether it contradicts itself."""
    import numpy as np

    texts = list(dict.fromkeys(fact.text for pair in compared for fact in pair))
    position = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    rows = np.array([[position[one.text], position[other.text]] for one, other in compared])
    similarity = np.einsum("nd,nd->n", vectors[rows[:, 0]], vectors[rows[:, 1]]).tolist()
    for (one, other), value in zip(compared, similarity, strict=True):
        yield value if may(one.text, other.text) else -1.0, devdata.contradict(one, other)


def _repeats(embed: Embed) -> Iterator[tuple[float, bool]]:
    """For each pair of facts with one subject and value: its similarity, and whether both only state the value."""
    for case in devdata.cases():
        for facts in ((case.belief, *case.web), (case.update, *case.repeats, *case.backers)):
            vectors = embed([fact.text for fact in facts])
            similarity = (vectors @ vectors.T).tolist()
            for (i, one), (j, other) in combinations(enumerate(facts), 2):
                yield similarity[i][j], one.states and other.states


def f1(scored: Iterable[tuple[float, bool]]) -> list[float]:
    """F1 of "similarity is the threshold or more" at each threshold."""
    import numpy as np

    similarity, truth = (np.array(column) for column in zip(*scored, strict=True))
    found = similarity[:, None] >= np.array(THRESHOLDS)
    hits = (found & truth[:, None]).sum(axis=0)
    scores = 2 * hits / (found.sum(axis=0) + truth.sum())
    return [round(float(score), 4) for score in scores]


def best(curve: Sequence[float]) -> float:
    """The middle of the longest run of thresholds with the best F1; the first of several such runs."""
    top = max(curve)
    runs: list[list[float]] = [[]]
    for threshold, score in zip(THRESHOLDS, curve, strict=True):
        if score == top:
            runs[-1].append(threshold)
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    return longest[(len(longest) - 1) // 2]
