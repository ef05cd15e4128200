"""What fails a run besides a violation: `--engram-fail-under` and `--engram-fail-worse-than`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.log import LogError
from pytest_engram.runs.outcome import LIMIT, Outcome

if TYPE_CHECKING:
    from pytest_engram.plugin.options import Floor, Options


def earlier(options: Options) -> Run | None:
    """The run of `--engram-fail-worse-than`.

    Raises:
        pytest.UsageError: it can't be read.
    """
    if options.worse_than is None:
        return None
    try:
        return runfolder.read(options.worse_than)
    except (runfolder.RunError, LogError) as error:
        raise pytest.UsageError(f"--engram-fail-worse-than: {error}") from None


def failures(
    floors: Sequence[Floor],
    earlier: Run | None,
    named: Sequence[str],
    results: dict[str, Any],
    outcomes: Sequence[Outcome],
) -> list[str]:
    """One line for each floor that a named method is below or was not measured on, and each suite it got worse on."""
    found: list[str] = []
    for floor in floors:
        shown = f"--engram-fail-under {floor.suite}:{floor.metric}={floor.value:g}"
        rows = [
            row
            for row in results["rows"]
            if row["suite"] == floor.suite and row["metric"] == floor.metric and row["method"] in named
            if row["group"] is None and row["without"] is None
        ]
        if not rows:
            found.append(f"{shown}: no such number in this run; its suites and metrics: {_known(results)}")
        for row in rows:
            if row["value"] is None:
                found.append(f"{shown}: {row['method']}: {row['status']}: {row['reason']}")
            elif row["errors"] or LIMIT in row["reason"]:  # what was not measured might have been below
                found.append(f"{shown}: {row['method']} has {row['value']:.4f} (n={row['n']}), but {row['reason']}")
            elif row["value"] < floor.value:
                found.append(f"{shown}: {row['method']} has {row['value']:.4f} (n={row['n']})")
    if earlier is not None:
        found += worse(earlier, named, outcomes, results["manifest"])
    return found


def worse(earlier: Run, named: Sequence[str], outcomes: Sequence[Outcome], manifest: dict[str, Any]) -> list[str]:
    """One line for each suite on whose first metric a named method is significantly worse than in an earlier run.

    Also where that can't be told: a gate that can't see must not be open.
    """
    from pytest_engram.review import compare

    flag = f"--engram-fail-worse-than {earlier.folder.name}"
    now = Run(earlier.folder, list(outcomes), manifest, {})
    try:
        found = compare.compare(earlier, now, [(name, name) for name in named], first=True)
    except compare.Incomparable as refusal:
        return [f"{flag}: can't be compared: {refusal}"]
    lines = [
        f"{flag}: {row['method']} on {row['suite']}:{row['metric']}: {row['later']:.4f}, was {row['earlier']:.4f} "
        f"(n={row['n']}, {row['worse']} worse, {row['better']} better, {_p(row, len(found['rows']))})"
        for row in compare.worse(found)
    ]
    lines += [
        f"{flag}: {row['method']} on {row['suite']}:{row['metric']}: measured on {row['n']} questions, not on all: "
        f"{row['reason']}"
        for row in found["rows"]
        if row["later_errors"]
    ]
    lost = [row for row in found["skipped"] if row["lost"]]
    return lines + [
        f"{flag}: {row['method']} on {row['suite']}:{row['metric']}: measured then, not now: {row['reason']}"
        for row in lost
    ]


def _p(row: dict[str, Any], tests: int) -> str:
    by = f" by {row['cluster']} ({row['clusters']})" if row["cluster"] else ""
    return (f"p={row['p']:.2g}" if tests == 1 else f"Holm p={row['p_holm']:.2g} over {tests} tests") + by


def _known(results: dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(f"{row['suite']}:{row['metric']}" for row in results["rows"])) or "none"
