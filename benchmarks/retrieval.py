"""A whole warm run of both 6K pilot sets, report included, beside a plain script that does the same retrieval.

    python -m benchmarks.retrieval

The script is `bare.py`: same methods, same cached embeddings, same scoring, no pytest. Each is a process of its own,
counted from its start to its end; both have run before, so that everything that is kept between runs is there. Needs
the official data (ENGRAM_DATA); without it the generated `demo_fc` is measured, and the name says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Row, in_turn
from benchmarks.table import table

SIX = ("loom", "loom-recency", "loom-no-regex", "tide", "dense", "bm25")
SEVEN = ("loom", "loom-recency", "loom-no-regex", "loom-distinct", "tide", "dense", "bm25")
LIMIT = 3.0
OFFICIAL = {"fc_sh_6k": "factconsolidation_sh_6k", "fc_mh_6k": "factconsolidation_mh_6k"}


def rows(times: int = 5) -> Iterator[Row]:
    """Serial with six methods (the one with a limit), the same on two workers, and with all that run by default."""
    data = os.environ.get("ENGRAM_DATA", "")
    suites = OFFICIAL
    if not (Path(data) / "memoryagentbench" / "Conflict_Resolution.json").is_file():
        print("retrieval: no official data (set ENGRAM_DATA): the generated demo_fc is measured", file=sys.stderr)
        suites = {"demo_fc": "demo_fc"}
    yield from _compare("warm run", SIX, suites, times, (), LIMIT)
    yield from _compare("warm run, -n 2", SIX, suites, times, ("-n", "2"), None)
    yield from _compare("warm run", SEVEN, suites, times, (), None)


def _compare(
    name: str, methods: tuple[str, ...], suites: dict[str, str], times: int, more: tuple[str, ...], limit: float | None
) -> Iterator[Row]:
    named = ",".join(methods)
    with TemporaryDirectory() as folder:
        paths = [f"cases/pilot/{suite}.yaml" for suite in suites]
        options = ("--engram-no-controls", f"--engram-method={named}", f"--engram-report={folder}/report")
        plugins = ("-p", "engram", "-p", "xdist", "-p", "no:cacheprovider")
        commands = {
            "ours": ("-m", "pytest", *plugins, *options, *more, *paths),
            "bare": (str(ROOT / "benchmarks" / "bare.py"), named, *suites.values()),
        }
        took = in_turn(commands, times, ROOT)
        _check(Path(folder) / "report" / "results.json", commands["bare"], suites)
    shown = f"{name}: {' + '.join(suites)}, {len(methods)} methods"
    # What else the machine does only ever adds time: the quickest of the turns is the measurement.
    ours, peer = (min(took[key], key=lambda t: t.clock) for key in ("ours", "bare"))
    yield Row(shown, "bare script", ours.clock, peer.clock, ours.clock / peer.clock, limit)
    ours, peer = (min(took[key], key=lambda t: t.processor) for key in ("ours", "bare"))
    yield Row(f"{shown} (processor time)", "bare script", *_seconds(ours.processor, peer.processor))


def _check(results: Path, bare: tuple[str, ...], suites: dict[str, str]) -> None:
    """Both must have found the same, or their times are no comparison."""
    printed = subprocess.run([sys.executable, *bare], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    theirs = json.loads(printed)
    for row in json.loads(results.read_bytes())["rows"]:
        if row["metric"] == "answer@10" and row["value"] != theirs[suites[row["suite"]]][row["method"]]:
            sys.exit(f"{row['method']} on {row['suite']}: {row['value']}, but the bare script finds another figure")


def _seconds(ours: float, peer: float) -> tuple[float, float, float]:
    return ours, peer, ours / peer


if __name__ == "__main__":
    print(table(list(rows())))
