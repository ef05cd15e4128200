"""What all benchmarks share: processes timed in turn with their peers, and a row of the table that is printed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. `ours` and `peer` are seconds; `limit` is what the ratio may be, None: for information."""

    name: str
    peer_name: str
    ours: float
    peer: float
    ratio: float
    limit: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.limit is None or self.ratio <= self.limit


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of a process: on the clock, and of the processor with its children's."""

    clock: float
    processor: float


def in_turn(commands: Mapping[str, Sequence[str]], times: int, cwd: Path, **environment: str) -> dict[str, list[Took]]:
    """Run each command once unmeasured, then all in turn `times` times, so that a busy moment hits all alike.

    Plugins that happen to be installed beside this one are left out, as is the user's own configuration of pytest.

    Raises:
        SystemExit: a command fails; its output is shown.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k != "PYTHONDONTWRITEBYTECODE"}
    env = kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment
    found: dict[str, list[Took]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, command in commands.items():
            took = _time(command, cwd, env)
            if turn:
                found[name].append(took)
    return found


def _time(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Took:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-3000:]}")
    return Took(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
