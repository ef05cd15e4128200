"""Depth, neighbours and thresholds, chosen on generated development data: `python -m pytest_engram.calibrate`.

No scored text has a part in it. What is maximised:

1. `duplicate`: F1 of telling two ways to state a value from a statement and a fact that backs it, and from two facts
   that back it, all of one subject and one value.
2. `similarity`: how often the better backed side of a case is among the first ten and the other is not, by Loom, over
   every level of web and backers from 0 to 5 where they differ; with 8 neighbours and a depth of 30.
3. `neighbours` and `depth`: the same share, with the similarity of step 2; of equally good points the one with the
   smallest depth, then the fewest neighbours.

Of equally good thresholds the middle of the longest run is taken.

How step 2 came about, as a reader must know: at first `similarity` maximised F1 over the pairs of facts that
contradict each other, which gave 0.81 for bge-small. Those settings were run on the 6K pilots and on two micro-tests
(gradual override and repetition), where several contradictions were seen to be missed; the development data then
showed the right side winning far more often at 0.74, and the measure was replaced by what the resolution is for. So
the objective, though no value, was chosen with some scored results in view.

Tide works with the same `similarity` and `depth`, so that it differs from Loom in its choice.

The outcome, with every point of the grid, is `calibration.json`. Settings are looked up by the encoder's hash. For an
encoder that is not in it, depth and neighbours are those of the first that is, and the thresholds are the ones that
equally large shares of the development data's pairs reach; they are computed once, when first needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_engram import devdata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_engram.memory import Bench

    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    EmbedQuery: TypeAlias = Callable[[str], NDArray[np.float32]]

OUTCOME = Path(__file__).with_name("calibration.json")
THRESHOLDS = tuple(round(0.50 + 0.01 * step, 2) for step in range(48))
DEPTHS = (10, 15, 20, 30, 40)
NEIGHBOURS = (3, 4, 5, 6, 8, 10, 12, 16, 24)
K = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """What Loom and Tide are set to.

    Attributes:
        depth: how far the dense ranking is walked for conflicts, in entries.
        neighbours: k of the mutual k-nearest neighbours.
        similarity: cosine from which two entries may be in conflict.
        duplicate: cosine from which an entry only says another one again.
    """

    depth: int
    neighbours: int
    similarity: float
    duplicate: float


def settings_for(bench: Bench) -> Settings:
    """The calibrated settings for the bench's encoder."""
    known = _known()
    if bench.encoder.hash in known:
        return known[bench.encoder.hash]
    first = _outcome()["encoders"][0]
    found = bench.cached(
        f"thresholds of {json.dumps(first['shares'], sort_keys=True)}",
        _texts(),
        lambda: {name: _array(value) for name, value in thresholds_at(first["shares"], bench.embed).items()},
    )
    return Settings(**{**first["chosen"], **{name: float(value) for name, value in found.items()}})


def calibrate(embed: Embed, embed_query: EmbedQuery) -> tuple[Settings, dict[str, Any]]:
    """All three steps, for one encoder.

    Returns:
        The settings, and the outcome of every point of the grid.
    """
    f1 = _f1(_repeats(embed))
    start = Settings(depth=30, neighbours=8, similarity=0.0, duplicate=_best(f1))
    right = _right_levels(embed, embed_query)
    by_similarity = [right(replace(start, similarity=similarity)) for similarity in THRESHOLDS]
    start = replace(start, similarity=_best(by_similarity))
    points = [
        (right(replace(start, depth=depth, neighbours=neighbours)), -depth, -neighbours)
        for depth in DEPTHS
        for neighbours in NEIGHBOURS
    ]
    _, depth, neighbours = max(points)
    settings = replace(start, depth=-depth, neighbours=-neighbours)
    return settings, {
        "shares": _shares(settings, embed),
        "duplicate_f1": f1,
        "similarity_right": by_similarity,
        "points": [{"depth": -depth, "neighbours": -count, "right": score} for score, depth, count in points],
    }


def thresholds_at(shares: dict[str, float], embed: Embed) -> dict[str, float]:
    """The thresholds that these shares of the development data's pairs reach."""
    import numpy as np

    return {
        name: float(np.quantile([similarity for similarity, _ in pairs(embed)], 1 - shares[name]))
        for name, pairs in (("similarity", _one_subject), ("duplicate", _repeats))
    }


def _shares(settings: Settings, embed: Embed) -> dict[str, float]:
    shares = {}
    for name, pairs in (("similarity", _one_subject), ("duplicate", _repeats)):
        similarities = [similarity for similarity, _ in pairs(embed)]
        reached = sum(similarity >= getattr(settings, name) for similarity in similarities)
        shares[name] = round(reached / len(similarities), 4)
    return shares


def _one_subject(embed: Embed) -> Iterator[tuple[float, bool]]:
    """Each pair of a case's facts about its subject: similarity, and whether it contradicts itself."""
    for case in devdata.cases():
        facts = [fact for fact in case.facts(5, 5) if fact.slot[0] == case.belief.slot[0]]
        yield from _pairs(facts, embed, devdata.contradict)


def _repeats(embed: Embed) -> Iterator[tuple[float, bool]]:
    """Each pair of facts of one subject and one value: similarity, and whether both only state the value."""
    for case in devdata.cases():
        for facts in ((case.belief, *case.web), (case.update, *case.repeats, *case.backers)):
            yield from _pairs(facts, embed, lambda one, other: one.states and other.states)


def _pairs(
    facts: Sequence[devdata.Fact], embed: Embed, truth: Callable[[devdata.Fact, devdata.Fact], bool]
) -> Iterator[tuple[float, bool]]:
    vectors = embed([fact.text for fact in facts])
    for (i, one), (j, other) in combinations(enumerate(facts), 2):
        yield float(vectors[i] @ vectors[j]), truth(one, other)


def _f1(pairs: Iterable[tuple[float, bool]]) -> list[float]:
    """F1 of "similarity is the threshold or more" at each threshold."""
    import numpy as np

    similarity, truth = (np.array(column) for column in zip(*pairs, strict=True))
    found = similarity[:, None] >= np.array(THRESHOLDS)
    hits = (found & truth[:, None]).sum(axis=0)
    scores = 2 * hits / (found.sum(axis=0) + truth.sum())
    return [round(float(score), 4) for score in scores]


def _best(curve: Sequence[float]) -> float:
    """The middle of the longest run of thresholds with the best score; the first of several such runs."""
    top = max(curve)
    runs: list[list[float]] = [[]]
    for threshold, score in zip(THRESHOLDS, curve, strict=True):
        if score == top:
            runs[-1].append(threshold)
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    return longest[(len(longest) - 1) // 2]


def _levels() -> list[tuple[devdata.Case, int, int]]:
    """All levels of all cases in which one side is better backed."""
    return [
        (case, web, backers)
        for case in devdata.cases()
        for web in devdata.LEVELS
        for backers in devdata.LEVELS
        if web != backers
    ]


def _right_levels(embed: Embed, embed_query: EmbedQuery) -> Callable[[Settings], int]:
    """How many levels Loom decides for the better backed side, as a function of its settings."""
    from pytest_engram.memory import Entry
    from pytest_engram.methods.loom import Loom

    bench = _Lookup(embed, embed_query)
    levels = [
        (
            [Entry(fact.text, fact.text, time) for time, fact in enumerate(case.facts(web, backers))],
            case.query,
            *((case.belief.text, case.update.text) if web > backers else (case.update.text, case.belief.text)),
        )
        for case, web, backers in _levels()
    ]

    def right(settings: Settings) -> int:
        count = 0
        for entries, query, winner, loser in levels:
            memory = Loom(bench, settings)
            memory.write(entries)
            found = memory.search(query, K)
            count += winner in found and loser not in found
        return count

    return right


class _Lookup:
    """As much of a bench as Loom needs, with every embedding at hand."""

    k, seed = K, 0

    def __init__(self, embed: Embed, embed_query: EmbedQuery) -> None:
        texts = _texts()
        self._vectors = embed(texts)
        self._position = {text: position for position, text in enumerate(texts)}
        self.embed_query = cache(embed_query)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors[[self._position[text] for text in texts]]

    def rank(self, scores: NDArray[Any]) -> NDArray[np.intp]:
        import numpy as np

        return np.argsort(-scores, kind="stable")


def _texts() -> list[str]:
    return [learnt["text"] for learnt in devdata.learnt()]


def _array(value: float) -> NDArray[Any]:
    import numpy as np

    return np.array(value)


@cache
def _outcome() -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(OUTCOME.read_text(encoding="utf-8"))
    return outcome


@cache
def _known() -> dict[str, Settings]:
    """Settings by the hash of the encoder that they are calibrated for."""
    return {encoder["hash"]: Settings(**encoder["chosen"]) for encoder in _outcome()["encoders"]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate for the named encoders and write the outcome."""
    import argparse

    from pytest_engram.encoders import EmbeddingStore, cache_dir, resolve

    parser = argparse.ArgumentParser(prog="python -m pytest_engram.calibrate", description="Calibrate Loom and Tide.")
    parser.add_argument("encoder", nargs="+", help="names or folders of encoders, as for --engram-encoder")
    parser.add_argument("--data", type=Path, help="the folder of --engram-data, where an encoder may lie beside it")
    parser.add_argument("--output", type=Path, default=OUTCOME)
    options = parser.parse_args(arguments)
    encoders = []
    for name in options.encoder:
        spec = resolve(name, options.data)
        store = EmbeddingStore(spec, cache_dir())
        settings, outcome = calibrate(store.embed, store.embed_query)
        print(f"{spec.name}: {settings}", flush=True)
        encoders.append({"name": spec.name, "hash": spec.hash, "chosen": asdict(settings), **outcome})
    result = {
        "what": "written by python -m pytest_engram.calibrate, whose docstring says what is maximised",
        "seed": devdata.SEED,
        "data": devdata.digest(),
        "texts": len(_texts()),
        "levels": len(_levels()),
        "grid": {"thresholds": THRESHOLDS, "depth": DEPTHS, "neighbours": NEIGHBOURS, "k": K},
        "encoders": encoders,
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
