"""One run out of parts that ran on several machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_engram.review import asked, here
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import known as runknown
from pytest_engram.runs import log as runlog
from pytest_engram.runs.folder import LOG, Run
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

Key = tuple[str, str, str, int]

# What parts of one run share. Machine, time and the versions of other packages may differ; `parts` keeps them.
_SHARED = ("engram", "k", "budget", "tokenizer", "seeds", "named", "methods", "reader", "judge")
_ASKED = ("reader", "judge")  # of these, what a part took may differ, and the benchmarks that it asked about
_OF_A_PART = ("created", "duration_s", "ran", "versions", "git", "machine")
_ALONE = ("gates", "asked_again", "changed_code", "resumed")  # what a part alone was found to be, and the whole was not
_OF_A_COPY = ("origin",)  # where a part found its data; the data's hash is compared
SHOWN = 5
_TOLD = {"not run": 0, "error": 1}  # how much a line tells of its item; an outcome, a violation too, tells most


class Refused(Exception):
    """Parts that are not of one run. The message is one line, and names what differs."""


@dataclass(frozen=True)
class Merged:
    """What became of the parts.

    Attributes:
        outcomes: each item once, in the order of a run.
        manifest: of the whole; `complete` is whether no item is missing.
        texts: excerpts of entries, for the page.
        missing: items that no part has, as `suite::item`.
        doubled: items that several parts have, with the same outcome.
        mended: items that one part could not measure and another one did.
        known: what the judge was asked about to judge it.
        baselines: what the reader answered where no memory had a part in it.
    """

    outcomes: list[Outcome]
    manifest: dict[str, Any]
    texts: dict[str, dict[str, str]]
    missing: list[str]
    doubled: list[str]
    mended: list[str]
    known: list[KnownAnswer]
    baselines: list[Outcome]


def merge(parts: Sequence[Run]) -> Merged:
    """The run that `parts` are of. An outcome replaces an error, and an error what was not run.

    Raises:
        Refused: two manifests differ in what numbers depend on, or an item has two different outcomes.
    """
    first = parts[0]
    for part in parts:
        log, told = runfolder.find(part.folder, LOG), part.manifest.get("log_sha256")
        if told and (log is None or told != runfolder.sha256_of(log)):
            raise Refused(f"{log or part.folder / LOG} was changed after the run: its sha256 is not the manifest's")
        _check(first, part)
    suites: dict[str, Any] = {}
    for part in parts:
        for name, info in part.manifest["suites"].items():
            suites.setdefault(name, info)
    by_key: dict[Key, tuple[Outcome, Run]] = {}
    doubled: list[str] = []
    mended: list[str] = []
    for part in parts:
        for outcome in part.outcomes:
            key = (outcome.suite, outcome.question_id, outcome.method, outcome.seed)
            if key not in by_key:
                by_key[key] = (outcome, part)
                continue
            kept, of = by_key[key]
            told, before = _TOLD.get(outcome.status, 2), _TOLD.get(kept.status, 2)
            if told != before:
                if told > before:
                    by_key[key] = (outcome, part)
                mended.append(_name(outcome))
                continue
            if told == 2 and _timeless(kept) != _timeless(outcome):
                where = f"{of.folder} and {part.folder}"
                raise Refused(f"{_name(outcome)} has two different outcomes, in {where}; leave one of them out")
            doubled.append(_name(outcome))
    outcomes = list(runlog.canonical((outcome for outcome, _ in by_key.values()), suites))
    planned = _seeds(first.manifest) * sum(info["n"] for info in suites.values())
    manifest = {
        **{key: value for key, value in first.manifest.items() if not key.endswith("_sha256") and key not in _ALONE},
        **_asked(parts),
        "created": max(str(part.manifest.get("created")) for part in parts),
        "duration_s": round(sum(part.manifest.get("duration_s") or 0.0 for part in parts), 3),
        "encoder": next((part.manifest["encoder"] for part in parts if part.manifest.get("encoder")), None),
        "suites": suites,
        **({"answer_baselines": told} if (told := _told_of_baselines(parts)) else {}),
        "planned": planned,
        "ran": len(outcomes),
        "complete": len(outcomes) == planned,
        "parts": [_part(run.manifest) for run in parts],
    }
    texts: dict[str, dict[str, str]] = {}
    for part in parts:
        for suite, excerpts in part.texts.items():
            texts.setdefault(suite, {}).update(excerpts)
    missing = _missing(by_key.keys(), manifest, outcomes)
    known = runknown.merged([part.known for part in parts])
    baselines = _baselines(parts, suites)
    return Merged(outcomes, manifest, texts, missing, doubled, list(dict.fromkeys(mended)), known, baselines)


def _baselines(parts: Sequence[Run], suites: Mapping[str, Any]) -> list[Outcome]:
    """Of each question once; one with an answer stands for one without."""
    found: dict[tuple[str, str, str], Outcome] = {}
    for line in (line for part in parts for line in part.baselines):
        place = line.suite, line.question_id, line.method
        if place not in found or (found[place].answer is None and line.answer is not None):
            found[place] = line
    return list(runlog.canonical(found.values(), suites))


def _told_of_baselines(parts: Sequence[Run]) -> dict[str, Any]:
    """Those of every part, as the manifest has them; where one lacks some, their figures are partial."""
    return {name: told for part in parts for name, told in (part.manifest.get("answer_baselines") or {}).items()}


def _asked(parts: Sequence[Run]) -> dict[str, Any]:
    """Reader and judge of the whole, where there are any."""
    told = {name: [one for part in parts if isinstance(one := part.manifest.get(name), dict)] for name in _ASKED}
    return {name: asked.together(found) for name, found in told.items() if found}


def _part(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What is a part's own: its gates judged it alone, as it was asked again alone, and say nothing of the whole."""
    found = {key: manifest.get(key) for key in _OF_A_PART}
    return found | {key: manifest[key] for key in _ALONE if manifest.get(key)}


def _timeless(outcome: Outcome) -> Outcome:
    """Without what it took, which no two runs have alike."""
    return replace(outcome, seconds=0.0, wrote={}, usage={}, encodings=0, retries=0)


def _check(first: Run, part: Run) -> None:
    one, other = first.manifest, part.manifest
    for key in _SHARED:
        there, here_ = asked.shared(one.get(key), other.get(key)) if key in _ASKED else (one.get(key), other.get(key))
        if there != here_:
            _refuse(first, part, f"`{key}`", there, here_)
    encoders = [run.manifest["encoder"] for run in (first, part) if run.manifest.get("encoder")]
    if len({encoder["hash"] for encoder in encoders}) > 1:
        _refuse(first, part, "the encoder", *encoders)
    commits = [(run.manifest.get("git") or {}).get("commit") for run in (first, part)]
    if commits[0] != commits[1]:
        _refuse(first, part, "the commit", *commits)
    for name in one["suites"].keys() & other["suites"].keys():
        a, b = ({k: v for k, v in run.manifest["suites"][name].items() if k not in _OF_A_COPY} for run in (first, part))
        if a != b:
            _refuse(first, part, f"suite {name}", a, b)


def _refuse(first: Run, part: Run, what: str, one: Any, other: Any) -> None:
    places = list(here.differing(one, other))[:SHOWN]
    told = "; ".join(f"{place.where} {place.one} there, {place.other} here".strip() for place in places)
    raise Refused(f"{part.folder} is no part of the run that {first.folder} is of: {what} differs: {told}")


def _seeds(manifest: Mapping[str, Any]) -> int:
    """Number of items of a question: one a method, or one a seed of a stochastic one."""
    return sum(len(manifest["seeds"]) if info.get("stochastic") else 1 for info in manifest["methods"].values())


def _missing(have: Any, manifest: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[str]:
    """Items that no part has. Questions that no part asked are named where their suite file is here."""
    if manifest["complete"]:
        return []
    found: list[str] = []
    paths = here.suite_files((), list(manifest["suites"]))
    for suite, info in manifest["suites"].items():
        names = {o.question_id: o.item.rpartition("[")[0] for o in outcomes if o.suite == suite}
        if len(names) < info["n"] and suite in paths:
            listed = dict(here.questions(paths[suite]))
            names = listed | names if len(listed) == info["n"] else names
        for question, name in names.items():
            for method, about in manifest["methods"].items():
                seeds = manifest["seeds"] if about.get("stochastic") else manifest["seeds"][:1]
                found += [
                    f"{suite}::{name}[{method}]" + (f" seed {seed}" if about.get("stochastic") else "")
                    for seed in seeds
                    if (suite, question, method, seed) not in have
                ]
        unnamed = (info["n"] - len(names)) * _seeds(manifest)
        if unnamed > 0:
            found.append(f"{suite}: {unnamed} items of {info['n'] - len(names)} questions that no part asked")
    return found


def _name(outcome: Outcome) -> str:
    return f"{outcome.suite}::{outcome.item}"
