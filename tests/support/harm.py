"""Damage to what a run has kept: one bit of a file turned, its size as it was."""

from __future__ import annotations

from pathlib import Path


def flip(path: Path, at: float = 0.5) -> None:
    """Turn the lowest bit of the byte at a share of the file's length; 0 is the first byte, 1 the last."""
    content = bytearray(path.read_bytes())
    content[round(at * (len(content) - 1))] ^= 1
    path.write_bytes(bytes(content))
