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
            f"{row.ours:.3f}",
            f"{row.peer:.3f}",
            f"{row.ratio:.2f}",
            "" if row.limit is None else f"{'at most' if row.holds else 'OVER'} {row.limit:.2f}",
        ]
        for row in rows
    ]
    headers = ["what", "peer", "ours, s", "peer, s", "ratio", "limit"]
    return tabulate(lines, headers=headers, disable_numparse=True, colalign=["left"] * 2 + ["right"] * 3 + ["left"])
