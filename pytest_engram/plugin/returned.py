"""What came back: as a reader gets it; and its tokens, counted when the run has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_engram.memory import Entry
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


def entries(outcome: Outcome, by_id: Mapping[str, Entry]) -> list[Entry]:
    """What a reader is given: the entries, or the memory's own texts, as new as the newest of their sources.

    A text of which nobody knows the sources has the time 0.

    Args:
        outcome: what came back.
        by_id: the entries of the question's haystack, by the benchmark's own ids.
    """
    if not outcome.recalled:
        return [by_id[id_] for id_ in outcome.ids]
    return [
        by_id[place["id"]]
        if "id" in place
        else Entry(f"r{number}", place["text"], max((by_id[id_].time for id_ in place["sources"]), default=0.0))
        for number, place in enumerate(outcome.recalled)
    ]


def _texts(outcome: Outcome, entries: dict[str, str]) -> Sequence[str]:
    if not outcome.recalled:
        return [entries[id_] for id_ in outcome.ids]
    return [str(place["text"]) if "text" in place else entries[place["id"]] for place in outcome.recalled]
