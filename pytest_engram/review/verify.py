"""Whether a run's folder is what its log, its suites and this code say: every hash, table and score once more.

Tables are computed again from log and manifest and compared byte by byte; the log with its hash in the manifest; and,
where a suite and its data are here, each logged item is scored again from the ids that the method returned. What none
of this can tell is whether the method returned those ids: only another run can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pytest_engram.basics.registry import Registry
from pytest_engram.judging import METRICS, known, named
from pytest_engram.judging.judge import asked, judge
from pytest_engram.judging.scoring import BeyondTheLog
from pytest_engram.review import baselines, here, lexical
from pytest_engram.review.described import describe
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import HASHED, WITHHELD, withhold, withhold_known
from pytest_engram.suites.base import Key, Question, Suite, SuiteError, parse_metric

# What a manifest says of a suite and what may differ from one machine to another.
_ELSEWHERE = {"origin", "notes", "not_run", "registered", "file"}
_WITH_DATA = {"excluded", "official", "n", "cases", "levels"}
SHOWN = 5  # of a kind


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked, or could not be."""

    status: Literal["agrees", "differs", "unchecked"]
    what: str
    detail: str = ""


def verify(run: Run, cases: Sequence[Path] = (), data: Path | None = None) -> Iterator[Finding]:
    """Everything that can be checked here.

    Args:
        run: as it was read.
        cases: where suite files that are not shipped may be.
        data: the folder of `--engram-data`, if any.

    Raises:
        SuiteError: a suite file of `cases` can't be read.
    """
    yield from _sources(run)
    yield from _items(run)
    yield from _tables(run)
    yield from _encoder(run, data)
    found = here.suite_files(cases, list(run.manifest.get("suites") or ()))
    for name, told in (run.manifest.get("suites") or {}).items():
        yield from _suite(run, name, told, found.get(name), data)


def _sources(run: Run) -> Iterator[Finding]:
    """The log and the excerpts have the hashes that the manifest holds."""
    hashed = ((runfolder.LOG, "log_sha256"), (runfolder.TEXTS, "texts_sha256"))
    asked_for = ((runfolder.KNOWN, "known_sha256"), (runfolder.BASELINES, "baselines_sha256"))
    for name, key in (*hashed, *asked_for):
        path, told = runfolder.find(run.folder, name), run.manifest.get(key)
        if (name, key) in asked_for and told is None and path is None:
            continue  # there was no judge, or nobody asked for baselines
        if told is None:
            yield Finding("unchecked", name, f"the manifest has no {key}")
        elif path is None:
            yield Finding("differs", name, "missing")
        elif runfolder.sha256_of(path) != told:
            yield Finding("differs", path.name, f"its sha256 is not the manifest's {key}: it was changed after the run")
        else:
            yield Finding("agrees", path.name, "sha256 as in the manifest")


def _items(run: Run) -> Iterator[Finding]:
    """Every line of the log is an item of this run, once, within k."""
    manifest = run.manifest
    problems: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    for number, outcome in enumerate(run.outcomes, 1):
        key = (outcome.suite, outcome.question_id, outcome.method, outcome.seed)
        checks = {
            "stands twice": key in seen,
            f"k is {outcome.k}, the run's is {manifest.get('k')}": outcome.k != manifest.get("k"),
            f"{outcome.returned} ids, k is {outcome.k}": outcome.returned > outcome.k,
            "an id stands twice": len(set(outcome.ids)) != len(outcome.ids),
            f"no suite {outcome.suite!r} in the manifest": outcome.suite not in (manifest.get("suites") or {}),
            f"no method {outcome.method!r} in the manifest": outcome.method not in (manifest.get("methods") or {}),
            f"no seed {outcome.seed} in the manifest": outcome.seed not in (manifest.get("seeds") or ()),
        }
        seen.add(key)
        problems += [f"line {number}: {problem}" for problem, found in checks.items() if found]
    if manifest.get("ran") != len(run.outcomes):
        problems.append(f"{len(run.outcomes)} lines, the manifest says {manifest.get('ran')}")
    if manifest.get("complete") != (len(run.outcomes) == manifest.get("planned")):
        told = f"complete is {manifest.get('complete')}"
        problems.append(f"{told}, but {len(run.outcomes)} of {manifest.get('planned')} items are in the log")
    yield from _told("items", problems, f"{len(run.outcomes)} items, each once, at k = {manifest.get('k')}")


def _tables(run: Run) -> Iterator[Finding]:
    """What is computed from log and manifest comes out as it stands in the folder."""
    from pytest_engram import report
    from pytest_engram.report.embedded import opened

    with TemporaryDirectory() as made:
        for path in report.write(
            Path(made), run.outcomes, run.manifest, texts=run.texts, known=run.known, baselines=run.baselines
        ):
            stands = run.folder / path.name
            if not stands.is_file():
                yield Finding("unchecked", path.name, "not in the folder; `engram report` writes it")
            elif (should := opened(path.read_bytes())) != (found := opened(stands.read_bytes())):
                yield Finding("differs", path.name, _first_difference(path.name, should, found) + _other_versions(run))
            else:
                yield Finding("agrees", path.name, "the same, byte for byte, from the log")


def _first_difference(name: str, should: bytes, found: bytes) -> str:
    if name.endswith(".json"):
        try:
            places = _shown(json.loads(should), json.loads(found))
            if places:
                return "; ".join(places[:SHOWN]) + (f"; and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
        except ValueError:
            return "not JSON any more"
    pairs = zip(should.split(b"\n"), found.split(b"\n"), strict=False)
    line = next((at for at, (one, other) in enumerate(pairs, 1) if one != other), None)
    return "its length" if line is None else f"from line {line} on"


def _other_versions(run: Run) -> str:
    from pytest_engram.runs.manifest import version_of

    told = run.manifest.get("versions") or {}
    drawn_with = ("pytest-engram", "matplotlib", "jinja2", "tabulate", "numpy", "scipy")
    other = [
        f"{name} {told[name]}, here {version_of(name)}" for name in drawn_with if told.get(name) != version_of(name)
    ]
    return f" (written with {'; '.join(other)})" if other and told else ""


def _encoder(run: Run, data: Path | None) -> Iterator[Finding]:
    told = run.manifest.get("encoder")
    if not told:
        return
    from pytest_engram.encoding.encoders import EncoderError, resolve

    what = f"encoder {told['name']}"
    try:
        with here.offline():
            found = resolve(told["name"], data)
    except EncoderError as error:
        yield Finding("unchecked", what, f"not here: {error}")
        return
    if found.hash == told["hash"]:
        yield Finding("agrees", what, "hash as in the manifest")
    else:
        yield Finding("differs", what, f"the copy here ({found.note}) has another hash")


def _suite(run: Run, name: str, told: dict[str, Any], path: Path | None, data: Path | None) -> Iterator[Finding]:
    """The suite file, its rule and its data are those of the run, and every item scores as it did."""
    what = f"suite {name}"
    if path is None:
        yield Finding("unchecked", what, f"{told.get('file', 'its file')} is not here; give its place with --cases")
        return
    try:
        suite, key = here.load(path, data)
    except SuiteError as error:
        yield Finding("differs", what, str(error))
        return
    described = json.loads(json.dumps(describe(key)))
    left_out = _ELSEWHERE | (_WITH_DATA if suite.not_run else set())
    both = [key for key in described if key in told and key not in left_out]
    one, other = {key: described[key] for key in both}, {key: told[key] for key in both}
    hashes = [key for key in both if "sha256" in key or key == "hashes"]
    shown = ", ".join(key.replace("_", " ") for key in hashes)
    yield from _told(what, _shown(one, other), f"{shown} and what the manifest says of it")
    if told.get("registered") == "registered before this run" != described.get("registered"):
        yield Finding("differs", what, f"registered then; here it is {described.get('registered')}")
    if not suite.not_run:
        yield from _known(run, name, suite, key)
        problems, lines = baselines.differing(run.baselines, suite, key)
        if lines:
            agreed = f"{lines} answers, by what they were given and how they score"
            yield from _told(f"baselines of {name}", problems, agreed)
    outcomes = [outcome for outcome in run.outcomes if outcome.suite == name and outcome.status == "ok"]
    if suite.not_run and outcomes:
        yield Finding("unchecked", f"scores of {name}", f"the data is not here: {suite.not_run}")
    elif outcomes:
        yield from _scores(name, suite, key, outcomes)
    yield from _lexical(run, suite, outcomes)


def _lexical(run: Run, suite: Suite, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """rank-bm25 itself finds what BM25 recalled."""
    if "recorded" in (run.manifest.get("methods") or {}).get(lexical.METHOD, {}):
        return  # somebody else's, who may tokenise otherwise
    what, asked = f"BM25 of {suite.name}", [one for one in outcomes if one.method == lexical.METHOD]
    if asked and suite.not_run:
        yield Finding("unchecked", what, f"not asked again: the data is not here: {suite.not_run}")
    elif asked and suite.asks == "search":
        again = lexical.asked_again(suite, asked)
        agreed = f"rank-bm25 finds the same ids for {again.agree} of {again.asked} questions, drawn of {len(asked)}"
        yield from _told(what, [agreed, *again.problems] if again.problems else (), agreed)


def _known(run: Run, name: str, suite: Suite, key: Key) -> Iterator[Finding]:
    """The answers that a judge was judged by are those that the rule makes of this suite."""
    found = [one for one in run.known if one.suite == name]
    judge = run.manifest.get("judge")
    if not found or (isinstance(judge, dict) and judge.get("known")):  # those of a file are not made by the rule
        return
    should = known.of(key, {question.id: question.query for question in suite.questions})
    withheld = all(one.answer.startswith(HASHED) for one in found)  # a hash tells whether it is the same
    should = [withhold_known(one) for one in should] if withheld else should
    made, stand = ({(*one.place, one.truth, one.cluster) for one in those} for those in (should, found))
    problems = [f"{id_}, {kind}: {answer!r:.60} is not made by the rule" for _, id_, kind, answer, *_ in stand - made]
    problems += [f"{id_}, {kind}: {answer!r:.60} is missing" for _, id_, kind, answer, *_ in made - stand]
    yield from _told(f"known answers of {name}", sorted(problems), f"{len(found)}, made by the rule again")


def _scores(name: str, suite: Suite, key: Key, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    questions = {question.id: question for question in suite.questions}
    metrics: Registry[Any] = Registry("metric", METRICS)
    problems: list[str] = []
    beyond = 0
    for outcome in outcomes:
        question = questions.get(outcome.question_id)
        if question is None:
            problems.append(f"{outcome.item}: the suite has no question {outcome.question_id!r}")
            continue
        try:
            problems += [f"{outcome.item}: {place}" for place in judged_again(suite, key, question, outcome, metrics)]
        except BeyondTheLog:
            beyond += 1
    checked = len(outcomes) - beyond
    if withheld := sum(WITHHELD in outcome.fields for outcome in outcomes):
        yield Finding("unchecked", f"answers of {name}", f"{withheld} items: withheld from the folder")
    if checked:
        yield from _told(f"scores of {name}", problems, f"{checked} items, judged again from what was recalled")
    if beyond:
        why = "measured by more than the log holds; only another run can check them"
        yield Finding("unchecked", f"scores of {name}", f"{beyond} items: {why}")


def judged_again(suite: Suite, key: Key, question: Question, outcome: Outcome, metrics: Mapping[str, Any]) -> list[str]:
    """Where a logged item differs from what the same judgement makes of what was recalled.

    Raises:
        BeyondTheLog: it was measured by more than the log holds.
    """
    entries = suite.haystack(question.haystack)
    known = {entry.id for entry in entries}
    dropped = [str(drop["id"]) for drop in outcome.dropped]
    if unknown := [id_ for id_ in (*outcome.ids, *dropped) if id_ not in known]:
        return [f"id {unknown[0]!r} is in no entry of the haystack"]
    should = judge(key, asked(outcome), metrics)
    should.query, should.haystack = question.query, len(entries)
    if WITHHELD in outcome.fields:
        should, outcome = withhold(should), _unread(outcome, metrics)
        should = _unread(should, metrics)
    return _shown(json.loads(json.dumps(asdict(should))), json.loads(json.dumps(asdict(outcome))))


def _unread(line: Outcome, metrics: Mapping[str, Any]) -> Outcome:
    """A line without what was measured of an answer, which is not in the folder."""
    reads = {name for name in line.metrics if named.of(metrics[parse_metric(name)[0]]).reads}
    kept = {name: value for name, value in line.metrics.items() if name not in reads}
    missing = {name: why for name, why in line.missing.items() if name not in reads}
    return replace(line, metrics=kept, missing=missing, hit=None)


def _shown(should: Any, found: Any) -> list[str]:
    return [f"{where}: {other}, should be {one}" for where, one, other in here.differing(should, found)]


def _told(what: str, problems: Sequence[str], agreed: str) -> Iterator[Finding]:
    for problem in problems[:SHOWN]:
        yield Finding("differs", what, problem)
    if len(problems) > SHOWN:
        yield Finding("differs", what, f"and {len(problems) - SHOWN} more")
    if not problems:
        yield Finding("agrees", what, agreed)
