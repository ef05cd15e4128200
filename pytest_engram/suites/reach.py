"""Which folders and files of this machine hold answers, as far as this run knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_engram.basics.cache import cache_dir
from pytest_engram.suites import downloads, shipped_cases
from pytest_engram.suites.locations import fetched
from pytest_engram.suites.own import places

# Folders of the cache that hold gold, or questions that were not asked yet; the others hold vectors, indexes and pages.
CACHED = ("asked", "suites", "longmemeval", "demo_sessions", "completions")
MEMORIES = ("memories", "embeddings", "indexes", "encoders", "tokens")


def answers(data: Path | None, suites: Iterable[Path], report: Path, here: Path) -> dict[Path, str]:
    """Where answers are, each with its name in messages, which have no absolute path.

    Args:
        data: the folder of `--engram-data`, if any.
        suites: the suite files of this run.
        report: its report folder; its log has the answers to what was asked.
        here: the folder of the user's project. Where it lies in `data`, the benchmarks' own folders stand for that.
    """
    from huggingface_hub import constants

    found = {fetched(): "the fetched data", report: "the report folder", shipped_cases(): "the shipped cases"}
    found |= {cache_dir() / name: f"the cache's {name}" for name in CACHED}
    hub = Path(constants.HF_HUB_CACHE)
    for download in downloads.TABLE:
        if download.site == "hub":
            found[hub / f"datasets--{download.repo.replace('/', '--')}"] = "the Hugging Face cache"
    if data is not None and here.resolve().is_relative_to(data.resolve()):
        for name in sorted({Path(file).parts[0] for one in downloads.TABLE for file in (one.file, *one.also)}):
            found[data / name] = f"{name} of --engram-data"
    elif data is not None:
        found[data] = "--engram-data"
    for path in suites:
        found |= {file: f"{file.name} of {path.name}" for file in places.answers(path, data)}
        found[path] = f"the suite file {path.name}"
    return found


def own() -> list[Path]:
    """Folders of the cache that memories work in, wherever it lies."""
    return [cache_dir() / name for name in MEMORIES]
