"""Whatever a run's files hold, they are read and make a report, or are refused in one line with file and cure."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import runs
from fuzz import RUBBISH, TEXTS, as_json, bounded, budget, changed, damaged, one_line
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import known as runknown
from pytest_engram.runs import log as runlog
from pytest_engram.runs import packed
from pytest_engram.runs import schema as runschema
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

LINES = [
    runs.outcome(
        "q1", 1.0, wrote={"entries": 3, "seconds": 0.1, "bytes": 10}, usage={"calls": 2.0}, cluster="c", group="g"
    ),
    runs.outcome("q2", 0.0, metrics={"answer@10": 0.0, "f1": 0.5}, answer="Rome", reader="r", gold=["Oslo"], lost=True),
    runs.outcome("q3", None, status="error", reason="it broke", missing={"answer@10": "no answer"}, retries=2),
    runs.outcome("q4", None, status="not run", reason="no data", excluded="abstention", left_out={"answer@10": "why"}),
    runs.outcome(
        "c-web0-backers1",
        None,
        suite="micro",
        metrics={"correct": 1.0},
        family="graded",
        case="c",
        web=0,
        backers=1,
        winner="update",
        expected="update",
        fields={"axis": "backers", "states": [{"state": "new", "valid": ["a"], "superseded": ["b"]}]},
        dropped=[{"id": "1", "by": "2", "why": "later", "rank": 1}],
        recalled=[{"text": "said", "sources": ["1"]}, {"id": "2"}],
    ),
]
LOG = [json.loads(line.to_line()) for line in LINES]
MANIFEST = runs.manifest(
    LINES,
    encoder={"name": "bge", "hash": "a" * 64, "dimensions": 384, "query_seconds": 0.1},
    budget=2000,
    tokenizer={"name": "words", "sha256": "b" * 64},
    reader={"name": "newest"},
    judge={"label": "recorded", "runs": 1, "prompts": {"tiny": {"label": "own"}}},
    git={"commit": "c" * 40, "changed": False},
    versions={"numpy": "2.0"},
    machine={"cores": 2},
)
MANIFEST["suites"]["tiny"] |= {"pooled": {"all": ["g"]}, "floor": {"answer@10": 0.1}, "ceiling": {"answer@10": 0.9}}
MANIFEST["suites"]["tiny"] |= {"cluster": "conversation", "constant": {"answer": "x", "metrics": {"f1": 0.1}}}
MANIFEST["suites"]["tiny"] |= {
    "key_errors": {"answers": 1, "citations": 0, "questions": 4, "ceiling": 0.75, "source": "s"}
}
MANIFEST["suites"]["micro"] |= {"kind": "micro", "family": "graded", "rule": {"name": "newest", "text": "The later."}}
TEXTS_OF = {"tiny": {"1": "one", "2": "two"}}
KNOWN = [
    KnownAnswer("tiny", "q2", "vague", "wrong", "Somewhere", [True, False]),
    KnownAnswer("tiny", "q2", "k", "right", "O"),
]
NAMES = (runfolder.LOG, runfolder.MANIFEST, runfolder.TEXTS, runfolder.KNOWN)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


def put(folder: Path, **files: bytes) -> None:
    """A sound run, but for these files."""
    runfolder.write(folder, LINES, MANIFEST, TEXTS_OF, KNOWN)
    for name, content in files.items():
        (folder / NAMES[("log", "manifest", "texts", "known").index(name)]).write_bytes(content)


def read(folder: Path, name: str) -> runfolder.Run | None:
    """What is read; None where it is refused, as it should be."""
    with bounded():
        try:
            return runfolder.read(folder)
        except (runfolder.RunError, runlog.LogError) as error:
            one_line(error, str(folder), has=name, cure=("; ",))
            return None


def report(found: runfolder.Run | None) -> None:
    """Every number that tables, plots and page show."""
    from pytest_engram.report.aggregate import aggregate

    if found is not None:
        with bounded():
            json.dumps(aggregate(found.outcomes, found.manifest), allow_nan=False)


def lines_of(log: list[Any]) -> bytes:
    return b"".join(as_json(line) + b"\n" for line in log)


def test_a_sound_run_is_read_and_makes_a_report(place: Path) -> None:
    put(place)
    found = read(place, "")
    assert found is not None
    assert (found.outcomes, found.texts, found.known) == (LINES, TEXTS_OF, sorted(KNOWN, key=lambda one: one.place))
    report(found)


@budget()
@given(log=changed(LOG).map(lines_of))
def test_a_log_of_which_fields_are_others(place: Path, log: bytes) -> None:
    put(place, log=log)
    report(read(place, runfolder.LOG))


@budget()
@given(manifest=changed(MANIFEST).map(as_json))
def test_a_manifest_of_which_fields_are_others(place: Path, manifest: bytes) -> None:
    put(place, manifest=manifest)
    report(read(place, runfolder.MANIFEST))


@budget(0.5)
@given(
    texts=changed(TEXTS_OF).map(as_json),
    known=changed([json.loads(line) for line in runknown.write(KNOWN).split("\n")[:-1]]),
)
def test_excerpts_and_known_answers_of_which_fields_are_others(place: Path, texts: bytes, known: list[Any]) -> None:
    put(place, texts=texts)
    read(place, runfolder.TEXTS)
    put(place, known=lines_of(known))
    read(place, runfolder.KNOWN)


@budget()
@given(data=st.data(), which=st.sampled_from(["log", "manifest", "texts", "known"]))
def test_files_of_which_bytes_are_others(place: Path, data: st.DataObject, which: str) -> None:
    put(place)
    name = NAMES[("log", "manifest", "texts", "known").index(which)]
    put(place, **{which: data.draw(damaged((place / name).read_bytes()))})
    report(read(place, name))


@budget(0.5)
@given(value=RUBBISH)
def test_anything_as_a_line_or_a_manifest(place: Path, value: Any) -> None:
    put(place, log=as_json(value) + b"\n")
    read(place, runfolder.LOG)
    put(place, manifest=as_json(value))
    read(place, runfolder.MANIFEST)


@budget(0.5)
@given(data=st.data())
def test_a_packed_log_of_which_bytes_are_others(place: Path, data: st.DataObject) -> None:
    put(place)
    log = packed.pack(place / runfolder.LOG)
    log.write_bytes(data.draw(damaged(log.read_bytes())))
    report(read(place, log.name))


# Round trips

COUNTS = st.integers(0, 10**6)
SHARES = st.none() | st.floats(0, 1)
FLOATS = st.floats(0, 1e9)
NAMED = st.none() | TEXTS.filter(bool)  # an empty one is written as none
WORDS = st.dictionaries(TEXTS, TEXTS, max_size=2)
METRICS = st.dictionaries(st.sampled_from(["ndcg_any@5", "f1", "own@3"]), SHARES, max_size=3)
METRICS |= st.dictionaries(st.sampled_from(["answer@10", "correct", "recall_any@5"]), st.sampled_from([None, 0.0, 1.0]))
PLACES = st.fixed_dictionaries({"id": TEXTS}) | st.fixed_dictionaries(
    {"text": TEXTS, "sources": st.lists(TEXTS, max_size=2)}
)
SMALL = st.recursive(st.none() | st.booleans() | COUNTS | TEXTS, lambda part: st.lists(part, max_size=2), max_leaves=3)
STRANGERS = st.dictionaries(TEXTS.filter(lambda name: name not in ("states", "unrecalled")), SMALL, max_size=2)
OF_FIELD: dict[str, Any] = {
    **dict.fromkeys(("suite", "question_id", "method", "reason", "item", "query"), TEXTS),
    **dict.fromkeys(("family", "case", "winner", "expected", "reader", "excluded"), NAMED),
    **dict.fromkeys(("cluster", "group", "disputed"), NAMED),
    "answer": st.none() | TEXTS,
    **dict.fromkeys(("seed", "k", "haystack", "encodings", "retries", "reruns", "unsplit", "longest"), COUNTS),
    **dict.fromkeys(("web", "backers", "tokens"), st.none() | COUNTS),
    **dict.fromkeys(("ids", "gold", "gold_ids"), st.lists(TEXTS, max_size=3)),
    **dict.fromkeys(("hit", "ceiling", "lost"), st.none() | st.booleans()),
    **dict.fromkeys(("missing", "left_out"), WORDS),
    **dict.fromkeys(("fields", "asked"), STRANGERS),
    "metrics": METRICS,
    "status": st.sampled_from(["ok", "violation", "error", "not run"]),
    "seconds": st.none() | FLOATS,
    "dropped": st.lists(
        st.fixed_dictionaries({"id": TEXTS, "by": TEXTS, "why": TEXTS, "rank": st.none() | COUNTS}), max_size=2
    ),
    "recalled": st.lists(PLACES, max_size=2),
    "wrote": st.just({}) | st.fixed_dictionaries({"entries": COUNTS, "seconds": FLOATS}, optional={"bytes": COUNTS}),
    "usage": st.dictionaries(TEXTS, FLOATS, max_size=2),
}
OUTCOMES = st.builds(Outcome, **OF_FIELD)


def test_every_field_of_a_line_is_among_them() -> None:
    assert set(OF_FIELD) == {field.name for field in fields(Outcome)}


@budget()
@given(one=OUTCOMES)
def test_a_line_that_was_written_and_read_is_the_same(one: Outcome) -> None:
    line = one.to_line()
    again = runschema.outcome(json.loads(line))
    assert again == one
    assert again.to_line() == line


@budget(0.5)
@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4), texts=st.dictionaries(TEXTS, WORDS, max_size=2))
def test_a_run_that_was_packed_is_the_same(
    place: Path, outcomes: list[Outcome], texts: dict[str, dict[str, str]]
) -> None:
    runfolder.write(place, outcomes, deepcopy(MANIFEST), texts, KNOWN)
    before = runfolder.read(place)
    assert before.outcomes == outcomes
    assert before.texts == texts
    there = [name for name in runfolder.PACKED if (place / name).exists()]
    told = {name: runfolder.sha256_of(place / name) for name in there}
    for name in there:
        packed.pack(place / name)
    assert runfolder.read(place) == before
    assert {name: runfolder.sha256_of(place / (name + packed.ENDING)) for name in there} == told
