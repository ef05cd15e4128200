"""The gold of a run, in the process that judges, where no item, fixture or method is led to it.

It hangs at no object that any of them is given: not at the session, the configuration, a plugin, an item or a report of
an earlier one. A method that runs in this process (`-n 0`) and imports this very module can have it all the same:
Python has no walls. Workers have no such process: they never load gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_engram.runs.shared import Shared

if TYPE_CHECKING:
    import pytest

    from pytest_engram.judging.judges import Bench
    from pytest_engram.reading import Desk
    from pytest_engram.runs.begun import Begun
    from pytest_engram.runs.known import KnownAnswer
    from pytest_engram.runs.outcome import Outcome
    from pytest_engram.suites.base import Key

Item = tuple[str, str, str, int]  # suite, item, method, seed
Baseline = tuple[str, str, str]  # suite, question, name


class Outcomes(dict[Item, "Outcome"]):
    """By item. An outcome that was put in gets new parts, not changed ones: it shares them with others."""

    def __init__(self) -> None:
        super().__init__()
        self._shared = Shared()

    def __setitem__(self, _: Item, outcome: Outcome) -> None:
        self._shared(outcome)
        super().__setitem__((outcome.suite, outcome.item, outcome.method, outcome.seed), outcome)


@dataclass
class Vault:
    """Of one run.

    Attributes:
        keys: by the suite's name.
        outcomes: judged, as they came.
        desk: the questions that a reader answers, where there is one. An official prompt may hold some gold.
        bench: the answers that a judge is asked about, where there is one.
        known: by suite, the answers known to be wrong or right that it is asked about.
        begun: what the run is, as the next one is told that goes on with it; it describes suites.
        kept: what stands of a run that is continued, as its log has it, until the recorder takes it over.
        whole: the manifest of a run that is continued and of which nothing is left to ask.
        baselines: what the reader answered to what no memory chose, judged.
    """

    keys: dict[str, Key] = field(default_factory=dict)
    outcomes: Outcomes = field(default_factory=Outcomes)
    desk: Desk | None = None
    bench: Bench | None = None
    known: dict[str, list[KnownAnswer]] = field(default_factory=dict)
    begun: Begun | None = None
    kept: dict[Item, Outcome] = field(default_factory=dict)
    whole: Mapping[str, Any] | None = None
    baselines: dict[Baseline, Outcome] = field(default_factory=dict)


_VAULTS: WeakKeyDictionary[pytest.Config, Vault] = WeakKeyDictionary()


def of(config: pytest.Config) -> Vault:
    """That of a run."""
    return _VAULTS.setdefault(config, Vault())


def clear(config: pytest.Config) -> None:
    """Forget it."""
    vault = _VAULTS.pop(config, None)
    for at_work in (vault.desk, vault.bench) if vault is not None else ():
        if at_work is not None:
            at_work.close()
