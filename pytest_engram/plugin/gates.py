"""What fails a run besides a violation: `--engram-fail-under` and `--engram-fail-worse-than`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.log import LogError
from pytest_engram.runs.outcome import LIMIT, Outcome

if TYPE_CHECKING:
    from pytest_engram.plugin.options import Floor, Options
    from pytest_engram.report.log import Log

Row: TypeAlias = dict[str, Any]
UNDER, WORSE = "fail-under", "fail-worse-than"


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


def decided(
    floors: Sequence[Floor],
    earlier: Run | None,
    named: Sequence[str],
    outcomes: Sequence[Outcome],
    manifest: Mapping[str, Any],
) -> list[Row]:
    """What each gate found of each named method, as `gates` of `pytest_engram.report.aggregate` says."""
    from pytest_engram.report.log import Log

    # A manifest of this very process must look as it does when read again.
    facts: dict[str, Any] = json.loads(json.dumps(manifest))
    log = Log(outcomes, facts) if floors else None
    found = [row for floor in floors if log is not None for row in _under(floor, log, named)]
    return found + ([] if earlier is None else _worse(earlier, named, outcomes, facts))


def failures(rows: Sequence[Row]) -> list[str]:
    """One line for each row that fails the run."""
    return [_line(row) for row in rows if row["passed"] is False]


def to_junit(plugins: pytest.PytestPluginManager, rows: Sequence[Row]) -> None:
    """Put them among the properties of the test suite in JUnit XML, where that is written."""
    for writer in plugins.get_plugins() if rows else ():
        # What the fixture `record_testsuite_property` calls. The file was written before the gates were judged.
        if hasattr(writer, "add_global_property"):
            for number, row in enumerate(rows, 1):
                told = {True: "passed", False: "failed", None: "not compared"}[row["passed"]]
                writer.add_global_property(f"engram_gate_{number}", f"{told}: {_line(row)}")
            writer.pytest_sessionfinish()


def _line(row: Row) -> str:
    # A floor's name and reason say which figure it is.
    where = f"{row['method']} on {row['suite']}:{row['metric']}: " if row["gate"] == WORSE and row["suite"] else ""
    return f"{row['name']}: {where}{row['reason']}"


def _row(gate: str, name: str, passed: bool | None, reason: str, **told: Any) -> Row:
    figures = ("threshold", "value", "n", "difference", "low", "high", "p", "p_holm", "tests")
    nothing = dict.fromkeys(("suite", "metric", "method", "label", *figures))
    return {"gate": gate, "name": name, **nothing, **told, "passed": passed, "reason": reason}


def _under(floor: Floor, log: Log, named: Sequence[str]) -> list[Row]:
    """A row for each named method."""
    name = f"--engram-fail-under {floor.suite}:{floor.metric}={floor.value:g}"
    about = {"suite": floor.suite, "metric": floor.metric, "threshold": floor.value}
    known = [(suite, metric) for suite in log.suites for metric in log.metrics(suite)]
    methods = [method for method in log.methods if method in named]
    if (floor.suite, floor.metric) not in known or not methods:
        shown = ", ".join(f"{suite}:{metric}" for suite, metric in known) or "none"
        return [_row(UNDER, name, False, f"no such number in this run; its suites and metrics: {shown}", **about)]
    return [
        _row(UNDER, name, passed, reason, **about, method=method, label=log.label(method), **figures)
        for method in methods
        for passed, reason, figures in [_reached(floor, log, method)]
    ]


def _reached(floor: Floor, log: Log, method: str) -> tuple[bool, str, Row]:
    found = log.measured(floor.suite, method, floor.metric)
    if found.values is None:  # a gate that can't see must not be open
        return False, f"{method}: {found.status}: {found.reason}", {}
    value = float(found.values.mean(axis=0).mean())
    figures = {"value": value, "n": len(found.questions), "difference": value - floor.value}
    told = f"{method} has {value:.4f} (n={len(found.questions)})"
    if found.errors or LIMIT in found.reason:  # what was not measured might have been below
        return False, f"{told}, but {found.reason}", figures
    return value >= floor.value, told, figures


def _worse(earlier: Run, named: Sequence[str], outcomes: Sequence[Outcome], manifest: dict[str, Any]) -> list[Row]:
    """A row for each suite and named method: whether it is significantly worse on the suite's first metric.

    Also where that can't be told: a gate that can't see must not be open.
    """
    from pytest_engram.review import compare

    name = f"--engram-fail-worse-than {earlier.folder.name}"
    now = Run(earlier.folder, list(outcomes), manifest, {})
    try:
        found = compare.compare(earlier, now, [(method, method) for method in named], first=True)
    except compare.Incomparable as refusal:
        return [_row(WORSE, name, False, f"can't be compared: {refusal}")]
    worse = list(compare.worse(found))
    rows = []
    for row in found["rows"]:
        figures = {"threshold": row["earlier"], "value": row["later"], "tests": len(found["rows"])}
        figures |= {key: row[key] for key in ("n", "difference", "low", "high", "p", "p_holm")}
        reasons = [_compared(row, len(found["rows"]))] if row in worse or not row["later_errors"] else []
        if row["later_errors"]:
            reasons.append(f"measured on {row['n']} questions, not on all: {row['reason']}")
        passed = row not in worse and not row["later_errors"]
        rows.append(_row(WORSE, name, passed, "; ".join(reasons), **_about(row), **figures))
    for row in found["skipped"]:
        told = f"measured then, not now: {row['reason']}" if row["lost"] else f"not compared: {row['reason']}"
        rows.append(_row(WORSE, name, False if row["lost"] else None, told, **_about(row)))
    return rows


def _about(row: Row) -> Row:
    return {key: row[key] for key in ("suite", "metric", "method", "label")}


def _compared(row: Row, tests: int) -> str:
    changed = f"n={row['n']}, {row['worse']} worse, {row['better']} better"
    return f"{row['later']:.4f}, was {row['earlier']:.4f} ({changed}, {_p(row, tests)})"


def _p(row: Row, tests: int) -> str:
    by = f" by {row['cluster']} ({row['clusters']})" if row["cluster"] else ""
    return (f"p={row['p']:.2g}" if tests == 1 else f"Holm p={row['p_holm']:.2g} over {tests} tests") + by
