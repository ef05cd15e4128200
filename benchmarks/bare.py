"""The plain script that `retrieval.py` measures the plugin against: the same retrieval, without pytest.

    python benchmarks/bare.py METHODS ROWS...

Asks the methods (comma-separated) every question of the rows of FactConsolidation (or `demo_fc`), with the same
embeddings from the same cache and the same scoring, and prints the mean answer@10 of each as JSON. It does what
somebody would write who wants that figure and nothing else: no rule is checked, no interval computed, nothing written.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pytest_engram.basics.cache import cache_dir
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.encoders import resolve
from pytest_engram.judging.metrics import answer_at
from pytest_engram.memory import Bench, MemoryFactory
from pytest_engram.methods.bm25 import BM25
from pytest_engram.methods.dense import Dense
from pytest_engram.methods.loom import Loom, LoomDistinct, LoomNoRegex, LoomRecency
from pytest_engram.methods.tide import Tide
from pytest_engram.suites import demo_fc, factconsolidation
from pytest_engram.suites.facts import FactRow, parse_facts

K = 10
SEED = 20261008
METHODS: dict[str, MemoryFactory] = {
    "loom": Loom,
    "loom-recency": LoomRecency,
    "loom-no-regex": LoomNoRegex,
    "loom-distinct": LoomDistinct,
    "tide": Tide,
    "dense": Dense,
    "bm25": BM25,
}


def row_of(name: str, data: Path | None) -> FactRow:
    """Facts and questions."""
    return demo_fc.generate(SEED) if name == "demo_fc" else factconsolidation.find_row(name, data)


def main() -> None:
    """Print {row: {method: mean answer@10}}."""
    methods, names = sys.argv[1].split(","), sys.argv[2:]
    data = Path(os.environ["ENGRAM_DATA"]) if "ENGRAM_DATA" in os.environ else None
    store = EmbeddingStore(resolve(os.environ.get("ENGRAM_ENCODER", "auto"), data), cache_dir())
    bench = Bench(k=K, seed=SEED, embeddings=lambda: store, cache_dir=cache_dir())
    means: dict[str, dict[str, float]] = {}
    for name in names:
        row = row_of(name, data)
        facts = parse_facts(row.context)
        texts = {fact.id: fact.text for fact in facts}
        means[name] = {}
        for method in methods:
            memory: Any = METHODS[method](bench)
            memory.write(facts)
            hits = [
                answer_at([texts[str(id_)] for id_ in memory.search(question.text, K)], question.answers, K)
                for question in row.questions
            ]
            means[name][method] = sum(hits) / len(hits)
    print(json.dumps(means))


if __name__ == "__main__":
    main()
