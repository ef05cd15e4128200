"""What an item costs: a warm run of seven methods, report included, beside as many empty tests.

    python -m benchmarks.items

The peer is one parametrized test that does nothing, in a pytest without this plugin: what an item costs there is what
pytest itself costs. Both are divided by their number of items. Needs the official data (ENGRAM_DATA) for 1,400 items;
without it the generated `demo_fc` is measured, and the name says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Row, in_turn
from benchmarks.retrieval import SEVEN
from benchmarks.table import table

EMPTY = 1200
LIMIT = 1.5


def rows(times: int = 5) -> Iterator[Row]:
    """One row: seconds of 1,000 items, ours and empty ones."""
    official = (Path(os.environ.get("ENGRAM_DATA", "")) / "memoryagentbench").is_dir()
    suites = ("fc_sh_6k", "fc_mh_6k") if official else ("demo_fc",)
    items = (200 if official else 80) * len(SEVEN)
    with TemporaryDirectory() as name:
        folder = Path(name)
        test = "import pytest\n\n\n@pytest.mark.parametrize('n', range({}))\ndef test_nothing(n):\n    pass\n"
        (folder / "test_empty.py").write_text(test.format(EMPTY), encoding="utf-8")
        plugins = ("-m", "pytest", "-p", "no:cacheprovider")
        options = ("--engram-no-controls", f"--engram-method={','.join(SEVEN)}", f"--engram-report={folder}/report")
        commands = {
            "ours": (*plugins, "-p", "engram", *options, *(f"cases/pilot/{suite}.yaml" for suite in suites)),
            "empty": (*plugins, f"--rootdir={folder}", str(folder / "test_empty.py")),
        }
        took = in_turn(commands, times, ROOT)
    ours, peer = (min(t.clock for t in took[key]) for key in ("ours", "empty"))
    ours, peer = 1000 * ours / items, 1000 * peer / EMPTY
    name = f"1,000 of {items:,} items, report included: {' + '.join(suites)}, {len(SEVEN)} methods"
    yield Row(name, "empty tests", ours, peer, ours / peer, LIMIT)


if __name__ == "__main__":
    print(table(list(rows())))
