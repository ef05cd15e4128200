"""What `engram report` takes for all tables, plots and the page, against reading the same log with `json`.

    python -m benchmarks.report_log

Two logs, each as lines of JSON: the committed reference, and one of 100,000 items made of it. Both commands are whole
processes; of each the quickest of its turns counts, by the processor's time, so that other work on the machine tells
little. Beside the ratio stands the largest memory that the report took.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import ROOT, Row, in_turn
from benchmarks.table import table

REFERENCE = ROOT / "reports" / "reference"
MANY = 100_000
LIMIT = 8.0
PEER = "import json, sys\nfor line in open(sys.argv[1], 'rb'):\n    json.loads(line)"
# By the process itself: what the system tells of a child begins with what its parent held.
PEAK = """
import sys
from pytest_engram.cli.commands import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print("peak", status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def rows(times: int = 3) -> Iterator[Row]:
    """Two rows: the reference, and a log of `MANY` items."""
    with TemporaryDirectory() as name:
        for folder in (unpacked(Path(name) / "reference"), many(Path(name) / "many", MANY)):
            log, out = folder / "items.jsonl", Path(name) / "out"
            ours = ("-c", PEAK, "report", str(folder), "-o", str(out))
            took = in_turn({"ours": ours, "peer": ("-c", PEER, str(log))}, times, ROOT)
            report, peer = (min(turn.processor for turn in took[key]) for key in ("ours", "peer"))
            with log.open("rb") as lines:
                items = sum(1 for _ in lines)
            what = f"report of {items:,} items, {megabytes(ours)} MB"
            yield Row(what, "reading it with json", report, peer, report / peer, LIMIT)


def unpacked(to: Path) -> Path:
    """The committed reference with its log and its excerpts as they are without compression."""
    to.mkdir()
    shutil.copyfile(REFERENCE / "manifest.json", to / "manifest.json")
    for name in ("items.jsonl", "texts.json"):
        with gzip.open(REFERENCE / f"{name}.gz") as packed, (to / name).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    return to


def many(to: Path, items: int) -> Path:
    """A run of so many items: the reference's, then its questions and cases again under other names."""
    source = unpacked(to)
    with gzip.open(REFERENCE / "items.jsonl.gz") as lines:
        reference = [json.loads(line) for line in lines]
    made = (again(record, turn) for turn in count() for record in reference)
    with (source / "items.jsonl").open("w", encoding="utf-8") as log:
        log.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in islice(made, items))
    manifest = json.loads((source / "manifest.json").read_text(encoding="utf-8"))
    for suite in manifest["suites"].values():
        suite["n"] = suite["n"] * -(-items // len(reference)) if suite.get("n") else suite.get("n")
    (source / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return source


def again(record: dict[str, Any], turn: int) -> dict[str, Any]:
    """The same item of another question, of another cluster."""
    if not turn:
        return record
    names = {name: f"{record[name]} ({turn})" for name in ("question_id", "case", "cluster") if record.get(name)}
    question, _, method = record["item"].rpartition("[")
    return {**record, **names, "item": f"{question} ({turn})[{method}", "query": f"{record.get('query', '')} ({turn})"}


def megabytes(command: tuple[str, ...]) -> int:
    """The largest memory of a command that ends by telling it."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1]) // 1000


if __name__ == "__main__":
    print(table(list(rows())))
