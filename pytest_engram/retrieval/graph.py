"""Support: how much of a haystack stands behind each of its facts.

The support of a fact is the summed cosine similarity to its *mutual* k-nearest neighbours. A neighbour that is not
similar at all (cosine zero or below) backs nothing: it may fill one of the k places, but is never an edge. A fact is
never its own neighbour, which is settled by position, so that an exact copy of it is one. Of equally similar
neighbours (equal to nine decimals) the earlier one is nearer; no result depends on the linear algebra library's mood.

Up to `SMALL` facts everything is plain numpy; beyond that scikit-learn finds the neighbours in blocks, in memory that
grows with n and not with its square. Both follow one definition, and the tests hold them to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse

Vectors: TypeAlias = "NDArray[np.floating[Any]]"

SMALL = 512
DECIMALS = 9
BLOCK = 2048


def mutual_knn(embeddings: Vectors, neighbours: int) -> scipy.sparse.csr_array:
    """The graph in which two facts are joined where each is among the other's nearest.

    Args:
        embeddings: shape (n, d), of any length; rows are scaled to length 1, a row of zeros is similar to nothing.
        neighbours: how many nearest neighbours each fact has, at least 1; n or more means all others.

    Returns:
        Shape (n, n), float32: cosine similarities; symmetric, zero diagonal, every stored value above zero.

    Raises:
        ValueError: `embeddings` is not a matrix, or `neighbours` is below 1.
    """
    from scipy.sparse import csr_array

    unit = _unit(embeddings)
    near, similarity = nearest(unit, neighbours)
    mutual = _mutual(near, similarity)
    rows, columns = np.nonzero(mutual)
    data = similarity[rows, columns].astype(np.float32)
    graph = csr_array((data, (rows, near[rows, columns])), shape=(len(unit), len(unit)))
    graph.sort_indices()
    return graph


def support(embeddings: Vectors, neighbours: int) -> NDArray[np.float32]:
    """Each fact's summed similarity to its mutual neighbours: the row sums of `mutual_knn`, shape (n,)."""
    near, similarity = nearest(_unit(embeddings), neighbours)
    return _summed(similarity, _mutual(near, similarity))


def mutual_neighbours(embeddings: Vectors, neighbours: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Each fact's nearest others, nearest first, and which of them are edges of `mutual_knn`.

    Returns:
        Positions and edges, both of shape (n, min(neighbours, n - 1)).
    """
    near, similarity = nearest(_unit(embeddings), neighbours)
    return near, _mutual(near, similarity)


def distinct_support(embeddings: Vectors, neighbours: int, duplicate: float) -> NDArray[np.float32]:
    """Support in which saying something again adds nothing.

    A fact's mutual neighbours are taken nearest first. One whose similarity to the fact itself, or to a neighbour
    already counted, is `duplicate` or more repeats it, and is left out: of all that say the same, one is counted.

    Returns:
        float32 of shape (n,), nowhere above `support`.
    """
    unit = _unit(embeddings)
    near, similarity = nearest(unit, neighbours)
    counted = _mutual(near, similarity) & (similarity < duplicate)
    for start in range(0, len(unit), BLOCK):
        block = counted[start : start + BLOCK]
        vectors = unit[near[start : start + BLOCK]]
        repeats = np.einsum("nad,nbd->nab", vectors, vectors, optimize=True) >= duplicate
        for place in range(1, block.shape[1]):
            block[:, place] &= ~(repeats[:, place, :place] & block[:, :place]).any(axis=1)
    return _summed(similarity, counted)


def knn_support(embeddings: Vectors, neighbours: int) -> NDArray[np.float32]:
    """Support without mutuality, which hubs inflate: summed similarity to the k nearest neighbours, shape (n,)."""
    _, similarity = nearest(_unit(embeddings), neighbours)
    return _summed(similarity, similarity > 0)


def sampled_support(embeddings: Vectors, neighbours: int, dimensions: int, seed: int) -> NDArray[np.float32]:
    """Support over neighbours that are only estimated, in a random projection to `dimensions`.

    The projection is Gaussian (Johnson and Lindenstrauss 1984) and drawn from `seed`. Who is whose neighbour comes
    from it; the similarities that are summed are the true ones.

    Returns:
        float32 of shape (n,).
    """
    unit = _unit(embeddings)
    projection = np.random.default_rng(seed).standard_normal((unit.shape[1], dimensions))
    near, _ = nearest(_unit(unit @ projection), neighbours)
    similarity = _similarity(unit, near)
    return _summed(similarity, _mutual(near, similarity))


def nearest(unit: Vectors, neighbours: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Each row's nearest other rows, nearest first, and their similarities.

    Args:
        unit: shape (n, d), rows of length 1 or 0.
        neighbours: at least 1.

    Returns:
        Positions and cosine similarities, both of shape (n, min(neighbours, n - 1)).
    """
    if neighbours < 1:
        raise ValueError(f"neighbours is {neighbours}; it must be at least 1")
    count = max(0, min(neighbours, len(unit) - 1))
    if count == 0:
        return np.empty((len(unit), 0), np.intp), np.empty((len(unit), 0))
    if len(unit) <= SMALL:
        return _nearest_of(unit, np.arange(len(unit)), count)
    return _nearest_in_blocks(unit, count)


def _nearest_of(unit: Vectors, rows: NDArray[np.intp], count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The definition itself: all similarities of `rows`, ordered by similarity, then by position."""
    similarity = (unit[rows] @ unit.T).round(DECIMALS)
    similarity[np.arange(len(rows)), rows] = -np.inf
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(similarity, order, axis=1)


def _nearest_in_blocks(unit: Vectors, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    from sklearn.neighbors import NearestNeighbors

    # Between rows of one length the Euclidean order is the cosine order, and scikit-learn has a blocked search for
    # it. Rows of zeros are similar to nothing; they stand aside, and the definition fills them in below.
    alive = np.flatnonzero(unit.any(axis=1))
    asked = count + 2  # the row itself, and one more that shows whether the last place is shared
    if len(alive) <= asked:
        return _nearest_of(unit, np.arange(len(unit)), count)
    search = NearestNeighbors(n_neighbors=asked, algorithm="brute", metric="euclidean").fit(unit[alive])
    found = alive[search.kneighbors(unit[alive], return_distance=False)]
    near = np.empty((len(unit), count), np.intp)
    similarity = np.empty((len(unit), count))
    unsure = np.ones(len(unit), bool)

    ties = _similarity(unit[alive], found, unit)
    ties[found == alive[:, None]] = np.inf  # the row itself goes first, wherever it was found
    order = np.lexsort((found, -ties), axis=1)
    found, ties = np.take_along_axis(found, order, axis=1), np.take_along_axis(ties, order, axis=1)
    near[alive], similarity[alive] = found[:, 1:-1], ties[:, 1:-1]
    # Where the last place is shared with what was left out, or copies pushed the row itself out, or zero rows would
    # come before opposed ones, only the full row can tell.
    unsure[alive] = np.isfinite(ties[:, 0]) | (ties[:, -2] <= ties[:, -1] + 10.0**-DECIMALS) | (ties[:, -2] <= 0)
    rows = np.flatnonzero(unsure)
    for start in range(0, len(rows), BLOCK // 8):
        part = rows[start : start + BLOCK // 8]
        near[part], similarity[part] = _nearest_of(unit, part, count)
    return near, similarity


def _mutual(near: NDArray[np.intp], similarity: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the neighbours count the fact among theirs too, and are similar to it at all: shape of `near`."""
    n = len(near)
    here = np.arange(n)[:, None]
    mutual: NDArray[np.bool_] = np.isin(here * n + near, near * n + here) & (similarity > 0)
    return mutual


def _summed(similarity: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float32]:
    total: NDArray[np.float32] = np.where(counted, similarity, 0.0).sum(axis=1).astype(np.float32)
    return total


def _similarity(unit: Vectors, near: NDArray[np.intp], others: Vectors | None = None) -> NDArray[np.float64]:
    """Similarities of each row to those that `near` (n, m) names among `others`, by default among `unit` itself."""
    others = unit if others is None else others
    result = np.empty(near.shape)
    for start in range(0, len(unit), BLOCK):
        block = slice(start, start + BLOCK)
        result[block] = np.einsum("nd,nmd->nm", unit[block], others[near[block]])
    return result.round(DECIMALS)


def _unit(embeddings: Vectors) -> NDArray[np.float64]:
    vectors = np.asarray(embeddings, np.float64)
    if vectors.ndim != 2:
        raise ValueError(f"embeddings have shape {vectors.shape}; (n, d) is needed")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float64] = vectors / np.where(length > 0, length, 1.0)
    return unit
