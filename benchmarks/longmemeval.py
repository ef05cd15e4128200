"""How long BM25 over a file of LongMemEval_S's size takes, beside a plain script that follows the official steps.

    python -m benchmarks.longmemeval [--questions 500] [--granularity session|turn] [--file FILE]

Generates the file (`longmemeval_file.py`), then runs, each in a process of its own: the plain script (json, rank-bm25,
a log of all rankings; `tests/support/plain_longmemeval.py`), this project on an empty cache, and this project again, as
every later run and every worker finds things. All must give the same figures, to the last digit.

Prints the seconds of each whole process (on the clock, and of the processor), those of its steps, and peak memory.
How many times faster counts from opening the file to the last figure, without the start of Python and its imports.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from benchmarks.measure import Row
    from pytest_engram.suites.longmemeval.protocol import Granularity

ROOT = Path(__file__).parents[1]
GOAL = 10.0  # times faster than the plain script, at the full size
FULL = 500  # questions


def measure() -> None:
    """In the process that is measured: one BM25 run over all questions of a file, through suite, bench and method."""
    from pytest_engram.basics.cache import cache_dir
    from pytest_engram.judging import METRICS
    from pytest_engram.judging.judge import judge
    from pytest_engram.memory import Bench
    from pytest_engram.methods.bm25 import BM25
    from pytest_engram.runs.outcome import Outcome
    from pytest_engram.suites.longmemeval import source as longmemeval
    from pytest_engram.suites.longmemeval import suite as sessions
    from pytest_engram.suites.longmemeval.protocol import metric_names
    from pytest_engram.suites.longmemeval.store import Store

    file, granularity, log = Path(sys.argv[2]), cast("Granularity", sys.argv[3]), Path(sys.argv[4])
    start = time.perf_counter()
    folder = longmemeval.keep(file, file.name, granularity)
    ids = list(Store(folder, granularity).questions)
    spec = longmemeval.Spec.model_validate(
        {
            "engram": "pilot",
            "name": "scale",
            "source": "longmemeval",
            "granularity": granularity,
            "metrics": metric_names(granularity),
            "questions": [{"id": id_} for id_ in ids],
        }
    )
    suite, key = sessions.load(spec, file, folder, shown=file.name)
    suite.haystack(ids[0])
    reading = time.perf_counter()
    bench = Bench(
        k=50 if granularity == "session" else 1_000,
        seed=0,
        embeddings=_none,
        cache_dir=cache_dir(),
        tokenize=suite.tokenize,
        rank=suite.rank,
        lexical=suite.haystacks.lexical,
    )
    values: dict[str, list[float]] = {name: [] for name in metric_names(spec.granularity)}
    with log.open("w", encoding="utf-8") as lines:
        for question in suite.questions:
            memory = BM25(bench)
            memory.write(suite.haystack(question.haystack))
            found = memory.search(question.query, bench.k)
            line = Outcome(suite.name, question.id, "bm25", 0, bench.k, found, {}, "ok")
            score = judge(key, line, METRICS)
            lines.write(json.dumps({"id": question.id, "ids": found, "metrics": score.metrics}) + "\n")
            for name, value in score.metrics.items():
                assert value is not None, score.missing[name]
                values[name].append(value)
    import numpy as np

    print(
        json.dumps(
            {
                "metrics": {name: float(np.mean(found)) for name, found in values.items()},
                "scored": len(values["recall_any@5"]),
                "load_s": reading - start,
                "retrieve_s": time.perf_counter() - reading,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def _none() -> Any:
    raise AssertionError("BM25 embeds nothing")


def run(*command: str, **environment: str) -> dict[str, Any]:
    """What a measured process printed, with the seconds that it took as a whole."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"whole_s": seconds, "cpu_s": processor}


def work(found: dict[str, Any]) -> float:
    """Seconds from opening the file to the last figure; Python's own start and imports are left out, for all alike."""
    return float(found["load_s"] + found["retrieve_s"] + found.get("log_s", 0.0))


def compare(questions: int, granularity: str, file: Path | None = None) -> dict[str, dict[str, Any]]:
    """The plain script's run, this project's first and its later one, over `file` or over a generated one.

    Raises:
        SystemExit: they give different figures.
    """
    from benchmarks import longmemeval_file

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if file is None:
            file = folder / "longmemeval_s_cleaned.json"
            longmemeval_file.write(file, questions)
        print(f"{file.name}: {file.stat().st_size / 1e6:.0f} MB, granularity {granularity}\n", file=sys.stderr)
        plain_script = str(ROOT / "tests" / "support" / "plain_longmemeval.py")
        own = (__file__, "measure", str(file), granularity, str(folder / "log"))
        cache = {"ENGRAM_CACHE": str(folder / "cache")}
        plain = run(plain_script, str(file), granularity, str(folder / "log"))
        runs = {"plain script": plain, "first run": run(*own, **cache), "later run": run(*own, **cache)}
    for name, found in runs.items():
        if (found["metrics"], found["scored"]) != (plain["metrics"], plain["scored"]):
            sys.exit(f"{name}: other figures than the plain script's")
    return runs


def rows(questions: int) -> Iterator[Row]:
    """BM25 over a generated file, first and later run: by how much of the plain script's time."""
    from benchmarks.measure import Row

    runs = compare(questions, "session")
    plain = work(runs["plain script"])
    for name in ("first run", "later run"):
        ours = work(runs[name])
        # Of a small file, opening it and what is read first are most of the time.
        limit = 1 / GOAL if name == "later run" and questions >= FULL else None
        shown = f"LongMemEval_S, BM25, {questions} questions, {name}"
        yield Row(shown, "plain script", ours, plain, ours / plain, limit)


def main() -> None:
    """Generate, run, compare, print."""
    from tabulate import tabulate

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--granularity", choices=["session", "turn"], default="session")
    parser.add_argument("--file", type=Path, help="measure this file of the official schema instead")
    options = parser.parse_args()
    runs = compare(options.questions, options.granularity, options.file)
    plain = runs["plain script"]
    columns = ("whole_s", "cpu_s", "load_s", "retrieve_s", "log_s", "peak_mb")
    rows = [
        [name, *(found.get(column) for column in columns), work(plain) / work(found)] for name, found in runs.items()
    ]
    print(tabulate(rows, headers=["", *columns, "times faster"], floatfmt=".2f", missingval=""))
    shown = ("recall_any@5", "recall_all@5", "ndcg_any@10")
    figures = ", ".join(f"{name} {plain['metrics'][name]:.4f}" for name in shown)
    print(f"\nSame figures in all runs, over {plain['scored']} scored questions: {figures}")
    if work(plain) < GOAL * work(runs["later run"]):
        sys.exit(f"A later run is not {GOAL:g} times faster than the plain script")


if __name__ == "__main__":
    measure() if sys.argv[1:2] == ["measure"] else main()
