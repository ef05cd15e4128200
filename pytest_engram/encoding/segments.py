"""Embeddings on disk, many at a time. A segment is two files, each written once:

- `NAME.npy`: float32 (n, d), one embedding a row;
- `NAME.keys`: a line of JSON (rows, dimensions, checksums), then the n keys of 16 bytes. It is written last, under a
  name that counts only when it is complete: without it the segment does not exist.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_engram.basics.cache import checksum
from pytest_engram.encoding.modelfolder import Embeddings

KEY_BYTES = 16
KEYS = ".keys"


@dataclass(slots=True)
class Segment:
    """One that is there."""

    name: str
    rows: int
    checksum: int
    embeddings: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0), np.float32))  # mapped when first needed


def read_keys(folder: Path, name: str) -> tuple[Segment, list[bytes]]:
    """A segment, without its embeddings, and the keys of its texts.

    Raises:
        OSError, ValueError, KeyError, TypeError: it can't be read, or is damaged.
    """
    head, _, keys = (folder / f"{name}{KEYS}").read_bytes().partition(b"\n")
    header = json.loads(head)
    if len(keys) != header["rows"] * KEY_BYTES or zlib.crc32(keys) != header["keys"]:
        raise ValueError("torn")
    segment = Segment(name, header["rows"], header["embeddings"])
    return segment, [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]


def write(folder: Path, name: str, texts: Sequence[str], embeddings: Embeddings) -> None:
    """Raises: OSError."""
    keys = b"".join(map(key_of, texts))
    header = {"rows": len(texts), "embeddings": checksum(embeddings), "keys": zlib.crc32(keys)}
    _put(folder / f"{name}.npy", lambda file: np.save(file, embeddings, allow_pickle=False))
    _put(folder / f"{name}{KEYS}", lambda file: file.write(json.dumps(header).encode() + b"\n" + keys))


def key_of(text: str) -> bytes:
    """By which a text is found."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def _put(path: Path, put: Callable[[Any], object]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        put(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)
