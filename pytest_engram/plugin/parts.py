"""What the controller's record of a run is made of: it is handed on whole, to whoever asks, keeps or ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from pytest_engram.asking.memories import Memories
from pytest_engram.plugin import vault
from pytest_engram.plugin.methods import Methods
from pytest_engram.plugin.options import Options
from pytest_engram.suites.base import Question, Suite


@dataclass(frozen=True)
class Parts:
    """Of one run. What is known of gold is in the vault.

    Attributes:
        config: pytest's.
        options: this plugin's.
        methods: of the run.
        memories: whose haystacks have the entries that a report shows.
        suites: gives the suites of the run.
        metrics: by name without depth.
        encoder: gives that of the run, when it has ended; None: nothing was embedded.
    """

    config: pytest.Config
    options: Options
    methods: Methods
    memories: Memories
    suites: Callable[[], list[Suite]]
    metrics: Mapping[str, Any]
    encoder: Callable[[], dict[str, Any] | None]

    @cached_property
    def asked(self) -> dict[tuple[str, str], tuple[Suite, Question]]:
        """Each question with its suite, by the names of both."""
        return {(suite.name, question.id): (suite, question) for suite in self.suites() for question in suite.questions}

    def withheld(self, suite: str) -> bool:
        """Whether nothing of a suite's texts may be written: not even into the log of a run that is killed."""
        return self.options.withhold and not vault.of(self.config).keys[suite].shareable
