from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from pytest_engram.retrieval import graph
from pytest_engram.retrieval import neighbours as neighbours_of

# Coordinates on a coarse grid, so that ties, copies, opposites and rows of zeros are common.
COARSE = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 12), st.integers(1, 4)),
    elements=st.integers(-2, 2).map(float),
)


def naive(embeddings: np.ndarray, neighbours: int) -> tuple[np.ndarray, list[list[int]]]:
    """The definition, one pair at a time: the weights of the mutual graph, and everybody's neighbours."""
    n = len(embeddings)
    similarity = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            lengths = np.linalg.norm(embeddings[i].astype(float)) * np.linalg.norm(embeddings[j].astype(float))
            product = sum(float(a) * float(b) for a, b in zip(embeddings[i], embeddings[j], strict=True))
            similarity[i, j] = product / lengths if lengths else 0.0
    near = [
        sorted((j for j in range(n) if j != i), key=lambda j, i=i: (-round(similarity[i, j], 9), j))[:neighbours]
        for i in range(n)
    ]
    weights = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            if i in near[j] and similarity[i, j] > 1e-9:
                weights[i, j] = similarity[i, j]
    return weights, near


@given(COARSE, st.integers(1, 14))
@settings(max_examples=60, deadline=None)
def test_the_graph_and_support_are_the_definition(embeddings: np.ndarray, neighbours: int) -> None:
    weights, _ = naive(embeddings, neighbours)
    made = graph.mutual_knn(embeddings, neighbours)
    assert isinstance(made, sparse.csr_array)
    np.testing.assert_allclose(made.toarray(), weights, atol=1e-6)
    assert made.nnz == np.count_nonzero(weights)
    np.testing.assert_allclose(graph.support(embeddings, neighbours), weights.sum(axis=1), atol=1e-5)


@given(COARSE, st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_large_haystacks_follow_the_same_definition(embeddings: np.ndarray, neighbours: int) -> None:
    direct = graph.support(embeddings, neighbours), graph.distinct_support(embeddings, neighbours, 0.9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours_of, "SMALL", 0)
        blocks = graph.support(embeddings, neighbours), graph.distinct_support(embeddings, neighbours, 0.9)
    np.testing.assert_allclose(blocks, direct, atol=1e-6)


def test_two_thousand_facts_with_copies_and_zeros() -> None:
    rng = np.random.default_rng(5)
    embeddings = rng.standard_normal((2000, 16)).astype(np.float32)
    embeddings[100:130] = embeddings[7]
    embeddings[500:505] = 0
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-30)
    similarity = (unit.astype(float) @ unit.astype(float).T).round(5)  # float32 rows: five decimals are sure
    np.fill_diagonal(similarity, -np.inf)
    rank = np.argsort(np.argsort(-similarity, axis=1, kind="stable"), axis=1)
    expected = np.where((rank < 8) & (rank.T < 8) & (similarity > 0), similarity, 0)
    made = graph.mutual_knn(embeddings, 8)
    assert (made.toarray() == made.toarray().T).all()
    assert not made.diagonal().any()
    np.testing.assert_allclose(made.toarray(), expected, atol=2e-5)


def test_a_copy_is_a_neighbour_and_the_fact_itself_never() -> None:
    made = graph.mutual_knn(np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]]), 1)
    # Of three equal facts the earliest other one is nearest: 0 and 1 are mutual, 2 wants 0 and is not wanted back.
    assert made.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_the_order_of_facts_does_not_matter_without_ties() -> None:
    rng = np.random.default_rng(1)
    embeddings, order = rng.standard_normal((40, 8)), rng.permutation(40)
    np.testing.assert_allclose(graph.support(embeddings[order], 5), graph.support(embeddings, 5)[order], atol=1e-6)


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_facts(n: int) -> None:
    embeddings = np.ones((n, 3), np.float32)
    assert graph.mutual_knn(embeddings, 5).shape == (n, n)
    for value in (
        graph.support(embeddings, 5),
        graph.knn_support(embeddings, 5),
        graph.distinct_support(embeddings, 5, 0.9),
    ):
        assert value.dtype == np.float32
        assert value.tolist() == [0.0] * n
    assert graph.sampled_support(embeddings, 5, 2, 0).tolist() == [0.0] * n


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="neighbours is 0"):
        graph.support(np.ones((3, 2)), 0)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        graph.support(np.ones(3), 2)


def angle(*degrees: float) -> np.ndarray:
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_distinct_support_counts_what_is_said_again_once() -> None:
    # Facts at 0, 1 (repeats 0), 40 and 41 (repeat each other) and -50 degrees; a repeat is anything within 10 degrees.
    embeddings = angle(0, 1, 40, 41, -50)
    duplicate = float(np.cos(np.radians(10)))
    cos = {degrees: float(np.cos(np.radians(degrees))) for degrees in (1, 39, 40, 41, 50, 51)}
    found = graph.distinct_support(embeddings, 4, duplicate)
    # For the first: 1 is itself again, 40 counts, 41 is 40 again, -50 counts.
    assert found[0] == pytest.approx(cos[40] + cos[50], abs=1e-6)
    # For the one at 40 degrees: 41 is itself again; 1 counts, being nearer than 0, which is it again.
    assert found[2] == pytest.approx(cos[39], abs=1e-6)
    assert graph.support(embeddings, 4)[0] == pytest.approx(cos[1] + cos[40] + cos[41] + cos[50], abs=1e-6)


@given(COARSE, st.integers(1, 6), st.floats(0.1, 1.1))
@settings(max_examples=40, deadline=None)
def test_distinct_support_is_the_definition(embeddings: np.ndarray, neighbours: int, duplicate: float) -> None:
    weights, near = naive(embeddings, neighbours)
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-30)
    if (abs((unit @ unit.T) - duplicate) < 1e-5).any():
        return  # a similarity at the threshold itself may round either way
    expected = []
    for i in range(len(embeddings)):
        counted = [i]
        for j in near[i]:
            if weights[i, j] and all(unit[j] @ unit[other] < duplicate for other in counted):
                counted.append(j)
        expected.append(sum(weights[i, j] for j in counted[1:]))
    np.testing.assert_allclose(graph.distinct_support(embeddings, neighbours, duplicate), expected, atol=1e-5)


def test_a_hub_collects_under_plain_neighbours_only() -> None:
    # Six tight pairs around a centre that is near to all of them.
    rng = np.random.default_rng(3)
    spokes = np.repeat(np.eye(6), 2, axis=0) + rng.normal(0, 0.02, (12, 6))
    embeddings = np.vstack([np.ones(6), spokes])
    assert graph.support(embeddings, 1)[0] == 0
    assert graph.knn_support(embeddings, 1)[0] == pytest.approx(6**-0.5, abs=0.03)


def test_sampled_support_depends_on_its_seed_alone() -> None:
    embeddings = np.random.default_rng(2).standard_normal((60, 64))
    one, again, other = (graph.sampled_support(embeddings, 5, 8, seed) for seed in (1, 1, 2))
    assert one.tolist() == again.tolist()
    assert one.tolist() != other.tolist()


def test_a_small_haystack_needs_numpy_alone() -> None:
    code = "import numpy, sys; from pytest_engram import graph; graph.support(numpy.eye(4), 2)"
    code += "; assert not {'scipy', 'sklearn', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
