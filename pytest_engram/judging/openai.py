"""`openai:MODEL`: a model behind any OpenAI-compatible endpoint as a judge, with the benchmark's own prompt.

What it is asked stands in `judging.prompts`; how it is asked, stored and paid for, in `reading.endpoint`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from pytest_engram.judging.judges import Case, Given, JudgeError, JudgeUnavailable
from pytest_engram.judging.prompts import Prompts, Unlabelled
from pytest_engram.reading.endpoint import Completion, Endpoint, EndpointError, Unavailable, available, settled
from pytest_engram.suites.base import Key

USAGE = "openai:MODEL"
SETTINGS = {"temperature": 0}


def resolve(argument: str) -> OpenAIJudge:
    """The judge that the model `argument` is; nobody is asked whether it exists.

    Raises:
        JudgeError: the package is missing, or a variable of the environment makes no sense.
    """
    if not argument:
        raise JudgeError(f"no model is named: write {USAGE}")
    try:
        available(f"openai:{argument}")
    except EndpointError as error:
        raise JudgeError(str(error)) from None
    return OpenAIJudge(argument)


class OpenAIJudge:
    """Asks `model` as often as a run wants to know.

    Args:
        model: its name at the endpoint.
    """

    def __init__(self, model: str) -> None:
        self.label = model
        self._model = model
        self._lock = threading.Lock()
        self._totals: dict[str, Any] = {"asked": 0, "stored": 0, "tokens_in": 0, "tokens_out": 0, "cost": 0.0}

    def begin(self, given: Given) -> None:
        """Take what the run gives; see `judges.Given`.

        Raises:
            JudgeError: the environment makes no sense.
        """
        self._runs, self._settings = given.runs, given.settings
        self._prompts = Prompts(given.data)
        settings = settled(SETTINGS, given.settings)
        try:
            self._endpoint = Endpoint(self._model, settings, given.cache_dir, role="judge", purse=given.purse)
        except EndpointError as error:
            raise JudgeError(str(error)) from None

    def __call__(self, case: Case) -> list[bool]:
        """A verdict for each time it is asked.

        Raises:
            JudgeUnavailable: the endpoint gives none, or what the model says is none.
        """
        prompt = self._prompts.of(case.prompts, case.prompt)
        messages = prompt.messages(case.question, prompt.accepted(case.answers), case.answer)
        settings = settled(prompt.settings, self._settings)
        verdicts = []
        for nth in range(self._runs):
            try:
                said = self._endpoint.complete(messages, nth=nth, settings=settings)
            except Unavailable as reason:
                if reason.spent is not None:
                    self._count(reason.spent)
                raise JudgeUnavailable(str(reason)) from None
            self._count(said)
            try:
                verdicts.append(prompt.read(said.text))
            except Unlabelled as reason:
                raise JudgeUnavailable(str(reason)) from None
        return verdicts

    def _count(self, said: Completion) -> None:
        with self._lock:
            totals = self._totals
            totals["stored" if said.cached else "asked"] += 1
            if not said.cached:
                totals["tokens_in"] += said.tokens_in or 0
                totals["tokens_out"] += said.tokens_out or 0
                unknown = totals["cost"] is None or said.cost is None
                totals["cost"] = None if unknown else totals["cost"] + said.cost

    def describe(self, keys: Mapping[str, Key]) -> dict[str, Any]:
        """Model, endpoint, settings, and the prompt of each suite."""
        prompts = {name: self._prompts.describe(key.prompts) for name, key in keys.items()}
        return {**self._endpoint.describe(), "runs": self._runs, "prompts": prompts}

    def totals(self) -> dict[str, Any]:
        """What the verdicts took. Tokens and cost (US dollars) are those of the asked ones."""
        with self._lock:
            return dict(self._totals)
