"""Count: of two facts in conflict, the one whose value more of the memory names stays. It embeds nothing.

The lexical control of Loom. Where facts that back a side say its value, counting them needs no meaning; Loom has to
beat it there, or to win where its backers do not say the value, for its embeddings to add anything.

- Conflict: two entries among the first `DEPTH` of BM25's ranking that have the same subject and differ in content, as
  Loom reads them (`loom_reading`), and that differ in one stretch of words only, behind the subject and at least one
  word more: their *values*. What they share is at least as long as the longer value.
- Strength: how many other entries hold all words of the subject and all words of the value. Of equal strength the
  earlier stays, as with Loom; of equal times the one that ranks better.
- Resolution: settled from the strongest down; an entry is dropped only for one that stays, which takes the better of
  the two ranks; the list refills from the ranking to k.

Nothing in it was calibrated: the depth is Loom's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

from pytest_engram.memory import Bench, Dropped, Entry, MemoryFactory, method
from pytest_engram.methods.loom_reading import Reading, differ, read, same_subject
from pytest_engram.methods.settling import settle
from pytest_engram.retrieval.living import Counted
from pytest_engram.retrieval.okapi import Lexical

Resolution: TypeAlias = "tuple[list[int], list[int], list[Dropped]]"

DEPTH = 10

_SERIAL = re.compile(r"\s*\d+[.):]\s+")


class Count:
    """The lexical control: who is named more often."""

    def __init__(self, bench: Bench) -> None:
        self._entries: list[Entry] = []
        self._counted = Counted(bench.lexical)
        self._held = 0  # entries whose words are in `_holding`
        self._holding: dict[str, set[int]] = defaultdict(set)
        self._seen: dict[int, tuple[Reading, list[str]]] = {}
        self._last: tuple[str, Resolution] | None = None

    def write(self, entries: Sequence[Entry]) -> None:
        self._entries += entries
        self._last = None

    def search(self, query: str, k: int) -> list[str]:
        stays, rest, _ = self._resolved(query)
        return [self._entries[position].id for position in [*stays, *rest][:k]]

    def trace(self, query: str, k: int) -> list[Dropped]:
        """The conflicts that were settled in favour of the first k."""
        stays, _, dropped = self._resolved(query)
        shown = {self._entries[position].id for position in stays[:k]}
        return [drop for drop in dropped if drop.by in shown]

    def _resolved(self, query: str) -> Resolution:
        """The resolution of the query asked last is kept, as a trace follows its search."""
        if self._last is None or self._last[0] != query:
            self._last = query, self._resolve(query)
        return self._last[1]

    def _resolve(self, query: str) -> Resolution:
        """Positions that stay, best first; the ranking beyond the depth; what was dropped."""
        if not self._entries:
            return [], [], []
        ranking = self._index().rank(query).tolist()
        window, rest = ranking[:DEPTH], ranking[DEPTH:]
        rivals: dict[int, dict[int, int]] = defaultdict(dict)
        for one, other in combinations(range(len(window)), 2):
            named = self._named(window[one], window[other])
            if named is not None:
                rivals[one][other], rivals[other][one] = named
        strength = {rank: max(against.values()) for rank, against in rivals.items()}
        strongest = sorted(rivals, key=lambda rank: (-strength[rank], self._entries[window[rank]].time, rank))
        stays, lost = settle(len(window), rivals, strongest)
        dropped = [
            self._dropped(window[rank], window[lost[rank]], strength[rank], strength[lost[rank]], rank)
            for rank in sorted(lost)
        ]
        return [window[rank] for rank in stays], rest, dropped

    def _named(self, one: int, other: int) -> tuple[int, int] | None:
        """How many other entries name the value of each; None where the two are no conflict."""
        (a, words), (b, others) = self._read(one), self._read(other)
        if not (differ(a, b) and same_subject(a.subject, b.subject)):
            return None
        values = _values(words, others, {*_words(a.subject), "the"})
        if values is None:
            return None
        return self._holders(values[0], a.subject, one, other), self._holders(values[1], b.subject, one, other)

    def _read(self, position: int) -> tuple[Reading, list[str]]:
        """What Loom reads in an entry, and its words; each entry once."""
        if position not in self._seen:
            text = _SERIAL.sub("", self._entries[position].text, count=1)
            self._seen[position] = read(text), _words(text)
        return self._seen[position]

    def _holders(self, value: list[str], subject: str, *apart: int) -> int:
        """How many entries, those `apart` left out, hold all words of value and subject."""
        found = set.intersection(*(self._holding.get(word, set()) for word in (*value, *_words(subject))))
        return len(found.difference(apart))

    def _index(self) -> Lexical:
        for position in range(self._held, len(self._entries)):
            for word in _words(self._entries[position].text):
                self._holding[word].add(position)
        self._held = len(self._entries)
        return self._counted.of(self._entries)

    def _dropped(self, loser: int, winner: int, fewer: int, more: int, rank: int) -> Dropped:
        sign = "<" if fewer < more else "="
        return Dropped(self._entries[loser].id, self._entries[winner].id, f"named {fewer} {sign} {more}", rank + 1)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _values(one: list[str], other: list[str], subject: set[str]) -> tuple[list[str], list[str]] | None:
    """The stretches in which two facts differ; None where that is not all, or where they begin apart."""
    before = _shared(one, other)
    one, other, start = one[before:], other[before:], set(one[:before])
    after = _shared(one[::-1], other[::-1])
    values = one[: len(one) - after], other[: len(other) - after]
    longest = max(map(len, values))
    return values if all(values) and start - subject and before + after >= longest else None


def _shared(one: list[str], other: list[str]) -> int:
    """With how many of the same words both begin."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@method(label="Count", role="control", embeds=False)
def count() -> MemoryFactory:
    return Count
