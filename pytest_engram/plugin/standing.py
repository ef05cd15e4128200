"""Which items of a run that is continued stand as its log has them: all that a worker is told of that log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_engram.asking.again import sampled
from pytest_engram.basics.cache import kept_file
from pytest_engram.memory import Method
from pytest_engram.plugin.items import name_of
from pytest_engram.suites.base import Question, Suite

if TYPE_CHECKING:
    from pytest_engram.plugin.vault import Item


@dataclass(frozen=True)
class Standing:
    """Which items of a run need not be asked; nothing of gold, for any process.

    Attributes:
        items: those, and of one that broke a rule the reason.
        filled: method, seed and haystack's tag of the memories whose filling is in the log already.
        whole: whether the run was complete, so that nothing is asked, not even the sample again.
    """

    items: Mapping[Item, str | None] = field(default_factory=dict)
    filled: Collection[tuple[str, int, str]] = frozenset()
    whole: bool = False

    def needs(
        self, suites: Iterable[Suite], methods: Sequence[Method], seeds: Callable[[Method], list[int]], *, again: bool
    ) -> set[tuple[str, str, str, int]]:
        """Suite, haystack, method and seed of what is still to be asked; `again`: or is asked again at the end."""
        again = again and not self.whole
        return {
            (suite.name, question.haystack, method.name, seed)
            for suite, question, method, seed in items(suites, methods, seeds)
            if (suite.name, name_of(question, method, seed), method.name, seed) not in self.items
            or (again and sampled(suite, question, method))
        }

    def write(self, folder: Path) -> str:
        """Put it into the folder, for workers; its name there.

        Raises:
            CacheError: the folder can't be written.
        """
        items = [[*item, reason] for item, reason in self.items.items()]
        content = json.dumps({"items": items, "filled": sorted(self.filled), "whole": self.whole}).encode()
        name = hashlib.sha256(content).hexdigest()
        kept_file(folder / f"{name}.json", content)
        return name

    @classmethod
    def read(cls, name: str, folder: Path) -> Standing:
        """What `write` put there.

        Raises:
            pytest.UsageError: it is gone, or was changed.
        """
        try:
            content = (folder / f"{name}.json").read_bytes()
        except OSError as error:
            told = f"what was prepared can't be read any more ({error.strerror}): was the cache emptied? Run again"
            raise pytest.UsageError(f"--engram-resume: {told}") from None
        if hashlib.sha256(content).hexdigest() != name:
            raise pytest.UsageError("--engram-resume: what was prepared was changed in the cache; run again")
        told = json.loads(content)
        items = {(suite, item, method, seed): reason for suite, item, method, seed, reason in told["items"]}
        return cls(items, frozenset((method, seed, tag) for method, seed, tag in told["filled"]), told["whole"])


def items(
    suites: Iterable[Suite], methods: Sequence[Method], seeds: Callable[[Method], list[int]]
) -> Iterator[tuple[Suite, Question, Method, int]]:
    for suite in suites:
        for question in suite.questions:
            for method in methods:
                for seed in seeds(method):
                    yield suite, question, method, seed
