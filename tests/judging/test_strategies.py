"""Strategies that read nothing: what they get is counted by hand, and no shipped suite lets them win."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from micro import FILES, SMALL, load, shipped

from pytest_engram.judging.strategies import STRATEGIES, strategies


@pytest.mark.parametrize(
    ("belief", "update", "entries", "side"),
    [
        # The old order: 30 about others, belief, its web, 30 about others, update, its backers.
        (30, 63, 64, "belief"),  # a web of 2, no backer
        (30, 61, 65, "update"),  # no web, 3 backers
        (30, 66, 70, "belief"),  # 5 against 3
        (0, 1, 2, "update"),
    ],
)
def test_by_position_counts_what_stands_behind_each_side(belief: int, update: int, entries: int, side: str) -> None:
    assert STRATEGIES["by position"](belief, update, entries) == side


def test_shares_are_over_the_levels_that_name_a_side(tmp_path: Path) -> None:
    micro = load(tmp_path, SMALL)  # web 0 and 2 with 0 to 3 backers: 4 for the update, 2 for the belief, 2 for none
    found = strategies(micro.suite, micro.key)
    assert found["always older"] == {"correct": pytest.approx(2 / 6)}
    assert found["always newer"] == {"correct": pytest.approx(4 / 6)}


def test_a_mirror_gives_each_side_its_half(tmp_path: Path) -> None:
    text = SMALL.replace("backers: [0, 1, 2, 3]}", "backers: [0, 1, 2]}").replace(
        "    cases:", "    mirror: true\n    cases:"
    )
    micro = load(tmp_path, text)
    found = strategies(micro.suite, micro.key)
    assert found["always older"] == found["always newer"] == {"correct": 0.5}


def test_where_both_must_stay_a_side_is_never_right(tmp_path: Path) -> None:
    micro = load(tmp_path, SMALL.replace("majority-support", "keep-both"))
    assert {value for by in strategies(micro.suite, micro.key).values() for value in by.values()} == {0.0}


BALANCED = (
    "arithmetic_webs",
    "gradual_override",
    "gradual_implied",
    "reaffirmed",
    "repetition",
    "reworded",
    "unbacked_alarm",
)


@pytest.mark.parametrize("name", BALANCED)
def test_no_balanced_suite_is_won_without_reading(name: str) -> None:
    micro = shipped(name)
    found = strategies(micro.suite, micro.key)
    assert found["always older"]["correct"] == found["always newer"]["correct"] == 0.5
    if name != "reaffirmed":  # its rule asks for the place in time
        assert 0.35 < found["by position"]["correct"] < 0.65  # a few templates, all levels of one much alike


# Who was stated last is what the rule of `reaffirmed` asks for, and all that a place can tell.
@pytest.mark.parametrize("name", sorted({*BALANCED} - {"reaffirmed"}))
def test_no_learner_finds_the_right_side_from_places_and_lengths(name: str) -> None:
    """A forest that is given all but the words, tried on templates that it has not seen, gets no more than chance."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GroupKFold, cross_val_predict

    micro = shipped(name)
    features, right, groups = [], [], []
    for question in micro.questions:
        gold = micro.gold(question)
        if gold.detail.expected not in ("belief", "update"):
            continue
        entries = micro.haystack(question.haystack)
        place = {entry.id: at for at, entry in enumerate(entries)}
        sides = [place[gold.detail.belief[0]], place[gold.detail.update[-1]]]
        lengths = [len(entries[at].text) for at in sides]
        between = sum(len(entry.text) for entry in entries[sides[0] : sides[1]])
        features.append([*sides, len(entries), *lengths, lengths[0] - lengths[1], between])
        right.append(gold.detail.expected == "update")
        groups.append(gold.cluster)
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    folds = GroupKFold(min(5, len(set(groups))))
    found = cross_val_predict(forest, np.array(features), np.array(right), groups=groups, cv=folds) == right
    by_template = [np.mean([hit for hit, group in zip(found, groups, strict=True) if group == g]) for g in set(groups)]
    error = np.std(by_template, ddof=1) / np.sqrt(len(by_template))
    assert np.mean(by_template) < 0.5 + 3 * max(error, 0.02)


def test_the_suites_that_are_not_balanced_are_known() -> None:
    assert {path.stem for path in FILES} - set(BALANCED) == {
        "density_6k",
        "density_demo",
        "hub",
        "keep_both",
        "never_neither",
        "sites",
    }
