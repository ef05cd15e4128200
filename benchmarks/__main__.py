"""All benchmarks, as one table of ratios: `python -m benchmarks [--full]`. Exit code 1 where a limit is passed."""

from __future__ import annotations

import argparse
import sys

from benchmarks import longmemeval, overhead, report_log, retrieval, retrieval_peers
from benchmarks.table import table


def main() -> None:
    """Run them, print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=str(__doc__))
    parser.add_argument("--full", action="store_true", help="LongMemEval at its full 500 questions (minutes)")
    options = parser.parse_args()
    rows = [*overhead.rows(), *retrieval.rows(), *retrieval_peers.rows(), *report_log.rows()]
    rows += longmemeval.rows(longmemeval.FULL if options.full else 100)
    print(table(rows))
    sys.exit(0 if all(row.holds for row in rows) else 1)


if __name__ == "__main__":
    main()
