"""Whole runs with a judge: asked, judged itself, put down, verified, merged and reported."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Reply, completion

from pytest_engram.basics.texts import normalise

CONFTEST = """
from typing import Literal

from pydantic import BaseModel

from pytest_engram import Entry
from pytest_engram.suites.base import Gold, Key, Lists, Loaded, Question, Suite

ANIMALS = "ant bee cat dog eel fox gnu hen ibis jay kiwi lynx mole newt owl pig".split()
FOODS = "amber brine cloud dust ember flint grain husk ivory jade kelp loam moss nectar oak pearl".split()


class Spec(BaseModel):
    engram: Literal["pilot"]
    name: str
    source: Literal["zoo"]
    metrics: list[str]


class Zoo:
    Spec = Spec

    def load(self, spec, path, data):
        told = dict(zip(ANIMALS, FOODS))
        entries = [Entry(name, f"The {name} eats {food}.", float(at)) for at, (name, food) in enumerate(told.items())]
        questions = [Question(f"zoo-{name}", name, f"What does the {name} eat?", "zoo") for name in told]
        golds = {f"zoo-{name}": Gold((food,), {name}, shown=(food,)) for name, food in told.items()}
        suite = Suite(spec.name, path, questions, Lists({"zoo": entries}), source="zoo")
        return Loaded(suite, Key(spec.name, path, spec.metrics, golds))


def pytest_engram_sources():
    return {"zoo": Zoo()}
"""
ANIMALS = "ant bee cat dog eel fox gnu hen ibis jay kiwi lynx mole newt owl pig".split()  # noqa: SIM905
FOODS = "amber brine cloud dust ember flint grain husk ivory jade kelp loam moss nectar oak pearl".split()  # noqa: SIM905
ASKED = re.compile(r"Accepted: (?P<accepted>.*)\nAnswer: (?P<answer>.*)\n")


def strict(request: dict[str, Any]) -> Reply:
    """Right where the accepted answer is in the answer."""
    found = ASKED.search(request["messages"][0]["content"])
    assert found is not None
    right = normalise(found["accepted"]) in normalise(found["answer"])
    return completion(json.dumps({"label": "CORRECT" if right else "WRONG"}))


def generous(request: dict[str, Any]) -> Reply:
    """The same, and right as well where nothing is said."""
    found = ASKED.search(request["messages"][0]["content"])
    assert found is not None
    unsaid = re.search(r"\bsome(thing|one)?\b", found["answer"], re.IGNORECASE)
    return completion('{"label": "CORRECT"}') if unsaid else strict(request)


def always(_: dict[str, Any]) -> Reply:
    return completion("CORRECT")


@pytest.fixture
def zoo(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    pytester.makeconftest(CONFTEST)
    (pytester.path / "zoo.yaml").write_text("engram: pilot\nname: zoo\nsource: zoo\nmetrics: [subem, judged]\n")
    told = zip(ANIMALS, FOODS, strict=True)
    answers = [(f"zoo-{name}", food if at % 4 else "quite another") for at, (name, food) in enumerate(told)]
    lines = [json.dumps({"question_id": id_, "answer": answer}) for id_, answer in answers]
    (pytester.path / "mem.jsonl").write_text("\n".join(lines))
    return pytester


@pytest.fixture
def judge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint(request.param).serving() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        yield endpoint


def run(zoo: pytest.Pytester, *arguments: str, method: str = "mem.jsonl") -> Any:
    return zoo.runpytest_subprocess(
        "-p", "no:cacheprovider", f"--engram-method={method}", "--engram-no-controls", *arguments, "zoo.yaml"
    )


def left(zoo: pytest.Pytester, name: str, folder: str = "reports/latest") -> Any:
    text = (zoo.path / folder / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else json.loads(text)


def rates(zoo: pytest.Pytester) -> dict[str, tuple[float | None, float | None]]:
    return {row["kind"]: (row["wrong_accepted"], row["right_rejected"]) for row in left(zoo, "results.json")["judges"]}


def judged(zoo: pytest.Pytester) -> dict[str, Any]:
    (row,) = [row for row in left(zoo, "results.json")["rows"] if row["metric"] == "judged"]
    return dict(row)


@pytest.mark.parametrize("judge", [strict], indirect=True)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_strict_judge_is_asked_judged_and_verified(zoo: pytest.Pytester, judge: Endpoint, workers: str) -> None:
    done = run(zoo, "--engram-judge=openai:m", "-n", workers)
    assert done.ret == 0, done.stdout.str()
    known = left(zoo, "known_answers.jsonl")
    assert {one["kind"]: one["truth"] for one in known} == {"another": "wrong", "vague": "wrong", "reworded": "right"}
    assert len(known) == 48
    assert len(judge.requests) == 16 + 48
    assert rates(zoo) == {"all": (0.0, 0.0), "another": (0.0, None), "vague": (0.0, None), "reworded": (None, 0.0)}
    row = judged(zoo)
    assert (row["value"], row["corrected"], row["correction"]) == (0.75, 0.75, "rogan-gladen")
    manifest = left(zoo, "manifest.json")["judge"]
    assert (manifest["name"], manifest["prompts"]["zoo"]["label"]) == ("openai:m", "our own prompt")
    assert manifest["totals"]["asked"] == 64
    done.stdout.fnmatch_lines(["judge m: 16 answers and 48 known ones judged; 64 asked, 0 from the store; *"])
    # The next run asks nothing, has the same report, and what it left can be checked from its files alone.
    again = run(zoo, "--engram-judge=openai:m", "--engram-report=again")
    assert len(judge.requests) == 64
    again.stdout.fnmatch_lines(["judge m: 16 answers and 48 known ones judged; 0 asked, 64 from the store; *"])
    assert left(zoo, "results.json", "again")["judges"] == left(zoo, "results.json")["judges"]


@pytest.mark.parametrize("judge", [generous], indirect=True)
def test_a_generous_judge_is_found_out(zoo: pytest.Pytester, judge: Endpoint) -> None:
    assert run(zoo, "--engram-judge=openai:m", "--engram-judge-runs=2").ret == 0
    assert rates(zoo)["vague"] == (1.0, None)
    assert rates(zoo)["all"] == (0.5, 0.0)
    row = judged(zoo)
    assert row["corrected"] == pytest.approx((0.75 - 0.5) / (1 - 0.5))
    assert row["corrected_low"] < row["corrected"] < row["corrected_high"]
    assert row["spread"] == [0.75, 0.75]
    assert {len(line["fields"]["verdicts"]) for line in left(zoo, "items.jsonl")} == {2}


@pytest.mark.parametrize("judge", [always], indirect=True)
def test_a_judge_that_accepts_everything_corrects_nothing_and_the_report_says_so(
    zoo: pytest.Pytester, judge: Endpoint
) -> None:
    done = run(zoo, "--engram-judge=openai:m")
    assert rates(zoo)["all"] == (1.0, 0.0)
    row = judged(zoo)
    assert (row["value"], row["corrected"], row["correction"]) == (1.0, None, None)
    assert row["correction_reason"].startswith("the judge is no better than chance")
    assert "the judge is no better than chance" in " ".join(done.stdout.str().split())


@pytest.mark.parametrize("judge", [lambda _: completion("Hard to say.")], indirect=True)
def test_a_judge_that_never_gives_a_label_judges_nothing(zoo: pytest.Pytester, judge: Endpoint) -> None:
    done = run(zoo, "--engram-judge=openai:m")
    assert judged(zoo)["reason"] == "the judge gave no label"
    assert {line["missing"]["judged"] for line in left(zoo, "items.jsonl")} == {"the judge gave no label"}
    done.stdout.fnmatch_lines(
        [
            "judge m: 0 answers and 0 known ones judged; 64 asked, 0 from the store; 6400 tokens in, 192 out, $*",
            "judge m: 64 not judged: the judge gave no label",
        ]
    )


def test_recorded_verdicts_judge_what_they_are_of_and_know_themselves(zoo: pytest.Pytester) -> None:
    lines = [
        {"question_id": f"zoo-{name}", "answer": food, "verdicts": [True, name != "bee"]}
        for name, food in zip(ANIMALS, FOODS, strict=True)
    ]
    lines += [
        {"question_id": f"zoo-{name}", "answer": "quite another", "verdicts": [False]} | known
        for name, known in zip(ANIMALS, [{"known": "wrong", "kind": "other"}, {}] * 8, strict=True)
    ]
    (zoo.path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run(zoo, "--engram-judge=recorded:verdicts.jsonl").ret == 0
    assert judged(zoo)["value"] == pytest.approx((11 + 0.5) / 16)
    assert rates(zoo) == {"all": (0.0, None), "other": (0.0, None)}
    told = left(zoo, "manifest.json")["judge"]
    assert (told["name"], told["known"]) == ("recorded:verdicts.jsonl", "its own")
    (zoo.path / "mem.jsonl").write_text(json.dumps({"question_id": "zoo-ant", "answer": "Amber!"}))
    done = run(zoo, "--engram-judge=recorded:verdicts.jsonl")
    done.stdout.fnmatch_lines(["judge recorded (verdicts.jsonl): 1 not judged: no recorded verdict for this answer"])


def test_people_s_verdicts_stand_in_the_correction_s_place(zoo: pytest.Pytester) -> None:
    lines = [
        {"question_id": f"zoo-{name}", "answer": food, "verdicts": [at % 4 != 0]}
        | ({"human": at % 2 == 0} if at < 8 else {})
        for at, (name, food) in enumerate(zip(ANIMALS, FOODS, strict=True))
    ]
    (zoo.path / "mem.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run(zoo).ret == 0
    row = judged(zoo)
    # The judge accepts 12 of 16; of the first 8 it accepts 6 where people accept 4.
    assert (row["value"], row["correction"]) == (0.75, "ppi")
    assert row["corrected"] == pytest.approx(0.75 + (4 - 6) / 8)
    assert row["marks"][-1].startswith("judge not judged: its verdicts came with the answers")


@pytest.mark.parametrize("judge", [strict], indirect=True)
def test_parts_are_merged_and_a_changed_answer_is_found_out(zoo: pytest.Pytester, judge: Endpoint) -> None:
    from pytest_engram import report
    from pytest_engram.review.merge import merge
    from pytest_engram.runs import folder as runfolder

    for part, chosen in (("one", "ant or bee or cat"), ("two", "not (ant or bee or cat)")):
        assert run(zoo, "--engram-judge=openai:m", f"--engram-report={part}", "-k", chosen).ret == 0
    whole = merge([runfolder.read(zoo.path / "one"), runfolder.read(zoo.path / "two")])
    assert len(whole.known) == 48  # each part asked all of them; the second had them from the store
    assert whole.manifest["judge"]["totals"]["asked"] == 64
    assert whole.manifest["complete"]
    results = report.write_run(zoo.path / "whole", whole.outcomes, whole.manifest, whole.texts, whole.known)
    assert results["judges"][0]["n"] == 32
    read = runfolder.read(zoo.path / "whole")
    assert read.known == sorted(whole.known, key=lambda one: one.place)
    rewritten = (zoo.path / "whole" / runfolder.KNOWN).read_text().replace("true", "false", 1)
    (zoo.path / "whole" / runfolder.KNOWN).write_text(rewritten)
    from pytest_engram.review.verify import verify

    found = {finding.what: finding.status for finding in verify(runfolder.read(zoo.path / "whole"))}
    assert found[runfolder.KNOWN] == "differs"
    assert found["results.json"] == "differs"


def test_a_verdict_on_a_question_that_no_suite_of_the_run_has_is_refused(zoo: pytest.Pytester) -> None:
    given = [{"question_id": id_, "answer": "x", "verdicts": [True]} for id_ in ("zoo-ant", "zoo-ct", "zoo-ct2")]
    given[2]["question_id"] = "elsewhere"
    (zoo.path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, given)))
    done = run(zoo, "--engram-judge=recorded:verdicts.jsonl")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    told = "verdicts.jsonl:2: no question 'zoo-ct' in this run; did you mean 'zoo-cat'? (1 more such line)"
    assert f"--engram-judge: {told}" in done.stderr.str()
    assert "Traceback" not in done.stderr.str()
    # Where a suite can't be read, nobody can tell what questions it has.
    (zoo.path / "other.yaml").write_text("engram: pilot\nname: other\n")
    told = run(zoo, "--engram-judge=recorded:verdicts.jsonl", "other.yaml").stderr.str()
    assert "no question" not in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-judge=recorded:gone.jsonl"], "*--engram-judge: gone.jsonl: can't be read*"),
        (["--engram-judge-runs=0"], "*--engram-judge-runs: 0 is too small; it must be 1 or more*"),
        (["--engram-judge-runs=3"], "*--engram-judge: no judge: leave --engram-judge-runs and*"),
    ],
)
def test_what_can_not_be_is_one_line(zoo: pytest.Pytester, arguments: list[str], told: str) -> None:
    done = run(zoo, *arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([told])
    assert "Traceback" not in done.stderr.str()


def test_locomo_s_recorded_answers_come_out_as_published_by_category(zoo: pytest.Pytester, shared_data: Path) -> None:
    """Short answers of a real system, and vague ones known to be wrong, before the same judge: 74.29 and 62.81%."""
    name = "full_context.gpt-4o-mini-memos"
    file = json.loads((shared_data / f"locomo/recorded/{name}.json").read_text(encoding="utf-8"))
    found = [result for of_user in file["detailed_results"].values() for result in of_user]
    (zoo.path / "answers.jsonl").write_text(
        "\n".join(json.dumps({"question_id": r["question_id"], "answer": r["generated_answer"]}) for r in found)
    )
    given = [
        {
            "question_id": r["question_id"],
            "answer": r["generated_answer"],
            "verdicts": list(r["llm_judgments"].values()),
        }
        for r in found
    ]
    vague = json.loads((shared_data / "locomo/recorded/wrong_on_purpose.vague.json").read_text(encoding="utf-8"))
    answered = {(line["question_id"], line["answer"]) for line in given}
    given += [
        {
            "question_id": r["question_id"],
            "answer": r["generated_answer"],
            "verdicts": list(r["llm_judgments"].values()),
            "known": "wrong",
            "kind": "vague",
        }
        for of_user in vague["detailed_results"].values()
        for r in of_user
        if (r["question_id"], r["generated_answer"]) not in answered
    ]
    (zoo.path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, given)))
    (zoo.path / "zoo.yaml").write_text(
        "engram: pilot\nname: locomo\nsource: locomo\nmetrics: [f1, judged]\nquestions: all\n"
    )
    done = run(zoo, "--engram-judge=recorded:verdicts.jsonl", f"--engram-data={shared_data}", method="answers.jsonl")
    assert done.ret == 0, done.stdout.str()
    rows = {
        row["group"]: row
        for row in left(zoo, "results.json")["rows"]
        if row["metric"] == "judged" and row["without"] is None
    }
    assert round(100 * rows[None]["value"], 2) == 74.29
    names = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}
    for category, told in file["metadata"]["category_accuracies"].items():
        assert rows[names[category]]["value"] == pytest.approx(told["mean"])
        assert rows[names[category]]["n"] == told["total"]
    assert rows["adversarial"]["reason"] == "every question is left out: category 5 (adversarial) is not judged"
    (every,) = [row for row in left(zoo, "results.json")["judges"] if row["kind"] == "vague"]
    assert every["wrong_accepted"] == pytest.approx(0.6281, abs=0.002)
    scores = file["metadata"]["run_scores"]
    assert rows[None]["spread"] == pytest.approx([min(scores), max(scores)])
