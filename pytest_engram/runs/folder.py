"""The folder of a run: log, manifest and excerpts are what it is; tables, plots and page are computed from them.

`engram pack` leaves all of these but the manifest compressed. Either form is read, and a folder has one of them.
Who wants the whole folder, with all that people read, calls `pytest_engram.report.write_run`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_engram.runs import known as runknown
from pytest_engram.runs import log as runlog
from pytest_engram.runs import packed
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

LOG = "items.jsonl"
MANIFEST = "manifest.json"
TEXTS = "texts.json"
KNOWN = "known_answers.jsonl"  # only where there was a judge
BASELINES = "baselines.jsonl"  # only where answers were asked for that no memory has a part in
PACKED = (LOG, TEXTS, KNOWN, BASELINES)  # may stand compressed
LOCK = ".lock"  # of whoever writes there just now
SOURCES = (LOG, MANIFEST, TEXTS, KNOWN, BASELINES, *(name + packed.ENDING for name in PACKED))


class RunError(Exception):
    """A run that can't be read. The message is one line, with the cure."""


@dataclass(frozen=True)
class Run:
    """A run as it was read.

    Attributes:
        folder: where it is.
        outcomes: of `items.jsonl`, in the order of its lines.
        manifest: of `manifest.json`; of a killed run, which has none, what the log tells.
        texts: of `texts.json`: excerpts of entries, for the page.
        known: of `known_answers.jsonl`: what the judge was asked about to judge it.
        baselines: of `baselines.jsonl`: what the reader answered where no memory had a part in it.
    """

    folder: Path
    outcomes: list[Outcome]
    manifest: dict[str, Any]
    texts: dict[str, dict[str, str]]
    known: list[KnownAnswer] = field(default_factory=list)
    baselines: list[Outcome] = field(default_factory=list)


def read(place: Path, *, killed: bool = False) -> Run:
    """The run in a report folder.

    Args:
        place: the folder, or the `items.jsonl` or `items.jsonl.gz` in it.
        killed: whether a run without a manifest will do, as a killed one leaves it.

    Raises:
        RunError: there is none, or a file of it stands there twice, or is damaged.
        runlog.LogError: its log is damaged.
    """
    from pytest_engram.runs import schema as runschema  # only now: pydantic, which writing does without

    folder = place if place.is_dir() else place.parent
    log = find(folder, LOG)  # of a log that is given, too: its folder must not hold another form of it
    log = log if place.is_dir() else place
    if log is None or not log.is_file():
        raise RunError(f"{place}: no run here; give a report folder, or the {LOG} in it")
    outcomes = runlog.read(log)
    if not outcomes:
        raise RunError(f"{log}: the log is empty; the run must be repeated")
    if (folder / MANIFEST).is_file():
        manifest = _read(folder / MANIFEST, runschema.check_manifest)
    elif killed:
        manifest = {"k": outcomes[0].k, "ran": len(outcomes), "complete": False}
    else:
        raise RunError(f"{folder / MANIFEST} is missing: the run was killed, or only a part of it was copied")
    excerpts, known = find(folder, TEXTS), find(folder, KNOWN)
    texts = _read(excerpts, runschema.check_texts) if excerpts else {}
    baselines = find(folder, BASELINES)
    answered = runlog.read(baselines) if baselines else []
    return Run(folder, outcomes, manifest, texts, _read_known(known) if known else [], answered)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a report folder, so that nobody else writes into it meanwhile; it is made where it is missing.

    The lock goes with its process, however that ends. Where none can be had, such as in a folder that can't be written,
    there is none: what writes there will say what is wrong.

    Raises:
        RunError: another run, or a command, holds it.
    """
    from filelock import FileLock, Timeout

    absent = [place for place in (folder, *folder.parents) if not place.exists()]
    lock = FileLock(folder / LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
        while not (folder / LOCK).exists():  # whoever held it has just removed it
            lock.release()
            lock.acquire(blocking=False)
    except Timeout:
        raise RunError(f"{folder}: another run writes its report there; let it end, or name another folder") from None
    except (OSError, NotImplementedError):
        pass
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):
                (folder / LOCK).unlink()
            lock.release()
        for place in absent:  # nothing was written
            with suppress(OSError):
                place.rmdir()


def find(folder: Path, name: str) -> Path | None:
    """Where a file of a run stands, compressed or not; None where it does not.

    Raises:
        RunError: it stands there in both forms, and nothing tells which of them is the run's.
    """
    both = [path for path in (folder / name, folder / (name + packed.ENDING)) if path.is_file()]
    if len(both) > 1:
        raise RunError(f"{folder}: both {name} and {both[1].name} are here; remove the one that is not this run's")
    return both[0] if both else None


def sha256_of(path: Path) -> str:
    """In hex, of what a file of the run holds; of a compressed one, uncompressed: what the manifest tells.

    Raises:
        RunError: it is damaged.
    """
    try:
        return packed.sha256(path)
    except packed.Damaged as error:
        raise RunError(f"{path}: {error}; restore it, or repeat the run") from None


def copy(folder: Path, to: Path) -> None:
    """Put what a run is into another folder, each file in the form it has; what stands there is left."""
    for name in (MANIFEST, *PACKED):
        path = find(folder, name)
        if path and not find(to, name):
            shutil.copyfile(path, to / path.name)


def _read_known(path: Path) -> list[KnownAnswer]:
    try:
        with packed.opened(path) as stream:
            return runknown.read(stream.read().decode("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}; restore it, or repeat the run") from None


def _read(path: Path, check: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    try:
        with packed.opened(path) as stream:
            found = json.loads(stream.read())
    except packed.Damaged as error:
        raise RunError(f"{path}: {error}; restore it, or repeat the run") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: not JSON ({error}); restore it, or repeat the run") from None
    if not isinstance(found, dict):
        raise RunError(f"{path}: must be a JSON object; restore it, or repeat the run")
    try:
        check(found)
    except ValueError as error:
        raise RunError(f"{path}: {error}; restore it, or repeat the run") from None
    return found


def write(
    folder: Path,
    outcomes: Sequence[Outcome],
    manifest: Mapping[str, Any],
    texts: Mapping[str, Mapping[str, str]],
    known: Sequence[KnownAnswer] = (),
    baselines: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """Write what the run is.

    Returns:
        The manifest as it was written: with the hashes of log and excerpts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = dict(manifest)
    whole["log_sha256"] = _replace(folder / LOG, (outcome.to_line() + "\n" for outcome in outcomes))
    whole["texts_sha256"] = _replace(folder / TEXTS, [json.dumps(texts, ensure_ascii=False), "\n"])
    if known:
        whole["known_sha256"] = _replace(folder / KNOWN, [runknown.write(known)])
    else:
        (folder / KNOWN).unlink(missing_ok=True)
    if baselines:
        whole["baselines_sha256"] = _replace(folder / BASELINES, (outcome.to_line() + "\n" for outcome in baselines))
    else:
        (folder / BASELINES).unlink(missing_ok=True)
    _replace(folder / MANIFEST, [json.dumps(whole, indent=1, ensure_ascii=False), "\n"])
    for name in PACKED:  # of a run that was packed here before
        (folder / (name + packed.ENDING)).unlink(missing_ok=True)
    return whole


def _replace(path: Path, texts: Iterable[str]) -> str:
    """Put a file in another one's place, text by text.

    Returns:
        Its sha256, in hex.
    """
    part = path.with_suffix(path.suffix + ".part")
    digest = hashlib.sha256()
    with part.open("wb") as file:
        for text in texts:
            # Half a surrogate pair, which some benchmarks hold, is written as JSON's own escape for it.
            content = text.encode("utf-8", "backslashreplace")
            digest.update(content)
            file.write(content)
    os.replace(part, path)
    return digest.hexdigest()
