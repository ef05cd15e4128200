"""Whole runs whose reader also answers where no memory has a part in it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from endpoint import Endpoint, Reply, completion

from pytest_engram.cli.commands import main
from pytest_engram.suites import shipped_cases

Serve = Callable[..., Endpoint]
BASELINES = ["no-memory", "placebo", "oracle", "full-context"]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(reply: Callable[[dict[str, Any]], Reply]) -> Endpoint:
            served = stack.enter_context(Endpoint(reply).serving())
            monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
            return served

        yield start


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Five of the demo's questions, and a cache of its own."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    suite = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    suite |= {"name": "tiny", "questions": suite["questions"][:5], "metrics": ["answer@10", "resolved@10", "subem"]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(suite))
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    common = ("--engram-method=bm25", "--engram-no-controls", "--engram-reader=openai:m", "tiny.yaml")
    return project.runpytest_subprocess(*common, *arguments)


def left(project: pytest.Pytester, name: str) -> Any:
    text = (project.path / "reports/latest" / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else json.loads(text)


def facts(request: dict[str, Any]) -> list[str]:
    """What stands in a question that was asked."""
    told = request["messages"][-1]["content"]
    return re.findall(r"^Memory \d+:\n(.*)$", told, re.MULTILINE)


def test_each_is_given_what_it_is_and_stands_beside_the_methods(serve: Serve, project: pytest.Pytester) -> None:
    """The endpoint answers with the last fact that it is given: a reader that reads."""
    served = serve(lambda request: completion(facts(request)[-1] if facts(request) else "nobody knows"))
    found = run(project, "--engram-answer-baselines=all", "-n", "2")
    assert found.ret == 0, found.stdout.str()
    lines = left(project, "baselines.jsonl")
    asked = left(project, "items.jsonl")
    assert {line["method"] for line in asked} == {"bm25"}  # none of them is a method
    assert sorted((line["method"], line["question_id"]) for line in lines) == sorted(
        (name, line["question_id"]) for name in BASELINES for line in asked
    )
    haystack = asked[0]["haystack"]
    sizes: dict[tuple[str, str], int | None] = {(name, line["query"]): None for name in BASELINES for line in asked}
    for request in served.requests[len(asked) :]:  # all methods come first
        query = re.search(r"Question: (.*)", request["messages"][-1]["content"])
        assert query is not None
        size = len(facts(request))
        name = {0: "no-memory", haystack: "full-context"}.get(size)
        mine = [line for line in lines if line["query"] == query[1] and line.get("ids") and len(line["ids"]) == size]
        assert name or mine
        for one in [name] if name else [line["method"] for line in mine]:
            sizes[one, query[1]] = size
    assert None not in sizes.values()
    by_name = {name: [line for line in lines if line["method"] == name] for name in BASELINES}
    assert all(line["ids"] == [] and line["tokens"] == 0 for line in by_name["no-memory"])
    assert len({line["tokens"] for line in by_name["full-context"]}) == 1
    for oracle, placebo in zip(by_name["oracle"], by_name["placebo"], strict=True):
        assert set(oracle["ids"]).isdisjoint(placebo["ids"])
        assert abs(oracle["tokens"] - placebo["tokens"]) < 20  # a fact has some fifteen tokens
    # The last fact of the evidence is the answer's, or another hop's: by hand from what was said.
    results = left(project, "results.json")
    rows = {row["baseline"]: row for row in results["answer_baselines"] if row["group"] is None}
    assert list(rows) == BASELINES
    assert {row["metric"] for row in rows.values()} == {"subem"}
    for name, row in rows.items():
        said = [line["metrics"]["subem"] for line in by_name[name]]
        assert (row["value"], row["n"], row["status"]) == (sum(said) / 5, 5, "ok")
        assert row["tokens"] == sum(line["tokens"] for line in by_name[name]) / 5
    assert rows["no-memory"]["value"] == 0.0
    assert {row["method"] for row in results["rows"]} == {"bm25"}
    assert results["paired"] == []
    assert results["manifest"]["reader"]["totals"]["answered"] == 25
    page = (project.path / "reports/latest/results.html").read_text()
    for text in ("knows the evidence", "no k", "the reader alone", "other entries, as many tokens"):
        assert text in page
        assert text in (project.path / "reports/latest/results.md").read_text()
    shown = ["no memory *0.0 *", "placebo *0.0 *", "BM25 *", "full context *", "oracle *"]
    found.stdout.fnmatch_lines(["tiny, answers", *shown])
    found.stdout.fnmatch_lines(["reader m (openai): 25 answers; 25 asked, 0 from the store; *"])
    table = (project.path / "reports/latest/results.csv").read_text()
    assert "answer_baselines,tiny,,,no memory,no-memory,subem" in table


def test_a_run_that_asks_for_none_has_none(serve: Serve, project: pytest.Pytester) -> None:
    served = serve(lambda _: completion("x"))
    assert run(project).ret == 0
    assert len(served.requests) == 5
    assert not (project.path / "reports/latest/baselines.jsonl").exists()
    assert left(project, "results.json")["answer_baselines"] == []
    assert "answer_baselines" not in left(project, "manifest.json")
    assert "tiny, answers" not in (project.path / "reports/latest/results.md").read_text()


def test_methods_have_the_money_first_and_the_cheap_ones_the_rest(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_PRICE", "10000,0")  # a dollar for the 100 tokens of each question
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "1")
    served = serve(lambda _: completion("x"))
    assert run(project, "--engram-answer-baselines=oracle,no-memory", "--engram-max-cost=7").ret == 0
    assert len(served.requests) == 7
    results = left(project, "results.json")
    assert [row["status"] for row in results["rows"] if row["metric"] == "subem"] == ["ok"]
    told = [(row["baseline"], row["status"], row["n"]) for row in results["answer_baselines"]]
    assert told == [("no-memory", "partial", 2), ("oracle", "not run", 0)]
    assert results["answer_baselines"][1]["reason"] == "--engram-max-cost of $7 is reached"
    assert run(project, "--engram-answer-baselines=oracle,no-memory", "--engram-max-cost=20").ret == 0
    assert len(served.requests) == 15  # what was answered is stored
    assert [row["status"] for row in left(project, "results.json")["answer_baselines"]] == ["ok", "ok"]


def test_a_context_that_is_too_long_is_no_figure(serve: Serve, project: pytest.Pytester) -> None:
    def reply(request: dict[str, Any]) -> Reply:
        if len(facts(request)) <= 10:
            return completion("x")
        said = {"message": "maximum context length is 10", "type": "error", "code": "context_length_exceeded"}
        return Reply(400, {"error": said})

    serve(reply)
    found = run(project, "--engram-answer-baselines=full-context,oracle")
    assert found.ret == 0, found.stdout.str()
    oracle, whole = left(project, "results.json")["answer_baselines"]
    assert (oracle["baseline"], oracle["status"]) == ("oracle", "ok")
    assert (whole["baseline"], whole["status"], whole["value"]) == ("full-context", "not run", None)
    assert "maximum context length" in whole["reason"]


JUDGE = """
class Strict:
    USAGE = "strict"
    label = "strict"

    def resolve(self, argument):
        return self

    def __call__(self, case):
        return [any(answer.lower() in case.answer.lower() for answer in case.answers)]


def pytest_engram_judges():
    return {"strict": Strict()}
"""


def test_their_answers_are_judged_as_a_method_s_are(serve: Serve, project: pytest.Pytester) -> None:
    serve(lambda request: completion(facts(request)[-1] if facts(request) else "nobody knows"))
    project.makeconftest(JUDGE)
    suite = yaml.safe_load((project.path / "tiny.yaml").read_text())
    (project.path / "tiny.yaml").write_text(yaml.safe_dump(suite | {"metrics": ["answer@10", "subem", "judged"]}))
    found = run(project, "--engram-answer-baselines=all", "--engram-judge=strict")
    assert found.ret == 0, found.stdout.str()
    lines = left(project, "baselines.jsonl")
    assert len(lines) == 20
    for line in lines:
        assert line["fields"]["judge"] == "strict"
        assert line["metrics"]["judged"] == line["metrics"]["subem"]  # both ask whether the answer is in it
    rows = {(row["baseline"], row["metric"]): row for row in left(project, "results.json")["answer_baselines"]}
    for name in BASELINES:
        assert rows[name, "judged"]["value"] == rows[name, "subem"]["value"]
        assert rows[name, "judged"]["judge"] == "strict"
    found.stdout.fnmatch_lines(["judge strict: 25 answers and * known ones judged"])


def engram(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_they_are_written_again_verified_packed_and_merged(serve: Serve, project: pytest.Pytester) -> None:
    serve(lambda request: completion(facts(request)[-1] if facts(request) else "nobody"))
    assert run(project, "--engram-answer-baselines=all").ret == 0
    folder = project.path / "reports/latest"
    before = (folder / "results.json").read_bytes()
    verified = engram("verify", "reports/latest", "--cases", ".")
    assert verified.exit_code == 0, verified.output
    assert "baselines of tiny" in verified.output
    assert "baselines.jsonl" in verified.output
    assert engram("report", "reports/latest").exit_code == 0
    assert (folder / "results.json").read_bytes() == before
    assert engram("pack", "reports/latest").exit_code == 0
    assert (folder / "baselines.jsonl.gz").is_file()
    assert engram("merge", "reports/latest", "reports/latest", "-o", "whole").exit_code == 0
    merged = json.loads((project.path / "whole/results.json").read_text())
    assert merged["answer_baselines"] == json.loads(before)["answer_baselines"]
    # Somebody gives the oracle what is no evidence.
    lines = [json.loads(line) for line in (project.path / "whole/baselines.jsonl").read_text().splitlines()]
    for line in lines:
        if line["method"] == "oracle":
            line["ids"] = line["ids"][:-1]
    (project.path / "whole/baselines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spoiled = engram("verify", "whole", "--cases", ".")
    assert spoiled.exit_code == 1
    assert "should be" in spoiled.output
    assert "was given" in spoiled.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-answer-baselines=orcale"], "--engram-answer-baselines: no baseline 'orcale'; known are all, *"),
        (["--engram-answer-baselines=all", "--engram-reader=none"], "--engram-answer-baselines: there is no reader; *"),
    ],
)
def test_what_makes_no_sense_is_one_line(project: pytest.Pytester, arguments: list[str], told: str) -> None:
    found = run(project, *arguments)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"ERROR: {told}"])


def test_a_reader_without_a_model_has_them_at_no_cost(project: pytest.Pytester) -> None:
    found = run(project, "--engram-reader=newest", "--engram-answer-baselines=all")
    assert found.ret == 0, found.stdout.str()
    rows = {row["baseline"]: row for row in left(project, "results.json")["answer_baselines"]}
    assert [row["status"] for row in rows.values()] == ["ok"] * 4
    assert rows["no-memory"]["value"] == 0.0


def test_what_is_withheld_of_methods_is_withheld_of_them(
    serve: Serve, project: pytest.Pytester, shared_data: Path
) -> None:
    serve(lambda _: completion("a secret of the conversation"))
    full = yaml.safe_load((shipped_cases() / "full" / "locomo.yaml").read_text())
    (project.path / "chats.yaml").write_text(yaml.safe_dump(full | {"name": "chats", "metrics": ["recall@5", "f1"]}))
    arguments = ("--engram-answer-baselines=all", "--engram-withhold-texts", f"--engram-data={shared_data}")
    wanted = "locomo_0_qa0 or locomo_0_qa1"
    found = project.runpytest_subprocess(
        "--engram-method=bm25",
        "--engram-no-controls",
        "--engram-reader=openai:m",
        "chats.yaml",
        "-k",
        wanted,
        *arguments,
    )
    assert found.ret == 0, found.stdout.str()
    lines = left(project, "baselines.jsonl")
    questions = {line["question_id"] for line in left(project, "items.jsonl")}
    assert {line["question_id"] for line in lines} == questions
    assert {line["method"] for line in lines} == set(BASELINES)
    file = json.loads((shared_data / "locomo/locomo10.json").read_text(encoding="utf-8"))
    kept = (project.path / "reports/latest/baselines.jsonl").read_text()
    assert "a secret" not in kept
    for number, qa in enumerate(file[0]["qa"]):
        if f"locomo_0_qa{number}" in questions:
            assert qa["question"] not in kept
            assert str(qa.get("answer")) not in [line.get("answer") for line in lines]
    rows = [row for row in left(project, "results.json")["answer_baselines"] if row["group"] is None]
    assert all(row["value"] is not None for row in rows if row["without"] is None)
    verified = engram("verify", "reports/latest", "--cases", ".", "--data", str(shared_data))
    assert verified.exit_code == 0, verified.output
