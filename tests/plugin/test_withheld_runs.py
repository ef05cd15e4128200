"""What a run with texts to withhold leaves where something fails: an exception, an endpoint that echoes, a kill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Reply, completion, failure
from runs import pytest_in

from pytest_engram.review import merge
from pytest_engram.review.verify import verify
from pytest_engram.runs import folder as runfolder

SECRETS = ("zebrafish", "aquamarine", "quokka")
NUMBERS = ("one", "two", "three", "four")
SUITE = """\
engram: pilot
name: talk
source: locomo
metrics: [recall@10, f1, judged]
questions: all
"""
CONFTEST = """
import os

import pytest
from pytest_engram import method


class Loud:
    def __init__(self, bench):
        pass

    def write(self, entries):
        self.entries = entries

    def search(self, query, k):
        raise ValueError(f"{query} {self.entries[0].text}")


class Inventing(Loud):
    def search(self, query, k):
        return [f"{query} {self.entries[0].text}"]


@method(controls=[])
def loud():
    return Loud


@method(controls=[])
def inventing():
    return Inventing


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if os.environ.get("KILLED"):
        os._exit(9)
"""


def echo(request: dict[str, Any]) -> Reply:
    return failure(400, " ".join(str(message["content"]) for message in request["messages"]))


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    said = [f"My {number} zebrafish is aquamarine {number}." for number in NUMBERS]
    turns = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(said, 1)]
    held = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = [
        {
            "question": f"What is the {number} zebrafish?",
            "answer": f"aquamarine quokka {number}",
            "evidence": [f"D1:{n}"],
            "category": 4,
        }
        for n, number in enumerate(NUMBERS, 1)
    ]
    data = tmp_path / "data" / "locomo"
    data.mkdir(parents=True)
    (data / "locomo10.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": held, "qa": asked}]))
    (tmp_path / "talk.yaml").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    return tmp_path


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with Endpoint(request.param).serving() as endpoint:
        yield endpoint


def run(talk: Path, *arguments: str, method: str = "bm25", folder: str = "out", **environment: str) -> str:
    told = (f"--engram-method={method}", "--engram-no-controls", "--engram-data=data", f"--engram-report={folder}")
    environment |= {"ENGRAM_CACHE": str(talk / "cache")}
    done = pytest_in(talk, "talk.yaml", *told, "--engram-withhold-texts", *arguments, **environment)
    return done.stdout + done.stderr


def leaks(folder: Path) -> list[str]:
    files = [path for path in folder.iterdir() if path.is_file()]
    assert files
    return [f"{path.name}: {word}" for path in files for word in SECRETS if word in path.read_text()]


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("method", "status", "reason"), [("loud", "error", "ValueError: withheld"), ("inventing", "violation", "withheld")]
)
def test_an_error_or_a_violation_that_quotes_a_text_is_told_without_it(
    talk: Path, method: str, status: str, reason: str
) -> None:
    told = run(talk, method=method)
    assert "zebrafish" in told  # its author still reads all of it
    assert {(line["status"], line["reason"]) for line in lines(talk / "out")} == {(status, reason)}
    assert leaks(talk / "out") == []


@pytest.mark.parametrize("served", [echo], indirect=True)
def test_an_endpoint_that_echoes_what_it_is_asked_is_not_quoted(talk: Path, served: Endpoint) -> None:
    told = run(talk, "--engram-reader=openai:m", OPENAI_BASE_URL=served.base_url)
    assert served.requests, told
    assert {line["missing"]["f1"] for line in lines(talk / "out")} == {"withheld"}
    manifest = json.loads((talk / "out" / "manifest.json").read_text())
    assert manifest["reader"]["totals"]["unanswered"] == {"withheld": 4}
    assert leaks(talk / "out") == []


@pytest.mark.parametrize("served", [echo], indirect=True)
def test_nor_is_one_that_judges(talk: Path, served: Endpoint) -> None:
    told = run(talk, "--engram-reader=newest", "--engram-judge=openai:m", OPENAI_BASE_URL=served.base_url)
    assert served.requests, told
    known = [json.loads(line) for line in (talk / "out" / "known_answers.jsonl").read_text().splitlines()]
    assert {one["reason"] for one in known} == {"withheld"}
    assert {line["missing"]["judged"] for line in lines(talk / "out")} == {"withheld"}
    assert leaks(talk / "out") == []


def test_a_run_that_is_killed_leaves_no_text_in_its_log(talk: Path) -> None:
    run(talk, "--engram-reader=newest", KILLED="1")
    assert len(lines(talk / "out")) == 4
    assert not (talk / "out" / "manifest.json").exists()
    assert leaks(talk / "out") == []


@pytest.mark.parametrize("served", [lambda _: completion('{"label": "CORRECT"}')], indirect=True)
def test_parts_keep_every_known_answer_and_each_is_verified_by_its_hash(talk: Path, served: Endpoint) -> None:
    judged = ("--engram-reader=newest", "--engram-judge=openai:m")
    for folder, chosen in (("one", "qa0 or qa1"), ("two", "not (qa0 or qa1)"), ("whole", "")):
        run(talk, *judged, "-k", chosen, folder=folder, OPENAI_BASE_URL=served.base_url)
    whole = runfolder.read(talk / "whole")
    assert len(whole.known) > 4
    assert all(one.answer.startswith("sha256:") for one in whole.known)
    parts = merge.merge([runfolder.read(talk / name) for name in ("one", "two")])
    assert sorted(parts.known, key=lambda one: one.place) == whole.known
    found = {finding.what: finding for finding in verify(whole, [talk], talk / "data")}
    assert found["known answers of talk"].status == "agrees"
    whole.known[0].answer = "sha256:" + "0" * 16
    found = {finding.what: finding for finding in verify(whole, [talk], talk / "data")}
    assert found["known answers of talk"].status == "differs"
    assert leaks(talk / "whole") == []
