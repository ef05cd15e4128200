"""What a user's own conftest looks like: a memory is a fixture, and `@method` says what it is in the experiment.

pytest --engram-method=newest -n auto
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_engram import Bench, Entry, method


class Newest:
    """The newest entries, whatever was asked: what a memory must at least be better than."""

    def __init__(self, bench: Bench) -> None:
        self.entries: list[Entry] = []

    def write(self, entries: Sequence[Entry]) -> None:
        self.entries += entries

    def search(self, query: str, k: int) -> list[str]:
        newest_first = sorted(self.entries, key=lambda entry: entry.time, reverse=True)
        return [entry.id for entry in newest_first[:k]]


@method(label="Newest", role="control", embeds=False)
def newest() -> type[Newest]:
    return Newest
