"""Who deserves to win? FactConsolidation's own contradictions (MIT licence), each with facts that back one side.

A contradiction is asked about at every level of `levels.LEVELS` and in both orders of time, so that whoever always goes
by the newer fact, by the older one, or by the value gets one half. The official facts are read from the benchmark's
file; what backs them is written for this source, and comes with the package.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from pytest_engram.memory import Entry, TrainingQuestion
from pytest_engram.suites import factconsolidation
from pytest_engram.suites.backed import backing, contradictions, levels
from pytest_engram.suites.backed.backing import Backing, filled
from pytest_engram.suites.backed.contradictions import Age, Contradiction, Drawn, Fact, Voices
from pytest_engram.suites.backed.levels import LEVELS, METRICS, MOST, SURROUNDINGS, Arranged, Asked, Case, Level
from pytest_engram.suites.base import NAME, Gold, Key, Lists, Loaded, NotRun, Question, Suite, absent, parse_metric
from pytest_engram.suites.committed import PilotQuestion, once
from pytest_engram.suites.facts import LICENCE, FactRow, digest, parse_facts

__all__ = ["Spec", "load", "missing", "training"]

ROW = "factconsolidation_sh_262k"
SEED = 20261008  # of every order
WELL = 3  # facts that back a side well

Kind: TypeAlias = Literal["named", "implied"]

UNBACKED = "no fact backs either side: nothing is right"
REPEATED = "the other side is repeated"
_OTHER = "the {} side is backed"
_LITTLE = f"fewer than {WELL} facts back the side"
CONSTRUCTION = (
    "Two official facts that contradict each other stand among {n} official facts that mention neither their subject "
    "nor a value, all in an order drawn by lot, but for the older before the newer. {backs} back one side: the older "
    "one in half of the contradictions of each relation, the newer one in the other half; at {well} of them, 0 to "
    "{most} remarks say the other side again in other words, all by its speaker or each by another. Each contradiction "
    "stands in both orders of time. The side that is backed should come back, and the other should not."
)
_BACKS = {
    "named": "0 to {most} facts that name its value",
    "implied": "0 to {most} facts that do not name its value, but are only true of it,",
}


class Committed(PilotQuestion):
    """A committed contradiction: the serial numbers of its facts, its question's fingerprint, and what was drawn."""

    backed: Age
    speakers: Voices


class Spec(BaseModel):
    """A suite file of this source; each of its `questions` is a contradiction, asked about at every level.

    `backing` is a file of backing facts, beside the suite file, in place of the shipped one. `backing_sha256` is that
    of the file which the contradictions were drawn with.
    """

    model_config = ConfigDict(extra="forbid")

    engram: Literal["pilot"]
    name: str = Field(pattern=NAME)
    source: Literal["backed_fc"]
    kind: Kind
    rows: str = Field(default=ROW, min_length=1)
    backing: str | None = Field(default=None, min_length=1)
    metrics: list[str] = Field(default=list(METRICS), min_length=1)
    context_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    backing_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    drawn: str | None = None  # the rule by which the contradictions were chosen
    questions: Annotated[list[Committed], Field(min_length=1)]

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, names: list[str], info: ValidationInfo) -> list[str]:
        others = (info.context or {}).get("metrics", ())
        for name in names:
            if name not in METRICS and parse_metric(name)[0] not in others:
                raise ValueError(f"{name!r} can't be measured on these questions; known are {', '.join(METRICS)}")
        return names

    @field_validator("questions")
    @classmethod
    def _ids_once(cls, questions: list[Committed]) -> list[Committed]:
        once(questions)
        return questions


class BackedKey(Key):
    """Which side is backed. Contradictions of one relation are not independent: they share their wording."""

    cluster = "relation"
    judged_by = "backed"


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:
    """The suite and its key.

    Raises:
        NotRun: the row can't be had, or is not what it should be.
        SuiteError: the backing facts are not what they should be.
    """
    backed = backing.read(path.parent / spec.backing if spec.backing else backing.shipped())
    row = factconsolidation.find_row(spec.rows, data)
    entries = parse_facts(row.context)
    there = {one.id: one for one in known(entries, backed, spec.kind)}
    facts = contradictions.surroundings(entries)
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    lists: dict[str, Sequence[Entry]] = {}
    for committed in spec.questions:
        one = there.get(committed.id)
        query = None if one is None else ask(one, backed)
        problem = committed.problem(query)
        if one is None or query is None or problem is not None:
            reason = f"{row.origin}, with the facts that back a side, {problem}. Cure: fetch the official data again"
            questions += [Question(q.id, q.id, "", "", not_run=reason) for q in levels.asked(committed.id)]
            golds |= {q.id: Gold() for q in levels.asked(committed.id)}
            continue
        drawn = Drawn(one, committed.backed, committed.speakers)
        for q, found, gold in _asked(arranged(drawn, backed, facts, spec.kind), spec.kind):
            questions.append(Question(q.id, q.id, query, q.id))
            golds[q.id], lists[q.id] = gold, found
    about = _about(spec) | _described(spec, row, backed, len(entries), questions, golds)
    suite = Suite(spec.name, path, questions, Lists(lists), source=spec.source)
    return Loaded(suite, BackedKey(spec.name, path, spec.metrics, golds, about=about))


def missing(spec: Spec, path: Path, reason: str) -> Loaded:
    """The committed questions alone, where their data can't be had."""
    ids = [asked.id for committed in spec.questions for asked in levels.asked(committed.id)]
    loaded = absent(spec, path, ids, reason, about=_about(spec))
    loaded.key.cluster, loaded.key.judged_by = BackedKey.cluster, BackedKey.judged_by
    return loaded


def training(name: str, data: Path | None) -> list[TrainingQuestion]:
    """One question for every contradiction of the relations with backing facts ("backed_fc"), with both its values.

    Whether a method may learn from them is for the rules to say.

    Raises:
        NotRun: there are none, or the data can't be had.
    """
    if name != "backed_fc":
        raise NotRun(f"there are no questions {name!r}; there: backed_fc")
    backed = backing.read(backing.shipped())
    found = known(parse_facts(factconsolidation.find_row(ROW, data).context), backed, "named")
    return [TrainingQuestion(one.id, ask(one, backed), one.values) for one in found]


def known(entries: tuple[Entry, ...], backed: Backing, kind: Kind) -> list[Contradiction]:
    """The contradictions of which either side can be backed so."""
    return [
        one
        for one in contradictions.contradictions(entries)
        if one.relation in backed.relations
        and (kind == "named" or backed.relations[one.relation].implied.keys() >= set(one.values))
    ]


def ask(one: Contradiction, backed: Backing) -> str:
    """The question for the value."""
    return filled(backed.relations[one.relation].ask, one.subject)


def arranged(drawn: Drawn, backed: Backing, facts: Sequence[Fact], kind: Kind) -> Arranged:
    """A contradiction with all its texts, in its order.

    Raises:
        NotRun: there are too few facts that mention none of its names.
    """
    one, rng = drawn.contradiction, random.Random(f"{SEED} texts of {drawn.contradiction.id}")
    others = contradictions.around(one, facts, SURROUNDINGS, rng)
    if others is None:
        raise NotRun(
            f"contradiction {one.id}: fewer than {SURROUNDINGS} facts mention none of its names. "
            "Cure: fetch the official data again"
        )
    wording = backed.relations[one.relation]
    backs, repeats = rng.sample(wording.backs, MOST), rng.sample(wording.repeats, MOST)
    implied = [rng.sample(wording.implied[value], MOST) if kind == "implied" else backs for value in one.values]
    first, second = (
        ([filled(text, one.subject, value) for text in texts], [filled(text, one.subject, value) for text in repeats])
        for value, texts in zip(one.values, implied, strict=True)
    )
    return levels.arrange(Case(drawn, others, (first[0], second[0]), (first[1], second[1])), SEED)


def _asked(case: Arranged, kind: Kind) -> Iterator[tuple[Asked, list[Entry], Gold]]:
    """Each question about a contradiction, with its haystack and what is right."""
    drawn = case.case.drawn
    for asked in levels.asked(drawn.contradiction.id):
        (b, m), one = asked.level, drawn.contradiction
        entries, statements = case.haystack(asked.level, asked.order)
        sides = {"belief": statements.belief, "update": statements.update}
        relevant = sides[statements.expected] if statements.expected else ()
        right = tuple(entry.text for entry in entries if entry.id in relevant)
        yield (
            asked,
            entries,
            Gold(
                answers=right,
                relevant=relevant,
                shown=right,
                fields={
                    "expected": statements.expected,
                    "relation": one.relation,
                    "contradiction": one.id,
                    "order": asked.order,
                    "backed": drawn.backed if b else None,
                    "b": b,
                    "m": m,
                    "speakers": drawn.speakers if m else None,
                    "kind": kind,
                },
                cluster=one.relation,
                left_out=left_out(drawn.backed, asked.level),
                detail=statements,
            ),
        )


def left_out(backed: Age, level: Level) -> Mapping[str, str]:
    """Why a question is left out of a metric, by its name.

    `correct` is over what backing alone decides; what repetitions do is in the other two.
    """
    if not level.b:
        return dict.fromkeys(METRICS, UNBACKED)
    why = {"correct": REPEATED} if level.m else {}
    for name, side in (("followed", "newer"), ("resisted", "older")):
        if backed != side:
            why[name] = _OTHER.format(backed)
        elif level.b < WELL:
            why[name] = _LITTLE
    return why


def _about(spec: Spec) -> dict[str, Any]:
    backs = _BACKS[spec.kind].format(most=MOST)
    about: dict[str, Any] = {
        "source": spec.source,
        "licence": LICENCE,
        "frontier": True,
        "backing": spec.kind,
        "contradictions": len(spec.questions),
        "sweep": [level._asdict() for level in LEVELS],
        "construction": CONSTRUCTION.format(n=SURROUNDINGS, well=WELL, most=MOST, backs=backs),
    }
    return about if spec.drawn is None else about | {"drawn": spec.drawn}


def _described(
    spec: Spec, row: FactRow, backed: Backing, facts: int, questions: Sequence[Question], golds: Mapping[str, Gold]
) -> dict[str, Any]:
    """Row, origin, hashes, whether all of it is the official data, counts and notes."""
    notes = []
    if spec.context_sha256 not in {None, digest(row.context)}:
        notes.append("the context is not the official text (its sha256 differs)")
    if gone := sum(question.not_run is not None for question in questions):
        notes.append(f"{gone} of {len(questions)} questions are not in this copy")
    official = None if spec.context_sha256 is None else not notes
    if spec.backing_sha256 not in {None, backed.sha256}:
        notes.append("the facts that back a side are not those that the contradictions were drawn with")
    notes.append("The facts that back a side are written by hand, from templates: suggestive, not evidence.")
    return {
        "row": row.name,
        "origin": row.origin,
        "context_sha256": digest(row.context),
        "backing_sha256": backed.sha256,
        "official": official,
        "entries": facts,
        "relations": len({gold.cluster for gold in golds.values() if gold.cluster}),
        "notes": notes,
    }
