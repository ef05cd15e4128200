"""The gold of a run, in the process that judges, where no item, fixture or method is led to it.

It hangs at no object that any of them is given: not at the session, the configuration, a plugin, an item or a report of
an earlier one. A method that runs in this process (`-n 0`) and imports this very module can have it all the same:
Python has no walls. Workers have no such process: they never load gold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import pytest

    from pytest_engram.judging.judges import Bench
    from pytest_engram.reading import Desk
    from pytest_engram.runs.known import KnownAnswer
    from pytest_engram.runs.outcome import Outcome
    from pytest_engram.suites.base import Key

Item = tuple[str, str, str, int]  # suite, item, method, seed
Baseline = tuple[str, str, str]  # suite, question, name


@dataclass
class Vault:
    """Of one run.

    Attributes:
        keys: by the suite's name.
        outcomes: judged, as they came.
        desk: the questions that a reader answers, where there is one. An official prompt may hold some gold.
        bench: the answers that a judge is asked about, where there is one.
        known: by suite, the answers known to be wrong or right that it is asked about.
        baselines: what the reader answered to what no memory chose, judged.
    """

    keys: dict[str, Key] = field(default_factory=dict)
    outcomes: dict[Item, Outcome] = field(default_factory=dict)
    desk: Desk | None = None
    bench: Bench | None = None
    known: dict[str, list[KnownAnswer]] = field(default_factory=dict)
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
