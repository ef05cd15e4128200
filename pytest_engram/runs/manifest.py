"""What a run was: versions, seeds, encoder, data, rules, hashes. No secret and no absolute path is in it."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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
_OF_ENCODER = ("name", "hash", "dimensions", "query_prefix", "note", "query_seconds")


def of(
    *,
    k: int,
    budget: int | None,
    tokenizer: Mapping[str, Any] | None,
    methods: Mapping[str, Any],
    named: Sequence[str],
    seeds: Sequence[int],
    suites: Mapping[str, Any],
    planned: int,
    ran: int,
    encoder: Mapping[str, Any] | None,
    reader: Mapping[str, Any] | None,
    judge: Mapping[str, Any] | None,
    admission: Mapping[str, Any],
    again: Mapping[str, Any],
    changed: Sequence[str],
    root: Path,
    seconds: float,
) -> dict[str, Any]:
    """The manifest of a run, as JSON.

    Args:
        k: of equal k.
        budget: tokens to which what came back was cut; None: it was not.
        tokenizer: by which tokens are counted: name and sha256.
        methods: what a report needs to know of each, by name.
        named: those that the run is about.
        seeds: that were used.
        suites: as `describe` gives them, by name.
        planned: number of items that there should be.
        ran: number of items in the log.
        encoder: whole; a part of it is taken.
        reader: who answered, and what it took.
        judge: who judged the answers, with what, and what it took.
        admission: by method, how many memories were asked for an entry that they were given, and gave it back.
        again: how many items were asked again, how, and how many were answered otherwise.
        changed: code that asks, judges or reports and was not what its files say, as `module:name`.
        root: a folder of the repository that the run was started in.
        seconds: how long it took.
    """
    told = {} if judge is None else {"judge": dict(judge)}
    return {
        "engram": version_of("pytest-engram"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(seconds, 3),
        "k": k,
        "budget": budget,
        "tokenizer": tokenizer,
        "seeds": sorted(set(seeds)),
        "named": list(named),
        "methods": dict(methods),
        "encoder": encoder and {key: encoder[key] for key in _OF_ENCODER if key in encoder},
        "reader": reader,
        **told,
        "suites": dict(suites),
        "admission": dict(admission),
        "asked_again": dict(again),
        "changed_code": list(changed),
        "planned": planned,
        "ran": ran,
        "complete": ran == planned,
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in PACKAGES},
        "git": _git(root),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": _cores()},
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
