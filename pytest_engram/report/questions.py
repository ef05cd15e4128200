"""Every question of a run as compact JSON, for the page's own script.

Ten thousand questions, seven methods and ten ids each must stay well under 10 MB, so every text stands once, in
`strings`, and an outcome names entries by their place among the entries of its question.

    {k, methods: [[name, label]], suites: [[name, kind, [metric]]], strings: [text], excerpts: [{entry: text}],
     questions: [[suite, id, query, haystack, [gold], excluded, [entry], [gold place], case, [outcome]]]}

    case: 0, or [family, case, web, backers, expected]
    outcome: [method, seed, state, milliseconds, places, [metric value], {further}]

`places` is a string with one character of `PLACES` an entry, or a list of numbers where that is not enough. `state` is
a place in `STATES`. `excerpts` has one object a suite. `further` holds only what applies: r(eason), d(ropped)
[[place, place of the winner, why, rank]], l(ost), a(nswer), w(inner), m(issing) {metric place: why}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_engram.metrics import answer_at
from pytest_engram.runlog import Outcome

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
    excerpt: int,
) -> dict[str, Any]:
    """The content of the page's data element.

    Args:
        outcomes: of the whole run.
        suites: with `suite`, `kind` and `metrics`, in the order of the page.
        methods: with `method` and `label`, in the order of the page.
        texts: suite, entry id, text.
        k: the number of ids that every method may return.
        excerpt: number of characters that are shown of an entry; 0: its id alone.
    """
    kinds = {suite["suite"]: (suite["kind"], list(suite["metrics"])) for suite in suites}
    labels = {method["method"]: method["label"] for method in methods}
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        kind, metrics = kinds.setdefault(outcome.suite, ("micro" if outcome.family else "pilot", []))
        metrics += [name for name in outcome.metrics if name not in metrics]
        labels.setdefault(outcome.method, outcome.method)
        groups.setdefault((outcome.suite, outcome.question_id), []).append(outcome)
    suite_places = {name: place for place, name in enumerate(kinds)}
    method_places = {name: place for place, name in enumerate(labels)}
    strings = _Strings()
    excerpts: list[dict[int, int]] = [{} for _ in kinds]
    questions = []
    for (suite, _), group in sorted(groups.items(), key=lambda item: suite_places[item[0][0]]):  # a stable sort
        group.sort(key=lambda outcome: (method_places[outcome.method], outcome.seed))
        known = texts.get(suite, {})
        entries = _entries(group)
        for entry in entries if excerpt else ():
            if entry in known:
                excerpts[suite_places[suite]][strings.add(entry)] = strings.add(_cut(known[entry], excerpt))
        metrics = kinds[suite][1]
        packed = [_outcome(o, entries, metrics, strings, method_places[o.method]) for o in group]
        questions.append(_question(group, suite_places[suite], entries, known, strings) + [packed])
    return {
        "k": k,
        "methods": [[name, label] for name, label in labels.items()],
        "suites": [[name, kind, metrics] for name, (kind, metrics) in kinds.items()],
        "strings": strings.all,
        "excerpts": excerpts,
        "questions": questions,
    }


def to_script(data: Any) -> str:
    r"""JSON that can stand in a script element: nothing in it ends the element, opens a comment or breaks a line.

    >>> to_script("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate is legal in JSON but in no file.
    return text.encode("utf-8", "replace").decode("utf-8")


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


def _question(
    group: Sequence[Outcome], suite: int, entries: Mapping[str, int], texts: Mapping[str, str], strings: _Strings
) -> list[Any]:
    first = next((outcome for outcome in group if outcome.query), group[0])
    gold = list(dict.fromkeys(text for outcome in group for text in outcome.gold))
    excluded = next((outcome.excluded for outcome in group if outcome.excluded), "")
    case: Any = 0
    if first.family is not None:
        case = [strings.add(first.family), strings.add(first.case or ""), first.web, first.backers]
        case.append(strings.add(first.expected or ""))
    answers = [answer for answer in gold if answer not in entries]
    golden = [
        place
        for entry, place in entries.items()
        if entry in gold or (answers and entry in texts and answer_at([texts[entry]], answers, 1))
    ]
    return [
        suite,
        strings.add(first.question_id),
        strings.add(first.query),
        first.haystack,
        [strings.add(text) for text in gold],
        strings.add(excluded),
        [strings.add(entry) for entry in entries],
        golden,
        case,
    ]


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
        round(outcome.seconds * 1000, 1) or 0,
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
