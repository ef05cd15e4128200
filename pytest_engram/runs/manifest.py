"""What a run was: versions, seeds, encoder, data, rules, hashes. No secret and no absolute path is in it."""

from __future__ import annotations

import platform
import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.basics.privacy import public
from pytest_engram.runs.log import Outcome

if TYPE_CHECKING:
    from pytest_engram.plugin.session import EngramSession
    from pytest_engram.suites.base import Suite

PACKAGES = (
    "pytest-engram",
    "pytest",
    "pytest-xdist",
    "numpy",
    "scipy",
    "scikit-learn",
    "sentence-transformers",
    "torch",
    "transformers",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "tabulate",
)


def of(engram: EngramSession, outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """The manifest of a run, as JSON."""
    options = engram.options
    methods = engram.selected()
    suites = {suite.name: describe(suite) for suite in engram.loaded()}
    items = sum(len(engram.seeds(method)) for method in methods)
    planned = items * sum(suite["n"] for suite in suites.values())
    encoder = engram.prepared.encoder if engram.prepared else None
    return {
        "engram": version_of("pytest-engram"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(seconds, 3),
        "k": options.k,
        "seeds": sorted({seed for method in methods for seed in engram.seeds(method)}),
        "named": engram.named(),
        "methods": {method.name: method.describe() for method in methods},
        "encoder": encoder and {key: encoder[key] for key in ("name", "hash", "dimensions", "query_prefix", "note")},
        "reader": engram.describe_reader(),
        "suites": suites,
        "planned": planned,
        "ran": len(outcomes),
        "complete": len(outcomes) == planned,
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in PACKAGES},
        "git": _git(engram.config.rootpath),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": _cores()},
    }


def describe(suite: Suite) -> dict[str, Any]:
    """What the manifest says of a suite."""
    import hashlib

    excluded = Counter(question.excluded for question in suite.questions if question.excluded)
    return {
        "kind": suite.kind,
        "metrics": list(suite.metrics),
        "n": len(suite.questions),
        "file": suite.path.name,
        "sha256": hashlib.sha256(suite.path.read_bytes()).hexdigest(),
        "excluded": dict(sorted(excluded.items())),
        "not_run": suite.not_run and public(suite.not_run),
        **suite.describe(),
    }


def version_of(package: str) -> str | None:
    """The installed version of a package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _git(root: Path) -> dict[str, Any] | None:
    """Commit of the repository that the run was started in, and whether anything in it was changed since."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()

    try:
        return {
            "commit": git("rev-parse", "HEAD"),
            "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError):
        return None
