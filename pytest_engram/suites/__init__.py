"""Suite files: YAML to what is asked and what is right, one module or folder a data source."""

from __future__ import annotations

from pathlib import Path

# By the name that a suite file gives, the module that is imported when it is first needed.
SOURCES = {
    "backed_fc": "pytest_engram.suites.backed.source",
    "beir": "pytest_engram.suites.own.beir",
    "demo_fc": "pytest_engram.suites.demo_fc",
    "demo_sessions": "pytest_engram.suites.demo_sessions",
    "factconsolidation": "pytest_engram.suites.factconsolidation",
    "locomo": "pytest_engram.suites.locomo.source",
    "longmemeval": "pytest_engram.suites.longmemeval.source",
    "own": "pytest_engram.suites.own.source",
}


FULL = "full"  # the folder of the shipped suites that are too long to run unless they are asked for


def shipped_cases() -> Path:
    """The folder of the shipped suites."""
    from importlib.resources import files

    return Path(str(files("pytest_engram.cases")))
