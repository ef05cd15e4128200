"""What retrieval takes as a memory grows, beside exact brute force: `python -m benchmarks.growth [SIZE ...]`.

Entries are generated (`generated.py`), and each size is a process of its own, so that its peak of memory is its own.
Times are of the processor, all cores together: what else the machine does is not in them.

- build: who is near to whom, for Loom's support; brute force: the bare product of all with all, block by block. Beyond
  `BUILT` it is not run: it grows with the square.
- write: one more entry for what was built.
- Dense: a query's similarities and the first ten; brute force: the same and a full sort.
- BM25: a query; brute force: rank-bm25, up to `REFERENCE`.

Every result is compared with brute force's; a size at which one differs ends it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
from tabulate import tabulate

from benchmarks import generated
from benchmarks.measure import ROOT
from pytest_engram.retrieval.living import Rows
from pytest_engram.retrieval.neighbours import Neighbours
from pytest_engram.retrieval.postings import Postings
from pytest_engram.retrieval.ranking import best

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BUILT = 200_000
REFERENCE = 100_000
NEIGHBOURS = 10
K = 10
ASKED = 10
WRITTEN = 5
BLOCK = 2048
MIB = 2**20
HEADERS = {
    "size": "entries",
    "build": "build, s",
    "product": "brute force, s",
    "build_mib": "build, MiB",
    "write": "write, ms",
    "dense": "Dense, ms",
    "dense_brute": "brute force, ms",
    "vectors_mib": "vectors, MiB",
    "bm25": "BM25, ms",
    "rank_bm25": "rank-bm25, ms",
    "count": "counting, s",
    "postings_mib": "postings, MiB",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Retrieval as a memory grows.")
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one)))
        return
    lines = []
    for size in options.sizes:
        command = [sys.executable, "-m", "benchmarks.growth", "--one", str(size)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)
        lines.append([_shown(found[name]) for name in HEADERS])
        print(f"{size}: done", file=sys.stderr)
    print(tabulate(lines, headers=list(HEADERS.values()), tablefmt="github", disable_numparse=True, stralign="right"))


def measured(size: int) -> dict[str, Any]:
    """One size: seconds of the processor, MiB; None: not run."""
    found: dict[str, Any] = dict.fromkeys(HEADERS) | {"size": size}
    vectors = generated.vectors(size + WRITTEN)
    found["vectors_mib"] = vectors.nbytes / MIB
    _dense(found, vectors[:size])
    if size <= BUILT:
        _neighbours(found, vectors, size)
    del vectors
    _bm25(found, size)
    return found


def _dense(found: dict[str, Any], vectors: Any) -> None:
    queries = generated.vectors(ASKED, seed=1)
    found["dense"], ours = _each(lambda query: best(vectors @ query, K).tolist(), queries)
    brute: Callable[[Any], Any] = lambda query: np.argsort(-(vectors @ query), kind="stable")[:K].tolist()  # noqa: E731
    found["dense_brute"], theirs = _each(brute, queries)
    _check(ours == theirs, "Dense")


def _neighbours(found: dict[str, Any], vectors: Any, size: int) -> None:
    before = _peak()
    start = time.process_time()
    living = Neighbours(NEIGHBOURS).extend(vectors[:size])
    found["build"] = time.process_time() - start
    found["build_mib"] = _peak() - before
    start = time.process_time()
    for at in range(0, size, BLOCK):
        vectors[at : min(at + BLOCK, size)] @ vectors[:size].T
    found["product"] = time.process_time() - start
    rows = Rows(vectors[:size])
    start = time.process_time()
    for end in range(size, size + WRITTEN):
        rows.extend(vectors[end : end + 1])
        living.extend(rows.all)
    found["write"] = (time.process_time() - start) / WRITTEN * 1000
    unit = vectors.astype(np.float64) if size <= 10_000 else vectors
    for row in np.random.default_rng(0).integers(0, len(vectors), ASKED).tolist():
        similarity = (unit @ unit[row]).round(9 if size <= 10_000 else 5)
        similarity[row] = -np.inf
        nearest = np.sort(similarity)[::-1][:NEIGHBOURS]
        _check(np.allclose(living.similarity[row], nearest, atol=2e-5), "neighbours")


def _bm25(found: dict[str, Any], size: int) -> None:
    texts = generated.texts(size)
    asked = [query.split() for query in generated.queries(texts, ASKED)]
    documents = [text.split() for text in texts]
    del texts
    before = _held()
    counted = Postings()
    start = time.process_time()
    counted.extend(documents)
    found["count"] = time.process_time() - start
    found["bm25"], ours = _each(lambda query: best(counted.scores(query), K).tolist(), asked)
    found["postings_mib"] = _held() - before
    if size <= REFERENCE:
        from rank_bm25 import BM25Okapi

        reference = BM25Okapi(documents)
        brute: Callable[[Any], Any] = lambda query: np.argsort(-reference.get_scores(query), kind="stable")[:K].tolist()  # noqa: E731
        found["rank_bm25"], theirs = _each(brute, asked)
        _check(ours == theirs, "BM25")


def _each(ask: Callable[[Any], Any], queries: Any) -> tuple[float, list[Any]]:
    """Milliseconds a query, after one that is not counted, and what was found."""
    ask(queries[0])
    start = time.process_time()
    answers = [ask(query) for query in queries]
    return (time.process_time() - start) / len(queries) * 1000, answers


def _check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"{what}: not what brute force finds")


def _peak() -> float:
    """The most memory that this process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _held() -> float:
    """The memory that it has now, in MiB."""
    return float(psutil.Process().memory_info().rss / MIB)


def _shown(value: float | None) -> str:
    if value is None:
        return "not run"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
