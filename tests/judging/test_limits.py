"""What no memory can exceed, and what one answer gets that is given to every question."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from both import METRICS
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.basics.registry import Registry
from pytest_engram.judging.limits import best_recall, ceilings, constant
from pytest_engram.judging.metrics import recall
from pytest_engram.suites import SOURCES, loading, shipped_cases
from pytest_engram.suites.locomo import source as locomo

FULL = shipped_cases() / "full" / "locomo.yaml"


@given(
    st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8), st.sets(st.sampled_from("abcde")), st.integers(1, 4)
)
def test_the_best_is_the_largest_over_every_choice(evidence: list[str], there: set[str], k: int) -> None:
    """Evidence that stands twice counts twice, and some of it no entry has."""
    haystack = sorted(there | {"x", "y"})
    chosen = [list(some) for some in itertools.combinations(haystack, min(k, len(haystack)))]
    assert best_recall(evidence, there, k) == pytest.approx(max(recall(ids, evidence, k) for ids in chosen))


def test_by_hand() -> None:
    assert best_recall(["a", "b", "c", "d"], {"a", "b", "c", "d"}, 2) == 0.5
    assert best_recall(["a", "a", "b"], {"a", "b"}, 1) == pytest.approx(2 / 3)
    assert best_recall(["a", "gone"], {"a"}, 10) == 0.5


@pytest.fixture(scope="module")
def whole(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGRAM_CACHE", str(tmp_path_factory.mktemp("cache")))
        return loading.load(FULL, shared_data, sources=Registry("data source", SOURCES), metrics=METRICS)


@pytest.fixture(scope="module")
def file(shared_data: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared_data / locomo.FILE).read_text(encoding="utf-8"))
    return found


def test_locomo_recall_is_bounded_by_evidence_that_no_turn_has_or_that_k_can_not_hold(
    whole: Any, file: list[dict[str, Any]]
) -> None:
    best: dict[int, list[float]] = {10: [], 5: []}
    for one in file:
        sessions = [turns for name, turns in one["conversation"].items() if isinstance(turns, list)]
        there = {turn["dia_id"] for turns in sessions for turn in turns}
        for asked in one["qa"]:
            counts = Counter(named for named in asked["evidence"] if named in there)
            for k, shares in best.items():
                if asked["evidence"]:
                    shares.append(sum(n for _, n in counts.most_common(k)) / len(asked["evidence"]))
    found = ceilings(whole.suite, whole.key, 10)
    assert set(found) == {"recall@10", "recall@5"}
    assert found["recall@10"] == pytest.approx(mean(best[10]))
    assert found["recall@5"] == pytest.approx(mean(best[5]))
    assert found["recall@10"] == pytest.approx(0.9965, abs=5e-5)
    assert found["recall@5"] < found["recall@10"]
    deeper = ceilings(whole.suite, whole.key, 50)
    assert set(deeper) == {"recall@10", "recall@5", "recall@25", "recall@50"}
    assert deeper["recall@10"] == found["recall@10"] <= deeper["recall@50"]


def test_one_answer_to_every_question_of_locomo_is_right_for_the_adversarial_ones(
    whole: Any, file: list[dict[str, Any]]
) -> None:
    answer, found = constant(whole.suite, whole.key)
    assert answer == "Not mentioned in the conversation"
    categories = [asked["category"] for one in file for asked in one["qa"]]
    share = categories.count(5) / len(categories)  # 446 of 1986
    # Others have a word or two of it by chance: "the", which does not count, "in", "conversation".
    assert share <= found["f1"] < share + 0.01
    assert set(found) == {"f1"}


def test_other_suites_have_neither(tmp_path: Path) -> None:
    demo = shipped_cases() / "pilot" / "demo_fc.yaml"
    one = loading.load(demo, None, sources=Registry("data source", SOURCES), metrics=METRICS)
    assert ceilings(one.suite, one.key, 10) == {}
    assert constant(one.suite, one.key) is None
