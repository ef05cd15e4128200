"""Memories of any size, from a seed: texts whose words are as unevenly used as a language's, vectors in clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED = 20261008
DIMENSIONS = 384
WORDS = 12  # of a text
CLUSTER = 20  # vectors around one direction
SPREAD = 0.7  # of a cluster: cosines within are about 0.67, as of facts of one template


def vectors(count: int, seed: int = SEED) -> NDArray[np.float32]:
    """Rows of length 1, shape (count, DIMENSIONS): in clusters of about `CLUSTER`, in random order."""
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((max(1, count // CLUSTER), DIMENSIONS), np.float32))
    found = np.empty((count, DIMENSIONS), np.float32)
    for start in range(0, count, 10_000):
        part = found[start : start + 10_000]
        noise = rng.standard_normal(part.shape, np.float32) * np.float32(SPREAD / DIMENSIONS**0.5)
        part[:] = _unit(centres[rng.integers(0, len(centres), len(part))] + noise)
    return found


def texts(count: int, seed: int = SEED) -> list[str]:
    """Of `WORDS` words each, drawn by Zipf's law."""
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{number}" for number in row) for row in rng.zipf(1.3, (count, WORDS)).tolist()]


def queries(of: list[str], count: int, seed: int = SEED) -> list[str]:
    """Half of the words of some texts."""
    chosen = np.random.default_rng(seed).integers(0, len(of), count).tolist()
    return [" ".join(of[place].split()[::2]) for place in chosen]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows
