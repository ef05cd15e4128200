"""Benchmarks and prompts: told of, got from their own sources, checked, and put where a run looks for them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pytest_engram.basics.download import DownloadError, Resuming
from pytest_engram.reading import officials
from pytest_engram.suites import locations
from pytest_engram.suites.downloads import Download

MIRROR = "ENGRAM_FETCH_MIRROR"


class Unwritable(Exception):
    """The folder can't be written. One line."""


def fetch(downloads: Sequence[Download], folder: Path, say: Callable[[str], None]) -> dict[str, list[str]]:
    """Get each file that is not in `folder` yet, and say what is done.

    Args:
        downloads: what to get.
        folder: where to; made where it is missing.
        say: takes a line for the user.

    Returns:
        By reason, in one line, the files that could not be had; a host that could not be reached is asked once.

    Raises:
        Unwritable: nothing more can be written there.
    """
    failed: dict[str, list[str]] = {}
    out_of_reach: dict[str, str] = {}
    for number, download in enumerate(downloads):
        for line in described(download, first=number == 0 or downloads[number - 1].name != download.name):
            say(line)
        url = source(download)
        reason = out_of_reach.get(urlsplit(url).netloc) or _offline(download)
        if reason is None:
            try:
                say(f"  {'':8}  {_get(download, url, folder, say)}")
            except DownloadError as error:
                reason = str(error)
                if error.unreachable:
                    out_of_reach[urlsplit(url).netloc] = reason
        if reason is not None:
            failed.setdefault(reason, []).append(download.file)
    there = {download.name for download in downloads} - {
        download.name for download in downloads if any(download.file in files for files in failed.values())
    }
    for benchmark in officials.SHA256:
        name = f"{benchmark}-prompts"
        if name in there:
            if problem := officials.find(benchmark, folder).problem:
                failed[problem] = [name]
            else:
                say(f"{name}: all {len(officials.SHA256[benchmark])} official texts, by their sha256")
    return failed


def described(download: Download, *, first: bool) -> Iterator[str]:
    """What there is to know of it before it is got; `first`: of its name."""
    if first:
        yield download.name
    yield f"  {'what':8}  {download.about}"
    yield f"  {'licence':8}  {download.licence}"
    yield f"  {'source':8}  {source(download)}"
    yield f"  {'sha256':8}  {download.sha256}"
    yield f"  {'file':8}  {download.file}, {megabytes(download.size)}"


def listed(downloads: Sequence[Download], data: Path | None) -> Iterator[str]:
    """What there is to know of each, and where it is on this machine: in the folder `data` or where runs look."""
    for number, download in enumerate(downloads):
        yield from described(download, first=number == 0 or downloads[number - 1].name != download.name)
        here = locations.whence(download, data)
        yes = "yes, but not the pinned file (its sha256 differs)" if locations.altered(download, data) else "yes"
        yield f"  {'here':8}  {f'{yes}: {here}' if here else f'no: `engram fetch {download.name}` gets it'}"


def source(download: Download) -> str:
    """The address that is asked: with `ENGRAM_FETCH_MIRROR`, MIRROR/HOST/PATH; else the hub by `HF_ENDPOINT`."""
    if mirror := os.environ.get(MIRROR):
        return f"{mirror.rstrip('/')}/{download.url().removeprefix('https://')}"
    endpoint = os.environ.get("HF_ENDPOINT")
    return download.url(endpoint) if endpoint else download.url()


def megabytes(size: int) -> str:
    """A size in words."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def _offline(download: Download) -> str | None:
    if download.site != "hub" or os.environ.get(MIRROR):
        return None
    from huggingface_hub import constants

    return "HF_HUB_OFFLINE is set, so the hub was not asked" if constants.HF_HUB_OFFLINE else None


def _get(download: Download, url: str, folder: Path, say: Callable[[str], None]) -> str:
    """One file, into its place; what was done, in words."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    target = folder / download.file
    part = target.with_name(f".{target.name}.{download.sha256[:12]}.part")
    with _writing(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(target, say):
            for other in target.parent.glob(f".{target.name}.*.part"):
                if other != part:  # of another version
                    other.unlink()
            replaced = target.is_file()
            get = Resuming(part, download.size, f"Fetching {target.name}")
            # What was put together from several answers, and is wrong, is got once more as a whole.
            store = pooch.create(
                path=folder,
                base_url="",
                registry={download.file: f"sha256:{download.sha256}"},
                urls={download.file: url},
                retry_if_failed=int(get.held > 0),
            )
            if not replaced:
                _has_room(folder, download.size - get.held)
            try:
                store.fetch(download.file, downloader=get)
            except ValueError as error:  # as pooch tells another sha256, with both; the file is gone
                raise DownloadError(str(error).partition(". ")[0]) from None
            except KeyboardInterrupt:
                say(f"stopped with {get.held:,} of {download.size:,} bytes; the same command goes on from there")
                raise
    if not get.called:
        return f"already here, the sha256 agrees: {target}"
    return f"{'fetched in place of another version' if replaced else 'fetched'}, the sha256 agrees: {target}"


@contextmanager
def _alone(target: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Keep out any other process that gets the same file; who waits finds it here."""
    from filelock import FileLock, Timeout

    lock = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"  {'':8}  waiting for another `engram fetch` that is getting it")
        lock.acquire()
    try:
        yield
        Path(lock.lock_file).unlink(missing_ok=True)  # who still waits for it, or makes it anew, finds the file here
    finally:
        lock.release()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise Unwritable(f"{folder}: can't be written ({why}); give --to a folder that can") from None


def _has_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Unwritable(f"{folder}: {megabytes(needed)} are needed, {megabytes(free)} are free; give --to another")
