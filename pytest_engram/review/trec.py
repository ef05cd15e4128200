"""A run as TREC's tools read it (trec_eval, ir_measures, ranx): run files, and the judgements that figures are by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pytest_engram.review import here
from pytest_engram.review.described import describe
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Key, SuiteError

ENDING = ".trec"
QRELS = "qrels.txt"  # no run file ends so, whatever a method is called


class Exported(NamedTuple):
    """The files that were written, and what a person must know of them, a line each."""

    paths: list[Path]
    notes: list[str]


def write(run: Run, to: Path, paths: Mapping[str, Path], data: Path | None) -> Exported:
    """Of each suite a folder: a file a method and seed, and the judgements, where the suite's data is here.

    Args:
        run: that was read.
        to: the folder.
        paths: of the suite files that are here, by the suite's name.
        data: the folder of `--engram-data`, if any.
    """
    written: list[Path] = []
    notes: list[str] = []
    for suite, told in (run.manifest.get("suites") or {}).items():
        lines = [line for line in run.outcomes if line.suite == suite]
        if told.get("kind") != "pilot":
            notes.append(f"{suite}: not exported: a micro-test has sides, and no entries that are relevant")
            continue
        seeds = {method: {line.seed for line in lines if line.method == method} for method in _methods(lines)}
        for method in seeds:
            for seed in sorted(seeds[method]):
                name = method if len(seeds[method]) == 1 else f"{method}.seed{seed}"
                of = [line for line in lines if (line.method, line.seed) == (method, seed)]
                written.append(_write(to / suite / f"{name}{ENDING}", _ranked(of, method)))
                notes += _unranked(of, f"{suite}: {name}{ENDING}")
        try:
            key = _key(suite, told, paths.get(suite), data)
        except _NoQrels as reason:
            notes.append(f"{suite}: no {QRELS}: {reason}")
        else:
            written.append(_write(to / suite / QRELS, _judged(key)))
    return Exported(written, notes)


def _methods(lines: Iterable[Outcome]) -> list[str]:
    return list(dict.fromkeys(line.method for line in lines))


def _ranked(lines: Sequence[Outcome], tag: str) -> Iterator[str]:
    """`question Q0 entry rank score tag`; a memory gives no score, so that it is k - rank."""
    for line in lines:
        if line.status == "ok" and not line.unrecalled:
            for rank, id_ in enumerate(dict.fromkeys(line.ids), 1):
                yield f"{_word(line.question_id)} Q0 {_word(id_)} {rank} {line.k - rank} {tag}"


def _unranked(lines: Sequence[Outcome], file: str) -> Iterator[str]:
    if absent := sum(line.status != "ok" or line.unrecalled for line in lines):
        yield f"{file} lacks {absent} of {len(lines)} questions: nothing is known of them, and who averages counts 0"
    if any("text" in place for line in lines for place in line.recalled):
        yield f"{file} has the entries behind the memory's own texts, in their order"


def _judged(key: Key) -> Iterator[str]:
    """`question 0 entry relevance`, of the questions that figures of what was recalled are over."""
    for question in key.questions():
        gold = key.gold(question)
        if not gold.excluded:
            for id_, grade in (gold.grades or dict.fromkeys(gold.relevant, 1)).items():
                yield f"{_word(question)} 0 {_word(id_)} {grade}"


class _NoQrels(Exception):
    """Why there are no judgements."""


def _key(suite: str, told: Mapping[str, Any], path: Path | None, data: Path | None) -> Key:
    """The gold of a suite, where it is the one of the run.

    Raises:
        _NoQrels: it is not here, or is another.
    """
    if path is None:
        raise _NoQrels(f"{told.get('file', 'the suite file')} is not here; give its place with --cases")
    try:
        loaded = here.load(path, data)
    except SuiteError as error:
        raise _NoQrels(str(error)) from None
    if loaded.suite.not_run:
        raise _NoQrels(loaded.suite.not_run)
    found = json.loads(json.dumps(describe(loaded.key)))
    if other := [key for key in found if "sha256" in key and key in told and found[key] != told[key]]:
        raise _NoQrels(f"{', '.join(other)} of {suite} is not that of the run")
    return loaded.key


def _word(text: str) -> str:
    """An id without white space, which parts columns; each such character is percent-encoded."""
    return re.sub(r"\s", lambda found: quote(found[0]), text)


def _write(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line + "\n" for line in lines)
    path.write_bytes(content.encode("utf-8", "backslashreplace"))
    return path
