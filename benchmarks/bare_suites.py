"""The plain script that `suites.py` measures the plugin against: the same suites, asked without pytest.

    python benchmarks/bare_suites.py METHODS SUITE.yaml...

Gives each method the entries of each haystack, asks it every question, and prints as JSON in how many of them an entry
that came back answers. A level of a micro-test is asked once, however often its family asks it. No rule is checked,
nothing is timed, no interval computed, nothing written.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.bare import METHODS, SEED, K
from pytest_engram.basics.cache import cache_dir
from pytest_engram.basics.registry import Registry
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.encoders import resolve
from pytest_engram.judging import METRICS
from pytest_engram.memory import Bench
from pytest_engram.methods.count import Count
from pytest_engram.methods.loom import LoomSided
from pytest_engram.suites import SOURCES
from pytest_engram.suites.loading import load

ALL = METHODS | {"loom-sided": LoomSided, "count": Count}


def main() -> None:
    """Print {suite: {method: questions with an answer among the first k}}; without those that have no gold."""
    methods, paths = sys.argv[1].split(","), [Path(path) for path in sys.argv[2:]]
    data = Path(os.environ["ENGRAM_DATA"]) if "ENGRAM_DATA" in os.environ else None
    store = EmbeddingStore(resolve(os.environ.get("ENGRAM_ENCODER", "auto"), data), cache_dir())
    sources, metrics = Registry[Any]("data source", SOURCES), Registry[Any]("metric", METRICS)
    found: dict[str, dict[str, int]] = {}
    for path in paths:
        loaded = load(path, data, sources=sources, metrics=metrics, shipped_metrics=METRICS)
        suite, key = loaded.suite, loaded.key
        bench = Bench(
            k=K,
            seed=SEED,
            embeddings=lambda: store,
            cache_dir=cache_dir(),
            tokenize=suite.tokenize,
            rank=suite.rank,
        )
        found[suite.name] = dict.fromkeys(methods, 0)
        over = defaultdict(list)
        for question in suite.runnable():
            over[question.haystack].append(question)
        for haystack, questions in over.items():
            entries = suite.haystack(haystack)
            for method in methods:
                memory: Any = ALL[method](bench)
                memory.write(entries)
                for question in questions:
                    returned = memory.search(question.query, K)
                    found[suite.name][method] += bool(set(returned) & set(key.gold(question.id).relevant))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
