"""What one item found, as a line of the run log holds it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Status = Literal["ok", "violation", "error", "not run"]


@dataclass(slots=True)
class Outcome:
    """What one item found: what was recalled, and what that is worth once it was judged.

    `metrics` holds None where a metric could not be measured, and `missing` says why. A question that the official
    protocol leaves out of the means has no metrics but those of the reader's answer, and `excluded` says which rule
    left it out; `left_out` says so of single metrics, by name.
    """

    suite: str
    question_id: str
    method: str
    seed: int
    k: int
    ids: list[str]
    metrics: dict[str, float | None]
    status: Status
    reason: str = ""
    seconds: float | None = 0.0  # None: a recorded method's file does not tell
    # Micro-tests.
    family: str | None = None
    case: str | None = None
    web: int | None = None
    backers: int | None = None
    winner: str | None = None  # "belief", "update", "both" or "neither"
    expected: str | None = None  # the side that the rule names; None: the rule names none
    # What a reader of the report wants to see.
    item: str = ""  # the node's name
    hit: bool | None = None
    haystack: int = 0  # number of entries
    query: str = ""
    gold: list[str] = field(default_factory=list)  # the right answer, as a person is shown it
    gold_ids: list[str] = field(default_factory=list)  # those of the returned and the dropped entries that answer
    ceiling: bool | None = None  # whether any entry of the haystack answers
    dropped: list[dict[str, Any]] = field(default_factory=list)  # id, by, why: from the memory's trace
    # An answer stood in the first k and was dropped in a conflict; None: the memory tells of no conflict. Before the
    # line is judged, False where it tells.
    lost: bool | None = None
    answer: str | None = None  # the reader's
    reader: str | None = None
    missing: dict[str, str] = field(default_factory=dict)
    excluded: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    cluster: str | None = None  # what the question was drawn with
    group: str | None = None  # the benchmark's category
    disputed: str | None = None  # why the benchmark's own answer is wrong
    fields: dict[str, Any] = field(default_factory=dict)  # a family's own
    asked: dict[str, Any] = field(default_factory=dict)  # what further askings gave, where a family asks several times
    # What came back, place by place, where the memory has texts of its own: {"text", "sources"} or {"id"}. `ids` are
    # then those of all entries behind it.
    recalled: list[dict[str, Any]] = field(default_factory=list)
    # Costs. `wrote` stands at the one item whose asking filled the memory: {"entries", "seconds"}, and "bytes" of its
    # folder where it has one. `usage` is what the memory says that it has used since the item before.
    wrote: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    encodings: int = 0  # queries that the bench embedded for the memory, out of its store
    retries: int = 0  # calls of the memory that were tried again
    reruns: int = 0  # how often the whole item was run again, by whatever plugin
    unsplit: int = 0  # texts without spaces that the bench split at white space for the memory, until then
    tokens: int | None = None  # of all that came back, by the tokenizer that the manifest names
    longest: int = 0  # characters of the haystack's longest entry, where the memory has texts of its own

    @property
    def returned(self) -> int:
        """How many of the k places came back filled."""
        return len(self.recalled or self.ids)

    @property
    def unrecalled(self) -> bool:
        """Whether nobody knows what came back: the file of a recorded method has an answer or verdicts alone."""
        return "unrecalled" in self.fields

    def to_line(self) -> str:
        """One line of `items.jsonl`, without what does not apply."""
        always = _CORE if self.family is None else _CORE | _MICRO
        if self.answer is not None:  # one that is empty was given all the same
            always = always | {"answer"}
        if self.tokens is not None:  # 0 says that nothing came back
            always = always | {"tokens"}
        record = {name: getattr(self, name) for name in _FIELDS}
        given = {name: value for name, value in record.items() if name in always or _given(value)}
        return _encode({name: value for name, value in given.items() if value or name not in _COUNTS})

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Outcome:
        """The outcome of a parsed line. Fields that this version doesn't know are ignored."""
        return cls(**{key: value for key, value in record.items() if key in _FIELDS})


_FIELDS = {f.name: None for f in fields(Outcome)}  # in their order
_CORE = {"suite", "question_id", "method", "seed", "k", "ids", "metrics", "status", "reason", "seconds"}
_MICRO = {"family", "case", "web", "backers", "winner", "expected"}  # null says something there
_COUNTS = {"encodings", "retries", "reruns", "unsplit", "longest"}  # of what mostly did not happen
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _given(value: Any) -> bool:
    return (value is not None and value not in ("", [], {})) or value is False


READ = frozenset({"subem", "f1", "judged"})  # the shipped metrics of an answer
# Metrics that are 0 or 1 on each question, without their depth.
BINARY = frozenset({"recall_any", "recall_all", "answer", "resolved", "subem", "correct", "followed", "resisted"})

# Of a fact that a question needs: whether its valid version came back, whether a superseded one did, and what that is.
NEW, OLD, BOTH, NEITHER = "new", "old", "both", "neither"
STATES = {(True, False): NEW, (False, True): OLD, (True, True): BOTH, (False, False): NEITHER}


LIMIT = "--engram-max-cost"  # what the reason begins with of whatever was not asked for because the money is spent


def covers(k: int, haystack: int) -> bool:
    """Rule 10: k as large as the haystack returns everything and measures nothing."""
    return k >= haystack
