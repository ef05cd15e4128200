"""What is kept between runs: where it lies, and arrays that are computed once and then memory-mapped."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_engram.basics import sealed

Arrays = dict[str, NDArray[Any]]

_LISTING = "arrays.json"


class CacheError(Exception):
    """The cache can't be written. The message is one line, with the cure."""


def cache_dir() -> Path:
    """The folder for everything that is kept between runs: `ENGRAM_CACHE`, else the user's cache folder."""
    if folder := os.environ.get("ENGRAM_CACHE"):
        return Path(folder).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("pytest-engram", appauthor=False)


def cached_arrays(directory: Path, key: str, compute: Callable[[], Mapping[str, NDArray[Any]]]) -> Arrays:
    """The arrays that `compute` gives, computed once for `key` and then mapped read-only from the disk.

    Processes that ask at the same time wait for the one that computes. What is damaged is computed again, with a note.

    Args:
        directory: where such arrays lie; made where it is missing.
        key: names the result, and must hold everything that it depends on; a plain file name.
        compute: gives arrays of any shapes and of plain (not object) types, by name.

    Raises:
        CacheError: the folder can't be written.
    """
    folder = directory / key
    found = _read(folder)
    if found is not None:
        return found
    lock = directory / f"{key}.lock"
    with locked(lock):
        found = _read(folder)
        if found is None:
            arrays = compute()
            with writing(directory):
                _write(folder, arrays)
            found = _read(folder)
    # Whoever still waits for the lock that is deleted here, or makes it anew, finds the result and computes nothing.
    with suppress(OSError):
        lock.unlink()
    if found is None:
        raise CacheError(f"{folder}: what was written can't be read back; check the disk, or set ENGRAM_CACHE")
    return found


def kept_file(path: Path, content: bytes) -> None:
    """Write a file whose name says its content, where it is not there yet, or not whole.

    Raises:
        CacheError: the folder can't be written.
    """
    with writing(path.parent):
        with suppress(FileNotFoundError):
            if path.read_bytes() == content:
                return
            sealed.damaged(path)
        placed(path, content)


def placed(path: Path, content: bytes) -> None:
    """Write a file whole, in a folder that is made where it is missing; what stood there is replaced.

    Raises:
        CacheError: the folder can't be written.
    """
    with writing(path.parent):
        sealed.placed(path, content)


def _write(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with whole(folder) as made:
        told = []
        for number, (name, given) in enumerate(arrays.items()):
            array = np.ascontiguousarray(given).reshape(np.shape(given))
            np.save(made / f"{number}.npy", array, allow_pickle=False)
            told.append([name, *described(array)])
        sealed.keep(made / _LISTING, {"arrays": told})


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which becomes `folder` when all is written: nobody ever sees a part of it.

    What stood there before is replaced: it is damaged, as a sound one is never written again.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)  # somebody may have emptied the cache meanwhile
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        yield made
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _read(folder: Path) -> Arrays | None:
    try:
        told = sealed.recall(folder / _LISTING).get("arrays")
        if told is not None:
            arrays = {name: mapped(folder / f"{number}.npy") for number, (name, *_) in enumerate(told)}
            if all(described(arrays[name]) == known for name, *known in told):
                return arrays
    except (OSError, ValueError):
        pass
    if folder.exists():
        sealed.damaged(folder)
    return None


def mapped(path: Path) -> NDArray[Any]:
    """The array of a .npy file, read-only, without reading it.

    Raises:
        OSError, ValueError: there is none, or it is cut short.
    """
    try:
        return np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except OSError:
        raise
    except Exception as error:  # a garbled header makes numpy raise almost anything
        raise ValueError(f"{path}: no array: {error}") from None


def described(array: NDArray[Any]) -> list[Any]:
    """All that makes an array what it is, as JSON: `checksum`, type and shape. A file's header can be damaged, too."""
    return [checksum(array), array.dtype.str, list(array.shape)]


def checksum(array: NDArray[Any]) -> int:
    """CRC-32 of an array's bytes; told apart by it are torn and sound files, not forged ones."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; its folder is made where it is missing.

    Raises:
        CacheError: it can't be made.
    """
    from filelock import FileLock

    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Tell an `OSError` as a `CacheError`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise CacheError(f"{folder}: can't be written ({why}); set ENGRAM_CACHE to a folder that can") from None
