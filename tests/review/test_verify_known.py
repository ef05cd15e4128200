"""Known answers of a run: the same file, and the same rule that made them."""

from __future__ import annotations

from pathlib import Path

import runs

from pytest_engram import report
from pytest_engram.judging import known
from pytest_engram.review import here
from pytest_engram.review.verify import verify
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.known import KnownAnswer


def of_the_rule() -> list[KnownAnswer]:
    suite, key = here.load(runs.DEMO, None)
    found = known.of(key, {question.id: question.query for question in suite.questions})
    for one in found:
        one.verdicts = [one.truth == "right"]
    return found


def checked(folder: Path, those: list[KnownAnswer]) -> dict[str, tuple[str, str]]:
    run = runfolder.read(folder)
    report.write_run(folder, run.outcomes, run.manifest, run.texts, those)
    return {finding.what: (finding.status, finding.detail) for finding in verify(runfolder.read(folder))}


def test_known_answers_are_made_again_and_their_tables_too(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    those = of_the_rule()
    found = checked(folder, those)
    assert found["known answers of demo_fc"] == ("agrees", f"{len(those)}, made by the rule again")
    assert found["known_answers.jsonl"][0] == found["results.json"][0] == "agrees"


def test_one_that_was_left_out_or_made_up_differs(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    those = of_the_rule()
    gone = those.pop()
    status, detail = checked(folder, those)["known answers of demo_fc"]
    assert (status, detail) == ("differs", f"{gone.question_id}, {gone.kind}: {gone.answer!r} is missing")
    those.append(KnownAnswer("demo_fc", gone.question_id, gone.kind, gone.truth, "made up", [False]))
    assert checked(folder, those)["known answers of demo_fc"][0] == "differs"


def test_a_run_without_a_judge_has_no_such_file(tmp_path: Path) -> None:
    found = checked(runs.run(tmp_path), [])
    assert not {"known_answers.jsonl", "known answers of demo_fc"} & set(found)
