"""Files that may stand compressed, as `engram pack` leaves them: `items.jsonl.gz` in place of `items.jsonl`.

Whatever is said of a file's content, its hash above all, is said of the uncompressed bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

ENDING = ".gz"
LEVEL = 9


class Damaged(ValueError):
    """A compressed file that can't be read to its end. The message says what is wrong, not which file it is."""


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """The bytes of a file, compressed or not, as they are read: never all of them at once.

    Raises:
        Damaged: while it is read: it is no gzip file, was cut short, or its checksum is wrong.
        OSError: it can't be opened.
    """
    if path.suffix != ENDING:
        with path.open("rb") as plain:
            yield plain
        return
    try:
        with gzip.open(path, "rb") as stream:
            yield stream
    except EOFError:
        raise Damaged("the compressed file was cut short") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Damaged(f"the compressed file is damaged ({str(error)[:1].lower()}{str(error)[1:]})") from None


def compressing(out: BinaryIO) -> gzip.GzipFile:
    """What is written to it stands in `out` compressed: neither a time nor a name nor a system is named there."""
    # `gzip.compress` may leave the header to zlib, which names the system.
    return gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=out, mtime=0)


def sha256(path: Path) -> str:
    """In hex, of the uncompressed bytes.

    Raises:
        Damaged: the file can't be read to its end.
    """
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pack(path: Path) -> Path:
    """Put a compressed file in a plain one's place. The same content gives the same bytes: no time and no name in it.

    Returns:
        Its path.

    Raises:
        OSError: it can't be written, or what was written does not give the same content; the plain file is still there.
    """
    packed = path.with_name(path.name + ENDING)
    part = path.with_name(f"{path.name}.part{ENDING}")
    with path.open("rb") as plain, part.open("wb") as out, compressing(out) as stream:
        shutil.copyfileobj(plain, stream, 1 << 20)
    if not _same(part, path):
        part.unlink()
        raise OSError(f"{path}: not compressed: what was written can't be read again; the disk may be full or damaged")
    os.replace(part, packed)
    path.unlink()
    return packed


def _same(packed: Path, plain: Path) -> bool:
    try:
        return sha256(packed) == sha256(plain)
    except Damaged:
        return False
