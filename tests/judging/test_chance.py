"""What k random entries are worth: against every possible draw, counted out."""

from __future__ import annotations

import itertools
from math import comb
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest
import yaml
from both import METRICS
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.basics.registry import Registry
from pytest_engram.judging.chance import expected, floors, resolved, sided
from pytest_engram.judging.metrics import ndcg_any, recall_all, recall_any
from pytest_engram.suites import SOURCES, loading
from pytest_engram.suites.base import Hop, Version
from pytest_engram.suites.microtests.winners import correct, outcome

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


class Two(NamedTuple):
    """Two sides, by the ids of their statements, and what else must not be dropped."""

    expected: str | None
    belief: tuple[str, ...]
    update: tuple[str, ...]
    also: tuple[str, ...] = ()


@given(
    st.sampled_from(["belief", "update", "both", "either"]),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(0, 2), st.integers(0, 4), st.integers(1, 9)),
)
def test_a_side_among_random_entries_is_the_mean_over_every_draw(
    wanted: str, sizes: tuple[int, int, int, int, int]
) -> None:
    """As the judge of micro-tests decides, on each set of k entries that may come back."""
    belief, update, also, others, k = sizes
    names = [f"e{number}" for number in range(belief + update + also + others)]
    two = Two(
        wanted,
        tuple(names[:belief]),
        tuple(names[belief : belief + update]),
        tuple(names[belief + update : belief + update + also]),
    )
    draws = list(itertools.combinations(names, min(k, len(names))))
    hits = 0
    for draw in draws:
        winner = outcome(bool(set(draw) & set(two.belief)), bool(set(draw) & set(two.update)))
        hits += correct(wanted, winner) and not (wanted == "both" and set(two.also) - set(draw))  # type: ignore[arg-type]
    assert sided(two, len(names), k) == pytest.approx(hits / len(draws))


def test_a_side_by_the_hypergeometric_formula() -> None:
    # One statement of each side among 40 entries: C(38, 9) / C(40, 10) = 10 * 30 / (40 * 39).
    assert sided(Two("update", ("a",), ("b",)), 40, 10) == pytest.approx(10 * 30 / (40 * 39))
    # The belief stated twice, the update once: the update in, both others out.
    assert sided(Two("update", ("a", "c"), ("b",)), 40, 10) == pytest.approx(comb(37, 9) / comb(40, 10))
    assert sided(Two("either", ("a",), ("b",)), 40, 10) == pytest.approx(1 - comb(38, 10) / comb(40, 10))
    assert sided(Two("both", ("a",), ("b",)), 40, 10) == pytest.approx(10 * 9 / (40 * 39))
    assert sided(Two(None, ("a",), ("b",)), 40, 10) is None  # nobody is right, and the level is not scored


def test_a_suite_of_cases_has_the_mean_over_its_scored_levels(tmp_path: Path) -> None:
    filler = [f"Neighbour {number} grows tulips number {number}." for number in range(20)]
    data = {
        "engram": "micro",
        "name": "mine",
        "family": "mine",
        "rule": "majority-support",
        "background": filler,
        "sweep": {"web": [0, 1], "backers": [0, 1]},
        "cases": [
            {
                "name": "tea",
                "belief": "Ann drinks tea.",
                "web": ["Ann bought a teapot."],
                "update": "Ann drinks coffee.",
                "backers": ["Ann bought a mill."],
                "query": "What does Ann drink?",
            }
        ],
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    one = loading.load(path, None, sources=Registry("data source", SOURCES), metrics=METRICS)
    # Unscored: 0 against 0 and 1 against 1. Scored: one fact on one side, so 20 + 2 + 1 entries each.
    assert floors(one.suite, one.key, 10) == {"correct": pytest.approx(10 * 13 / (23 * 22))}
