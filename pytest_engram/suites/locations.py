"""Where a benchmark's data is: `--engram-data`, what `engram fetch` got, the Hugging Face cache, the hub, or nowhere.

Nothing here stands in for missing data. The messages name no absolute path, because a run's manifest shows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import cache_dir
from pytest_engram.suites import downloads
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.downloads import Download

HUB_TIMEOUT = 5.0  # seconds for the one attempt to reach the hub: an offline machine must not wait


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a dataset repository on the Hugging Face hub."""

    repo: str
    filename: str

    def __str__(self) -> str:
        return f"{self.repo} ({self.filename})"


@dataclass(frozen=True, slots=True)
class HubSplit:
    """One split of a dataset on the Hugging Face hub, kept there as `data/SPLIT-*.parquet`."""

    repo: str
    split: str

    def __str__(self) -> str:
        return f"{self.repo} (split {self.split})"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a dataset, and where they came from, in words that may stand in a report."""

    rows: list[Any]
    origin: str


def fetched() -> Path:
    """The folder where `engram fetch` puts things, unless it is told another."""
    return cache_dir() / "fetched"


def folders(data: Path | None) -> list[Path]:
    """The folders in which a benchmark's files are looked for by their relative names; the first that has one counts.

    Args:
        data: the folder of `--engram-data`, if any.

    Returns:
        That folder, then the one of `engram fetch`; without what is no folder.
    """
    places = [fetched()] if data is None else [data, fetched()]
    return [place for place in places if place.is_dir()]


def found(names: Sequence[str], data: Path | None) -> Iterator[tuple[Path, str]]:
    """The files of these relative names in `folders(data)`, each with its origin in words that may stand in a report.

    In the order of the folders, and in each in the order of the names; a name may be a pattern, as `Path.glob` has it.
    """
    return ((path, origin) for path, origin in _standing(names, data) if _as_fetched(path))


def _standing(names: Sequence[str], data: Path | None) -> Iterator[tuple[Path, str]]:
    for folder in folders(data):
        place = "--engram-data" if folder == data else "the fetched data"
        for path in (path for name in names for path in sorted(folder.glob(name)) if path.is_file()):
            yield path, f"{path.relative_to(folder).as_posix()} in {place}"


def _as_fetched(path: Path) -> bool:
    """False of what lies where `engram fetch` put a file and is not that file any more: noted, and as if it were gone.

    A file is read once in a process, as long as it stays. What somebody else put there is not ours to know.
    """
    if not path.is_relative_to(fetched()):
        return True
    name = path.relative_to(fetched()).as_posix()
    pinned = {download.sha256: download for download in downloads.TABLE if download.file == name}
    try:
        state = path.stat()
        if not pinned or _sha256(path, state.st_mtime_ns, state.st_size) in pinned:
            return True
    except OSError:
        pass
    cure = " or ".join(f"`engram fetch {download.name}`" for download in pinned.values())
    sealed.note(f"{path}: not what was fetched (its sha256 differs), and not used; {cure} gets it anew")
    return False


def locate(relative: str | Sequence[str], data: Path | None, *hub: HubFile) -> tuple[Path, str]:
    """One file of a benchmark.

    Args:
        relative: its place in the `folders`; several, where it has had several names.
        data: that folder, if any.
        hub: where it is on the hub; none, where it is not there. The first that can be had is taken.

    Returns:
        The file, and its origin in words that may stand in a report.

    Raises:
        NotRun: it can't be had. The reason names every place that was looked at, and the cure.
    """
    names = [relative] if isinstance(relative, str) else list(relative)
    if here := next(found(names, data), None):
        return here
    for place in hub:
        if cached := next(_cached(place.repo, place.filename), None):
            return cached[0], f"{place} in the Hugging Face cache"
    problems: list[str] = []
    for place in hub:
        if problem := _unreachable(place.repo):
            problems.append(problem)
            continue
        try:
            from huggingface_hub import hf_hub_download

            path = hf_hub_download(place.repo, place.filename, repo_type="dataset")
            return Path(path), f"{place} from the Hugging Face hub"
        except Exception as error:  # whatever the network, the hub and the disk can do
            problems.append(f"{place} could not be fetched ({_brief(error)})")
    raise NotRun(_reason(names, data, hub, problems))


def rows(relative: str, data: Path | None, hub: HubSplit) -> Rows:
    """The rows of a dataset: a JSON list or the hub's own parquet files in one of the `folders`, or a split on the hub.

    Raises:
        NotRun: it can't be had, or what is there can't be read.
    """
    shards = f"{hub.split}-*.parquet"
    if here := next(found([relative, f"{PurePosixPath(relative).parent}/{shards}"], data), None):
        path, origin = here
        if path.suffix == ".parquet":
            return Rows(_read_parquet(tuple(sorted(path.parent.glob(shards))), origin), origin)
        return Rows(listed(path, origin), origin)
    if cached := next(_cached(hub.repo, f"data/{shards}"), None):
        origin = f"{hub} in the Hugging Face cache"
        return Rows(_read_parquet(tuple(cached), origin), origin)
    if problem := _unreachable(hub.repo):
        raise NotRun(_reason([relative], data, [hub], [problem]))
    return Rows(_fetch_split(hub, relative, data), f"{hub} from the Hugging Face hub")


def whence(download: Download, data: Path | None) -> str | None:
    """Where on this machine a file that can be fetched is, in words that may stand in a report; None: nowhere."""
    place = _placed(download, data)
    return None if place is None else place[1]


def altered(download: Download, data: Path | None) -> bool:
    """Whether a file stands where the one that can be fetched belongs and has another sha256; read once while it stays.

    What holds the same in another form (`Download.also`) has no sha256 to go by.
    """
    place = _placed(download, data)
    if place is None or place[0].name not in {PurePosixPath(download.file).name, PurePosixPath(download.path).name}:
        return False
    try:
        state = place[0].stat()
        if state.st_size != download.size:
            return True
        return _sha256(place[0], state.st_mtime_ns, state.st_size) != download.sha256
    except OSError:
        return True


def _placed(download: Download, data: Path | None) -> tuple[Path, str] | None:
    if here := next(_standing([download.file, *download.also], data), None):
        return here
    cached = download.site == "hub" and next(_cached(download.repo, download.path), None)
    return (cached[0], f"{download.repo} ({download.path}) in the Hugging Face cache") if cached else None


@cache
def _sha256(path: Path, _mtime: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listed(path: Path, origin: str) -> list[Any]:
    """The JSON list that a file holds, read once while it stays as it is.

    Args:
        path: of the file.
        origin: its name in messages.

    Raises:
        NotRun: it can't be read.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise NotRun(f"{origin} can't be read: {error.strerror}") from None
    return _read_json(path, origin, state.st_mtime_ns, state.st_size)


def _cached(repo: str, pattern: str) -> Iterator[list[Path]]:
    """The files of each cached revision that match: the one `main` points to first, then the newest."""
    from huggingface_hub import constants

    home = Path(constants.HF_HUB_CACHE) / f"datasets--{repo.replace('/', '--')}"
    main = home / "refs" / "main"
    revision = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    snapshots = sorted(home.glob("snapshots/*"), key=lambda p: (p.name == revision, p.stat().st_mtime), reverse=True)
    for snapshot in snapshots:
        # A link whose blob is gone is no file: an interrupted download leaves such.
        if files := sorted(path for path in snapshot.glob(pattern) if path.is_file()):
            yield files


def forget() -> None:
    """Let go of the files that were read: they hold answers, too."""
    _read_json.cache_clear()
    _read_parquet.cache_clear()


@cache
def _unreachable(repo: str) -> str | None:
    """Why the hub can't be asked, else None. One attempt in a process: the hub's own client tries for half a minute."""
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set, so the hub was not asked"
    try:
        HfApi().dataset_info(repo, timeout=HUB_TIMEOUT)
    except Exception as error:  # requests or httpx, as huggingface_hub's version has it
        return f"the hub could not be reached for {repo} ({_brief(error)})"
    return None


def _fetch_split(hub: HubSplit, relative: str, data: Path | None) -> list[Any]:
    try:
        from datasets import load_dataset

        # Only this split's files: `split=` alone would download every split of the benchmark.
        files = {hub.split: f"data/{hub.split}-*.parquet"}
        table: list[Any] = load_dataset(hub.repo, data_files=files, split=hub.split).to_list()
        return table
    except Exception as error:  # whatever the network, the hub and the disk can do
        problem = f"{hub} could not be fetched ({_brief(error)})"
        raise NotRun(_reason([relative], data, [hub], [problem])) from None


@cache
def _read_json(path: Path, shown: str, _mtime: int, _size: int) -> list[Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise NotRun(f"{shown} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason} at byte {error.start})"
        raise NotRun(f"{shown} {problem}; fetch it again") from None
    except json.JSONDecodeError as error:
        problem = f"is not JSON (line {error.lineno}: {error.msg})"
        raise NotRun(f"{shown} {problem}; fetch it again") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise NotRun(f"{shown} can't be read: {error}; fetch it again") from None
    except RecursionError:
        raise NotRun(f"{shown} is nested too deeply; fetch it again") from None
    if not isinstance(value, list):
        problem = f"must be a list of rows, but is a {type(value).__name__}"
        raise NotRun(f"{shown} {problem}; fetch it again")
    return value


@cache
def _read_parquet(shards: tuple[Path, ...], shown: str) -> list[Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        return [row for shard in shards for row in pyarrow.parquet.read_table(shard).to_pylist()]
    except (pyarrow.ArrowException, OSError) as error:
        problem = f"{shown} can't be read ({_brief(error)})"
        raise NotRun(f"{problem}; delete it there, so that it is fetched again") from None


def _reason(names: Sequence[str], data: Path | None, hub: Sequence[HubFile | HubSplit], problems: Sequence[str]) -> str:
    wanted = " or ".join(names)
    told = f"no {wanted} in --engram-data or fetched" if data is not None else "no --engram-data given, nothing fetched"
    looked = [told, *(f"{place} not in the Hugging Face cache" for place in hub)]
    cures = [f"`engram fetch {name}`" for name in downloads.names_of(names)]
    cures.append(f"give --engram-data DIR with DIR/{names[0]}")
    cures += ["run once where the Hugging Face hub can be reached"] if hub else []
    return f"{'; '.join([*looked, *dict.fromkeys(problems)])}. Cure: {', or '.join(cures)}"


def _brief(error: BaseException) -> str:
    # An OSError's own text has the path in it.
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    lines = text.strip().splitlines()
    return f"{type(error).__name__}: {lines[0]:.160}" if lines else type(error).__name__
