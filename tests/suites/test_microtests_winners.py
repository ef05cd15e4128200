"""The rules, against what their texts say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.suites.microtests.winners import RULES, Backing, correct, outcome

counts = st.integers(0, 50)
backings = st.builds(Backing, counts, counts, st.booleans(), st.sampled_from(["belief", "update", None]))


@pytest.mark.parametrize(
    ("web", "backers", "side"),
    [(0, 0, None), (1, 0, "belief"), (0, 1, "update"), (3, 3, None), (5, 4, "belief"), (2, 3, "update")],
)
def test_majority_support(web: int, backers: int, side: str | None) -> None:
    assert RULES["majority-support"].decide(Backing(web, backers)) == side


@given(counts, counts)
def test_majority_support_favours_neither_side(web: int, backers: int) -> None:
    other = {"belief": "update", "update": "belief", None: None}
    decide = RULES["majority-support"].decide
    assert decide(Backing(backers, web)) == other[decide(Backing(web, backers))]


@given(backings)
def test_newest_asks_for_order_alone(backing: Backing) -> None:
    assert RULES["newest"].decide(backing) == ("belief" if backing.again else "update")


@given(backings)
def test_rules_without_a_side(backing: Backing) -> None:
    assert RULES["keep-both"].decide(backing) == "both"
    assert RULES["never-neither"].decide(backing) == "either"
    assert RULES["stated"].decide(backing) == backing.stated
    for name in ("same-either-way", "denser-original", "mutual-limits-hubs"):
        assert RULES[name].decide(backing) is None


def test_the_winner_is_the_one_that_is_returned_while_the_other_is_not() -> None:
    assert [outcome(b, u) for b, u in [(True, False), (False, True), (True, True), (False, False)]] == [
        "belief",
        "update",
        "both",
        "neither",
    ]


@pytest.mark.parametrize(
    ("expected", "right"),
    [
        ("belief", {"belief"}),
        ("update", {"update"}),
        ("both", {"both"}),
        ("either", {"belief", "update", "both"}),
    ],
)
def test_a_tie_is_a_miss_where_a_side_is_named(expected, right: set[str]) -> None:
    assert {winner for winner in ("belief", "update", "both", "neither") if correct(expected, winner)} == right


def test_every_rule_has_a_text_of_its_own() -> None:
    texts = [rule.text for rule in RULES.values()]
    assert len(set(texts)) == len(texts) == len(RULES)
    assert all(name == rule.name and rule.text.endswith(".") for name, rule in RULES.items())
