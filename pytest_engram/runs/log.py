"""The run log: one JSON line an item. Everything that a report says is computed from it and the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_engram.basics.collecting import no_collecting
from pytest_engram.runs import packed
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.shared import Shared


class LogError(Exception):
    """A log that can't be read: file, line, problem and cure."""


def read(path: Path) -> list[Outcome]:
    """All outcomes of a log, plain or compressed (`.gz`), in the order of its lines.

    Raises:
        LogError: a line is no JSON object, or lacks a field, or a field is not what it should be; or the compressed
            file is damaged. A last line cut short by a kill is left out.
    """
    from pytest_engram.runs import schema as runschema  # only now: pydantic, which writing a log does without

    outcomes: list[Outcome] = []
    shared = Shared()
    try:
        with no_collecting(), packed.opened(path) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    outcomes.append(shared(runschema.line(line)))
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):  # the last one: the process was killed while it wrote
                        break
                    told = f"not a line of a run log ({error}); the run must be repeated"
                    raise LogError(f"{path}:{number}: {told}") from None
    except packed.Damaged as error:
        raise LogError(f"{path}: {error}; restore it, or repeat the run") from None
    return outcomes


def write(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Write a whole log at once."""
    path.write_text("".join(outcome.to_line() + "\n" for outcome in outcomes), encoding="utf-8")


def canonical(outcomes: Iterable[Outcome], suites: Iterable[str]) -> Iterator[Outcome]:
    """In the order of `suites`, then of the items; workers finish in any order, and a report must not show it."""
    order = {name: position for position, name in enumerate(suites)}
    return iter(sorted(outcomes, key=lambda o: (order.get(o.suite, len(order)), o.suite, o.item, o.method, o.seed)))
