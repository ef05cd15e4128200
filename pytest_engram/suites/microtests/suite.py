"""The suite of every family that needs no code of its own, and the base of those that do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pytest_engram.memory import Entry
from pytest_engram.suites.base import Question, Score, Suite, SuiteError
from pytest_engram.suites.files import Lines, Location, dotted
from pytest_engram.suites.microtests import levels
from pytest_engram.suites.microtests.background import people
from pytest_engram.suites.microtests.levels import Level, check_background, expand, rule_of
from pytest_engram.suites.microtests.model import Cases, Header
from pytest_engram.suites.microtests.winners import Rule, correct, outcome

Spec = Cases
LEVELS = 20_000  # of a suite: more are a slip of the sweep, and would fill the memory before the first is asked


class MicroSuite(Suite):
    """Base of all micro-test suites: what is published beside the results.

    Attributes:
        spec: the suite file.
        family: for tables.
        rule: which side should win.
        cases: number of cases; `questions` are the levels.
    """

    kind: Literal["pilot", "micro"] = "micro"
    metrics: tuple[str, ...] = ("correct",)
    spec: Header
    family: str
    rule: Rule
    cases: int

    @classmethod
    def code(cls) -> list[Any]:
        """The modules and functions that make and judge this family's items: what a registration hashes."""
        own = [] if cls.__module__ == __name__ else [sys.modules[cls.__module__]]
        return [levels, outcome, correct, CaseSuite.score, *own]

    def shared_texts(self) -> Sequence[str]:
        """Texts that the suite uses and that stand in another file: hashed by a registration, too."""
        return ()

    def describe(self) -> dict[str, Any]:
        """What the manifest holds of a micro-test suite."""
        from pytest_engram.judging import registration

        parts = registration.parts(self)
        return {
            "kind": self.kind,
            "family": self.family,
            "rule": {"name": self.rule.name, "text": self.rule.text},
            "construction": self.spec.construction,
            "cases": self.cases,
            "levels": len(self.questions),
            "sha256": parts["case file"],
            "hashes": parts,
            "registered": registration.status(self),
            "notes": ["Hand-built cases: suggestive, not evidence."],
        }


def _check_size(spec: Cases, path: Path, lines: Lines) -> None:
    count = 0
    for number, case in enumerate(spec.cases):
        sweep = case.sweep or spec.sweep
        backing = sweep.repeats if case.repeats else sweep.backers
        count += max(1, len(case.slots)) * len(sweep.web or [0]) * len(backing or [0])
        if count > LEVELS:
            at: Location = ("cases", number, "sweep") if case.sweep else ("sweep",)
            at = at if at in lines.at else ("cases", number)
            problem = f"more than {LEVELS:,} levels, each an item for every method; sweep fewer"
            raise SuiteError(path, lines[at], dotted(at), problem)


class CaseSuite(MicroSuite):
    """Cases of a belief and an update, as levels."""

    spec: Cases

    def __init__(self, spec: Cases, path: Path, lines: Lines) -> None:
        self.spec, self.path, self.name, self.family = spec, path, spec.name, spec.family
        self.rule = rule_of(spec.rule, path, lines)
        self.background = people() if spec.background == "people" else tuple(spec.background)
        check_background(self.background, path, lines)
        _check_size(spec, path, lines)
        self._levels = {level.name: level for level in expand(spec, self.background, path, lines)}
        self.cases = len({level.case.name for level in self._levels.values()})
        self.questions = [self._question(level) for level in self._levels.values()]

    def _question(self, level: Level) -> Question:
        sides = {"belief": [level.case.belief], "update": [level.case.update], None: []}
        named = sides.get(level.expected) or [level.case.belief, level.case.update, *level.case.also]
        return Question(
            id=level.name,
            name=level.name,
            query=level.case.query,
            haystack=level.name,
            answers=tuple(named),
            gold=level,
            fields={
                "family": self.family,
                "case": level.case.name,
                "web": level.web,
                "backers": level.backers,
                "expected": level.expected,
                "axis": level.axis,
            },
        )

    def shared_texts(self) -> Sequence[str]:
        """The shipped background, where the suite uses it."""
        return self.background if self.spec.background == "people" else ()

    def haystack(self, key: str) -> Sequence[Entry]:
        """The entries of one level, in the order of writing."""
        return self._levels[key].written(self.background)[0]

    def gold_ids(self, question: Question, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that the rule wants returned; either side's where it names none."""
        level: Level = question.gold
        _, parts = level.written(self.background)
        sides = [level.expected] if level.expected in parts else ["belief", "update", "also"]
        wanted = {id_ for side in sides for id_ in parts[str(side)]}
        return [id_ for id_ in ids if id_ in wanted]

    def score(self, question: Question, ids: Sequence[str]) -> Score:
        """Which side the ids decide for, and whether the rule named it."""
        level: Level = question.gold
        _, parts = level.written(self.background)
        found = set(ids)
        winner = outcome(bool(found.intersection(parts["belief"])), bool(found.intersection(parts["update"])))
        fields: dict[str, Any] = {"winner": winner}
        if parts["also"]:
            fields["also_lost"] = len(set(parts["also"]) - found)
        if level.expected is None:
            return Score(metrics={}, hit=None, fields=fields)
        hit = correct(level.expected, winner) and not (level.expected == "both" and fields.get("also_lost"))
        return Score(metrics={"correct": float(hit)}, hit=hit, fields=fields)


def load(spec: Cases, path: Path, lines: Lines, prepared: Path | None) -> MicroSuite:  # noqa: ARG001
    """The suite; nothing needs to be prepared."""
    return CaseSuite(spec, path, lines)
