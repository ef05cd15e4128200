"""Registration: what a micro-test suite expects, and by which code, is fixed before anybody sees a result.

`engram register` writes the hashes of case file, rule text, rule code and family code to `engram.lock`, which is
committed. A run says of each suite whether it is as registered, and if not, which part changed. The lock of a
suite is the nearest one above its file.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.asking import procedures
from pytest_engram.judging import scoring
from pytest_engram.review import here
from pytest_engram.suites import files
from pytest_engram.suites.microtests.winners import correct, outcome

if TYPE_CHECKING:
    from pytest_engram.suites.microtests.suite import MicroKey

LOCK = "engram.lock"
BEFORE = "registered before this run"
CHANGED = "changed since"
NEVER = "not registered"


class LockError(Exception):
    """A lock file that can't be read: one line with file, problem and cure."""


def parts(key: MicroKey) -> dict[str, str]:
    """The sha256 of each thing that a result depends on and that a hand could change, by what it is called."""
    code = [
        *key.code(),
        procedures.PROCEDURES[key.asks],
        scoring.SCORERS[str(key.judged_by)],
        scoring.sides,
        outcome,
        correct,
    ]
    hashes = {
        "case file": _sha256(key.path.read_text(encoding="utf-8-sig")),
        "rule text": _sha256(key.rule.text),
        "rule code": _sha256(inspect.getsource(key.rule.decide)),
        "family code": _sha256(*(inspect.getsource(part) for part in code)),
    }
    if key.shared:
        hashes["shared texts"] = _sha256(*key.shared)
    return hashes


def status(key: MicroKey) -> str:
    """`registered before this run`, `changed since: WHAT, WHAT`, or `not registered`.

    Raises:
        LockError: the lock can't be read.
    """
    lock = find_lock(key.path)
    locked = _read(lock).get(_key(key.path, lock)) if lock else None
    if locked is None:
        return NEVER
    now = parts(key)
    changed = [name for name in {**locked, **now} if locked.get(name) != now.get(name)]
    return f"{CHANGED}: {', '.join(changed)}" if changed else BEFORE


def register(paths: Iterable[Path], lock: Path | None = None) -> list[tuple[Path, str]]:
    """Write the hashes of micro-test suites to a lock file; other suites in it stay as they are.

    Args:
        paths: suite files, and folders that are searched for them. Pilot sets are left out.
        lock: the lock file; default: the nearest one above each path, else a new one in the folder of the path.

    Returns:
        Each suite file, and what its status was until now.

    Raises:
        SuiteError: a suite file is wrong; nothing is written.
        LockError: a lock can't be read, or a path lies outside the lock's folder.
    """
    suites = [
        (suite, lock or find_lock(suite.path) or (place if place.is_dir() else place.parent) / LOCK, status(suite))
        for place, suite in _suites(paths)
    ]
    contents: dict[Path, dict[str, dict[str, str]]] = {}
    for suite, target, _ in suites:
        content = contents.setdefault(target, _read(target) if target.exists() else {})
        content[_key(suite.path, target)] = parts(suite)
    for target, content in contents.items():
        there = {key: content[key] for key in sorted(content) if (target.parent / key).is_file()}
        partial = target.with_name(f"{target.name}.partial")
        partial.write_text(json.dumps(there, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
        partial.replace(target)
    return [(suite.path, before) for suite, _, before in suites]


def statuses(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Each micro-test suite under `paths`, and its status. Nothing is written.

    Raises:
        SuiteError: a suite file is wrong.
        LockError: a lock can't be read.
    """
    return [(suite.path, status(suite)) for _, suite in _suites(paths)]


def find_lock(path: Path) -> Path | None:
    """The nearest `engram.lock` in the folders above a suite file, else None."""
    return next((folder / LOCK for folder in path.resolve().parents if (folder / LOCK).is_file()), None)


def _suites(paths: Iterable[Path]) -> Iterator[tuple[Path, MicroKey]]:
    """The key of each micro-test suite, with the one of `paths` that it was found under."""
    for place in paths:
        for path in files.walk(place) if place.is_dir() else [place]:
            if path.is_file() and files.is_suite(path) and files.read(path)[0].get("engram") != "pilot":
                yield place, here.load(path, None, look=False).key  # type: ignore[misc]


def _key(path: Path, lock: Path) -> str:
    relative = os.path.relpath(path.resolve(), lock.resolve().parent)
    if relative.startswith(".."):
        raise LockError(f"{lock}: {path} lies outside its folder; put the lock into a folder above both")
    return Path(relative).as_posix()


def _read(lock: Path) -> dict[str, dict[str, str]]:
    try:
        content: Any = json.loads(lock.read_text(encoding="utf-8"))
        if not all(isinstance(hashes, dict) for hashes in content.values()):
            raise TypeError("not a mapping of suites")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise LockError(
            f"{lock}: can't be read ({error}); restore it, or write it anew with `engram register`"
        ) from None
    return dict(content)


def _sha256(*texts: str) -> str:
    """Of texts as people see them: line endings, which version control may change, play no part."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = "\n".join(text.splitlines()).encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode())
        digest.update(encoded)
    return digest.hexdigest()
