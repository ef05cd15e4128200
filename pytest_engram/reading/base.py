"""What a reader is, and what it says: all that a reader's module needs of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_engram.memory import Entry


class ReaderError(Exception):
    """A reader that can't be had, by the user's choice of it. The message is one line, with the cure."""


class ReaderUnavailable(Exception):
    """A question that can't be answered now. The message is the reason, in one line, without any secret."""


@dataclass(frozen=True)
class ReaderSpec:
    """Which reader a run uses, as JSON: what the workers need to make it. There is no secret in it.

    Attributes:
        name: as given, such as "newest" or "openai:MODEL".
        kind: the reader's module.
        label: the name in tables.
        model: where there is one.
        endpoint: whose model it is: a host without port, path or credentials; "loopback" for this machine's own.
        prompt: `prompts.Prompt.describe()`, or None where no model is asked.
        settings: what else an answer depends on.
        templates: the prompt's texts; a manifest holds their hashes alone.
        run: names the run among those that share a cache.
    """

    name: str
    kind: str
    label: str
    model: str | None = None
    endpoint: str | None = None
    prompt: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    run: str = ""

    def describe(self) -> dict[str, Any]:
        """For a manifest, as JSON."""
        return {key: value for key, value in asdict(self).items() if key not in ("templates", "run")}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader answered. Tokens and cost (US dollars) are those of the asking; None where they are not known."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    cached: bool = False

    def fields(self) -> dict[str, Any]:
        """What a line of the run log holds of it besides the text."""
        known = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "cost": self.cost}
        found = {key: value for key, value in known.items() if value is not None}
        return {**found, "cached": self.cached} if found else found


class Reader(Protocol):
    """Answers questions."""

    def answer(self, question: str, entries: Sequence[Entry]) -> Answer:
        """The answer to `question` from `entries`, which are in the memory's order, best first.

        Raises:
            ReaderUnavailable: it can't answer.
        """
        ...


class ReaderMaker(Protocol):
    """What `pytest_engram_readers` names: a module or any other object.

    `USAGE` says how it is asked for: its name, and behind a colon what must be added, as in `openai:MODEL`.
    """

    USAGE: str

    def resolve(self, argument: str, data: Path | None) -> ReaderSpec:
        """The reader for what stands behind the colon, in the controller: cheap, and without asking anybody anything.

        Its `kind` is the name that it is asked for by.

        Raises:
            ReaderError: it can't be used here.
        """
        ...

    def make(self, spec: ReaderSpec, cache_dir: Path) -> Reader:
        """The reader, in every process that asks."""
        ...
