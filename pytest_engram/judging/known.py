"""Answers that are known to be wrong, or right, for a judge to be judged by: a fixed set for each suite.

They are made of the suite's own questions and accepted answers, by rule and without a model, so that a suite has the
same ones whatever k, methods or part of it a run has. Nothing of a method's answers is in them.

- wrong, `another`: the accepted answer to another question of the same category and cluster;
- wrong, `vague`: the right kind of thing, but unspecific;
- wrong, `superseded`: a value that the accepted answer took the place of;
- right, `reworded`: the accepted answer in other words.

What is wrong must be so beyond doubt. A question is left out whose answer is disputed, or is a rubric, or which has
none; and an answer that could be taken for the accepted one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_engram.basics.texts import normalise
from pytest_engram.judging import forms, prompts
from pytest_engram.runs.known import KnownAnswer, Truth
from pytest_engram.suites.base import Gold, Key

SEED = 20261008
EACH = 40  # of a kind, of each suite
KINDS: tuple[tuple[str, Truth], ...] = (
    ("another", "wrong"),
    ("vague", "wrong"),
    ("superseded", "wrong"),
    ("reworded", "right"),
)


def of(key: Key, questions: Mapping[str, str]) -> list[KnownAnswer]:
    """Those of a suite.

    Args:
        key: of the suite.
        questions: their texts by id; one without a text can't be asked.
    """
    golds = {id_: gold for id_ in key.questions() if questions.get(id_) and _usable(key, gold := key.gold(id_))}
    makers: dict[str, Callable[[str, Gold], str | None]] = {
        "another": _others(golds, questions),
        "vague": lambda id_, gold: forms.vague(questions[id_], gold.answers[0]),
        "superseded": lambda id_, gold: next(iter(_drawn(f"superseded/{id_}", _distinct(gold))), None),
        "reworded": lambda _, gold: forms.reworded(gold.answers[0]),
    }
    found: list[KnownAnswer] = []
    for kind, truth in KINDS:
        made: list[KnownAnswer] = []
        for id_ in _drawn(kind, golds):
            answer = makers[kind](id_, golds[id_]) if len(made) < EACH else None
            if answer:
                made.append(KnownAnswer(key.name, id_, kind, truth, answer, cluster=golds[id_].cluster))
        found += made
    return found


def _usable(key: Key, gold: Gold) -> bool:
    answers = bool(gold.answers) and bool(normalise(gold.answers[0]))
    return answers and gold.disputed is None and prompts.has_answer(key.prompts, gold.prompt)


def _drawn(what: str, among: Iterable[str]) -> list[str]:
    """All of them, in a random order that goes by each alone: others that come or go change nothing."""
    return sorted(among, key=lambda one: hashlib.sha256(f"{SEED}/{what}/{one}".encode()).digest())


def _others(golds: Mapping[str, Gold], questions: Mapping[str, str]) -> Callable[[str, Gold], str | None]:
    drawn_with: dict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for id_, gold in golds.items():
        drawn_with[gold.group, gold.cluster].append(id_)

    def another(id_: str, gold: Gold) -> str | None:
        drawn = _drawn(f"another/{id_}", drawn_with[gold.group, gold.cluster])
        for other in sorted(drawn, key=lambda one: _opening(questions[one]) != _opening(questions[id_])):
            asked_twice = normalise(questions[other]) == normalise(questions[id_])
            if not asked_twice and differs(golds[other].answers[0], gold.answers):
                return golds[other].answers[0]
        return None

    return another


def _opening(question: str) -> str:
    """Its first word: after "when" comes a time, after "who" a person."""
    return question.lower().partition(" ")[0]


def _distinct(gold: Gold) -> list[str]:
    return [value for value in gold.superseded if differs(value, gold.answers)]


def differs(answer: str, accepted: Sequence[str]) -> bool:
    """Whether an answer can't be taken for an accepted one: neither has all words of the other, nor says the same time.

    Of answers that say yes or no, only yes and no differ.
    """
    return all(_differ(answer, one) for one in accepted)


def _differ(one: str, other: str) -> bool:
    ours, theirs = set(normalise(one).split()), set(normalise(other).split())
    if not ours or not theirs or ours <= theirs or theirs <= ours or normalise(one) in normalise(other):
        return False
    if normalise(other) in normalise(one) or forms.same_time(one, other):
        return False
    polar = forms.polarity(one), forms.polarity(other)
    return polar == (None, None) or (None not in polar and polar[0] != polar[1])
