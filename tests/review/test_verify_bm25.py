"""BM25's answers, asked again of rank-bm25 itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import runs
from rank_bm25 import BM25Okapi

from pytest_engram import report
from pytest_engram.review import here
from pytest_engram.review.lexical import SAMPLE, asked_again
from pytest_engram.review.verify import Finding, verify
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Loaded

WHAT = "BM25 of demo_fc"


def findings(folder: Path) -> list[Finding]:
    return [finding for finding in verify(runfolder.read(folder)) if finding.what == WHAT]


def test_the_reference_finds_the_same_and_how_often_is_told(tmp_path: Path) -> None:
    (found,) = findings(runs.run(tmp_path))
    assert found.status == "agrees"
    assert found.detail == "rank-bm25 finds the same ids for 20 of 20 questions, drawn of 80"


def test_ids_that_the_reference_does_not_find_fail(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    found = runfolder.read(folder)
    for line in found.outcomes:
        line.ids = [line.ids[1], line.ids[0], *line.ids[2:]]
    report.write_run(folder, found.outcomes, found.manifest, found.texts)
    wrong = findings(folder)
    assert {finding.status for finding in wrong} == {"differs"}
    told = " ".join(finding.detail for finding in wrong)
    assert "rank-bm25 finds the same ids for 0 of 20 questions, drawn of 80" in told
    assert "at rank 1, rank-bm25 finds" in told


def test_one_wrong_answer_among_many_is_told_by_its_item() -> None:
    suite, _ = here.load(runs.DEMO, None)
    entries = suite.haystack(suite.questions[0].haystack)
    index = BM25Okapi([entry.text.lower().split() for entry in entries])
    outcomes: list[Outcome] = []
    for question in suite.questions[:SAMPLE]:
        scores = np.asarray(index.get_scores(question.query.lower().split()))
        ids = [entries[place].id for place in np.argsort(-scores, kind="stable")[:4]]
        outcomes.append(Outcome(suite.name, question.id, "bm25", 0, 4, ids, {}, "ok", item=question.name))
    assert asked_again(suite, outcomes) == (SAMPLE, [])
    outcomes[3].ids.pop()
    outcomes[5].ids[3] = "none"
    again = asked_again(suite, outcomes)
    assert again.agree == SAMPLE - 2
    assert sorted(again.problems) == sorted(
        [
            f"{outcomes[3].item}: 3 ids, rank-bm25 finds 4",
            next(problem for problem in again.problems if "'none' at rank 4, rank-bm25 finds" in problem),
        ]
    )


def test_without_the_data_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = here.load

    def without(path: Path, data: Path | None) -> Loaded:
        loaded = load(path, data)
        loaded.suite.not_run = loaded.key.not_run = "it was put away"
        return loaded

    monkeypatch.setattr(here, "load", without)
    (found,) = findings(runs.run(tmp_path))
    assert (found.status, found.detail) == ("unchecked", "not asked again: the data is not here: it was put away")
