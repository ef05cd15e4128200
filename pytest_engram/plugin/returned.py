"""What came back, measured when the run has ended: its tokens, and the entries that it is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.tokens import Tokens


def count(outcomes: Iterable[Outcome], suites: Iterable[Suite], tokens: Tokens) -> None:
    """Give each line that has an outcome its `tokens`, and `longest` where the memory has texts of its own."""
    by_name = {suite.name: suite for suite in suites}
    haystacks = {name: {question.id: question.haystack for question in s.questions} for name, s in by_name.items()}
    lines: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.status == "ok" and outcome.suite in by_name:
            lines[outcome.suite][haystacks[outcome.suite][outcome.question_id]].append(outcome)
    for name, by_haystack in lines.items():
        texts: list[tuple[Outcome, Sequence[str]]] = []
        for key, group in by_haystack.items():
            entries = {entry.id: entry.text for entry in by_name[name].haystack(key)}
            texts += [(outcome, _texts(outcome, entries)) for outcome in group]
            for outcome in group:
                if outcome.recalled:
                    outcome.longest = max(map(len, entries.values()), default=0)
        counts = tokens.count((text for _, some in texts for text in some), name)
        for outcome, some in texts:
            # A recorded method may tell what it answered, and how much it read, and not what.
            if not outcome.unrecalled:
                outcome.tokens = sum(counts[text] for text in some)


def _texts(outcome: Outcome, entries: dict[str, str]) -> Sequence[str]:
    if not outcome.recalled:
        return [entries[id_] for id_ in outcome.ids]
    return [str(place["text"]) if "text" in place else entries[place["id"]] for place in outcome.recalled]
