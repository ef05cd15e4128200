"""All benchmarks, as one table of ratios: `python -m benchmarks [--full]`. Exit code 1 where a limit is passed."""

from __future__ import annotations

import argparse
import sys

from benchmarks import (
    encoding,
    items,
    longmemeval,
    overhead,
    report_log,
    resampling,
    retrieval,
    retrieval_peers,
    suites,
)
from benchmarks.table import table


def main() -> None:
    """Run them, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=str(__doc__))
    parser.add_argument(
        "--full", action="store_true", help="the default run, and LongMemEval at its full 500 questions (minutes)"
    )
    options = parser.parse_args()
    rows = [*overhead.rows(), *retrieval.rows(), *items.rows(), *suites.rows(full=options.full)]
    rows += [*retrieval_peers.rows(), *resampling.rows(), *encoding.rows(), *report_log.rows()]
    rows += longmemeval.rows(longmemeval.FULL if options.full else 100)
    print(table(rows))
    sys.exit(0 if all(row.holds for row in rows) else 1)


if __name__ == "__main__":
    main()
