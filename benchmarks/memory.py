"""The largest memory of a run: of the controller as its items come and with its report, and of each worker.

    python -m benchmarks.memory [options of pytest]

Without options it is the default run, all suites and nine methods in two workers: 62,433 items. It prints what each
process held at most, in MB. It is no row of the table: the run takes minutes, and needs the benchmarks (ENGRAM_DATA).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.measure import ROOT

DEFAULT = ("--engram-method=loom", "-n", "2")
PEAKS = "ENGRAM_PEAKS"  # the folder where each process of the run puts down its own


def main() -> None:
    """Run it, print a line a process."""
    with TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.memory", f"--engram-report={name}/report"]
        done = subprocess.run(
            [*command, *(sys.argv[1:] or DEFAULT)], cwd=name, env={**os.environ, PEAKS: name, "PYTHONPATH": str(ROOT)}
        )
        for place in sorted(Path(name).glob("*.peak")):
            print(f"{place.stem}: {place.read_text()}")
    sys.exit(done.returncode)


def held(kind: str) -> int:
    """MB of memory that this process holds (`VmRSS`), or held at most (`VmHWM`), as Linux tells it."""
    return int(Path("/proc/self/status").read_text().partition(f"{kind}:")[2].split()[0]) // 1000


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """As pytest's hook, in the run: before the report is made."""
    _put_down(session.config, f"{held('VmHWM')} MB when its items had come")


def pytest_unconfigure(config: pytest.Config) -> None:
    """As pytest's hook, in the run: at its end."""
    _put_down(config, f"{held('VmHWM')} MB in all")


def _put_down(config: pytest.Config, told: str) -> None:
    if folder := os.environ.get(PEAKS):
        who = getattr(config, "workerinput", {}).get("workerid", "controller")
        place = Path(folder) / f"{who}.peak"
        before = f"{place.read_text()}, " if place.exists() else ""
        place.write_text(before + told)


if __name__ == "__main__":
    main()
