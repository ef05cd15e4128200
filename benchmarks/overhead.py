"""What having the plugin installed costs a pytest run that has nothing to do with it.

    python -m benchmarks.overhead

The same trivial test file is run with the plugin loaded and without it, in turn; medians are compared. The plugin may
cost 20 ms; the table gives that as a ratio to the run without it, as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Row, in_turn
from benchmarks.table import table

ALLOWED = 0.020  # seconds


def rows(times: int = 15) -> Iterator[Row]:
    """One row: an unrelated run with the plugin, and without."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_unrelated.py").write_text("def test_nothing():\n    pass\n")
        common = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_unrelated.py")
        took = in_turn({"with": (*common, "-p", "engram"), "without": common}, times, folder)
    ours, peer = (median(t.clock for t in took[key]) for key in ("with", "without"))
    yield Row("unrelated pytest run, plugin installed", "plugin left out", ours, peer, ours / peer, 1 + ALLOWED / peer)


if __name__ == "__main__":
    print(table(list(rows())))
