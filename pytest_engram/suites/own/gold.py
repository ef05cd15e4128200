"""What is right for questions of own data: by the entries that answer, by accepted answers, or by both."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from pytest_engram.basics.texts import PART, contains_word, normalise
from pytest_engram.memory import Entry
from pytest_engram.suites.base import Gold, Key, parse_metric
from pytest_engram.suites.locomo.protocol import Evidence
from pytest_engram.suites.own.assemble import Asked, Data

RETRIEVAL = ("recall", "recall_any", "recall_all", "ndcg", "ndcg_any")  # with a depth, by the entries that answer
HOLDING = ("answer",)  # with a depth, by accepted answers
ANSWERS = ("subem", "f1", "judged")  # without a depth, by accepted answers

NO_ENTRIES = "which entries answer is not told"
NOTHING = "no entry answers"
NO_ANSWER = "no accepted answer is told"


class OwnKey(Key):
    """The gold of own data. Which entries hold an answer is looked for once, and only where a metric asks.

    Args:
        name, path, metrics: of the suite file.
        data: haystacks and questions.
        clusters: by question, where they were drawn together.
        about: for the manifest.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        metrics: Sequence[str],
        data: Data,
        clusters: Mapping[str, str],
        about: Mapping[str, Any],
    ) -> None:
        super().__init__(name, path, metrics, {}, about=about)
        self._asked = {asked.id: asked for asked in data.asked}
        self._lists = data.lists
        self._clusters = clusters
        self._held: dict[str, _Texts] = {}
        self._found: dict[str, Gold] = {}
        self._searched = any(parse_metric(metric)[0] in HOLDING for metric in metrics)

    def questions(self) -> list[str]:
        """The ids of all questions."""
        return list(self._asked)

    def gold(self, question_id: str) -> Gold:
        """What is right for a question."""
        if question_id not in self._found:
            self._found[question_id] = self._gold(self._asked[question_id])
        return self._found[question_id]

    def _gold(self, asked: Asked) -> Gold:
        grades, answers = asked.grades or {}, asked.answers or ()
        texts = self._texts(asked.haystack)
        relevant = [id_ for id_ in grades if id_ in texts.ids]
        gold = Gold(
            answers=answers,
            relevant=relevant,
            shown=answers or relevant,
            cluster=self._clusters.get(asked.id),
            group=asked.group,
            grades=grades,
            left_out=left_out(asked),
            detail=Evidence(tuple(grades)),
        )
        if self._searched and answers:
            held = texts.holding(answers)
            gold.holding = list(held)
            gold.chance = {id_: PART for id_, text in held.items() if not contains_word(text, answers)}
        if asked.grades is None:  # then what holds an answer is all that is known
            gold.relevant, gold.holding = gold.holding or (), None
        told = asked.grades is None and not self._searched
        gold.ceiling = None if told or asked.grades == {} else bool(gold.relevant)
        return gold

    def _texts(self, haystack: str) -> _Texts:
        if haystack not in self._held:
            self._held[haystack] = _Texts(self._lists[haystack], searched=self._searched)
        return self._held[haystack]


class _Texts:
    """The ids of a haystack, and its texts in one: a search through them all is one of C's, not one for each entry.

    Args:
        entries: of the haystack.
        searched: whether answers are looked for in them.
    """

    def __init__(self, entries: Sequence[Entry], *, searched: bool) -> None:
        self.ids = {entry.id: place for place, entry in enumerate(entries)}
        self._names = list(self.ids)
        texts = [normalise(entry.text) for entry in entries] if searched else []
        self._whole = "\n".join(texts)  # no normalised text, and so no answer, has a newline
        self._starts = [0, *accumulate(len(text) + 1 for text in texts)]

    def holding(self, answers: Sequence[str]) -> dict[str, str]:
        """By id, the normalised text of each entry that holds an answer, in their order."""
        found: set[int] = set()
        for answer in filter(None, map(normalise, answers)):
            at = self._whole.find(answer)
            while at >= 0:
                place = bisect_right(self._starts, at) - 1
                found.add(place)
                at = self._whole.find(answer, self._starts[place + 1])
        spans = ((place, self._starts[place], self._starts[place + 1] - 1) for place in sorted(found))
        return {self._names[place]: self._whole[start:end] for place, start, end in spans}


def left_out(asked: Asked) -> dict[str, str]:
    """By metric, without depth, why a question is left out of its means."""
    found: dict[str, str] = {}
    if not asked.grades:
        found |= dict.fromkeys(RETRIEVAL, NO_ENTRIES if asked.grades is None else NOTHING)
    if not asked.answers:
        found |= dict.fromkeys((*HOLDING, *ANSWERS), NO_ANSWER)
    return found


def notes(metrics: Sequence[str], asked: Sequence[Asked]) -> list[str]:
    """A sentence for each metric and reason that leaves questions out."""
    told: dict[tuple[int, str], list[str]] = {}
    for metric in metrics:
        base = parse_metric(metric)[0]
        counts = Counter(why for one in asked if (why := left_out(one).get(base)))
        for why, count in counts.items():
            told.setdefault((count, why), []).append(metric)
    return [
        f"{count} of {len(asked)} questions are left out of {', '.join(names)}: {why}"
        for (count, why), names in told.items()
    ]


def clusters(asked: Sequence[Asked], haystacks: int) -> tuple[dict[str, str], str | None]:
    """What each question was drawn with, and what that is.

    As the questions say; where none does, questions over one of several haystacks were drawn together.
    """
    given = {one.id: one.cluster for one in asked if one.cluster is not None}
    if given:
        return given, "cluster"
    if 1 < haystacks < len(asked):
        return {one.id: one.haystack for one in asked}, "haystack"
    return {}, None
