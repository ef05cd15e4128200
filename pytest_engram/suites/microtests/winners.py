"""Who should win: rules, each with a name, a stated text and the code that decides. A new rule is one new function.

Text and code are hashed when a suite is registered, so that neither changes unseen once results are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["belief", "update"]
Expected: TypeAlias = Literal["belief", "update", "both", "either"]
Winner: TypeAlias = Literal["belief", "update", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Backing:
    """What a rule may know of a level: counts and order, no text."""

    web: int  # facts that back the belief
    backers: int  # facts that back the update, paraphrases of it not counted
    again: bool = False  # whether the belief was stated once more, after the update
    stated: Side | None = None  # the winner that the case gives by hand


Decide: TypeAlias = Callable[[Backing], Expected | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`decide` names the expected side, or None where no side is expected."""

    name: str
    text: str
    decide: Decide


RULES: dict[str, Rule] = {}


def rule(name: str, text: str) -> Callable[[Decide], Decide]:
    """Register the decorated function under `name`, with the text that every table shows."""

    def register(decide: Decide) -> Decide:
        RULES[name] = Rule(name, text, decide)
        return decide

    return register


@rule(
    "majority-support",
    "The side that more facts back wins. A fact that only repeats a statement in other words backs nothing. "
    "Equal backing has no expected winner: such a level is left out of the score, not out of the flip point.",
)
def majority_support(backing: Backing) -> Expected | None:
    if backing.web == backing.backers:
        return None
    return "belief" if backing.web > backing.backers else "update"


@rule("newest", "The side that was stated last wins, whatever backs the other.")
def newest(backing: Backing) -> Expected | None:
    return "belief" if backing.again else "update"


@rule("keep-both", "There is no conflict: every statement is true at once, and none may be dropped.")
def keep_both(_: Backing) -> Expected | None:
    return "both"


@rule("never-neither", "Whichever side wins, a contradiction must not delete both: at least one is still found.")
def never_neither(_: Backing) -> Expected | None:
    return "either"


@rule("stated", "The winner was stated by hand in each case.")
def stated(backing: Backing) -> Expected | None:
    return backing.stated


@rule(
    "same-either-way",
    "No winner is expected. The same ids must be returned, in the same order, whether the entries were written in one "
    "call or one entry a call.",
)
def same_either_way(_: Backing) -> Expected | None:
    return None


@rule(
    "denser-original",
    "No winner is expected. A pair counts as correct where the original has more support in the method's own graph "
    "than its update; equal support does not count.",
)
def denser_original(_: Backing) -> Expected | None:
    return None


@rule(
    "mutual-limits-hubs",
    "No winner is expected. A hub counts as correct where its percentile among all facts is lower by the method's own "
    "support than by support over plain nearest neighbours; an equal percentile does not count, so that plain "
    "neighbours are never correct. Support at random is as often correct as the plain percentile says.",
)
def mutual_limits_hubs(_: Backing) -> Expected | None:
    return None


def outcome(belief: bool, update: bool) -> Winner:
    """The winner: the one of the two sides that is returned while the other is not."""
    if belief and update:
        return "both"
    if belief:
        return "belief"
    return "update" if update else "neither"


def correct(expected: Expected, winner: Winner) -> bool:
    """Whether the outcome is what the rule names. A tie decides nothing: both or neither misses a named side."""
    return winner != "neither" if expected == "either" else winner == expected
