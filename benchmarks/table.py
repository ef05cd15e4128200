"""The table that benchmarks print."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from benchmarks.measure import Row


def table(rows: Sequence[Row]) -> str:
    """One line a comparison: both times in seconds, their ratio, and its limit where there is one."""
    lines = [
        [
            row.name,
            row.peer_name,
            _shown(row.ours, 3),
            _shown(row.peer, 3),
            _shown(row.ratio, 2),
            "" if row.limit is None else f"{'at most' if row.holds else 'OVER'} {row.limit:.2f}",
        ]
        for row in rows
    ]
    headers = ["what", "peer", "ours, s", "peer, s", "ratio", "limit"]
    return tabulate(lines, headers=headers, disable_numparse=True, colalign=["left"] * 2 + ["right"] * 3 + ["left"])


def _shown(value: float, digits: int) -> str:
    """With so many decimals; what is small with so many digits that count."""
    return f"{value:.{digits}f}" if value >= 0.1 else f"{value:.{digits}g}"
