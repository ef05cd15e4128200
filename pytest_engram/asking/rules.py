"""The standing rules, as checks. A broken rule is a `Violation`: a failing test that says whose, which and how much."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sized
from numbers import Integral
from typing import Any

from pytest_engram.memory import Dropped
from pytest_engram.suites.fingerprints import Scored, fingerprint


class Violation(Exception):
    """A standing rule was broken. The message names method, question, rule and numbers."""


def check_ids(ids: object, *, k: int, known: Collection[str], method: str, question: str) -> list[str]:
    """Rule 1, equal k: a list of at most k different known ids, all strings.

    Returns:
        The ids, as a list.

    Raises:
        Violation: anything else.
    """

    def broken(problem: str) -> Violation:
        return Violation(f"{method} on {question}: equal k: {problem}")

    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise broken(f"search returned {type(ids).__name__}, not a list of ids")
    found: list[str] = []
    for id_ in ids:
        # A method may return an endless generator: stop at the first id too many, and count no further.
        if len(found) == k:
            count = f"{len(ids)} ids" if isinstance(ids, Sized) else f"more than {k} ids"
            raise broken(f"{count} returned, k is {k}")
        if not isinstance(id_, str):
            raise broken(f"id {id_!r} is {type(id_).__name__}, not str")
        if id_ not in known:
            raise broken(f"id {id_!r} is unknown: no entry of the haystack ({len(known)} entries) has it")
        if id_ in found:
            raise broken(f"id {id_!r} is returned twice, at ranks {found.index(id_) + 1} and {len(found) + 1}")
        found.append(str(id_))
    return found


def check_trace(trace: object, *, known: Collection[str], method: str, question: str) -> list[dict[str, Any]]:
    """What a memory says that it dropped: a list of `Dropped`, of entries that are there; None says nothing.

    Returns:
        One {id, by, why, rank} each, as plain data.

    Raises:
        Violation: anything else. A report would repeat it.
    """

    def broken(problem: str) -> Violation:
        return Violation(f"{method} on {question}: trace: {problem}; return a list of Dropped(id, by, why, rank)")

    if trace is None:
        return []
    if isinstance(trace, (str, bytes)) or not isinstance(trace, Iterable):
        raise broken(f"returned {type(trace).__name__}")
    found: list[dict[str, Any]] = []
    for one in trace:
        if len(found) == len(known):
            raise broken(f"more than {len(known)} conflicts, which is the number of entries")
        if not isinstance(one, Dropped):
            raise broken(f"holds {type(one).__name__}")
        for id_ in (one.id, one.by):
            if not isinstance(id_, str) or id_ not in known:
                raise broken(f"names {id_!r:.80}, which is no entry of the haystack")
        if not isinstance(one.why, str):
            raise broken(f"`why` is {type(one.why).__name__}, not str")
        if one.rank is not None and (isinstance(one.rank, bool) or not isinstance(one.rank, Integral)):
            raise broken(f"`rank` is {type(one.rank).__name__}, neither int nor None")
        rank = None if one.rank is None else int(one.rank)
        found.append({"id": str(one.id), "by": str(one.by), "why": str(one.why), "rank": rank})
    return found


def check_training(method: str, trained_on: Iterable[Any], scored: Iterable[Scored]) -> None:
    """Rule 2: what a method learns from is disjoint from every pilot set, by id and by normalised text.

    Args:
        method: its name, for the message.
        trained_on: mappings with `id` and `text` (either may be missing), objects with `id` and `query`, or plain
            question texts.
        scored: the questions of every pilot set.

    Raises:
        Violation: they meet.
    """
    by_id: dict[str, Scored] = {}
    by_text: dict[str, Scored] = {}
    for question in scored:
        by_id.setdefault(question.id, question)
        by_text.setdefault(question.fingerprint, question)
    count = 0
    hits: list[str] = []
    for learnt in trained_on:
        count += 1
        id_, text = _id_and_text(learnt)
        if id_ is not None and id_ in by_id:
            hits.append(f"{id_} (same id as {by_id[id_].suite}:{by_id[id_].id})")
        elif text is not None and (same := by_text.get(fingerprint(text))):
            hits.append(f"{repr(text) if id_ is None else id_} (same text as {same.suite}:{same.id})")
    if hits:
        shown = ", ".join(hits[:3]) + (f", and {len(hits) - 3} more" if len(hits) > 3 else "")
        raise Violation(
            f"{method}: no training on scored data: {len(hits)} of its {count} training questions are scored: {shown}"
        )


def _id_and_text(learnt: Any) -> tuple[str | None, str | None]:
    if isinstance(learnt, str):
        return None, learnt
    if isinstance(learnt, Mapping):
        id_, text = learnt.get("id"), learnt.get("text", learnt.get("query", learnt.get("question")))
    else:
        id_, text = getattr(learnt, "id", None), getattr(learnt, "query", getattr(learnt, "text", None))
    if id_ is None and text is None:
        raise ValueError(
            f"trained_on holds {learnt!r}: give the question's text, a mapping with `id` and `text`, "
            "or the name of a source"
        )
    return (None if id_ is None else str(id_)), (None if text is None else str(text))
