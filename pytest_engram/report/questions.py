"""Every question of a run as compact JSON, for the page's own script.

A browser must read ten thousand questions, seven methods and ten ids each at once, so every text stands once, in
`strings`, and an outcome names entries by their place among the entries of its question.

    {k, methods: [[name, label]], suites: [[name, kind, [metric]]], strings: [text],
     questions: [[suite, id, query, haystack, [gold], excluded, [entry], [gold place], case, [outcome]]]}

    case: 0, or [family, case, web, backers, expected]
    outcome: [method, seed, state, milliseconds, places, [metric value], {further}]

`places` is a string with one character of `PLACES` an entry, or a list of numbers where that is not enough. `state` is
a place in `STATES`. `further` holds only what applies: r(eason), d(ropped) [[place, place of the winner, why, rank]],
l(ost), u(nknown what was returned), a(nswer), w(inner), m(issing) {metric place: why}.

What entries say stands apart, so that it can be cut to what there is room for:

    {texts: [text], shared: [{entry: text}], own: {question: [text]}}

`shared` has one object a suite. `own` has the questions with a haystack of their own, and for each of their entries, in
their order, a place in `texts`, or null where its text is not its own: as lists, since a key for each entry takes five
times the room, even compressed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_engram.basics.texts import normalise
from pytest_engram.runs.outcome import Outcome

# Without the characters that JSON or HTML would have to escape.
PLACES = "".join(chr(code) for code in range(48, 127) if chr(code) not in "<>\\`")
STATES = ("hit", "miss", "not scored", "violation", "error", "not run")


class _Strings:
    """Each different text once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        place = self._places.setdefault(text, len(self.all))
        if place == len(self.all):
            self.all.append(text)
        return place


def pack(
    outcomes: Sequence[Outcome],
    suites: Iterable[Mapping[str, Any]],
    methods: Iterable[Mapping[str, Any]],
    texts: Mapping[str, Mapping[str, str]],
    *,
    k: int,
) -> dict[str, Any]:
    """The content of the page's data element.

    Args:
        outcomes: of the whole run.
        suites: with `suite`, `kind` and `metrics`, in the order of the page.
        methods: with `method` and `label`, in the order of the page.
        texts: suite, entry (`QUESTION/ENTRY` where each question has a haystack of its own), text: to find the
            entries that hold an answer, where the log doesn't name them.
        k: the number of ids that every method may return.
    """
    kinds = {suite["suite"]: (suite["kind"], list(suite["metrics"])) for suite in suites}
    labels = {method["method"]: method["label"] for method in methods}
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        metrics = kinds.setdefault(outcome.suite, ("micro" if outcome.family else "pilot", []))[1]
        metrics += [name for name in outcome.metrics if name not in metrics]
        labels.setdefault(outcome.method, outcome.method)
        groups.setdefault((outcome.suite, outcome.question_id), []).append(outcome)
    suite_places = {name: place for place, name in enumerate(kinds)}
    method_places = {name: place for place, name in enumerate(labels)}
    strings = _Strings()
    normalised = functools.cache(normalise)  # questions of a suite share their entries
    questions = []
    for (suite, _), group in sorted(groups.items(), key=lambda item: suite_places[item[0][0]]):  # a stable sort
        group.sort(key=lambda outcome: (method_places[outcome.method], outcome.seed))
        entries = _entries(group)
        metrics = kinds[suite][1]
        about = _question(group, suite_places[suite], entries, strings)
        golden = _golden(group, entries, texts.get(suite, {}), normalised)
        packed = [_outcome(o, entries, metrics, strings, method_places[o.method]) for o in group]
        questions.append([*about, golden, *_case(group[0], strings), packed])
    return {
        "k": k,
        "methods": [[name, label] for name, label in labels.items()],
        "suites": [[name, kind, metrics] for name, (kind, metrics) in kinds.items()],
        "strings": strings.all,
        "questions": questions,
    }


def excerpts(data: Mapping[str, Any], texts: Mapping[str, Mapping[str, str]], limit: int) -> dict[str, Any]:
    """The beginnings of the entries that some method returned or dropped.

    Args:
        data: what `pack` returned.
        texts: as for `pack`.
        limit: the number of characters that are shown of an entry; 0: none is shown.
    """
    strings, begun = data["strings"], _Strings()
    shared: list[dict[int, int]] = [{} for _ in data["suites"]]
    own: dict[int, list[int | None]] = {}
    for number, (suite, question, _, _, _, _, entries, *_) in enumerate(data["questions"] if limit else ()):
        known = texts.get(data["suites"][suite][0], {})
        for place, entry in enumerate(entries):
            if (text := known.get(f"{strings[question]}/{strings[entry]}")) is not None:
                own.setdefault(number, [None] * len(entries))[place] = begun.add(_cut(text, limit))
            elif entry not in shared[suite] and (text := known.get(strings[entry])) is not None:
                shared[suite][entry] = begun.add(_cut(text, limit))
    return {"texts": begun.all, "shared": shared, "own": own}


def _entries(group: Sequence[Outcome]) -> dict[str, int]:
    """The entries that any method returned or dropped, and their places."""
    entries: dict[str, int] = {}
    for outcome in group:
        for entry in outcome.ids:
            entries.setdefault(entry, len(entries))
        for drop in outcome.dropped:
            entries.setdefault(str(drop.get("id", "")), len(entries))
            entries.setdefault(str(drop.get("by", "")), len(entries))
    return entries


def _question(group: Sequence[Outcome], suite: int, entries: Mapping[str, int], strings: _Strings) -> list[Any]:
    query = next((outcome.query for outcome in group if outcome.query), "")
    excluded = next((outcome.excluded for outcome in group if outcome.excluded), "")
    return [
        suite,
        strings.add(group[0].question_id),
        strings.add(query),
        max(outcome.haystack for outcome in group),
        [strings.add(text) for text in _gold(group)],
        strings.add(excluded),
        [strings.add(entry) for entry in entries],
    ]


def _gold(group: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(text for outcome in group for text in outcome.gold))


def _golden(
    group: Sequence[Outcome], entries: Mapping[str, int], texts: Mapping[str, str], normalised: Callable[[str], str]
) -> list[int]:
    """Places of the entries that answer: by the log, by their ids, or because their texts hold an answer."""
    gold = _gold(group)
    named = {entry for outcome in group for entry in outcome.gold_ids} | set(gold)
    answers = [answer for answer in map(normalised, gold) if answer] if named.isdisjoint(entries) else []

    def holds(entry: str) -> bool:
        text = texts.get(f"{group[0].question_id}/{entry}", texts.get(entry))
        return text is not None and any(answer in normalised(text) for answer in answers)

    return [place for entry, place in entries.items() if entry in named or holds(entry)]


def _case(outcome: Outcome, strings: _Strings) -> list[Any]:
    if outcome.family is None:
        return [0]
    family, case, expected = map(strings.add, (outcome.family, outcome.case or "", outcome.expected or ""))
    return [[family, case, outcome.web, outcome.backers, expected]]


def _outcome(
    outcome: Outcome, entries: Mapping[str, int], metrics: Sequence[str], strings: _Strings, method: int
) -> list[Any]:
    further: dict[str, Any] = {}
    if outcome.reason:
        further["r"] = strings.add(outcome.reason)
    if outcome.dropped:
        further["d"] = [
            [entries[str(d.get("id", ""))], entries[str(d.get("by", ""))], strings.add(str(d.get("why", "")))]
            + ([d["rank"]] if d.get("rank") is not None else [])
            for d in outcome.dropped
        ]
    if outcome.lost:
        further["l"] = 1
    if outcome.unrecalled:
        further["u"] = 1
    if outcome.answer is not None:
        further["a"] = strings.add(outcome.answer)
    if outcome.winner is not None:
        further["w"] = strings.add(outcome.winner)
    missing = {metrics.index(name): strings.add(why) for name, why in outcome.missing.items() if name in metrics}
    if missing:
        further["m"] = missing
    values = [_short(outcome.metrics.get(name)) for name in metrics]
    places = [entries[entry] for entry in outcome.ids]
    packed: list[Any] = [
        method,
        outcome.seed,
        _state(outcome),
        None if outcome.seconds is None else round(outcome.seconds * 1000, 1) or 0,
        "".join(PLACES[place] for place in places) if len(entries) <= len(PLACES) else places,
        values,
    ]
    return [*packed, further] if further else packed


def _state(outcome: Outcome) -> int:
    if outcome.status != "ok":
        return STATES.index(outcome.status)
    return STATES.index("not scored" if outcome.hit is None else "hit" if outcome.hit else "miss")


def _short(value: float | None) -> float | int | None:
    """Four decimals, and no decimals where there are none to show."""
    if value is None:
        return None
    return int(value) if value == int(value) else round(value, 4)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
