"""Hits by chance: an answer that is found in a serial number, or inside a word. Official rules count them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_engram.basics.texts import PART, contains_word, normalise
from pytest_engram.judging.metrics import sub_em
from pytest_engram.judging.named import Found
from pytest_engram.suites.base import parse_metric

VACUOUS = frozenset({"recall_all", "session_recall_all"})  # officially 1.0 where there is nothing to recall


def by_chance(found: Found, metrics: Mapping[str, float | None]) -> dict[str, str]:
    """By metric that is 1.0 for no other reason, what the hit rests on: `SERIAL` or `PART` of `basics.texts`."""
    rests = {name: _rests(found, *parse_metric(name)) for name, value in metrics.items() if value == 1.0}
    return {name: what for name, what in rests.items() if what}


def _rests(found: Found, metric: str, depth: int | None) -> str | None:
    answers = found.gold.answers
    if metric == "subem":
        return None if contains_word(normalise(found.answer or ""), answers) else PART
    if metric != "answer":
        return None
    met: list[str | None] = []
    for at, id_ in enumerate(found.ids[:depth]):
        text = found.texts[at] if found.texts else None
        if text is None:
            met += [found.gold.chance.get(id_)] if id_ in found.gold.answering else []
        elif sub_em(text, answers):
            met.append(None if contains_word(normalise(text), answers) else PART)
    return next(iter(met), None) if all(met) else None
