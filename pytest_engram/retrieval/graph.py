"""Support: how much of a haystack stands behind each of its facts.

The support of a fact is the summed cosine similarity to its *mutual* k-nearest neighbours. A neighbour that is not
similar at all (cosine zero or below) backs nothing: it may fill one of the k places, but is never an edge. A fact is
never its own neighbour, which is settled by position, so that an exact copy of it is one. Of equally similar
neighbours (equal to nine decimals) the earlier one is nearer; no result depends on the linear algebra library's mood.

Who is near to whom is found, and kept up as facts come, by `neighbours.Neighbours`. What is made of it stands here,
for all facts or for a few: support is a sum over a fact's own places, so that nobody needs all of it for one answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pytest_engram.retrieval.neighbours import DECIMALS, Neighbours, Places, Vectors

if TYPE_CHECKING:
    import scipy.sparse

PART = 2048  # facts that are looked at together


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

    found = _found(embeddings, neighbours)
    rows, columns = np.nonzero(mutual(found))
    data = found.similarity[rows, columns].astype(np.float32)
    graph = csr_array((data, (rows, found.near[rows, columns])), shape=(len(found), len(found)))
    graph.sort_indices()
    return graph


def support(embeddings: Vectors, neighbours: int) -> NDArray[np.float32]:
    """Each fact's summed similarity to its mutual neighbours: the row sums of `mutual_knn`, shape (n,)."""
    return support_in(_found(embeddings, neighbours))


def distinct_support(embeddings: Vectors, neighbours: int, duplicate: float) -> NDArray[np.float32]:
    """Support in which saying something again adds nothing: `distinct_support_in` of all facts, shape (n,)."""
    return distinct_support_in(_found(embeddings, neighbours), embeddings, duplicate)


def knn_support(embeddings: Vectors, neighbours: int) -> NDArray[np.float32]:
    """Support without mutuality, which hubs inflate: summed similarity to the k nearest neighbours, shape (n,)."""
    similarity = _found(embeddings, neighbours).similarity
    return _summed(similarity, similarity > 0)


def sampled_support(embeddings: Vectors, neighbours: int, dimensions: int, seed: int) -> NDArray[np.float32]:
    """Support over neighbours that are only estimated, in a random projection: `estimated_support_in` of all facts."""
    return estimated_support_in(_found(projected(embeddings, dimensions, seed), neighbours), embeddings)


def nearest(embeddings: Vectors, neighbours: int) -> tuple[Places, NDArray[np.float64]]:
    """Each fact's nearest others, nearest first, and their similarities, both of shape (n, min(neighbours, n - 1))."""
    found = _found(embeddings, neighbours)
    return found.near, found.similarity


def mutual(found: Neighbours, facts: Places | None = None) -> NDArray[np.bool_]:
    """Which neighbours of some facts (default: of all) count the fact among theirs, too, and are similar to it at all.

    Returns:
        Shape (facts, neighbours): those of `found.near` that are edges of `mutual_knn`.
    """
    facts = np.arange(len(found)) if facts is None else facts
    back = [(found.near[found.near[part]] == part[:, None, None]).any(axis=2) for part in _parts(facts)]
    edges: NDArray[np.bool_] = np.concatenate(back) & (found.similarity[facts] > 0)
    return edges


def support_in(found: Neighbours, facts: Places | None = None) -> NDArray[np.float32]:
    """Support of some facts, default: of all; shape (facts,)."""
    similarity = found.similarity if facts is None else found.similarity[facts]
    return _summed(similarity, mutual(found, facts))


def distinct_support_in(
    found: Neighbours, embeddings: Vectors, duplicate: float, facts: Places | None = None
) -> NDArray[np.float32]:
    """Support in which saying something again adds nothing.

    A fact's mutual neighbours are taken nearest first. One whose similarity to the fact itself, or to a neighbour
    already counted, is `duplicate` or more repeats it, and is left out: of all that say the same, one is counted.

    Returns:
        float32 of shape (facts,), nowhere above `support_in`.
    """
    facts = np.arange(len(found)) if facts is None else facts
    similarity = found.similarity[facts]
    counted = mutual(found, facts) & (similarity < duplicate)
    for at, part in enumerate(_parts(facts)):
        block = counted[at * PART : at * PART + len(part)]
        vectors = _unit(embeddings[found.near[part]])
        repeats = np.einsum("nad,nbd->nab", vectors, vectors, optimize=True) >= duplicate
        for place in range(1, block.shape[1]):
            block[:, place] &= ~(repeats[:, place, :place] & block[:, :place]).any(axis=1)
    return _summed(similarity, counted)


def estimated_support_in(found: Neighbours, embeddings: Vectors, facts: Places | None = None) -> NDArray[np.float32]:
    """Support where `found` is of estimates (`projected`): the similarities that are summed are the true ones."""
    facts = np.arange(len(found)) if facts is None else facts
    similarity = np.empty((len(facts), found.near.shape[1]))
    for at, part in enumerate(_parts(facts)):
        others = _unit(embeddings[found.near[part]])
        similarity[at * PART : at * PART + len(part)] = np.einsum("nd,nmd->nm", _unit(embeddings[part]), others)
    similarity = similarity.round(DECIMALS)
    return _summed(similarity, mutual(found, facts) & (similarity > 0))


def projected(embeddings: Vectors, dimensions: int, seed: int) -> NDArray[np.float64]:
    """Facts (n, d) in a random projection, shape (n, dimensions): no row depends on the others.

    The projection is Gaussian (Johnson and Lindenstrauss 1984) and drawn from `seed`.
    """
    unit = _unit(embeddings)
    projection = np.random.default_rng(seed).standard_normal((unit.shape[1], dimensions))
    rows: NDArray[np.float64] = np.einsum("nd,pd->np", unit, np.ascontiguousarray(projection.T))
    return rows


def _found(embeddings: Vectors, neighbours: int) -> Neighbours:
    if np.ndim(embeddings) != 2:
        raise ValueError(f"embeddings have shape {np.shape(embeddings)}; (n, d) is needed")
    return Neighbours(neighbours).extend(np.asarray(embeddings))


def _parts(facts: Places) -> list[Places]:
    return [facts[start : start + PART] for start in range(0, max(1, len(facts)), PART)]


def _summed(similarity: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float32]:
    total: NDArray[np.float32] = np.where(counted, similarity, 0.0).sum(axis=1).astype(np.float32)
    return total


def _unit(embeddings: Vectors) -> NDArray[np.float64]:
    """Scaled to length 1 along the last axis."""
    vectors = np.asarray(embeddings, np.float64)
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float64] = vectors / np.where(length > 0, length, 1.0)
    return unit
