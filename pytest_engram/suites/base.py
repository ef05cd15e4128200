"""What every kind of suite is made of: a `Suite`, which is asked and holds no gold, and its `Key`, which judges read.

The two are made together, in the process that prepares a run, and part there: a `Suite` goes to whoever asks, workers
among them, and a `Key` stays with whoever judges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from pytest_engram.memory import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from pytest_engram.retrieval.okapi import Lexical

Kind: TypeAlias = Literal["pilot", "micro"]

# Of a suite: it stands in item ids, file names and command lines, where a dash in front would begin an option.
NAME = r"^\w[\w.-]*$"
_METRIC = re.compile(r"([a-z][a-z0-9_]*)(?:@([1-9][0-9]*))?")


class NotRun(Exception):
    """A cell that can't be measured here. The message is the reason, with the cure."""


class SuiteError(Exception):
    """A suite file that can't be read: one line with file, line, field and cure."""

    def __init__(self, path: Path, line: int | None, where: str, problem: str) -> None:
        at = f"{path}:{line}" if line else str(path)
        super().__init__(f"{at}: {where}: {problem}" if where else f"{at}: {problem}")


def parse_metric(name: str) -> tuple[str, int | None]:
    """The parts of a metric's name: "recall_any@5" gives ("recall_any", 5), "subem" gives ("subem", None).

    Raises:
        ValueError: it is no such name.
    """
    match = _METRIC.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r:.80} is no metric's name: write it like recall_any@5 or subem")
    return match[1], int(match[2]) if match[2] else None


class Question(NamedTuple):
    """One question, or one level of a case, as it is asked.

    `id` is the benchmark's own, `name` the test item's. `haystack` names the entries that the question is asked over;
    questions may share one. `about` are the ids of the entries that a question without a query is about. `not_run` is
    why this one can't be asked, where the others can.
    """

    id: str
    name: str
    query: str
    haystack: str
    about: tuple[str, ...] = ()
    not_run: str | None = None


class Haystacks(Protocol):
    """The entries that questions are asked over."""

    def entries(self, key: str) -> Sequence[Entry]:
        """Those of one haystack, in time order; the same object for as long as it is in use."""
        ...

    def texts(self, key: str) -> list[str]:
        """Their texts, for embedding."""
        ...

    def lexical(self, texts: Sequence[str]) -> Lexical | None:
        """BM25 over `texts` where they are a haystack that was counted ahead; None: it is made on the spot."""
        ...


class Lists:
    """Haystacks that are plain lists of entries, and lead to nothing else.

    Args:
        lists: the entries of each haystack, in time order.
    """

    def __init__(self, lists: Mapping[str, Sequence[Entry]]) -> None:
        self._lists = lists

    def entries(self, key: str) -> Sequence[Entry]:
        """Those of one haystack; none where there is no such haystack."""
        return self._lists.get(key, ())

    def texts(self, key: str) -> list[str]:
        """Their texts."""
        return [entry.text for entry in self.entries(key)]

    def lexical(self, texts: Sequence[str]) -> Lexical | None:
        """None."""
        return None


@dataclass
class Suite:
    """What is asked. A worker has nothing else, and no answer is in its reach.

    Attributes:
        name, path, kind: of the suite file.
        questions: in the order of the file. They are listed even where their data can't be had.
        haystacks: what they are asked over.
        asks: how a question is asked: a name of `pytest_engram.asking.procedures`.
        settings: what that way of asking needs to know, as JSON.
        not_run: why the data can't be had, else None.
        source: the data source, which knows how a benchmark parts texts and breaks ties.
        place: where a source's own haystacks lie, as JSON; None: they are lists, and are handed over as such.
        split: the name of a tokenizer in `retrieval.words`, where the suite file chose one.
        tokenize: a benchmark's own lexical tokens, or those of `split`.
        rank: positions of scores (n,), best first, as a benchmark breaks ties.
    """

    name: str
    path: Path
    questions: Sequence[Question]
    haystacks: Haystacks
    kind: Kind = "pilot"
    asks: str = "search"
    settings: Mapping[str, Any] = field(default_factory=dict)
    not_run: str | None = None
    source: str | None = None
    place: Mapping[str, Any] | None = None
    split: str | None = None
    tokenize: Callable[[str], list[str]] | None = None
    rank: Callable[[NDArray[Any]], NDArray[np.intp]] | None = None

    def haystack(self, key: str) -> Sequence[Entry]:
        """The entries of a haystack, in time order."""
        return self.haystacks.entries(key)

    def runnable(self) -> list[Question]:
        """The questions whose data is here."""
        return [] if self.not_run else [question for question in self.questions if question.not_run is None]

    def texts(self) -> tuple[list[str], list[str]]:
        """All different passages and queries, for embedding before the workers start."""
        asked = self.runnable()
        passages: dict[str, None] = {}
        for key in dict.fromkeys(question.haystack for question in asked):
            passages.update(dict.fromkeys(self.haystacks.texts(key)))
        return list(passages), list(dict.fromkeys(question.query for question in asked if question.query))

    def given(self) -> list[str]:
        """An entry of each haystack: before all questions, a memory is asked for one that it was given."""
        keys = dict.fromkeys(question.haystack for question in self.runnable() if question.query)
        return [entry.text for key in keys for entry in self.haystack(key)[:1]]


class Version(NamedTuple):
    """One thing that was said of a subject and relation: the entry that says it, and the value that it gives."""

    id: str
    value: str


class Hop(NamedTuple):
    """One fact that a question needs: what was said of it last, and what that took the place of.

    `valid` has several versions where the last value was said more than once.
    """

    valid: tuple[Version, ...]
    superseded: tuple[Version, ...] = ()

    @classmethod
    def of(cls, told: Sequence[Version]) -> Hop:
        """Of everything that was said of one subject and relation, oldest first: the last value is the valid one."""
        last = told[-1].value
        valid = [version for version in told if version.value == last]
        return cls(tuple(valid), tuple(version for version in told if version.value != last))


@dataclass(slots=True)
class Gold:
    """What is right for one question.

    Attributes:
        answers: the accepted answers.
        relevant: ids of the entries that answer, where a metric asks for them.
        excluded: the official skip rule that leaves the question out of the means, if any.
        shown: what a person is shown as the right answer.
        ceiling: whether any entry of the haystack answers; None where that means nothing.
        fields: further fields of its line in the run log.
        cluster: what it was drawn with: questions of one cluster are not independent. None: it was drawn by itself.
        group: the benchmark's category, which has rows of its own in tables.
        disputed: why the benchmark's own answer is wrong, where somebody found out. Figures then stand twice.
        prompt: what the official prompts of a reader or a judge ask for beside question and answers, such as a date.
        superseded: values that the valid answer took the place of.
        hops: the facts that the question needs, in the order in which one leads to the next; the last one's value is
            the answer. Empty where they are not known.
        left_out: why the question is left out of the means of a metric, by the metric's name without depth.
        grades: by id, how relevant an entry is, where that is told in grades: above 0, whole numbers. What no entry of
            the haystack is may be among them.
        holding: ids of the entries that hold an accepted answer, where those are others than `relevant`; None: they are
            `relevant`, as far as anybody looked.
        chance: ids of `answering` whose text holds an answer by chance, and where: `SERIAL`, or `PART`.
        detail: what only the judge of this kind of suite understands.
    """

    answers: tuple[str, ...] = ()
    relevant: Collection[str] = ()
    excluded: str | None = None
    shown: Sequence[str] = ()
    ceiling: bool | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    group: str | None = None
    disputed: str | None = None
    prompt: Mapping[str, Any] = field(default_factory=dict)
    superseded: tuple[str, ...] = ()
    hops: tuple[Hop, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)
    holding: Collection[str] | None = None
    chance: Mapping[str, str] = field(default_factory=dict)
    detail: Any = None

    @property
    def answering(self) -> Collection[str]:
        """The ids that `answer@N` looks for."""
        return self.relevant if self.holding is None else self.holding


class Key:
    """The gold of one suite: base of all, and enough for a source whose gold is a list.

    Attributes:
        name, path, kind: of the suite file.
        metrics: names of the metrics; the first one decides HIT (1.0) or MISS.
        judged_by: which of the judges in `pytest_engram.judging.scoring` measures what no metric by name does.
        family: of micro-tests.
        cluster: what the clusters of its questions are, such as "conversation"; None: there are none.
        prompts: whose official prompts readers and judges are asked with: a benchmark of `reading.officials`.
        shareable: whether its licence lets everybody pass its texts on, so that any report may hold them.
        not_run: why the data can't be had, else None.
    """

    kind: Kind = "pilot"
    family: str | None = None
    judged_by: str | None = None
    cluster: str | None = None
    prompts: str | None = None
    shareable: bool = True

    def __init__(
        self,
        name: str,
        path: Path,
        metrics: Sequence[str],
        golds: Mapping[str, Gold],
        *,
        not_run: str | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.metrics = tuple(metrics)
        self.not_run = not_run
        self._golds = golds
        self._about = about or {}

    def gold(self, question_id: str) -> Gold:
        """What is right for a question.

        Raises:
            KeyError: the suite has no such question.
        """
        return self._golds[question_id]

    def questions(self) -> list[str]:
        """The ids of all questions."""
        return list(self._golds)

    def describe(self) -> dict[str, Any]:
        """For the manifest: source, hashes, whether official, counts, notes, construction rule. JSON."""
        return dict(self._about)


class Loaded(NamedTuple):
    """A suite and its key, before they part."""

    suite: Suite
    key: Key


class Source(Protocol):
    """One benchmark, as `pytest_engram_sources` names it: a module or any other object.

    More is used where a source has it:

    - `tokenize(text)` and `rank(scores)`, as in `Suite`;
    - `reopen(place) -> Haystacks`: the haystacks in a process that asks, from `Suite.place`;
    - `missing(spec, path, reason) -> Loaded`: the questions alone where the data can't be had; default: `absent`, by
      the committed ids;
    - `training(name, data) -> list[TrainingQuestion]`: the questions that a method may learn from, for names that begin
      with the source's own.
    """

    Spec: type[BaseModel]

    def load(self, spec: Any, path: Path, data: Path | None) -> Loaded:
        """Find or fetch the data; give what is asked and what is right. Called once, and may take long.

        Args:
            spec: the validated suite file.
            path: of the suite file.
            data: the folder of `--engram-data`, if any.

        Raises:
            NotRun: the data can't be had.
        """
        ...


def absent(
    spec: Any,
    path: Path,
    ids: Sequence[str],
    reason: str,
    *,
    names: Sequence[str] | None = None,
    golds: Mapping[str, Gold] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Loaded:
    """A pilot set whose data can't be had: its committed questions by their ids, and the reason.

    Args:
        spec: the suite file; its `name`, `source` and `metrics` are needed.
        path: where it stands.
        ids: of the questions.
        reason: why there is no data, with the cure.
        names: of the items; default: the ids.
        golds: what is known of the questions all the same.
        about: for the manifest.
    """
    questions = [Question(id_, name, "", "") for id_, name in zip(ids, names or ids, strict=True)]
    suite = Suite(spec.name, path, questions, Lists({}), not_run=reason, source=spec.source)
    golds = golds or {id_: Gold() for id_ in ids}
    return Loaded(suite, Key(spec.name, path, spec.metrics, golds, not_run=reason, about=about))
