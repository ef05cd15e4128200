"""All benchmarks, as one table of ratios: `python -m benchmarks [--full]`. Exit code 1 where a limit is passed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tabulate import tabulate

from benchmarks import longmemeval, overhead, retrieval
from benchmarks.measure import Row


def table(rows: Sequence[Row]) -> str:
    """One line a comparison: both times in seconds, their ratio, and its limit where there is one."""
    lines = [
        [
            row.name,
            row.peer_name,
            f"{row.ours:.3f}",
            f"{row.peer:.3f}",
            f"{row.ratio:.2f}",
            "" if row.limit is None else f"{'at most' if row.holds else 'OVER'} {row.limit:.2f}",
        ]
        for row in rows
    ]
    headers = ["what", "peer", "ours, s", "peer, s", "ratio", "limit"]
    return tabulate(lines, headers=headers, disable_numparse=True, colalign=["left"] * 2 + ["right"] * 3 + ["left"])


def main() -> None:
    """Run them, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=str(__doc__))
    parser.add_argument("--full", action="store_true", help="LongMemEval at its full 500 questions (minutes)")
    options = parser.parse_args()
    rows = [*overhead.rows(), *retrieval.rows(), *longmemeval.rows(longmemeval.FULL if options.full else 100)]
    print(table(rows))
    sys.exit(0 if all(row.holds for row in rows) else 1)


if __name__ == "__main__":
    main()
