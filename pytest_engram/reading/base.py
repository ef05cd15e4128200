"""What a reader is, and what it says: all that a reader's module needs of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_engram.memory import Entry
from pytest_engram.reading.purse import Purse


class ReaderError(Exception):
    """A reader that can't be had, by the user's choice of it. The message is one line, with the cure."""


class ReaderUnavailable(Exception):
    """A question that can't be answered now. The message is the reason, in one line, without any secret.

    Attributes:
        spent: what the asking took all the same.
    """

    def __init__(self, reason: str, spent: Answer | None = None) -> None:
        super().__init__(reason)
        self.spent = spent


@dataclass(frozen=True)
class ReaderSpec:
    """Which reader a run uses. There is no secret in it.

    Attributes:
        name: as given, such as "newest" or "openai:MODEL".
        kind: the reader's module.
        label: the name in tables.
        model: where there is one. Then the reader is asked beside the run, by several threads; else as a line comes.
        endpoint: whose model it is: a host without port, path or credentials; "loopback" for this machine's own.
        settings: what else an answer depends on. Those of `--engram-reader-set` are put into it; None takes one out.
        data: the folder of `--engram-data`, for official prompts.
    """

    name: str
    kind: str
    label: str
    model: str | None = None
    endpoint: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    data: Path | None = None

    def describe(self) -> dict[str, Any]:
        """For a manifest, as JSON."""
        return {key: value for key, value in asdict(self).items() if key != "data"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reader is asked.

    Attributes:
        question: its text.
        entries: what the memory returned, in its order, best first; a text of the memory's own is as new as the newest
            of its sources.
        prompts: whose official prompts the question is to be asked with: a benchmark of `officials`; None: nobody's.
        prompt: what these ask for beside, such as a category or a date; `suites.base.Gold.prompt`.
    """

    question: str
    entries: Sequence[Entry] = ()
    prompts: str | None = None
    prompt: Mapping[str, Any] = field(default_factory=dict)


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
    """Answers questions, in the process that judges.

    More is used where a reader has it: `describe() -> dict`, which a manifest holds in place of what the spec says
    under the same names; and `notes() -> list[str]`, lines for the end of a run.
    """

    def answer(self, asked: Asked) -> Answer:
        """The answer to a question. Called by several threads where there is a model.

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
        """The reader for what stands behind the colon: cheap, and without asking anybody anything.

        Its `kind` is the name that it is asked for by.

        Raises:
            ReaderError: it can't be used here.
        """
        ...

    def make(self, spec: ReaderSpec, cache_dir: Path, purse: Purse) -> Reader:
        """The reader.

        Args:
            spec: what `resolve` returned.
            cache_dir: answers that cost something can be kept in it.
            purse: counts what they cost, and closes where the run's limit is reached.
        """
        ...
