"""A gate does not open because what would have closed it ended in an error."""

from __future__ import annotations

import runs

from pytest_engram.plugin import gates
from pytest_engram.plugin.options import Floor
from pytest_engram.runs.folder import Run


def run(errors: int, value: float = 1.0) -> Run:
    outcomes = [runs.outcome(f"q{i}", value) for i in range(20 - errors)]
    outcomes += [runs.outcome(f"e{i}", None, status="error", reason="RateLimit: 429") for i in range(errors)]
    return runs.by_hand(outcomes)


def told(now: Run, value: float) -> list[str]:
    floor = Floor("tiny", "answer@10", value)
    return gates.failures(gates.decided([floor], None, ["loom"], now.outcomes, now.manifest))


def worse(earlier: Run, now: Run) -> list[str]:
    return gates.failures(gates.decided([], earlier, ["loom"], now.outcomes, now.manifest))


def test_a_floor_is_not_passed_with_errors() -> None:
    assert told(run(0), 0.5) == []
    assert told(run(2), 0.5) == [
        "--engram-fail-under tiny:answer@10=0.5: loom has 1.0000 (n=18), but 2 of 20 items ended in an error; "
        "the first: RateLimit: 429"
    ]


def test_a_floor_is_not_passed_where_the_money_ran_out() -> None:
    outcomes = [runs.outcome(f"q{i}", 1.0) for i in range(18)]
    why = "--engram-max-cost of $1 is reached"
    outcomes += [runs.outcome(f"u{i}", None, missing={"answer@10": why}) for i in range(2)]
    (line,) = told(runs.by_hand(outcomes), 0.5)
    assert line.startswith(
        "--engram-fail-under tiny:answer@10=0.5: loom has 1.0000 (n=18), but partial: 18 of 20 answered"
    )


def test_being_no_worse_is_not_shown_with_errors() -> None:
    earlier = run(0)
    assert worse(earlier, earlier) == []
    assert worse(earlier, run(2)) == [
        "--engram-fail-worse-than run: loom on tiny:answer@10: measured on 18 questions, not on all: "
        "later: 2 of 20 items ended in an error; the first: RateLimit: 429"
    ]
