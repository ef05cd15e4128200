"""Depth, neighbours and thresholds, chosen on generated development data: `python -m pytest_engram.calibrate`.

The objective was fixed before any pilot set was scored:

1. `similarity` (Loom) and `tide`: best F1 of finding the pairs of `devdata` facts that contradict each other, by the
   method's own test of a conflict: among all pairs of the records, and, in the diaries, among the pairs of which one
   is a case's belief or update, or which are both many-valued facts of its subject. All count together.
2. `duplicate`: best F1 of telling two ways to say the same thing from a statement and a fact that backs it, or from
   two facts that back it; all of one subject and one value.
3. `neighbours` and `depth`: how often the better backed side of a case is among the first ten and the other is not,
   over every level of web and backers from 0 to 5 where they differ. The smallest of the points that do best.

Ties go to the middle of the longest run of best thresholds, so that no threshold stands at an edge.
The outcome, with every point of the grid, is `calibration.json`, keyed by the encoder's hash. An encoder that is not
in it gets its thresholds by steps 1 and 2, once, when first used, and depth and neighbours of the first known one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
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
THRESHOLDS = tuple(round(0.30 + 0.01 * step, 2) for step in range(70))
DEPTHS = (10, 15, 20, 30, 40, 60)
NEIGHBOURS = (3, 4, 5, 6, 8, 10, 12, 16, 24)
K = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """What Loom and Tide are set to.

    Attributes:
        depth: how far the dense ranking is walked for conflicts, in entries.
        neighbours: k of the mutual k-nearest neighbours.
        similarity: cosine from which two entries may be in conflict, for Loom.
        duplicate: cosine from which an entry only says another one again.
        tide: cosine from which two entries are versions of one, for Tide.
    """

    depth: int
    neighbours: int
    similarity: float
    duplicate: float
    tide: float


def settings_for(bench: Bench) -> Settings:
    """The calibrated settings for the bench's encoder."""
    known = _known()
    if bench.encoder.hash in known:
        return known[bench.encoder.hash]
    first = next(iter(known.values()))
    thresholds = bench.cached(
        f"thresholds {devdata.SEED}",
        _texts(),
        lambda: {name: _array(point) for name, point in best_thresholds(bench.embed)[0].items()},
    )
    return Settings(first.depth, first.neighbours, **{name: float(array) for name, array in thresholds.items()})


def calibrate(embed: Embed, embed_query: EmbedQuery) -> tuple[Settings, dict[str, Any]]:
    """All three steps, for one encoder.

    Returns:
        The settings, and the outcome of every point of the grid.
    """
    thresholds, curves = best_thresholds(embed)
    points = list(_winners(embed, embed_query, thresholds))
    best = max(point["correct"] for point in points)
    chosen = next(point for point in points if point["correct"] == best)
    settings = Settings(chosen["depth"], chosen["neighbours"], **thresholds)
    return settings, {"f1": curves, "winners": points}


def best_thresholds(
    embed: Embed,
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Steps 1 and 2: the thresholds by name, and F1 at each of `THRESHOLDS` by name."""
    from pytest_engram.methods import loom, tide

    pairs = list(_pairs())
    texts = {fact.text for pair in pairs for fact in pair}
    subjects = {text: loom.subject(text) for text in texts}
    names = {text: tide.first_name(text) for text in texts}

    def loom_may(one: str, other: str) -> bool:
        return loom.content(one) != loom.content(other) and bool(loom.same_subject(subjects[one], subjects[other]))

    def tide_may(one: str, other: str) -> bool:
        return bool(names[one] == names[other])

    curves = {
        "similarity": _f1(_conflicts(pairs, embed, loom_may)),
        "duplicate": _f1(_repeats(embed)),
        "tide": _f1(_conflicts(pairs, embed, tide_may)),
    }
    return {name: _best(curve) for name, curve in curves.items()}, curves


def _pairs() -> Iterable[tuple[devdata.Fact, devdata.Fact]]:
    """The pairs of step 1."""
    yield from combinations(devdata.records(), 2)
    for case in devdata.cases():
        facts = case.facts(5, 5)
        yield case.belief, case.update
        for side in (case.belief, case.update):
            yield from ((side, fact) for fact in facts if fact not in (case.belief, case.update))
        yield from combinations([fact for fact in facts if fact.slot in case.many], 2)


def _conflicts(
    pairs: Sequence[tuple[devdata.Fact, devdata.Fact]], embed: Embed, may: Callable[[str, str], bool]
) -> Iterable[tuple[float, bool]]:
    """Each pair's similarity, below every threshold where `may` forbids, and whether it contradicts itself."""
    texts = list(dict.fromkeys(fact.text for pair in pairs for fact in pair))
    vectors = dict(zip(texts, embed(texts), strict=True))
    for one, other in pairs:
        truth = devdata.contradict(one, other)
        allowed = may(one.text, other.text)
        if truth or allowed:
            yield float(vectors[one.text] @ vectors[other.text]) if allowed else -1.0, truth


def _repeats(embed: Embed) -> Iterable[tuple[float, bool]]:
    """For each pair of facts with one subject and value: its similarity, and whether both only state the value."""
    for case in devdata.cases():
        for facts in ((case.belief, *case.web), (case.update, *case.repeats, *case.backers)):
            vectors = embed([fact.text for fact in facts])
            similarity = (vectors @ vectors.T).tolist()
            for i, one in enumerate(facts):
                for j, other in enumerate(facts[:i]):
                    yield similarity[i][j], one.states and other.states


def _f1(pairs: Iterable[tuple[float, bool]]) -> list[float]:
    """F1 of "similarity is the threshold or more" at each threshold."""
    import numpy as np

    similarity, truth = (np.array(column) for column in zip(*pairs, strict=True))
    found = similarity[:, None] >= np.array(THRESHOLDS)
    hits = (found & truth[:, None]).sum(axis=0)
    scores = 2 * hits / (found.sum(axis=0) + truth.sum())
    return [round(float(score), 4) for score in scores]


def _best(curve: Sequence[float]) -> float:
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


def _winners(
    embed: Embed,
    embed_query: EmbedQuery,
    thresholds: dict[str, float],
) -> Iterable[dict[str, Any]]:
    """Step 3: for each depth and number of neighbours, in rising order, how many levels the backed side wins."""
    from pytest_engram.memory import Entry
    from pytest_engram.methods.loom import Loom

    levels = [
        (case, web, backers)
        for case in devdata.cases()
        for web in devdata.LEVELS
        for backers in devdata.LEVELS
        if web != backers
    ]
    bench = _Lookup(embed, embed_query)
    for depth in DEPTHS:
        for neighbours in NEIGHBOURS:
            settings = Settings(depth, neighbours, **thresholds)
            correct = 0
            for case, web, backers in levels:
                facts = case.facts(web, backers)
                memory = Loom(bench, settings)
                memory.write([Entry(fact.text, fact.text, time) for time, fact in enumerate(facts)])
                found = memory.search(case.query, K)
                winner, loser = (case.belief, case.update) if web > backers else (case.update, case.belief)
                correct += winner.text in found and loser.text not in found
            yield {"depth": depth, "neighbours": neighbours, "correct": correct, "levels": len(levels)}


class _Lookup:
    """As much of a bench as Loom needs, with every embedding at hand."""

    k, seed = K, 0

    def __init__(
        self,
        embed: Embed,
        embed_query: EmbedQuery,
    ) -> None:
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
def _known() -> dict[str, Settings]:
    """Settings by the hash of the encoder that they are calibrated for."""
    outcome = json.loads(OUTCOME.read_text(encoding="utf-8"))
    return {encoder["hash"]: Settings(**encoder["chosen"]) for encoder in outcome["encoders"]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate for the named encoders and write the outcome."""
    import argparse

    from pytest_engram.encoders import EmbeddingStore, cache_dir, resolve

    parser = argparse.ArgumentParser(prog="python -m pytest_engram.calibrate", description=__doc__)
    parser.add_argument("encoder", nargs="+", help="names or folders of encoders, as for --engram-encoder")
    parser.add_argument("--data", type=Path, help="the folder of --engram-data, where an encoder may lie beside it")
    parser.add_argument("--output", type=Path, default=OUTCOME)
    options = parser.parse_args(arguments)
    encoders = []
    for name in options.encoder:
        spec = resolve(name, options.data)
        store = EmbeddingStore(spec, cache_dir())
        settings, outcome = calibrate(store.embed, store.embed_query)
        print(f"{spec.name}: {settings}")
        encoders.append({"name": spec.name, "hash": spec.hash, "chosen": asdict(settings), **outcome})
    result = {
        "what": "python -m pytest_engram.calibrate: what it does is in that module's docstring",
        "seed": devdata.SEED,
        "texts": len(_texts()),
        "data": devdata.digest(),
        "grid": {"thresholds": THRESHOLDS, "depth": DEPTHS, "neighbours": NEIGHBOURS, "k": K},
        "encoders": encoders,
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
