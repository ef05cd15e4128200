"""Each row's nearest others by cosine, exact, found in the time of half a matrix product and kept up as rows come.

The definition is one line: similarities in double precision, rounded to nine decimals, and of equally similar rows the
earlier one is nearer. Up to `SMALL` rows it is computed as it stands. Beyond that a product in single precision, block
by block, says who may be near, and only those are computed in double precision. What single precision can be wrong by
is known (`_error`), so that a row for which it could have hidden a neighbour is told, and looked at again as a whole.

A product of two blocks serves the rows of both, so that half of them is enough; and to add rows is nothing else than to
go on with the next block. Beside the rows themselves there are, for each, its nearest and a few candidates, and one
block: memory grows with the number of rows and not with its square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_engram.retrieval.living import Rows

Vectors: TypeAlias = "NDArray[np.floating[Any]]"
Places: TypeAlias = "NDArray[np.intp]"

SMALL = 512
DECIMALS = 9
BLOCK = 3072
SLACK = 4  # candidates of a row beyond its nearest, so that the last place is hardly ever in doubt
GROUPED = 16  # columns that a first look takes together
PAIRS = 256  # whose similarities are computed at once: they stay in the processor's cache


class Neighbours:
    """The nearest others of each row, nearest first.

    Args:
        count: how many each row has, at least 1; as many as there are, where there are fewer.
        arrays: what `arrays` gave, of rows that were looked at before; never written into.
    """

    def __init__(self, count: int, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        if count < 1:
            raise ValueError(f"neighbours is {count}; it must be at least 1")
        self.count = count
        arrays = arrays or {"near": np.empty((0, count), np.intp), "similarity": np.empty((0, count))}
        self._near, self._similarity = Rows(arrays["near"]), Rows(arrays["similarity"])
        self._lengths = Rows(arrays.get("lengths", np.empty(0)))

    def __len__(self) -> int:
        return len(self._near)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What to keep."""
        return {"near": self._near.all, "similarity": self._similarity.all, "lengths": self._lengths.all}

    @property
    def near(self) -> Places:
        """Positions of each row's nearest others, shape (n, min(count, n - 1))."""
        return self._near.all[:, : max(0, len(self) - 1)]

    @property
    def similarity(self) -> NDArray[np.float64]:
        """Their cosine similarities, of the same shape."""
        return self._similarity.all[:, : max(0, len(self) - 1)]

    def extend(self, vectors: Vectors) -> Neighbours:
        """Go on to `vectors` (n, d), of which the first `len(self)` are those that were there before."""
        old, n = len(self), len(vectors)
        if n == old:
            return self
        if old <= SMALL:
            old = 0
            self._near, self._similarity = (Rows(rows.all[:0]) for rows in (self._near, self._similarity))
            self._lengths = Rows(np.empty(0))
        self._near.extend(np.full((n - old, self.count), -1))
        self._similarity.extend(np.full((n - old, self.count), -np.inf))
        for block in _blocks(old, n):
            length = np.linalg.norm(np.asarray(vectors[block], np.float64), axis=1)
            self._lengths.extend(np.where(length > 0, length, 1.0))
        if n <= SMALL:
            self._by_definition(vectors)
        else:
            self._in_blocks(vectors, old)
        return self

    def _by_definition(self, vectors: Vectors) -> None:
        unit = np.asarray(vectors, np.float64) / self._lengths.all[:, None]
        similarity = (unit @ unit.T).round(DECIMALS)
        np.fill_diagonal(similarity, -np.inf)
        order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(self.count, len(unit) - 1)]
        self.near[:] = order
        self.similarity[:] = np.take_along_axis(similarity, order, axis=1)

    def _in_blocks(self, vectors: Vectors, old: int) -> None:
        """The rows from `old` on, among themselves and among those before, which may gain neighbours."""
        n = len(vectors)
        rough = _Rough(vectors, self._lengths.all)
        candidates = _Candidates(old, n, self.count + SLACK)
        wide = max(BLOCK, BLOCK**2 // (n - old))  # a few new rows meet all that were there before at once
        pairs = (
            (block, other)
            for block in _blocks(old, n)
            for other in (block, *_blocks(old, block.start), *_blocks(0, old, wide))
        )
        for block, other, product in _ahead(rough.product, pairs):
            if block == other:
                np.fill_diagonal(product, -np.inf)
            candidates.offer(block, other, product)
            if other.start < old:
                self._overtake(vectors, other, block, product, rough.error)
            elif other != block:
                candidates.offer(other, block, product, turned=True)
        unsure = self._settle(vectors, candidates, 2 * rough.error)
        if len(unsure):
            self._look_again(vectors, rough, unsure)

    def _overtake(self, vectors: Vectors, old: slice, new: slice, product: Vectors, error: float) -> None:
        """Rows of `new` that are nearer to some of `old` than the last of their neighbours."""
        last = (self._similarity.all[old, -1] - error).astype(np.float32)
        columns, rows = _where(product >= last)
        if not len(rows):
            return
        rows, columns = rows + old.start, columns + new.start
        similar = self._similar(vectors, rows, columns)
        touched = np.unique(rows)
        before = self._near.all[touched] >= 0
        self._place(
            np.concatenate((np.repeat(touched, before.sum(axis=1)), rows)),
            np.concatenate((self._near.all[touched][before], columns)),
            np.concatenate((self._similarity.all[touched][before], similar)),
        )

    def _settle(self, vectors: Vectors, candidates: _Candidates, margin: float) -> Places:
        """Give the new rows their neighbours; which of them single precision left in doubt."""
        places, values = candidates.places, candidates.values
        wanted = min(self.count, len(vectors) - 1)
        last = np.partition(values, -wanted, axis=1)[:, -wanted] - margin
        rows, chosen = np.nonzero((values >= last[:, None]) & (places >= 0))
        columns, rows = places[rows, chosen], rows + candidates.first
        self._place(rows, columns, self._similar(vectors, rows, columns))
        # What was left out is at most what was kept last. (Written so that what is no number is in doubt.)
        complete = (candidates.floor < last) | (candidates.floor == -np.inf)
        found = np.bincount(rows - candidates.first, minlength=len(values)) >= wanted
        return np.flatnonzero(~(complete & found)) + candidates.first

    def _look_again(self, vectors: Vectors, rough: _Rough, unsure: Places) -> None:
        """Some rows by every other that may be near, however many. Where there are many, most are copies of a few."""
        n = len(vectors)
        wanted = min(self.count, n - 1)
        step = max(1, BLOCK**2 // n)
        for rows in (unsure[at : at + step] for at in range(0, len(unsure), step)):
            product = rough.product(rows, slice(0, n))
            product[np.arange(len(rows)), rows] = -np.inf
            last = np.partition(product, -wanted, axis=1)[:, -wanted] - 2 * rough.error
            near = ~(product < last[:, None])
            near[np.arange(len(rows)), rows] = False
            copied = _copied(vectors, np.flatnonzero(near.any(axis=0)))
            for row, columns in zip(rows, map(np.flatnonzero, near), strict=True):
                kinds, kind = np.unique(copied[columns], return_inverse=True)
                similarity = self._similar(vectors, np.full(len(kinds), row), kinds)[kind]
                self._place(np.full(len(columns), row), columns, similarity)

    def _similar(self, vectors: Vectors, rows: Places, columns: Places) -> NDArray[np.float64]:
        """Similarities of pairs: each by itself, so that none depends on what else is computed."""
        similarity = np.empty(len(rows))
        for start in range(0, len(rows), PAIRS):
            part = slice(start, start + PAIRS)
            one, other = (
                vectors[places[part]].astype(np.float64) / self._lengths.all[places[part], None]
                for places in (rows, columns)
            )
            similarity[part] = np.einsum("nd,nd->n", one, other)
        return similarity.round(DECIMALS)

    def _place(self, rows: Places, columns: Places, similarity: NDArray[np.float64]) -> None:
        """Give `rows`, each as often as it has candidates, the best of those in `columns`."""
        order = np.lexsort((columns, -similarity, rows))
        rows, columns, similarity = rows[order], columns[order], similarity[order]
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        rank = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
        best = rank < self.count
        self._near.all[rows[best], rank[best]] = columns[best]
        self._similarity.all[rows[best], rank[best]] = similarity[best]


class _Rough:
    """Products in single precision, and how far they can be from the cosine.

    Rows of length 1, as encoders give them, are read where they lie; others are scaled block by block.

    Attributes:
        error: bound of a product of two rows. A sum of d products of floating-point numbers is off by at most d u, in
            any order (Higham 2002, section 3.1), where u = 2**-24; lengths and rounding add a few u more.
    """

    def __init__(self, vectors: Vectors, lengths: NDArray[np.float64]) -> None:
        self._vectors = vectors
        self._lengths = lengths
        self._scaled = bool((np.abs(lengths - 1) <= 16 * 2.0**-24).all())
        self.error = (vectors.shape[1] + 64) * 2.0**-24 + 10.0**-DECIMALS

    def product(self, some: slice | Places, others: slice) -> NDArray[np.float32]:
        """Shape (of some, of others)."""
        product: NDArray[np.float32] = self._rows(some) @ self._rows(others).T
        return product

    def _rows(self, which: slice | Places) -> NDArray[np.float32]:
        rows = self._vectors[which]
        return (rows if self._scaled else rows / self._lengths[which, None]).astype(np.float32, copy=False)


class _Candidates:
    """Of each row from `first` to `end` the `width` others that single precision takes for the nearest.

    Attributes:
        places, values: (n, width), in no order; -1 and -inf where there are not so many.
        floor: float32 (n,), the least of the values: what was left out is not above it.
    """

    def __init__(self, first: int, end: int, width: int) -> None:
        self.first = first
        self.places = np.full((end - first, width), -1, np.intp)
        self.values = np.full((end - first, width), -np.inf, np.float32)
        self.floor = np.full(end - first, -np.inf, np.float32)

    def offer(self, some: slice, others: slice, product: NDArray[np.float32], *, turned: bool = False) -> None:
        """Take from `product` what is better; `turned`: it is of (others, some)."""
        width = self.values.shape[1]
        mine = slice(some.start - self.first, some.stop - self.first)
        floor = self.floor[mine]
        if not turned and product.shape[1] > width and (floor == -np.inf).any():
            floor = np.maximum(floor, np.nextafter(_at_least(product, width), np.float32(-np.inf)))
        if turned:
            columns, rows = _where(product > floor)
            order = np.argsort(rows, kind="stable")
            columns, rows = columns[order], rows[order]
            offered = product[columns, rows]
        else:
            rows, columns = _where(product > floor[:, None])
            offered = product[rows, columns]
        if not len(rows):
            return
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        sizes = np.diff(first, append=len(rows))
        touched = rows[first] + mine.start
        line, place = np.repeat(np.arange(len(first)), sizes), width + np.arange(len(rows)) - np.repeat(first, sizes)
        values = np.full((len(first), width + sizes.max()), -np.inf, np.float32)
        places = np.full(values.shape, -1, np.intp)
        values[:, :width], places[:, :width] = self.values[touched], self.places[touched]
        values[line, place], places[line, place] = offered, columns + others.start
        best = np.argpartition(values, -width, axis=1)[:, -width:]
        values = np.take_along_axis(values, best, axis=1)
        self.values[touched], self.places[touched] = values, np.take_along_axis(places, best, axis=1)
        self.floor[touched] = values.min(axis=1)


def _copied(vectors: Vectors, places: Places) -> Places:
    """For each of `places`, at that index, the first of them that is an exact copy of it."""
    copied = np.zeros(len(vectors), np.intp)
    seen: dict[bytes, int] = {}
    for place in places.tolist():
        copied[place] = seen.setdefault(sha256(vectors[place].tobytes()).digest(), place)
    return copied


def _at_least(product: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """For each row a value that at least `width` of it reach: among the greatest of groups, where there are enough."""
    groups = product.shape[1] // GROUPED
    if groups > width:
        product = product[:, : groups * GROUPED].reshape(len(product), GROUPED, groups).max(axis=1)
    return np.partition(product, -width, axis=1)[:, -width]


def _blocks(start: int, end: int, size: int | None = None) -> Iterator[slice]:
    size = size or BLOCK
    return (slice(at, min(at + size, end)) for at in range(start, end, size))


def _ahead(
    product: Callable[[slice, slice], NDArray[np.float32]], pairs: Iterable[tuple[slice, slice]]
) -> Iterator[tuple[slice, slice, NDArray[np.float32]]]:
    """Pairs and their products: while one is looked at, the next is computed."""
    with ThreadPoolExecutor(1) as thread:
        coming = ((pair, thread.submit(product, *pair)) for pair in pairs)
        made = next(coming)
        for following in coming:
            yield *made[0], made[1].result()
            made = following
        yield *made[0], made[1].result()


def _where(mask: NDArray[np.bool_]) -> tuple[Places, Places]:
    """`np.nonzero` of a matrix, several times as fast where hardly anything is true."""
    rows, columns = np.divmod(np.flatnonzero(mask), max(1, mask.shape[1]))
    return rows, columns
