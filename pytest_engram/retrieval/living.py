"""What a memory holds of its entries, which come one after the other: what is added costs nothing of what was there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_engram.retrieval.okapi import Lexical


class _Said(Protocol):
    @property
    def text(self) -> str: ...


class Rows:
    """An array that grows at its end, by a buffer that doubles when it is full.

    Args:
        first: the rows to begin with; never written into, so that they may be mapped from a file.
    """

    def __init__(self, first: NDArray[Any]) -> None:
        self._buffer = first
        self._count = len(first)

    def __len__(self) -> int:
        return self._count

    @property
    def all(self) -> NDArray[Any]:
        """All rows, without a copy: what is written into them stays, as soon as there was an `extend`."""
        return self._buffer[: self._count]

    def extend(self, more: NDArray[Any]) -> None:
        """Add rows of the same shape."""
        end = self._count + len(more)
        if end > len(self._buffer):
            buffer = np.empty((max(end, 2 * self._count), *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self._count] = self.all
            self._buffer = buffer
        self._buffer[self._count : end] = more
        self._count = end


class Embedded:
    """Embeddings of entries that come one after the other: each is asked for once.

    Args:
        embed: gives those of texts, float32 (n, d).
    """

    def __init__(self, embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
        self._embed = embed
        self._rows: Rows | None = None

    def of(self, entries: Sequence[_Said]) -> NDArray[np.float32]:
        """Embeddings (n, d) of all entries; the first are those that were given before."""
        missing = [entry.text for entry in entries[len(self._rows or ()) :]]
        if self._rows is None:
            self._rows = Rows(self._embed(missing))
        elif missing:
            self._rows.extend(self._embed(missing))
        return self._rows.all


class Counted:
    """BM25 over entries that come one after the other.

    Args:
        lexical: makes it of texts. Where that was counted ahead it can't be added to, and is made anew.
    """

    def __init__(self, lexical: Callable[[Sequence[str]], Lexical]) -> None:
        self._make = lexical
        self._made: Lexical | None = None
        self._count = 0

    def of(self, entries: Sequence[_Said]) -> Lexical:
        """Over all entries; the first are those that were given before."""
        if self._made is None or (self._made.add is None and self._count < len(entries)):
            self._made = self._make([entry.text for entry in entries])
        elif self._made.add is not None and self._count < len(entries):
            self._made.add(self._made.tokenize(entry.text) for entry in entries[self._count :])
        self._count = len(entries)
        return self._made
