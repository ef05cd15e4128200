"""Whole suites, report included, beside a plain script that asks the same: LoCoMo, 262K, all of the default run.

    python -m benchmarks.suites [--full]

The script is `bare_suites.py`. Both are processes of their own, and both have run before: embeddings and indexes are
there. `--full` adds the default run, on two workers, as users run it. Needs the official data (ENGRAM_DATA).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bare import K
from benchmarks.measure import ROOT, Row, in_turn
from benchmarks.retrieval import SIX
from benchmarks.table import table

LOCOMO = ("cases/full/locomo.yaml",)
LARGE = ("cases/pilot/fc_sh_262k.yaml", "cases/pilot/fc_mh_262k.yaml")
DEFAULT = ("loom", "loom-recency", "loom-no-regex", "loom-distinct", "loom-sided", "tide", "count", "dense", "bm25")


def rows(times: int = 3, *, full: bool = False) -> Iterator[Row]:
    """Each with its limit."""
    if not (Path(os.environ.get("ENGRAM_DATA", "")) / "locomo").is_dir():
        print("suites: not run, as there is no official data: set ENGRAM_DATA", file=sys.stderr)
        return
    yield _compare("LoCoMo, 1,986 questions", SIX, LOCOMO, times, (), 2.0)
    yield _compare("262K, single and multi hop", SIX, LARGE, times, (), 1.2)
    if full:
        found = sorted(path for kind in ("micro", "pilot") for path in (ROOT / "cases" / kind).glob("*.yaml"))
        paths = [str(path.relative_to(ROOT)) for path in found]
        yield _compare("default run, `-n 2`", DEFAULT, paths, 1, ("-n", "2"), 2.0)


def _compare(
    name: str, methods: Sequence[str], paths: Sequence[str], times: int, more: Sequence[str], limit: float
) -> Row:
    named = ",".join(methods)
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        options = ("--engram-no-controls", f"--engram-method={named}", f"--engram-report={report}")
        plugins = ("-p", "engram", "-p", "xdist", "-p", "no:cacheprovider")
        commands = {
            "ours": ("-m", "pytest", *plugins, *options, *more, *paths),
            "bare": ("-m", "benchmarks.bare_suites", named, *paths),
        }
        took = in_turn(commands, times, ROOT)
        _check(report / "items.jsonl", commands["bare"])
    ours, peer = (min(t.clock for t in took[key]) for key in ("ours", "bare"))
    return Row(f"{name}, {len(methods)} methods", "bare script", ours, peer, ours / peer, limit)


def _check(log: Path, bare: Sequence[str]) -> None:
    """Both must have found the same, or their times are no comparison."""
    theirs = json.loads(subprocess.run([sys.executable, *bare], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    pilots = set()
    for line in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
        found[line["suite"]][line["method"]] += not set(line.get("gold_ids", ())).isdisjoint(line["ids"][:K])
        if "family" not in line:
            pilots.add(line["suite"])
    for suite in pilots:
        if dict(found[suite]) != theirs[suite]:
            sys.exit(f"{suite}: {dict(found[suite])}, but the bare script finds {theirs[suite]}")


if __name__ == "__main__":
    print(table(list(rows(full="--full" in sys.argv[1:]))))
