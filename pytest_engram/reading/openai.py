"""`openai:MODEL`: a model behind any OpenAI-compatible endpoint, asked with each benchmark's own prompt and settings.

`--engram-reader-set NAME=VALUE` sends a setting otherwise, or one more. One is not sent: `answer="step by step"` takes
LongMemEval's prompt of that name.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pytest_engram.reading import connection
from pytest_engram.reading.base import Answer, Asked, ReaderError, ReaderSpec, ReaderUnavailable
from pytest_engram.reading.endpoint import (
    NOT_SETTINGS,
    RETRIES,
    TIMEOUT,
    Completion,
    Endpoint,
    EndpointError,
    Purse,
    Unavailable,
    available,
    settled,
)
from pytest_engram.reading.prompts import Prompt, find

USAGE = "openai:MODEL"
ANSWER = "answer"  # the setting that is not sent
STEPS = "step by step"


def resolve(argument: str, data: Path | None) -> ReaderSpec:
    """The reader for the model `argument`; nobody is asked whether it exists.

    Raises:
        ReaderError: the package is missing, or a variable of the environment makes no sense.
    """
    try:
        available(f"openai:{argument}")
        connection.concurrency()
        host = connection.Connection.of_environment().host
    except EndpointError as error:
        raise ReaderError(str(error)) from None
    return ReaderSpec(
        name=f"openai:{argument}",
        kind="openai",
        label=f"{argument} (openai)",
        model=argument,
        endpoint=host,
        data=data,
    )


def make(spec: ReaderSpec, cache_dir: Path, purse: Purse) -> OpenAIReader:
    """A reader that asks nobody before it must."""
    return OpenAIReader(spec, cache_dir, purse)


class OpenAIReader:
    """Asks `spec.model`.

    Args:
        spec: what `resolve` returned.
        cache_dir: completions are stored in it.
        purse: of the run.
        retries: tries after the first.
        timeout: seconds for one try.

    Raises:
        ReaderError: a setting can't be one.
    """

    def __init__(
        self,
        spec: ReaderSpec,
        cache_dir: Path,
        purse: Purse | None = None,
        *,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
    ) -> None:
        self._spec = spec
        self._given = {name: value for name, value in spec.settings.items() if name != ANSWER}
        self._steps = spec.settings.get(ANSWER) == STEPS
        self._check(spec.settings.get(ANSWER))
        self._endpoint = Endpoint(str(spec.model), {}, cache_dir, purse=purse, retries=retries, timeout=timeout)
        self._prompts: dict[str | None, Prompt] = {}
        self._lock = threading.Lock()

    def _check(self, answer: object) -> None:
        if answer not in (None, STEPS, "direct"):
            raise ReaderError(f"--engram-reader-set: {ANSWER} is {answer!r}; it must be 'direct' or {STEPS!r}")
        if forbidden := [name for name in NOT_SETTINGS if name in self._given]:
            raise ReaderError(f"--engram-reader-set: {forbidden[0]} is not for you to set; leave it out")

    def _prompt(self, benchmark: str | None) -> Prompt:
        with self._lock:
            if benchmark not in self._prompts:
                self._prompts[benchmark] = find(benchmark, self._spec.data, steps=self._steps)
            return self._prompts[benchmark]

    def answer(self, asked: Asked) -> Answer:
        """The model's answer, from the store where it was asked the same before.

        Raises:
            ReaderUnavailable: the endpoint gives none.
        """
        prompt = self._prompt(asked.prompts)
        try:
            said = self._endpoint.complete(prompt.messages(asked), settings=settled(prompt.settings, self._given))
        except Unavailable as reason:
            spent = None if reason.spent is None else _answer(reason.spent, "")
            raise ReaderUnavailable(str(reason), spent) from None
        return _answer(said, prompt.parse(said.text, asked))

    def notes(self) -> list[str]:
        """What was sent otherwise than it was asked for."""
        return self._endpoint.notes()

    def describe(self) -> dict[str, Any]:
        """For the manifest: of each benchmark that was asked the prompt and the settings as sent; and the server."""
        asked = {
            benchmark or "other": prompt
            for benchmark, prompt in sorted(self._prompts.items(), key=lambda item: str(item[0]))
        }
        prompts = {benchmark: prompt.describe() for benchmark, prompt in asked.items()}
        labels = {prompt["label"] for prompt in prompts.values()}
        told = self._endpoint.describe()
        return {
            "prompt": {
                "label": labels.pop()
                if len(labels) == 1
                else "; ".join(f"{b}: {p['label']}" for b, p in prompts.items()),
                "official": bool(prompts) and all(prompt["official"] for prompt in prompts.values()),
                "benchmarks": prompts,
            },
            "settings": {b: self._endpoint.sent(settled(p.settings, self._given)) for b, p in asked.items()},
            "notes": told["notes"],
            "server": told["server"],
        }


def _answer(completion: Completion, text: str) -> Answer:
    return Answer(text, completion.tokens_in, completion.tokens_out, completion.cost, completion.cached)
