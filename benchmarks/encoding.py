"""Embedding texts that are new, beside SentenceTransformer.encode with the same model at its best batch.

    python -m benchmarks.encoding

Both are in one process, and both models are loaded before. Ours is `EmbeddingStore.prepare` into an empty cache, so
that what it keeps is paid for; the peer gives an array. The texts are facts of the official 262K haystack
(ENGRAM_DATA); without it the facts of the generated `demo_fc` are taken, and the name says so.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.bare import SEED, row_of
from benchmarks.measure import Row, Took
from benchmarks.table import table
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.encoders import resolve
from pytest_engram.encoding.model import load
from pytest_engram.suites.facts import parse_facts

TEXTS = 1024
BATCHES = (16, 32, 64, 128, 256)
LIMIT = 0.95
CLOSE = 1e-5  # in each number of an embedding of length 1


def rows(times: int = 3) -> Iterator[Row]:
    """On the clock, and in processor time: the quickest of `times` turns each."""
    from sentence_transformers import SentenceTransformer

    data = Path(os.environ["ENGRAM_DATA"]) if "ENGRAM_DATA" in os.environ else None
    official = data is not None and (data / "memoryagentbench" / "Conflict_Resolution.json").is_file()
    name = "factconsolidation_sh_262k" if official else "demo_fc"
    facts = [fact.text for fact in parse_facts(row_of(name, data).context)]
    texts = random.Random(SEED).sample(facts, min(TEXTS, len(facts)))
    spec = resolve(os.environ.get("ENGRAM_ENCODER", "auto"), data)
    encode, network = load(spec), SentenceTransformer(spec.path, local_files_only=True)

    def theirs(batch: int) -> Any:
        return network.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)

    def ours() -> Any:
        with TemporaryDirectory() as folder:
            store = EmbeddingStore(spec, Path(folder), None, encode)
            store.prepare(texts)
            return store.embed(texts)

    best = min(BATCHES, key=lambda batch: timed(lambda: theirs(batch)).clock)
    if np.abs(ours() - theirs(best)).max() > CLOSE:
        sys.exit("encoding: the embeddings are not the peer's")
    took = [(timed(ours), timed(lambda: theirs(best))) for _ in range(times)]
    shown, peer = f"embedding {len(texts):,} texts of {name}", f"SentenceTransformer.encode, batch {best}"
    for more, limit, pick in (("", LIMIT, "clock"), (" (processor time)", None, "processor")):
        mine, other = (min(getattr(turn[side], pick) for turn in took) for side in (0, 1))
        yield Row(shown + more, peer, mine, other, mine / other, limit)


def timed(work: Callable[[], Any]) -> Took:
    """What a call takes in this process."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - clock, time.process_time() - processor)


if __name__ == "__main__":
    print(table(list(rows())))
