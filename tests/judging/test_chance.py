"""What k random entries are worth: against every possible draw, counted out."""

from __future__ import annotations

import itertools
from math import comb
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.judging.chance import expected, resolved
from pytest_engram.judging.metrics import ndcg_any, recall_all, recall_any
from pytest_engram.suites.base import Hop, Version

MEASURES = {"recall_any": recall_any, "answer": recall_any, "recall_all": recall_all, "ndcg_any": ndcg_any}


@given(
    st.sampled_from(sorted(MEASURES)),
    st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n), st.integers(1, 6))),
)
def test_it_is_the_mean_over_every_order_of_every_draw(name: str, sizes: tuple[int, int, int, int]) -> None:
    entries, relevant, k, depth = sizes
    haystack = [str(number) for number in range(entries)]
    gold = haystack[:relevant]
    measure = MEASURES[name]
    arguments = (haystack,) if name == "ndcg_any" else ()
    draws = itertools.permutations(haystack, k)
    by_hand = mean(measure(list(draw), gold, depth, *arguments) for draw in draws)  # type: ignore[operator]
    assert expected(f"{name}@{depth}", relevant, entries, k) == pytest.approx(by_hand)


def test_the_share_of_the_evidence_is_k_of_the_haystack() -> None:
    assert expected("recall@10", 3, 400, 10) == pytest.approx(10 / 400)
    assert expected("recall@10", 3, 4, 10) == 1
    assert expected("recall@10", 0, 400, 10) == 0


@pytest.mark.parametrize("name", ["subem", "f1", "judged", "mine@3", "session_recall_any@5"])
def test_of_other_metrics_nothing_is_known(name: str) -> None:
    assert expected(name, 1, 100, 10) is None


def hop(valid: set[int], superseded: set[int]) -> Hop:
    def versions(ids: set[int]) -> tuple[Version, ...]:
        return tuple(Version(str(id_), "x") for id_ in sorted(ids))

    return Hop(versions(valid), versions(superseded))


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(
                st.tuples(
                    st.sets(st.integers(0, n - 1), min_size=1, max_size=3), st.sets(st.integers(0, n - 1), max_size=3)
                ),
                min_size=1,
                max_size=3,
            ),
            st.integers(1, 9),
        )
    )
)
def test_resolved_is_the_mean_over_every_draw(drawn: tuple[int, list[tuple[set[int], set[int]]], int]) -> None:
    """Also where facts are shared between hops, or are valid in one and superseded in another."""
    entries, hops, k = drawn
    by_hand = mean(
        all(valid & set(draw) and not superseded & set(draw) for valid, superseded in hops)
        for draw in itertools.combinations(range(entries), min(k, entries))
    )
    assert resolved([hop(*each) for each in hops], entries, k) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("hops", "value"),
    [
        # One valid fact among 455 and one superseded: C(453, 9) / C(455, 10) = 10 * 445 / (455 * 454).
        ([({0}, {1})], 10 * 445 / (455 * 454)),
        # Nothing contradicted: k of n.
        ([({0}, set())], 10 / 455),
        # Two hops, both contradicted: C(451, 8) / C(455, 10).
        ([({0}, {1}), ({2}, {3})], comb(451, 8) / comb(455, 10)),
    ],
)
def test_resolved_by_the_hypergeometric_formula(hops: list[tuple[set[int], set[int]]], value: float) -> None:
    assert resolved([hop(*each) for each in hops], 455, 10) == pytest.approx(value, rel=1e-12)
