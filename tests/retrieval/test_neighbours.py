"""The nearest others, exactly, in whatever blocks and batches the rows come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.encoders import cache_dir, resolve
from pytest_engram.retrieval import graph, neighbours
from pytest_engram.retrieval.living import Rows
from pytest_engram.retrieval.neighbours import Neighbours
from pytest_engram.suites import factconsolidation
from pytest_engram.suites.facts import parse_facts

# Coordinates on a coarse grid, so that ties, copies, opposites and rows of zeros are common.
COARSE = hnp.arrays(
    np.float32, st.tuples(st.integers(2, 24), st.integers(1, 4)), elements=st.integers(-2, 2).map(float)
)
FINE = hnp.arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 24)), elements=st.floats(-1, 1, width=16))


@pytest.fixture(params=["", "tiny"], autouse=True)
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything by blocks, as they are and so small that a few rows take many."""
    monkeypatch.setattr(neighbours, "SMALL", 0)
    if request.param:
        for name, value in {"BLOCK": 5, "SLACK": 1, "GROUPED": 2, "PAIRS": 3}.items():
            monkeypatch.setattr(neighbours, name, value)


def exact(rows: np.ndarray, count: int) -> list[list[int]]:
    """Everybody's nearest by cosine, in fractions: only signs and squares are compared. Ties: the earlier."""
    whole = [[Fraction(float(value)) for value in row] for row in rows]
    squares = [sum(value * value for value in row) for row in whole]

    def cosine(i: int, j: int) -> Fraction:  # its square, with its sign
        dot = sum(a * b for a, b in zip(whole[i], whole[j], strict=True))
        scale = squares[i] * squares[j]
        return (dot * abs(dot)) / scale if scale else Fraction(0)

    found = []
    for i in range(len(rows)):
        similar = {j: cosine(i, j) for j in range(len(rows)) if j != i}
        order = cmp_to_key(lambda a, b, similar=similar: (similar[a] < similar[b]) - (similar[a] > similar[b]) or a - b)
        found.append(sorted(similar, key=order)[:count])
    return found


def definition(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """As it stands in the docstring, in double precision."""
    lengths = np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    unit = rows / np.where(lengths > 0, lengths, 1)
    similarity = (unit @ unit.T).round(9)
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(count, len(rows) - 1)]
    return order, np.take_along_axis(similarity, order, axis=1)


def batches(rows: np.ndarray, ends: Sequence[int]) -> Iterator[np.ndarray]:
    return (rows[:end] for end in sorted({*(end % len(rows) for end in ends), len(rows)}))


def assert_same(one: Neighbours, other: Neighbours) -> None:
    """In every bit."""
    assert one.near.tolist() == other.near.tolist()
    assert one.similarity.tobytes() == other.similarity.tobytes()


@given(COARSE, st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_neighbours_are_those_of_exact_fractions(rows: np.ndarray, count: int) -> None:
    assert Neighbours(count).extend(rows).near.tolist() == exact(rows, count)


@given(COARSE | FINE, st.integers(1, 12), st.lists(st.integers(0, 40), max_size=12))
@settings(max_examples=60, deadline=None)
def test_rows_in_any_batches_end_as_all_at_once(rows: np.ndarray, count: int, ends: list[int]) -> None:
    living, fresh = Neighbours(count), Neighbours(count).extend(rows)
    for part in batches(rows, ends):
        living.extend(part)
        assert (
            living.near.shape == living.similarity.shape == (len(part), min(count, len(part) - 1 if len(part) else 0))
        )
    assert_same(living, fresh)
    assert graph.support_in(living).tobytes() == graph.support(rows, count).tobytes()


@given(COARSE | FINE, st.integers(1, 12), st.floats(0.2, 1.0))
@settings(max_examples=50, deadline=None)
def test_support_of_one_fact_is_that_of_all(rows: np.ndarray, count: int, duplicate: float) -> None:
    found = Neighbours(count).extend(rows)
    estimated = Neighbours(count).extend(graph.projected(rows, 3, seed=4))
    for some, all_ in (
        (lambda facts: graph.support_in(found, facts), graph.support(rows, count)),
        (
            lambda facts: graph.distinct_support_in(found, rows, duplicate, facts),
            graph.distinct_support(rows, count, duplicate),
        ),
        (
            lambda facts: graph.estimated_support_in(estimated, rows, facts),
            graph.sampled_support(rows, count, 3, seed=4),
        ),
    ):
        assert np.concatenate([some(np.array([at])) for at in range(len(rows))]).tobytes() == all_.tobytes()


@given(FINE, st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_a_projected_row_does_not_depend_on_the_others(rows: np.ndarray, at: int) -> None:
    at %= len(rows)
    parts = [graph.projected(part, 5, seed=1) for part in (rows[:at], rows[at:])]
    assert np.concatenate(parts).tobytes() == graph.projected(rows, 5, seed=1).tobytes()


@pytest.mark.parametrize("step", [1e-5, 1e-6, 3e-8])
def test_differences_that_single_precision_does_not_see(step: float) -> None:
    """Forty rows around one direction whose cosines to each other differ by less than a float32 tells."""
    rng = np.random.default_rng(8)
    centre = rng.standard_normal(96)
    centre /= np.linalg.norm(centre)
    rows = np.vstack([centre + step * rng.standard_normal(96) for _ in range(40)] + [rng.standard_normal(96)] * 3)
    near, similarity = definition(rows, 6)
    found = Neighbours(6).extend(rows)
    assert found.near.tolist() == near.tolist()
    assert found.similarity.tolist() == similarity.tolist()


def test_many_copies_zeros_and_opposites_among_a_thousand_rows() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((1000, 12)).astype(np.float32)
    rows[100:160] = rows[7]
    rows[300:320] = 0
    rows[400:430] = -rows[500:530]
    rows[600:640, 1:] = 0  # along one axis, up or down: similar to each other by 1 or -1
    near, similarity = definition(rows, 9)
    found = Neighbours(9).extend(rows)
    assert found.near.tolist() == near.tolist()
    assert found.similarity.tolist() == similarity.tolist()
    living = Neighbours(9)
    for end in (700, 701, 702, 900, 1000):
        living.extend(rows[:end])
    assert_same(living, found)


@pytest.mark.parametrize("rows", [np.zeros((300, 3)), np.ones((300, 3)), np.full((20, 4), np.nan)])
def test_rows_without_any_difference(rows: np.ndarray) -> None:
    first = Neighbours(4).extend(rows).near
    assert first[0].tolist() == [1, 2, 3, 4]
    assert first[-1].tolist() == [0, 1, 2, 3]


def test_more_neighbours_than_rows() -> None:
    living = Neighbours(50)
    rows = np.random.default_rng(1).standard_normal((30, 4))
    for end in (1, 2, 11, 30):
        living.extend(rows[:end])
        assert living.near.tolist() == definition(rows[:end], 50)[0].tolist()


def test_what_was_kept_goes_on_and_is_not_written_into() -> None:
    rows = np.random.default_rng(2).standard_normal((60, 8)).astype(np.float32)
    kept = Neighbours(5).extend(rows[:50]).arrays()
    for array in kept.values():
        array.setflags(write=False)
    before = {name: array.tobytes() for name, array in kept.items()}
    again = Neighbours(5, kept)
    assert len(again) == 50
    assert_same(again.extend(rows), Neighbours(5).extend(rows))
    assert {name: array.tobytes() for name, array in kept.items()} == before


def test_up_to_small_the_definition_itself_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(6).standard_normal((40, 8))
    by_blocks = Neighbours(5).extend(rows)
    monkeypatch.setattr(neighbours, "SMALL", 30)
    living = Neighbours(5)
    for end in (10, 29, 31, 40):  # over the border
        living.extend(rows[:end])
    assert_same(living, by_blocks)


@pytest.mark.parametrize("blocks", [""], indirect=True)
@given(st.lists(st.integers(0, 9), max_size=20))
def test_rows_that_grow(sizes: list[int]) -> None:
    numbers = np.arange(2 * sum(sizes) + 2).reshape(-1, 2)
    grown, at = Rows(numbers[:1]), 1
    for size in sizes:
        grown.extend(numbers[at : at + size])
        at += size
        assert len(grown) == at
        assert grown.all.tolist() == numbers[:at].tolist()


@pytest.mark.parametrize("blocks", [""], indirect=True)
def test_the_large_haystack_of_the_pilots(shared_data: Path) -> None:
    """18,332 facts: rows drawn from a seed by the definition, and all of them whether in one piece or in three."""
    store = EmbeddingStore(resolve("bge-small-en-v1.5", shared_data), cache_dir())
    facts = parse_facts(factconsolidation.find_row("factconsolidation_sh_262k", shared_data).context)
    texts = [fact.text for fact in facts]
    if missing := len(store.missing(texts)):
        pytest.skip(f"{missing} facts are not embedded yet: a run of fc_sh_262k does it")
    rows = store.embed(texts)
    found = Neighbours(10).extend(rows)
    unit = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    for row in np.random.default_rng(20261008).choice(len(rows), 100, replace=False):
        similarity = (unit @ unit[row]).round(9)
        similarity[row] = -np.inf
        order = np.argsort(-similarity, kind="stable")[:10]
        assert found.near[row].tolist() == order.tolist()
        assert found.similarity[row].tolist() == similarity[order].tolist()
    living = Neighbours(10)
    for end in (9000, 18331, 18332):
        living.extend(rows[:end])
    assert_same(living, found)
