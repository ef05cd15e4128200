"""Which versions of contradicted facts came back, counted: new alone, old alone, both, neither."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pytest_engram.report.log import Log
from pytest_engram.runs.outcome import STATES, Outcome

Row = dict[str, Any]
LAST = "last"


def states(log: Log) -> list[Row]:
    """The rows of `states`; none of a method and suite whose log tells nothing."""
    return [row for suite in log.suites for method in log.methods for row in _rows(log, suite, method)]


def _rows(log: Log, suite: str, method: str) -> list[Row]:
    told = [o for o in log.groups.get((suite, method), []) if o.status == "ok" and "states" in o.fields]
    if not told:
        return []
    seeds = len({outcome.seed for outcome in told})
    counted: dict[str | int | None, Counter[str]] = {}
    hops = range(1, 1 + max(len(outcome.fields["states"]) for outcome in told))
    for hop in (None, LAST, *hops):
        counted[hop] = Counter(state for outcome in told for state in _contradicted(outcome, hop))
    about = {
        "method": method,
        "label": log.label(method),
        "suite": suite,
        "metric": next((name for name in log.metrics(suite) if name.partition("@")[0] == "resolved"), None),
    }
    return [
        {
            **about,
            "hop": hop,
            "n": _mean(sum(counts.values()), seeds),
            **{state: _mean(counts[state], seeds) for state in STATES.values()},
        }
        for hop, counts in counted.items()
    ]


def _contradicted(outcome: Outcome, hop: str | int | None) -> list[str]:
    """The states of the contradicted facts at a place of the question's chain."""
    chain = list(enumerate(outcome.fields["states"], 1))
    chosen = chain[-1:] if hop == LAST else [(at, fact) for at, fact in chain if hop in (None, at)]
    return [str(fact["state"]) for _, fact in chosen if fact["superseded"]]


def _mean(count: int, seeds: int) -> float:
    return count if seeds == 1 else count / seeds
