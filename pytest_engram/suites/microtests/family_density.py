"""`density`: are originals in denser neighbourhoods than their updates? Measured on the facts of a pilot set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from pytest_engram.memory import Entry
from pytest_engram.suites import relations
from pytest_engram.suites.base import Gold, Lists, Loaded, Question, Suite, SuiteError
from pytest_engram.suites.files import Lines
from pytest_engram.suites.microtests.levels import rule_of, slug
from pytest_engram.suites.microtests.model import Header, Text
from pytest_engram.suites.microtests.suite import MicroKey


class Spec(Header):
    """A suite of pairs that are found in a pilot set's facts."""

    family: Literal["density"]
    rule: Literal["denser-original"] = "denser-original"
    over: Text = Field(description="The suite file of a pilot set of facts, relative to this file.")


class DensityKey(MicroKey):
    """Every pair of an original and its update is an item. It is measured, not searched."""

    judged_by = "density"
    asks = "support"
    made_by = (relations,)


def load(spec: Spec, path: Path, lines: Lines, pilot: Suite | None) -> Loaded:
    """The suite and its key; without the pilot set's data a single item stands for all pairs.

    Args:
        spec: the suite file.
        path: where it stands.
        lines: where each part of it stands.
        pilot: the suite that `over` names; None: there is no such file.

    Raises:
        SuiteError: `over` names no pilot set.
    """
    if pilot is None:
        problem = f"no file {spec.over}; give a pilot set, relative to this file"
        raise SuiteError(path, lines[("over",)], "over", problem)
    entries: Sequence[Entry] = () if pilot.not_run else pilot.haystack(pilot.questions[0].haystack)
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    names: dict[str, int] = {}
    for pair in relations.pairs(entries):
        plain = slug(pair.relation.format(s=pair.subject, v=""))
        names[plain] = names.get(plain, 0) + 1
        name = plain if names[plain] == 1 else f"{plain}-{names[plain]}"
        both = (pair.original.id, pair.update.id)
        # In the order of their ids: which of the two is the original is no part of the question.
        questions.append(Question(name, name, "", "facts", about=tuple(sorted(both))))
        fields = {"family": spec.family, "case": name, "expected": None, "original": both[0], "update": both[1]}
        shown = (pair.original.text,)
        golds[name] = Gold(answers=shown, shown=shown, fields=fields, detail=both)
    cases = len(questions)
    if pilot.not_run:
        questions = [Question("pairs", "pairs", "", "facts")]
        golds = {"pairs": Gold(fields={"family": spec.family, "case": "pairs", "expected": None})}
    rule = rule_of(spec.rule, path, lines)
    key = DensityKey(spec, spec.family, path, rule, golds, cases=cases)
    key.shared = [(path.parent / spec.over).read_text(encoding="utf-8-sig")]
    key.not_run = pilot.not_run
    haystacks = Lists({"facts": entries})
    suite = Suite(spec.name, path, questions, haystacks, kind="micro", asks=key.asks, not_run=pilot.not_run)
    return Loaded(suite, key)
