"""The standing rules, as checks. A broken rule is a `Violation`: a failing test that says whose, which and how much."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Set, Sized
from numbers import Integral
from typing import Any, NamedTuple

from pytest_engram.asking.near import Near
from pytest_engram.memory import Dropped, Recalled
from pytest_engram.suites.fingerprints import Scored, fingerprint, normalise

_SET_ITERATOR = type(iter(frozenset[object]()))
_TAGGED = re.compile(r"[0-9a-f]{8}-")  # what the ids of a haystack begin with, as `memories.Haystack` gives them


class Violation(Exception):
    """A standing rule was broken. The message names method, question, rule and numbers."""


class Place(NamedTuple):
    """One of the k results: the ids of the entries behind it, and its text where the memory wrote one of its own."""

    ids: tuple[str, ...]
    text: str | None = None


def check_recalled(
    returned: object, *, k: int, known: Collection[str], method: str, question: str, tag: str = ""
) -> list[Place]:
    """Rule 1, equal k: a list of at most k results, each the id of a known entry, once, or a `Recalled`.

    Args:
        returned: by `search`.
        k: how many it may be.
        known: the ids that the memory was given.
        method: its name, for messages.
        question: its suite and id, for messages.
        tag: what all ids of this haystack begin with.

    Returns:
        The results.

    Raises:
        Violation: anything else.
    """

    def broken(problem: str) -> Violation:
        return Violation(f"{method} on {question}: equal k: {problem}")

    if isinstance(returned, (str, bytes, Mapping)) or not isinstance(returned, Iterable):
        raise broken(f"search returned {type(returned).__name__}, not a list of ids")
    if _unordered(returned):
        raise broken(f"search returned a {type(returned).__name__}, which has no order; return a list, best first")
    found: list[Place] = []
    seen: dict[str, int] = {}
    for result in returned:
        # A method may return an endless generator: stop at the first result too many, and count no further.
        if len(found) == k:
            count = f"{len(returned)} ids" if isinstance(returned, Sized) else f"more than {k} ids"
            raise broken(f"{count} returned, k is {k}")
        if isinstance(result, Recalled):
            found.append(_recalled(result, known, broken, tag))
            continue
        id_ = _id(result, known, broken, tag)
        if id_ in seen:
            raise broken(f"id {id_!r} is returned twice, at ranks {seen[id_] + 1} and {len(found) + 1}")
        seen[id_] = len(found)
        found.append(Place((id_,)))
    return found


def _recalled(result: Recalled, known: Collection[str], broken: Callable[[str], Violation], tag: str) -> Place:
    if not isinstance(result.text, str):
        raise broken(f"the text of a Recalled is {type(result.text).__name__}, not str")
    if isinstance(result.sources, (str, bytes)) or not isinstance(result.sources, Iterable):
        raise broken(f"the sources of a Recalled are {type(result.sources).__name__}, not a list of ids")
    if _unordered(result.sources):
        kind = type(result.sources).__name__
        raise broken(f"the sources of a Recalled are a {kind}, which has no order; give a list")
    ids = dict.fromkeys(_id(source, known, broken, tag) for source in result.sources)
    return Place(tuple(ids), plain(result.text))


def _unordered(given: object) -> bool:
    """Whether what comes out first is chance: a set, the keys of a dict, or an iterator over a set."""
    return isinstance(given, (Set, _SET_ITERATOR))


def plain(text: str) -> str:
    """The very characters of a text, as an exact `str`.

    `str(text)` would ask a subclass, whose `__str__` may tell something else each time, or another subclass.
    """
    return str.__str__(text)


def _id(given: object, known: Collection[str], broken: Callable[[str], Violation], tag: str) -> str:
    if not isinstance(given, str):
        cure = ": return hit['id']" if isinstance(given, Mapping) and "id" in given else ""
        raise broken(f"id {given!r:.200} is {type(given).__name__}, not str{cure}")
    id_ = plain(given)
    if id_ not in known:
        if tag and _TAGGED.match(id_) and not id_.startswith(tag):
            raise broken(
                f"id {id_!r} is of another haystack: does your memory share a store? Keep each haystack apart, by "
                "bench.namespace or bench.folder"
            )
        raise broken(f"id {id_!r} is unknown: no entry of the haystack ({len(known)} entries) has it")
    return id_


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
    if _unordered(trace):
        raise broken(f"returned a {type(trace).__name__}, which has no order")
    found: list[dict[str, Any]] = []
    for one in trace:
        if len(found) == len(known):
            raise broken(f"more than {len(known)} conflicts, which is the number of entries")
        if not isinstance(one, Dropped):
            raise broken(f"holds {type(one).__name__}")
        for id_ in (one.id, one.by):
            if not isinstance(id_, str) or plain(id_) not in known:
                raise broken(f"names {id_!r:.80}, which is no entry of the haystack")
        if not isinstance(one.why, str):
            raise broken(f"`why` is {type(one.why).__name__}, not str")
        if one.rank is not None and (isinstance(one.rank, bool) or not isinstance(one.rank, Integral)):
            raise broken(f"`rank` is {type(one.rank).__name__}, neither int nor None")
        rank = None if one.rank is None else int(one.rank)
        found.append({"id": plain(one.id), "by": plain(one.by), "why": plain(one.why), "rank": rank})
    return found


def check_training(method: str, trained_on: Iterable[Any], scored: Iterable[Scored]) -> None:
    """Rule 2: what a method learns from is disjoint from every pilot set, by id and by normalised text.

    A near copy of a question (`nearly`) is found where the question's own text is at hand, not its fingerprint alone.

    Args:
        method: its name, for the message.
        trained_on: mappings with `id` and `text` (the id may be missing), objects with `id` and `query`, or plain
            question texts.
        scored: the questions of every pilot set.

    Raises:
        Violation: they meet.
        ValueError: one has no text, so that nobody can tell.
    """
    by_id: dict[str, Scored] = {}
    by_text: dict[str, Scored] = {}
    told: dict[str, Scored] = {}  # a committed question has no text, and has one once its suite is loaded
    for question in scored:
        by_id.setdefault(question.id, question)
        by_text.setdefault(question.fingerprint, question)
        if question.text:
            told.setdefault(question.fingerprint, question)
    texts = list(told.values())
    near = Near([normalise(question.text or "").split() for question in texts])
    count = 0
    hits: list[str] = []
    for learnt in trained_on:
        count += 1
        id_, text = _id_and_text(learnt)
        if id_ is not None and id_ in by_id:
            hits.append(f"{id_} (same id as {by_id[id_].suite}:{by_id[id_].id})")
            continue
        if text is None or not (learnt_words := normalise(text).split()):
            raise ValueError(_UNCHECKED.format(learnt))
        shown = repr(text) if id_ is None else id_
        if same := by_text.get(fingerprint(text)):
            hits.append(f"{shown} (same text as {same.suite}:{same.id})")
        elif (place := near.first(learnt_words)) is not None:
            hits.append(f"{shown} (nearly the text of {texts[place].suite}:{texts[place].id})")
    if hits:
        shown = ", ".join(hits[:3]) + (f", and {len(hits) - 3} more" if len(hits) > 3 else "")
        raise Violation(
            f"{method}: no training on scored data: {len(hits)} of its {count} training questions are scored: {shown}"
        )


_UNCHECKED = (
    "trained_on holds {!r}: give the question's text, a mapping with `id` and `text`, or the name of a source's split"
)


def _id_and_text(learnt: Any) -> tuple[str | None, str | None]:
    if isinstance(learnt, str):
        return None, learnt
    if isinstance(learnt, Mapping):
        id_, text = learnt.get("id"), learnt.get("text", learnt.get("query", learnt.get("question")))
    else:
        id_, text = getattr(learnt, "id", None), getattr(learnt, "query", getattr(learnt, "text", None))
    return (None if id_ is None else str(id_)), (None if text is None else str(text))
