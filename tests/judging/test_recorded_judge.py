"""Verdicts that were given elsewhere, as a judge without a model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_engram import statistics as stats
from pytest_engram.judging import recorded
from pytest_engram.judging.judges import Case, JudgeError, JudgeUnavailable
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.suites.base import Gold, Key


def written(folder: Path, *lines: Any) -> str:
    path = folder / "verdicts.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def case(question_id: str, answer: str) -> Case:
    return Case("Q?", ("Rome",), answer, question_id=question_id)


def test_it_says_what_the_file_says_of_this_answer_to_this_question_alone(tmp_path: Path) -> None:
    judge = recorded.resolve(
        written(
            tmp_path,
            {"question_id": "q", "answer": "Rome", "verdicts": [True, False]},
            "",
            {"question_id": "q", "answer": "Oslo", "verdicts": [False]},
            {"question_id": "r", "answer": "Rome", "verdicts": [False]},
        )
    )
    assert judge.label == "recorded (verdicts.jsonl)"
    assert [judge(case("q", "Rome")), judge(case("q", "Oslo")), judge(case("r", "Rome"))] == [
        [True, False],
        [False],
        [False],
    ]
    for other in (case("q", "Rome."), case("s", "Rome")):
        with pytest.raises(JudgeUnavailable, match=r"^no recorded verdict for this answer$"):
            judge(other)


def test_its_known_answers_are_those_that_its_file_knows(tmp_path: Path) -> None:
    judge = recorded.resolve(
        written(
            tmp_path,
            {"question_id": "q", "answer": "x", "verdicts": [True], "known": "wrong", "kind": "vague"},
            {"question_id": "q", "answer": "y", "verdicts": [True], "known": "right"},
            {"question_id": "q", "answer": "z", "verdicts": [True]},
            {"question_id": "other", "answer": "x", "verdicts": [True], "known": "wrong"},
        )
    )
    key = Key("s", Path("s.yaml"), ["judged"], {"q": Gold(("Rome",), cluster="c")})
    assert judge.known(key, {"q": "Q?"}) == [
        KnownAnswer("s", "q", "vague", "wrong", "x", [True], cluster="c"),
        KnownAnswer("s", "q", "given", "right", "y", [True], cluster="c"),
    ]
    assert judge.describe({})["name"] == "recorded:verdicts.jsonl"  # no folder of this machine


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["nope"], "verdicts.jsonl:1: invalid json"),
        ([{"question_id": "q", "answer": "x"}], "verdicts.jsonl:1: verdicts: field required"),
        ([{"question_id": "q", "answer": "x", "verdicts": []}], "verdicts.jsonl:1: verdicts: "),
        ([{"question_id": "q", "answer": "x", "verdicts": [1]}], "verdicts.jsonl:1: verdicts.0: "),
        ([{"question_id": "q", "answer": "x", "verdicts": [True], "known": "maybe"}], "verdicts.jsonl:1: known: "),
        ([{"question_id": "q", "answer": "x", "verdicts": [True], "knwn": "wrong"}], "verdicts.jsonl:1: knwn: "),
        ([{"question_id": "q", "answer": "x", "verdicts": [True]}] * 2, "verdicts.jsonl:2: this answer to q stands"),
        ([""], "verdicts.jsonl: holds no verdict"),
        (
            [{"question_id": "q", "answer": "x", "verdicts": [True], "kind": "vague"}],
            'verdicts.jsonl:1: kind: is of a known answer; add `known`, "wrong" or "right", or leave the field out',
        ),
        (
            [{"question_id": "q", "answer": "x", "verdicts": [True], "known": "wrong", "kind": " "}],
            "verdicts.jsonl:1: kind: is empty; write how the answer was made, or leave the field out",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path: Path, lines: Sequence[Any], told: str) -> None:
    with pytest.raises(JudgeError, match=told) as error:
        recorded.resolve(written(tmp_path, *lines))
    assert "\n" not in str(error.value)


def test_lines_of_questions_that_the_run_has_not_are_refused_with_file_and_line(tmp_path: Path) -> None:
    lines = [{"question_id": id_, "answer": "x", "verdicts": [True]} for id_ in ("q-one", "q-tw", "far")]
    judge = recorded.resolve(written(tmp_path, *lines, {**lines[2], "answer": "y"}))
    judge.check({"q-one", "q-tw", "far"})
    with pytest.raises(JudgeError) as error:
        judge.check({"q-one", "q-two"})
    told = f"{tmp_path}/verdicts.jsonl:2: no question 'q-tw' in this run; did you mean 'q-two'? (2 more such lines)"
    assert str(error.value) == told
    with pytest.raises(JudgeError, match=r":3: no question 'far' in this run; run its suite as well, or delete the"):
        judge.check({"q-one", "q-tw"})


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"gone.jsonl: can't be read \(No such file"):
        recorded.resolve(str(tmp_path / "gone.jsonl"))


# What was published of LoCoMo. The four figures by category are in the two files' own metadata; of the two sets that
# are wrong on purpose, the whole is published.
PUBLISHED = {
    "wrong_on_purpose.vague": 62.81,
    "wrong_on_purpose.specific": 10.61,
    "full_context.gpt-4.1-mini-cot": 92.62,
    "full_context.gpt-4o-mini-memos": 74.29,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_recorded_verdicts_of_locomo_come_out_as_published(shared_data: Path, tmp_path: Path, name: str) -> None:
    file = json.loads((shared_data / f"locomo/recorded/{name}.json").read_text(encoding="utf-8"))
    results = [result for of_user in file["detailed_results"].values() for result in of_user]
    lines = [
        {
            "question_id": result["question_id"],
            "answer": result["generated_answer"],
            "verdicts": list(result["llm_judgments"].values()),
        }
        for result in results
    ]
    judge = recorded.resolve(written(tmp_path, *lines))
    judged: dict[str, list[float]] = defaultdict(list)
    for result in results:
        verdicts = judge(case(result["question_id"], result["generated_answer"]))
        judged[result["category"]].append(sum(verdicts) / len(verdicts))
    every = [value for values in judged.values() for value in values]
    assert round(100 * sum(every) / len(every), 2) == PUBLISHED[name]
    for category, told in file.get("metadata", {}).get("category_accuracies", {}).items():
        assert sum(judged[category]) / len(judged[category]) == pytest.approx(told["mean"])
        assert len(judged[category]) == told["total"]


def test_the_more_wrong_answers_a_judge_accepts_the_less_its_figure_says(shared_data: Path) -> None:
    files = {
        name: [
            sum(result["llm_judgments"].values()) / 3
            for of_user in json.loads((shared_data / f"locomo/recorded/{name}.json").read_text())[
                "detailed_results"
            ].values()
            for result in of_user
        ]
        for name in PUBLISHED
    }
    right = stats.Verdicts([1.0] * 40)
    vague = stats.rogan_gladen(
        stats.Verdicts(files["full_context.gpt-4.1-mini-cot"]), right, stats.Verdicts(files["wrong_on_purpose.vague"])
    )
    # (0.9262 - 0.6281) / (1 - 0.6281)
    assert vague.value == pytest.approx((0.9262 - 0.6281) / (1 - 0.6281), abs=1e-3)
    wrong = stats.Verdicts(files["wrong_on_purpose.specific"])
    specific = stats.rogan_gladen(stats.Verdicts(files["full_context.gpt-4.1-mini-cot"]), right, wrong)
    assert specific.value == pytest.approx((0.9262 - 0.1061) / (1 - 0.1061), abs=1e-3)
    assert specific.high - specific.low < vague.high - vague.low
