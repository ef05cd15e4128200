"""The best of many scores, without sorting the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUPED = 16  # scores that a first look takes together


def best(scores: NDArray[Any], k: int | None = None) -> NDArray[np.intp]:
    """Positions of `scores` (n,), best first, of equal ones the earlier; the first k of them, by default all."""
    groups = len(scores) // GROUPED
    if k is not None and 0 < k <= groups // 4:
        # The k best of the groups' greatest are k scores: none of the k best of all is below the last of them.
        greatest = scores[: groups * GROUPED].reshape(GROUPED, groups).max(axis=0)
        may = np.flatnonzero(scores >= np.partition(greatest, groups - k)[groups - k])
        if len(may) >= k:  # fewer where something is no number
            return may[np.argsort(-scores[may], kind="stable")[:k]]
    return np.argsort(-scores, kind="stable")[:k]
