"""Outcomes that hold equal parts once.

Of a run's outcomes most parts are equal to some other's: the lines of a question have its text and its answers,
thousands of lines have the same handful of metrics, and where there is nothing to tell all have nothing.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from pytest_engram.runs.outcome import Outcome

REMEMBERED = 20_000  # parts: what is equal stands near by, in a log as in a run

_TEXTS = (
    *("suite", "question_id", "method", "status", "reason", "family", "case", "winner", "expected", "item", "query"),
    *("answer", "reader", "excluded", "cluster", "group", "disputed"),
)
_LISTS = ("ids", "gold", "gold_ids")  # of texts
_OTHERS = ("metrics", "missing", "left_out", "fields", "asked", "wrote", "usage", "dropped", "recalled")
_texts, _lists, _others = attrgetter(*_TEXTS), attrgetter(*_LISTS), attrgetter(*_OTHERS)


class Shared:
    """Makes outcomes share what is equal in them: from then on they are given new parts, and none is changed."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._nothing: dict[type, Any] = {}

    def __call__(self, outcome: Outcome) -> Outcome:
        """The same outcome, with parts of earlier ones in place of its own where they are equal."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        one, nothing = self._known.setdefault, self._nothing.setdefault
        for name, text in zip(_TEXTS, _texts(outcome), strict=True):
            if text:
                setattr(outcome, name, one(text, text))
        for name, part in zip(_LISTS, _lists(outcome), strict=True):
            setattr(outcome, name, one(tuple(part), part) if part else nothing(type(part), part))
        for name, part in zip(_OTHERS, _others(outcome), strict=True):
            # By its characters: 1, 1.0 and True are equal, and not the same.
            setattr(outcome, name, one((name, repr(part)), part) if part else nothing(type(part), part))
        return outcome
