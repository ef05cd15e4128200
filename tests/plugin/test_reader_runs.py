"""Whole runs with a model that reads: beside the run, within its money, and with nothing lost by an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from endpoint import Endpoint, Reply, completion, failure

from pytest_engram.basics import sealed
from pytest_engram.suites import shipped_cases

Serve = Callable[..., Endpoint]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serves what a function says of a request."""
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
    suite |= {"name": "tiny", "questions": suite["questions"][:5], "metrics": ["answer@10", "subem"]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(suite))
    return pytester


ARGUMENTS = ("--engram-method=bm25", "--engram-no-controls", "--engram-reader=openai:m", "tiny.yaml")


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*ARGUMENTS, *arguments)


def log(project: pytest.Pytester) -> list[dict[str, Any]]:
    path = project.path / "reports/latest/items.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def row(project: pytest.Pytester, metric: str = "subem") -> dict[str, Any]:
    rows = json.loads((project.path / "reports/latest/results.json").read_text())["rows"]
    (found,) = [one for one in rows if one["metric"] == metric]
    return dict(found)


def reader(project: pytest.Pytester) -> dict[str, Any]:
    return dict(json.loads((project.path / "reports/latest/manifest.json").read_text())["reader"])


def test_a_limit_leaves_a_partial_figure_and_the_next_run_goes_on(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_PRICE", "10000,0")  # a dollar for the 100 tokens of each question
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "1")
    served = serve(lambda _: completion("nothing right"))
    found = run(project, "--engram-max-cost=2")
    assert found.ret == 0, found.stdout.str()
    assert len(served.requests) == 2
    told = "--engram-max-cost of $2 is reached"
    found.stdout.fnmatch_lines(
        [
            "reader m (openai): 2 answers; 2 asked, 0 from the store; 200 tokens in, 6 out, $2.0000",
            f"reader m (openai): 3 not answered: {told}",
        ]
    )
    assert sorted(line.get("missing", {}).get("subem", "") for line in log(project)) == ["", "", told, told, told]
    partial = row(project)
    assert (partial["status"], partial["value"], partial["n"]) == ("partial", 0.0, 2)
    assert partial["reason"] == f"partial: 2 of 5 answered: {told}"
    assert row(project, "answer@10")["status"] == "ok"
    assert run(project, "--engram-max-cost=10").ret == 0
    assert len(served.requests) == 5
    assert (row(project)["status"], row(project)["n"]) == ("ok", 5)


def test_whatever_else_is_missing_leaves_no_figure(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "1")
    replies = iter([completion("x"), completion(None, finish="length"), *[completion("x")] * 3])
    serve(lambda _: next(replies))
    found = run(project)
    why = "m at loopback: empty (finish_reason length); --engram-reader-set max_tokens=N gives it more"
    found.stdout.fnmatch_lines([f"reader m (openai): 1 not answered: {why}"])
    found.stdout.fnmatch_lines(["reader m (openai): 4 answers; 4 asked, 0 from the store; 500 tokens in, *"])
    assert (row(project)["status"], row(project)["value"]) == ("not run", None)
    assert row(project)["reason"] == f"4 of 5 answered: {why}"


def test_an_answer_comes_after_its_line_and_the_log_then_has_it(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "5")
    served = serve(lambda _: replace(completion("x"), delay=3.0))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ARGUMENTS]
    started = time.monotonic()
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, text=True) as process:
        waiting = "the run ended before its reader did"
        while len(lines := log(project)) < 5 and process.poll() is None:
            time.sleep(0.02)
        assert [line["missing"] for line in lines] == [{"subem": waiting}] * 5
        shown, _ = process.communicate(timeout=120)
    assert process.returncode == 0, shown
    assert time.monotonic() - started < 60
    assert served.busiest > 1
    assert [(line["answer"], line["reader"]) for line in log(project)] == [("x", "m (openai)")] * 5
    assert "Answering with m (openai): 5 answers in" in shown
    assert "; 500 tokens in, 15 out, $0.0000" in shown


def test_an_interrupt_while_waiting_loses_nothing(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "1")
    asked: list[int] = []

    def reply(request: dict[str, Any]) -> Reply:
        asked.append(1)
        return completion("x") if len(asked) <= 2 else replace(completion("y"), delay=20.0)

    serve(reply)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ARGUMENTS]
    with subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while len(asked) < 3 or sum("answer" in line for line in log(project)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        shown, _ = process.communicate(timeout=120)
    assert time.monotonic() - started < 15  # it does not wait for the one that is under way
    assert process.returncode == pytest.ExitCode.INTERRUPTED, shown
    assert "Traceback" not in shown
    assert "interrupted while questions were answered and judged; what was not says so" in shown
    assert "reader m (openai): 3 not answered: the run ended before its reader did" in shown
    lines = log(project)
    assert len(lines) == 5
    assert sum(line.get("answer") == "x" for line in lines) == 2
    assert row(project, "answer@10")["status"] == "ok"
    assert row(project)["status"] == "not run"
    # What was answered is stored.
    serve_again = [sealed.recall(path) for path in (project.path / "cache/completions").glob("??/*.json")]
    assert [record["text"] for record in serve_again] == ["x", "x"]


def test_settings_are_sent_and_stand_in_the_manifest_as_they_were_sent(serve: Serve, project: pytest.Pytester) -> None:
    def reply(request: dict[str, Any]) -> Reply:
        if "max_tokens" in request:
            return failure(400, "max_tokens is not supported: use max_completion_tokens")
        return completion("x")

    served = serve(reply)
    settings = ("seed=7", "temperature=none", 'stop=["\\n"]', "reasoning_effort=low", "max_tokens=50")
    found = run(project, *(f"--engram-reader-set={text}" for text in settings))
    assert found.ret == 0, found.stdout.str()
    last = served.requests[-1]
    wanted = {"seed": 7, "stop": ["\n"], "reasoning_effort": "low", "max_completion_tokens": 50}
    assert {name: last[name] for name in last if name not in ("model", "messages")} == wanted
    told = reader(project)
    assert told["settings"] == {"factconsolidation": wanted}
    assert told["prompt"]["benchmarks"]["factconsolidation"]["official"] is False
    assert told["notes"] == ["m refuses max_tokens: sent as max_completion_tokens"]
    found.stdout.fnmatch_lines(["reader m (openai): m refuses max_tokens: sent as max_completion_tokens"])
    assert (told["endpoint"], told["server"]) == ("loopback", {})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-max-cost=nan"], "--engram-max-cost: nan is no limit; give a number of dollars, 0 or more"),
        (["--engram-max-cost=inf"], "--engram-max-cost: inf is no limit; give a number of dollars, 0 or more"),
        (["--engram-max-cost=-1"], "--engram-max-cost: -1.0 is no limit; give a number of dollars, 0 or more"),
        (["--engram-reader-set=seed"], "--engram-reader-set: 'seed' is not NAME=VALUE, such as *"),
        (["--engram-reader-set==7"], "--engram-reader-set: '=7' is not NAME=VALUE, such as *"),
        (["--engram-reader-set=top_p=NaN"], "--engram-reader-set: 'top_p=NaN' holds no number that can be sent; *"),
        (["--engram-judge-set=seed="], "--engram-judge-set: 'seed=' is not NAME=VALUE, such as *"),
        (["--engram-reader-set=stream=true"], "--engram-reader: --engram-reader-set: stream is not for you to set; *"),
        (["--engram-reader-set=answer=long"], "--engram-reader: --engram-reader-set: answer is 'long'; it must be *"),
        (
            ["--engram-reader=newest", "--engram-reader-set=seed=7"],
            "--engram-reader: newest is no model: it has no setting 'seed'; leave out --engram-reader-set",
        ),
        (
            ["--engram-reader=none", "--engram-reader-set=seed=7"],
            "--engram-reader-set: there is no reader; choose one with --engram-reader",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line_before_anything_is_asked(
    serve: Serve, project: pytest.Pytester, arguments: list[str], told: str
) -> None:
    served = serve(lambda _: completion("x"))
    found = run(project, *arguments)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"ERROR: {told}"])
    assert (served.requests, log(project)) == ([], [])


def test_a_memory_that_ran_elsewhere_is_read_here_unless_it_was_answered_there(
    serve: Serve, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(lambda _: completion("from here"))
    assert run(project).ret == 0
    first, second, third, *_ = log(project)
    recorded = [
        {"question_id": first["question_id"], "ids": first["ids"][:2]},
        {"question_id": second["question_id"], "ids": second["ids"], "answer": "from there"},
        {"question_id": third["question_id"], "texts": [{"text": "A text of its own.", "sources": third["ids"][:1]}]},
    ]
    (project.path / "mem.jsonl").write_text("".join(json.dumps(line) + "\n" for line in recorded))
    before = len(served.requests)
    arguments = ["--engram-method=mem.jsonl", "--engram-no-controls", "--engram-reader=openai:m", "tiny.yaml"]
    assert project.runpytest_subprocess(*arguments).ret == 0
    by_id = {line["question_id"]: line for line in log(project)}
    assert [by_id[line["question_id"]].get("answer") for line in recorded] == ["from here", "from there", "from here"]
    asked = [request["messages"][1]["content"] for request in served.requests[before:]]
    assert len(asked) == 2
    assert any(text.startswith("Memory 1:\nA text of its own.\n") for text in asked)


def test_nothing_of_the_gold_is_sent_for_a_question_that_needs_none(serve: Serve, project: pytest.Pytester) -> None:
    served = serve(lambda _: completion("x"))
    assert run(project, "-n", "2").ret == 0
    entries = {line["question_id"]: line for line in log(project)}
    assert len(served.requests) == 5
    for request in served.requests:
        text = request["messages"][1]["content"]
        (line,) = [line for line in entries.values() if f"Question: {line['query']}\n" in text]
        assert text.count("Memory ") >= len(line["ids"])
        assert not {"gold", "gold_ids"} & request.keys()


def test_official_prompts_get_what_the_gold_alone_knows(
    serve: Serve, project: pytest.Pytester, shared_data: Path
) -> None:
    file = json.loads((shared_data / "locomo/locomo10.json").read_text(encoding="utf-8"))
    held = json.loads((shared_data / "locomo/answer_prompts.json").read_text(encoding="utf-8"))
    first: dict[int, tuple[str, dict[str, Any]]] = {}
    for number, qa in enumerate(file[0]["qa"]):
        first.setdefault(qa["category"], (f"locomo_0_qa{number}", qa))
    pilot = yaml.safe_load((shipped_cases() / "full" / "locomo.yaml").read_text())
    wanted = {id_: qa for id_, qa in first.values() if qa["category"] in (1, 2, 5)}
    served = serve(lambda _: completion("(a)"))
    (project.path / "chats.yaml").write_text(yaml.safe_dump(pilot | {"name": "chats", "metrics": ["recall@5", "f1"]}))
    arguments = ["--engram-method=bm25", "--engram-no-controls", "--engram-reader=openai:m", "chats.yaml", "-n", "2"]
    arguments += ["-k", " or ".join(wanted), f"--engram-data={shared_data}"]
    found = project.runpytest_subprocess(*arguments)
    assert found.ret == 0, found.stdout.str()
    by_id = {line["question_id"]: line for line in log(project)}
    texts = [request["messages"][0]["content"] for request in served.requests]
    for id_, qa in wanted.items():
        (asked,) = [text for text in texts if f"Question: {qa['question']}" in text]
        context = asked.partition("\n\n\n")[0].split("\n")
        assert len(context) == len(by_id[id_]["ids"])
        assert all(", 2023: " in line or ", 2022: " in line for line in context)
        if qa["category"] == 2:
            assert held["suffix category 2"] in asked
        elif qa["category"] == 5:
            one, other = "Not mentioned in the conversation", str(qa["adversarial_answer"])
            offered = [held["suffix category 5"].format(*pair) for pair in ((one, other), (other, one))]
            assert any(f"{qa['question']}{pair}" in asked for pair in offered)
            assert by_id[id_]["answer"] in (one, other)
        else:
            assert asked.endswith(held["answer"].format(qa["question"]))
    assert reader(project)["settings"] == {"locomo": {"temperature": 0, "max_tokens": 32}}
    assert reader(project)["prompt"]["official"] is True
