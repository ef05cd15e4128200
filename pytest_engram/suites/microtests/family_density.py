"""`density`: are originals in denser neighbourhoods than their updates? Measured on the facts of a pilot set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_engram.memory import Entry, Memory
from pytest_engram.suites import files
from pytest_engram.suites.base import Probe, Question, Score, Suite, SuiteError
from pytest_engram.suites.files import Lines
from pytest_engram.suites.microtests import relations
from pytest_engram.suites.microtests.levels import rule_of, slug
from pytest_engram.suites.microtests.model import Header, Text
from pytest_engram.suites.microtests.suite import MicroSuite

NO_SUPPORT = "the method has no support()"


class Spec(Header):
    """A suite of pairs that are found in a pilot set's facts."""

    family: Literal["density"]
    rule: Literal["denser-original"] = "denser-original"
    over: Text = Field(description="The suite file of a pilot set of facts, relative to this file.")


class Density(MicroSuite):
    """Every pair of an original and its update is an item. It is measured, not searched."""

    spec: Spec

    def __init__(self, spec: Spec, path: Path, lines: Lines, pilot: Suite | None) -> None:
        self.spec, self.path, self.name, self.family = spec, path, spec.name, spec.family
        self.rule = rule_of(spec.rule, path, lines)
        self._entries: Sequence[Entry] = () if pilot is None else pilot.haystack(pilot.questions[0].haystack)
        self.questions = [self._question("pairs", None)] if pilot is None else self._pairs()
        self.cases = 0 if pilot is None else len(self.questions)

    @classmethod
    def code(cls) -> list[Any]:
        """Pairs are made by `relations`, too."""
        return [*super().code(), relations]

    def shared_texts(self) -> Sequence[str]:
        """The pilot set's file, which names the facts."""
        return [(self.path.parent / self.spec.over).read_text(encoding="utf-8-sig")]

    def _pairs(self) -> list[Question]:
        names: dict[str, int] = {}
        questions = []
        for pair in relations.pairs(self._entries):
            name = slug(pair.relation.format(s=pair.subject, v=""))
            names[name] = names.get(name, 0) + 1
            questions.append(self._question(name if names[name] == 1 else f"{name}-{names[name]}", pair))
        return questions

    def _question(self, name: str, pair: relations.Pair | None) -> Question:
        fields = {"family": self.family, "case": name, "expected": None}
        if pair is not None:
            fields |= {"original": pair.original.id, "update": pair.update.id}
        answers = () if pair is None else (pair.original.text,)
        return Question(name, name, "", "facts", answers, gold=pair, fields=fields)

    def haystack(self, key: str) -> Sequence[Entry]:  # noqa: ARG002 (there is one)
        """All facts of the pilot set."""
        return self._entries

    def texts(self) -> tuple[list[str], list[str]]:
        """All facts, and no query: nothing is searched."""
        return [entry.text for entry in self._entries], []

    def examine(self, question: Question, probe: Probe) -> Score:
        """Compare the support of the original with that of its update."""
        found = support_of(probe.memory())
        if found is None:
            return Score(metrics={"correct": None}, missing={"correct": NO_SUPPORT})
        pair: relations.Pair = question.gold
        original, update = float(found[pair.original.id]), float(found[pair.update.id])
        denser = original > update
        fields = {"support_original": round(original, 6), "support_update": round(update, 6)}
        return Score(metrics={"correct": float(denser)}, hit=denser, fields=fields)


def support_of(memory: Memory) -> dict[str, float] | None:
    """Entry id to support, or None where the memory has no such thing."""
    support = getattr(memory, "support", None)
    return None if support is None else dict(support())


def prepare(spec: Spec, path: Path, lines: Lines, folder: Path | None) -> Path | None:
    """The pilot set's data.

    Raises:
        NotRun: it can't be had.
        SuiteError: there is no such pilot set.
    """
    source, pilot, _ = _pilot(spec, path, lines)
    prepared: Path | None = source.prepare(pilot, folder)
    return prepared


def load(spec: Spec, path: Path, lines: Lines, prepared: Path | None) -> Density:
    """The suite; without data a single item stands for all pairs."""
    source, pilot, at = _pilot(spec, path, lines)
    return Density(spec, path, lines, None if prepared is None else source.load(pilot, at, prepared))


def _pilot(spec: Spec, path: Path, lines: Lines) -> tuple[Any, Any, Path]:
    at = path.parent / spec.over
    if not at.is_file():
        raise SuiteError(
            path, lines[("over",)], "over", f"no file {spec.over}; give a pilot set, relative to this file"
        )
    data, its_lines = files.read(at)
    name = data.get("source")
    if data.get("engram") != "pilot" or name not in files.sources():
        raise SuiteError(path, lines[("over",)], "over", f"{spec.over} is no pilot set with a known source; give one")
    source = files.source(str(name))
    return source, files.validate(source.Spec, data, at, its_lines), at
