"""A suite and its key side by side, as a test wants them: what is asked, what is right, and what ids are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_engram import judging
from pytest_engram.asking.memories import Memories
from pytest_engram.asking.runner import Asker, blank
from pytest_engram.basics.registry import Registry
from pytest_engram.judging.judge import judge
from pytest_engram.memory import Entry, Method
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold, Question, Suite

METRICS: Registry[Any] = Registry("metric", judging.METRICS)


@dataclass(frozen=True)
class Both:
    """`Loaded`, with what tests ask of either part."""

    suite: Suite
    key: Any

    @property
    def questions(self) -> Sequence[Question]:
        return self.suite.questions

    def haystack(self, key: str) -> Sequence[Entry]:
        return self.suite.haystack(key)

    def texts(self) -> tuple[list[str], list[str]]:
        return self.suite.texts()

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = self.key.describe()
        return found

    def gold(self, question: Question) -> Gold:
        found: Gold = self.key.gold(question.id)
        return found

    def line(self, question: Question, ids: Sequence[str] = (), k: int = 10, **fields: Any) -> Outcome:
        """What the asking leaves of a question for which these ids were recalled."""
        line = blank(self.suite, question, "plain", 0, k, f"{question.name}[plain]")
        line.ids = list(ids)
        for name, value in fields.items():
            setattr(line, name, value)
        return line

    def judge(self, question: Question, ids: Sequence[str] = (), k: int = 10, **fields: Any) -> Outcome:
        """That line, judged."""
        return judge(self.key, self.line(question, ids, k, **fields), METRICS)

    def unasked(self, question: Question) -> Outcome:
        """The judged line of a question that can't be asked. The test fails where a memory is made for it."""
        method = Method("nobody", "Nobody", "experiment", None, False, (), False, "session", _refuse)
        memories = Memories(10, lambda: pytest.fail("something was embedded"))
        asker = Asker(memories, lambda _: None)
        return judge(self.key, asker.ask(self.suite, question, method, 0, "item", _refuse), METRICS)


def _refuse() -> Any:
    pytest.fail("a memory was made")
