"""What of a run can be had on this machine: its suite files and their data, without asking any network."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pytest_engram.basics.registry import Registry
from pytest_engram.suites.base import Loaded, Source, SuiteError


def suite_files(places: Sequence[Path], names: Collection[str] | None = None) -> dict[str, Path]:
    """Suite files by the name of the suite: those in `places`, then the shipped ones; of one name, the first.

    Args:
        places: files and folders.
        names: only these suites.

    Raises:
        SuiteError: a file of `places` can't be read.
    """
    from pytest_engram.suites import files, shipped_cases

    found: dict[str, Path] = {}
    for place in [*places, shipped_cases()]:
        for path in files.walk(place) if place.is_dir() else [place]:
            if path.is_file() and files.is_suite(path):
                name = str(files.read(path)[0].get("name", path.stem))
                if names is None or name in names:
                    found.setdefault(name, path)
    return found


def load(path: Path, data: Path | None, *, look: bool = True) -> Loaded:
    """A suite and its key; `not_run` says why there is no data. Only the shipped sources and metrics are known.

    Args:
        path: the suite file.
        data: the folder of `--engram-data`, if any.
        look: whether data is looked for, on this machine alone.

    Raises:
        SuiteError: the file is wrong.
    """
    from pytest_engram.judging import METRICS
    from pytest_engram.suites import SOURCES, loading

    sources: Registry[Source] = Registry("data source", SOURCES)
    with offline():
        return loading.load(path, data, sources=sources, metrics=METRICS, shipped_metrics=METRICS, look=look)


def questions(path: Path) -> list[tuple[str, str]]:
    """Id and item name of a suite's questions, as far as they are known without its data."""
    try:
        return [(question.id, question.name) for question in load(path, None, look=False).suite.questions]
    except SuiteError:
        return []


@contextmanager
def offline() -> Iterator[None]:
    """Whatever is looked for within, is looked for in local copies and caches alone."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


class Difference(NamedTuple):
    """A place in two JSON values, and what stands there; `ABSENT` where nothing does."""

    where: str
    one: str
    other: str


ABSENT = "nothing"


def differing(one: Any, other: Any, where: str = "") -> Iterator[Difference]:
    """Where two JSON values differ, such as at `rows[3].value`, and the two values in a few characters."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            at = f"{where}.{key}" if where else str(key)
            if key in one and key in other:
                yield from differing(one[key], other[key], at)
            else:
                yield Difference(at, *(_short(side[key]) if key in side else ABSENT for side in (one, other)))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differing(first, second, f"{where}[{number}]")
    elif one != other or type(one) is not type(other):
        yield Difference(where, _short(one), _short(other))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
