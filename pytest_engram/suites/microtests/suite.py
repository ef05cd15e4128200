"""The suite of every family that needs no code of its own, and the key that all families share."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pytest_engram.memory import Entry
from pytest_engram.suites.base import Gold, Key, Kind, Lists, Loaded, Question, Suite, SuiteError
from pytest_engram.suites.files import LEVELS, Lines, Location, dotted
from pytest_engram.suites.microtests import levels, slots
from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.levels import Level, check_background, expand, rule_of
from pytest_engram.suites.microtests.model import Cases, Header
from pytest_engram.suites.microtests.winners import Expected, Rule

Spec = Cases


class MicroKey(Key):
    """What is published beside the results of a micro-test, and what is right in each of its items.

    Attributes:
        spec: the suite file.
        rule: which side should win.
        cases: number of cases; the questions are the levels.
        shared: texts that the suite uses and that stand in another file: a registration hashes them, too.
        not_run: why the facts that it measures on can't be had, else None.
    """

    kind: Kind = "micro"
    judged_by = "sides"
    asks = "search"
    made_by: Sequence[Any] = ()  # further modules that make the family's items

    def __init__(
        self, spec: Header, family: str, path: Path, rule: Rule, golds: Mapping[str, Gold], *, cases: int
    ) -> None:
        super().__init__(spec.name, path, ("correct",), golds)
        self._found: dict[str, Gold] = {}
        self.spec = spec
        self.family: str = family
        self.rule = rule
        self.cases = cases
        self.shared: Sequence[str] = ()

    def code(self) -> list[Any]:
        """The modules that make this family's items: what a registration hashes, beside what judges them."""
        own = [] if type(self).__module__ == __name__ else [sys.modules[type(self).__module__]]
        return [levels, slots, *self.made_by, *own]

    def describe(self) -> dict[str, Any]:
        """What the manifest holds of a micro-test suite, but for its registration."""
        return {
            "kind": self.kind,
            "family": self.family,
            "rule": {"name": self.rule.name, "text": self.rule.text},
            "construction": self.spec.construction,
            **({"tokenize": self.spec.tokenize} if self.spec.tokenize != "words" else {}),
            "cases": self.cases,
            "levels": len(self._golds),
            "notes": ["Hand-built cases: suggestive, not evidence."],
        }


class Sides(NamedTuple):
    """What is right at a level of a case: which ids are which side, and which side the rule names."""

    level: Level
    expected: Expected | None
    belief: tuple[str, ...]
    update: tuple[str, ...]
    also: tuple[str, ...]


_ENTRIES = 5_000_000  # of all levels together


def _check_size(spec: Cases, background: Sequence[str], path: Path, lines: Lines) -> None:
    count = 0
    for number, case in enumerate(spec.cases):
        sweep = case.sweep or spec.sweep
        backing = sweep.repeats if case.repeats else sweep.backers
        count += (1 + spec.mirror) * max(1, len(case.slots)) * len(sweep.web or [0]) * len(backing or [0])
        if count > LEVELS:
            at: Location = ("cases", number, "sweep") if case.sweep else ("sweep",)
            at = at if at in lines.at else ("cases", number)
            problem = f"more than {LEVELS:,} levels, each an item for every method; sweep fewer"
            raise SuiteError(path, lines[at], dotted(at), problem)
    if count * len(background) > _ENTRIES:
        problem = (
            f"{len(background):,} facts in {count:,} levels are more than {_ENTRIES:,} entries; write or sweep fewer"
        )
        raise SuiteError(path, lines[("background",)], "background", problem)


class CaseKey(MicroKey):
    """Cases of a belief and an update, as levels. All that was made of one template is one cluster."""

    cluster = "template"
    spec: Cases
    background: tuple[str, ...]
    levels: dict[str, Level]

    def gold(self, question_id: str) -> Gold:
        """Which ids are which side, and the ones that the rule wants returned; either side's where it names none."""
        if question_id not in self._found:
            self._found[question_id] = self._gold(self.levels[question_id])
        return self._found[question_id]

    @cached_property
    def _templates(self) -> list[str]:
        """A name for each case of the file: its own, numbered where several have it."""
        names = [case.name for case in self.spec.cases]
        return [
            f"{name} {names[: at + 1].count(name)}" if names.count(name) > 1 else name for at, name in enumerate(names)
        ]

    def _gold(self, level: Level) -> Gold:
        _, parts = level.written(self.background)
        sides = Sides(level, level.expected, parts["belief"], parts["update"], parts["also"])
        wanted = [level.expected] if level.expected in parts else ["belief", "update", "also"]
        texts = {"belief": [level.case.belief], "update": [level.case.update], None: []}
        named = tuple(texts.get(level.expected) or [level.case.belief, level.case.update, *level.case.also])
        return Gold(
            answers=named,
            relevant=[id_ for side in wanted for id_ in parts[str(side)]],
            shown=named,
            fields={
                "family": self.family,
                "case": level.case.name,
                "web": level.web,
                "backers": level.backers,
                "expected": level.expected,
                "axis": level.axis,
                **({"mirrored": True} if level.case.mirrored else {}),
            },
            cluster=self._templates[level.template],
            detail=sides,
        )


def load(spec: Cases, path: Path, lines: Lines, key_type: type[CaseKey] = CaseKey) -> Loaded:
    """The suite and its key; nothing needs to be prepared.

    Raises:
        SuiteError: the file is wrong.
    """
    rule = rule_of(spec.rule, path, lines)
    background = people() if spec.background == "people" else tuple(spec.background)
    check_background(background, path, lines)
    _check_size(spec, background, path, lines)
    made = {level.name: level for level in expand(spec, background, path, lines)}
    cases = len({level.case.name for level in made.values()})
    key = key_type(spec, spec.family, path, rule, dict.fromkeys(made, Gold()), cases=cases)
    key.background, key.levels = background, made
    key.shared = background if spec.background == "people" else ()
    questions = [Question(name, name, level.case.query, name) for name, level in made.items()]
    # Plain entries, each different one once: a level knows which side it is on, and must not be led to from here.
    same: dict[Entry, Entry] = {}
    entries = {
        name: tuple(same.setdefault(entry, entry) for entry in level.written(background)[0])
        for name, level in made.items()
    }
    return Loaded(Suite(spec.name, path, questions, Lists(entries), kind="micro", asks=key.asks), key)
