"""What fails a run besides a violation: `--engram-fail-under` and `--engram-fail-worse-than`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_engram.runlog import Outcome

if TYPE_CHECKING:
    from pytest_engram.session import EngramSession


def failures(engram: EngramSession, results: dict[str, Any], outcomes: Sequence[Outcome]) -> list[str]:
    """One line for each floor that a named method is below, or whose number was not measured."""
    found: list[str] = []
    for floor in engram.options.floors:
        shown = f"--engram-fail-under {floor.suite}:{floor.metric}={floor.value:g}"
        rows = [
            row
            for row in results["rows"]
            if row["suite"] == floor.suite and row["metric"] == floor.metric and row["method"] in engram.named()
        ]
        if not rows:
            found.append(f"{shown}: no such number in this run; its suites and metrics: {_known(results)}")
        for row in rows:
            if row["value"] is None:
                found.append(f"{shown}: {row['method']}: {row['status']}: {row['reason']}")
            elif row["value"] < floor.value:
                found.append(f"{shown}: {row['method']} has {row['value']:.4f} (n={row['n']})")
    return found


def _known(results: dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(f"{row['suite']}:{row['metric']}" for row in results["rows"])) or "none"
