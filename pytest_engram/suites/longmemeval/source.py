"""LongMemEval's retrieval task (Wu et al., ICLR 2025), MIT licence: which sessions or turns of a history answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pytest_engram.basics.cache import CacheError
from pytest_engram.suites import locations
from pytest_engram.suites.base import Loaded, NotRun
from pytest_engram.suites.longmemeval import store, suite
from pytest_engram.suites.longmemeval.protocol import Granularity, rank, tokenize
from pytest_engram.suites.longmemeval.suite import SessionSpec, missing, reopen

REPOSITORIES = {"cleaned": "xiaowu0162/longmemeval-cleaned", "original": "xiaowu0162/longmemeval"}
# Of longmemeval_s_cleaned.json at revision 98d7416c24c778c2fee6e6f3006e7a073259d48f of the first.
OFFICIAL = {
    ("s", "cleaned"): "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442",
}

__all__ = ["Spec", "copies", "load", "missing", "oddities", "rank", "reopen", "tokenize"]


class Spec(SessionSpec):
    """A suite file of this source."""

    source: Literal["longmemeval"]
    split: Literal["s", "m", "oracle"] = "s"
    release: Literal["cleaned", "original"] = "cleaned"

    @property
    def file(self) -> str:
        """The file's name, without a suffix."""
        return _stem(self.split, self.release)


def _stem(split: str, release: str) -> str:
    # The oracle file is called the same in both releases.
    return f"longmemeval_{split}{'_cleaned' if release == 'cleaned' and split != 'oracle' else ''}"


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """Find the file, put it into Arrow, and count its words for BM25, each once.

    Raises:
        NotRun: it can't be had, or is not what it should be.
    """
    file, shown = _locate(spec.split, spec.release, data)
    folder = keep(file, shown, spec.granularity)
    official = OFFICIAL.get((spec.split, spec.release))
    return suite.load(spec, path, folder, shown=f"{spec.file}.json", official=official)


def _locate(split: str, release: str, data: Path | None) -> tuple[Path, str]:
    names = [f"{_stem(split, release)}.json", _stem(split, release)]
    # On the hub, the original files have no suffix.
    on_hub = locations.HubFile(REPOSITORIES[release], names[release == "original"])
    return locations.locate([f"longmemeval/{name}" for name in names], data, on_hub)


def keep(file: Path, shown: str, granularity: Granularity) -> Path:
    """The folder with a file's content, ready to be mapped.

    Raises:
        NotRun: it can't be read, or kept.
    """
    try:
        folder = store.prepare(file, shown)
        store.Store(folder, granularity).count()
    except CacheError as error:
        raise NotRun(str(error)) from None
    return folder


def copies(data: Path | None) -> Iterator[tuple[str | None, Path]]:
    """The sha256 of the official file, where it is known, and its copy; for each that `prepare` would find."""
    found: set[Path] = set()
    for release in REPOSITORIES:
        for split in ("s", "m", "oracle"):
            with suppress(NotRun):
                file, _ = _locate(split, release, data)
                if file not in found:
                    found.add(file)
                    yield OFFICIAL.get((split, release)), file


def oddities(file: Path) -> list[str]:
    """What is odd in a file of the official schema, a line a kind: sessions that stand twice, answers that are numbers.

    Raises:
        NotRun: it can't be read.
    """
    folder = store.prepare(file, file.name)
    found: list[str] = store.Store(folder, "session").summary["oddities"]
    return found
