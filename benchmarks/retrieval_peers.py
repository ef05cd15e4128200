"""Retrieval over a large haystack, each part beside the library or the bare computation that it is measured by.

    python -m benchmarks.retrieval_peers

- mutual 10-nearest neighbours of 18,332 embeddings: the bare product of all of them with all of them, block by block;
- a BM25 query over 18,332 facts: rank-bm25, whose ids and scores must be the same to the last bit, and bm25s;
- one more fact for a Loom that holds 18,332: what building it took.

The facts are FactConsolidation's at 262K where the official data is (ENGRAM_DATA) and was embedded before; else as many
are generated, and the name says so. Each comparison is of one process, timed in turn; of the turns the quickest counts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import generated
from benchmarks.measure import Row, Took
from benchmarks.table import table
from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench, Entry
from pytest_engram.methods.loom import Loom
from pytest_engram.retrieval.neighbours import Neighbours
from pytest_engram.retrieval.okapi import Lexical
from pytest_engram.retrieval.postings import Postings
from pytest_engram.retrieval.ranking import best
from pytest_engram.retrieval.words import words

FACTS = 18_332
NEIGHBOURS = 10
K = 10
BLOCK = 2048
WRITTEN = 20  # facts that are added one by one
ASKED = 25  # questions


class Facts(NamedTuple):
    """What is searched: where it is from, the texts, the questions, float32 embeddings of the texts."""

    name: str
    texts: list[str]
    questions: list[str]
    vectors: NDArray[np.float32]


def rows(times: int = 3) -> Iterator[Row]:
    """All comparisons."""
    facts = _facts()
    yield from _neighbours(facts, times)
    yield from _bm25(facts, times)
    yield from _written(facts, times)


def _neighbours(facts: Facts, times: int) -> Iterator[Row]:
    vectors = facts.vectors

    def product() -> None:
        for start in range(0, len(vectors), BLOCK):
            vectors[start : start + BLOCK] @ vectors.T

    took = alternate({"ours": lambda: Neighbours(NEIGHBOURS).extend(vectors), "bare": product}, times)
    name = f"mutual {NEIGHBOURS}-NN of {len(vectors)} x {vectors.shape[1]}, {facts.name}"
    yield _row(name, "bare product", took["ours"].clock, took["bare"].clock, 1.2)
    yield _row(f"{name} (processor time)", "bare product", took["ours"].processor, took["bare"].processor)


def _bm25(facts: Facts, times: int) -> Iterator[Row]:
    import bm25s
    from rank_bm25 import BM25Okapi

    documents = list(map(words, facts.texts))
    questions = facts.questions[:ASKED]
    reference, sparse = BM25Okapi(documents), bm25s.BM25(method="lucene")
    sparse.index(documents, show_progress=False)

    def fresh() -> Lexical:
        counted = Postings()
        counted.extend(documents)
        return Lexical(counted.scores, words, best)

    def by_rank_bm25() -> None:
        for question in questions:
            np.argsort(-reference.get_scores(words(question)), kind="stable")[:K]

    def by_bm25s() -> None:
        for question in questions:
            sparse.retrieve([words(question)], k=K, show_progress=False, n_threads=0)

    lexical = fresh()
    for question in questions:
        scores = np.asarray(reference.get_scores(words(question)))
        same = scores.tobytes() == lexical.scores(words(question)).tobytes()
        if not same or lexical.rank(question, K).tolist() != np.argsort(-scores, kind="stable")[:K].tolist():
            sys.exit(f"{question}: rank-bm25 finds other scores or ids")
    unasked = iter([fresh() for _ in range(times + 1)])  # a run asks each question once: nothing is known of its words

    def ours() -> None:
        lexical = next(unasked)
        for question in questions:
            lexical.rank(question, K)

    took = alternate({"ours": ours, "rank-bm25": by_rank_bm25, "bm25s": by_bm25s}, times)
    for peer, limit in (("rank-bm25", 0.01), ("bm25s", 1.0)):
        name = f"a BM25 query over {len(documents)} facts, {facts.name}"
        yield _row(name, peer, took["ours"].clock / ASKED, took[peer].clock / ASKED, limit)


def _written(facts: Facts, times: int) -> Iterator[Row]:
    """Loom, from embeddings that are there: what it takes to embed a fact is the encoder's."""
    known = dict(zip(facts.texts, facts.vectors, strict=True))
    store: Any = SimpleNamespace(
        spec=SimpleNamespace(hash="benchmark", name="benchmark"),
        embed=lambda texts: np.array([known[text] for text in texts]),
    )
    entries = [Entry(f"f{number}", text, float(number)) for number, text in enumerate(facts.texts)]
    settings = Settings(depth=10, neighbours=NEIGHBOURS, sided=NEIGHBOURS, similarity=0.9, duplicate=0.95, tide=0.9)
    built: list[Loom] = []

    def build() -> None:
        with TemporaryDirectory() as folder:
            memory = Loom(Bench(k=K, seed=0, embeddings=lambda: store, cache_dir=Path(folder)), settings)
            memory.write(entries[:-WRITTEN])
            memory.prepare()
            built.append(memory)

    def write() -> None:
        memory = built.pop()
        for entry in entries[-WRITTEN:]:
            memory.write([entry])
            memory.prepare()
        built.clear()

    took = alternate({"build": build, "write": write}, times)
    for name, key in (("", "clock"), (" (processor time)", "processor")):
        one, all_ = getattr(took["write"], key) / WRITTEN, getattr(took["build"], key)
        told = f"one more fact for a Loom of {len(entries)}, {facts.name}{name}"
        yield _row(told, "building it", one, all_, 0.01 if key == "clock" else None)


def alternate(calls: Mapping[str, Callable[[], object]], times: int) -> dict[str, Took]:
    """Of each the quickest of `times` turns, after one that is not counted. What it made is let go of in between."""
    found: dict[str, list[Took]] = {name: [] for name in calls}
    for turn in range(times + 1):
        for name, call in calls.items():
            clock, processor = time.perf_counter(), time.process_time()
            call()
            took = Took(time.perf_counter() - clock, time.process_time() - processor)
            if turn:
                found[name].append(took)
    return {
        name: Took(min(one.clock for one in took), min(one.processor for one in took)) for name, took in found.items()
    }


def _row(name: str, peer: str, ours: float, theirs: float, limit: float | None = None) -> Row:
    return Row(name, peer, ours, theirs, ours / theirs, limit)


def _facts() -> Facts:
    from pytest_engram.basics.cache import cache_dir
    from pytest_engram.encoding.embeddings import EmbeddingStore
    from pytest_engram.encoding.encoders import EncoderError, resolve
    from pytest_engram.suites import factconsolidation
    from pytest_engram.suites.base import NotRun
    from pytest_engram.suites.facts import parse_facts

    data = Path(os.environ["ENGRAM_DATA"]) if "ENGRAM_DATA" in os.environ else None
    try:
        row = factconsolidation.find_row("factconsolidation_sh_262k", data)
        store = EmbeddingStore(resolve("bge-small-en-v1.5", data), cache_dir())
    except (NotRun, EncoderError):
        return _generated()
    texts = [fact.text for fact in parse_facts(row.context)]
    if store.missing(texts):
        return _generated()
    return Facts("FactConsolidation", texts, [question.text for question in row.questions], store.embed(texts))


def _generated() -> Facts:
    print("retrieval_peers: no official data that was embedded: generated facts are measured", file=sys.stderr)
    texts = generated.texts(FACTS)
    return Facts("generated", texts, generated.queries(texts, ASKED), generated.vectors(FACTS))


if __name__ == "__main__":
    print(table(list(rows())))
