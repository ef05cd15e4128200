"""Readers: the one without a model against its definition, the other against a real HTTP server on loopback."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Reply, completion, failure
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram import reading as readers
from pytest_engram.memory import Entry
from pytest_engram.reading import (
    Answer,
    Asked,
    Desk,
    ReaderError,
    ReaderSpec,
    ReaderUnavailable,
    client,
    prompts,
)
from pytest_engram.reading import endpoint as endpoint_module
from pytest_engram.reading.client import LASTING
from pytest_engram.reading.connection import Secret
from pytest_engram.reading.newest import Newest, content_words
from pytest_engram.reading.openai import OpenAIReader
from pytest_engram.reading.outages import Outage
from pytest_engram.runs.outcome import Outcome

KEY = "sk-test-0123456789abcdefghijklmnop"
FACTS = [Entry("3", "3. The capital of Avaria is Oslo.", 3.0), Entry("9", "9. The capital of Avaria is Rome.", 9.0)]
QUESTION = "What is the capital of Avaria?"


def about(question: str = QUESTION, entries: list[Entry] = FACTS) -> Asked:
    return Asked(question, entries, "factconsolidation")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own settings must not reach these tests."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


# The registry


def test_each_module_is_a_reader() -> None:
    assert readers.known() == ["none", "newest", "openai:MODEL"]
    assert readers.resolve("none", None) is None


@pytest.mark.parametrize(
    "name", ["oracle", "", "None", "openai", "openai:", "openai: ", "newest:", "newest:x", "__init__"]
)
def test_an_unknown_reader_is_told_with_the_known_ones(name: str) -> None:
    with pytest.raises(ReaderError) as error:
        readers.resolve(name, None)
    assert str(error.value) == f"no reader {name!r}; known are none, newest, openai:MODEL"


def test_a_missing_package_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_engram.reading.endpoint.find_spec", lambda _: None)
    with pytest.raises(
        ReaderError, match=r"^openai:m needs the openai package: pip install 'pytest-engram\[openai\]'$"
    ):
        readers.resolve("openai:m", None)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("OPENAI_BASE_URL", "127.0.0.1:8000", "OPENAI_BASE_URL is no http or https address"),
        ("OPENAI_BASE_URL", "ftp://host/v1", "OPENAI_BASE_URL is no http or https address"),
        ("OPENAI_BASE_URL", "http://", "OPENAI_BASE_URL is no http or https address"),
        ("OPENAI_BASE_URL", "http://[::1/v1", "OPENAI_BASE_URL is no http or https address"),
        ("OPENAI_BASE_URL", "http://host:99999/v1", "OPENAI_BASE_URL is no http or https address"),
        ("OPENAI_BASE_URL", f"http://user:{KEY}@host/v1", "OPENAI_BASE_URL holds a password or a query"),
        ("OPENAI_BASE_URL", f"http://host/v1?key={KEY}", "OPENAI_BASE_URL holds a password or a query"),
        ("ENGRAM_READER_CONCURRENCY", "0", "ENGRAM_READER_CONCURRENCY is '0'; it must be a whole number, 1 or more"),
        ("ENGRAM_READER_CONCURRENCY", "many", "ENGRAM_READER_CONCURRENCY is 'many'"),
        ("ENGRAM_READER_PRICE", "1", "ENGRAM_READER_PRICE is '1'; write dollars for a million tokens"),
        ("ENGRAM_READER_PRICE", "1,-1", "ENGRAM_READER_PRICE is '1,-1'"),
        ("ENGRAM_READER_PRICE", "nan,1", "ENGRAM_READER_PRICE is 'nan,1'"),
    ],
)
def test_a_variable_that_makes_no_sense_is_one_line(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ReaderError) as error:
        readers.resolve("openai:m", None)
    assert str(error.value).startswith(told)
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_spec_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.org:8443/secret-tenant/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    spec = readers.resolve("openai:org/model:free", None)
    assert spec is not None
    assert KEY not in json.dumps(asdict(spec))
    assert spec.describe() == {
        "name": "openai:org/model:free",
        "kind": "openai",
        "label": "org/model:free (openai)",
        "model": "org/model:free",
        "endpoint": "models.example.org",
        "settings": {},
    }


# newest


def facts(*texts: str) -> list[Entry]:
    return [Entry(text.split(".")[0], text, float(text.split(".")[0])) for text in texts]


@pytest.mark.parametrize(
    ("question", "entries", "answer"),
    [
        (QUESTION, FACTS, FACTS[1].text),
        (QUESTION, FACTS[::-1], FACTS[1].text),
        # A newer fact that matches worse does not count.
        (QUESTION, [*FACTS, Entry("12", "12. The capital of Sweden is Nice.", 12.0)], FACTS[1].text),
        # Words of the question that say nothing about its subject don't count.
        ("Who is the author of Emma?", facts("1. Emma, by Jane", "2. Who is the of is the"), "1. Emma, by Jane"),
        ("Where is CAFÉ Ö?", facts("1. Café ö: Kiel.", "2. Cafe o: Bonn."), "1. Café ö: Kiel."),
        # Whole words: "art" does not match "party".
        ("Which art?", facts("1. art", "2. party"), "1. art"),
        ("Nothing fits?", facts("5. a", "4. b"), "5. a"),
        ("Anything?", [], ""),
    ],
)
def test_newest_answers_with_the_newest_of_the_best(question: str, entries: list[Entry], answer: str) -> None:
    found = Newest().answer(Asked(question, entries))
    assert found.text == answer
    assert found.fields() == {}


def test_of_two_equally_new_the_memorys_order_decides() -> None:
    same = [Entry("b", "red", 1.0), Entry("a", "red", 1.0)]
    assert Newest().answer(Asked("red?", [same[0], same[1]])).text == "red"
    texts = [Entry("b", "red x", 1.0), Entry("a", "red y", 1.0)]
    assert Newest().answer(Asked("red?", texts)).text == "red x"
    assert Newest().answer(Asked("red?", texts[::-1])).text == "red y"


words = st.lists(st.sampled_from(["the", "of", "capital", "Avaria", "red", "7", "who"]), max_size=6).map(" ".join)


@given(words, st.lists(st.tuples(words, st.integers(0, 3)), min_size=1, max_size=6))
def test_no_entry_is_a_better_choice(question: str, texts: list[tuple[str, int]]) -> None:
    entries = [Entry(str(i), text, float(at)) for i, (text, at) in enumerate(texts)]
    chosen = Newest().answer(Asked(question, entries)).text
    wanted = content_words(question)
    shared = {e.id: len(wanted & content_words(e.text)) for e in entries}
    best = [e for e in entries if shared[e.id] == max(shared.values())]
    newest = [e for e in best if all(e.time >= other.time for other in best)]
    assert chosen == newest[0].text


def test_newest_says_that_it_is_no_model() -> None:
    spec = readers.resolve("newest", None)
    assert spec is not None
    assert (spec.name, spec.label, spec.model) == ("newest", "newest (no LLM)", None)
    assert readers.make(spec, Path("nowhere")).answer(about()).text == FACTS[1].text


# openai


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Endpoint]]:
    """Serves replies in turn, the last one for ever; a function replies to the request."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> Endpoint:
            left = list(replies)

            def reply(request: dict[str, Any]) -> Reply:
                now = left.pop(0) if len(left) > 1 else left[0]
                return now if isinstance(now, Reply) else now(request)

            served = stack.enter_context(Endpoint(reply).serving())
            monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
            return served

        yield start


def spec_of(name: str = "openai:m") -> ReaderSpec:
    spec = readers.resolve(name, None)
    assert spec is not None
    return spec


def reason_of(reader: Any, question: str = QUESTION) -> str:
    with pytest.raises(ReaderUnavailable) as error:
        reader.answer(about(question))
    assert error.value.__cause__ is None
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_model_is_asked_once_for_all_times(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    served = serve(completion("Answer: Rome"))
    spec = spec_of()
    first = readers.make(spec, tmp_path).answer(about())
    assert (first.text, first.tokens_in, first.tokens_out, first.cost, first.cached) == ("Rome", 100, 3, 0.0, False)
    assert first.fields() == {"tokens_in": 100, "tokens_out": 3, "cost": 0.0, "cached": False}
    (request,) = served.requests
    assert {key: request[key] for key in request if key != "messages"} == {
        "model": "m",
        "temperature": 0,
        "max_tokens": 10,
    }
    memories = "Memory 1:\n3. The capital of Avaria is Oslo.\nMemory 2:\n9. The capital of Avaria is Rome.\n"
    system = prompts.find("factconsolidation", None).texts["system"]
    assert request["messages"][0] == {"role": "system", "content": system}
    assert request["messages"][1]["role"] == "user"
    assert request["messages"][1]["content"].startswith(memories)
    assert request["messages"][1]["content"].endswith(f"Question: {QUESTION}\nAnswer:")
    # Another process, another run.
    again = readers.make(spec_of(), tmp_path).answer(about())
    assert again == replace(first, cached=True)
    assert len(served.requests) == 1


def test_whatever_an_answer_depends_on_is_asked_anew(
    serve: Callable[..., Endpoint], tmp_path: Path, shared_data: Path
) -> None:
    served = serve(completion("Rome"))
    spec = spec_of()
    OpenAIReader(spec, tmp_path).answer(about())
    for other in (
        replace(spec, model="n"),
        replace(spec, settings={"max_tokens": 11}),
        replace(spec, settings={"seed": 1}),
        replace(spec, settings={"temperature": None}),
        replace(spec, data=shared_data),  # the official prompt
    ):
        assert not OpenAIReader(other, tmp_path).answer(about()).cached
    assert not OpenAIReader(spec, tmp_path).answer(about(entries=FACTS[::-1])).cached
    assert not OpenAIReader(spec, tmp_path).answer(about("Who?")).cached
    assert not OpenAIReader(spec, tmp_path).answer(replace(about(), prompts=None)).cached
    assert len(served.requests) == 9
    assert OpenAIReader(spec, tmp_path).answer(about()).cached


@pytest.mark.parametrize(
    "trouble",
    [
        failure(429, headers={"Retry-After": "1"}),
        failure(500),
        failure(503, headers={"Retry-After": "1"}),
        replace(completion("too late"), delay=2.0),
    ],
    ids=["429", "500", "503", "time-out"],
)
def test_a_passing_trouble_is_waited_out(serve: Callable[..., Endpoint], tmp_path: Path, trouble: Reply) -> None:
    served = serve(trouble, completion("Rome"))
    reader = OpenAIReader(spec_of(), tmp_path, timeout=1.0)
    assert reader.answer(about()).text == "Rome"
    assert len(served.requests) == 2
    waited = served.times[1] - served.times[0]
    assert waited > (0.95 if "Retry-After" in trouble.headers else 0.3)


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (failure(500, "on fire"), "m at loopback: gave up after 2 tries (500: on fire)"),
        (failure(429, "slow down"), "m at loopback: gave up after 2 tries (429: slow down)"),
        (replace(completion("late"), delay=1.5), "m at loopback: no answer within 0.5 s, 2 times"),
    ],
    ids=["500", "429", "time-out"],
)
def test_retries_are_bounded_and_other_questions_do_not_repeat_them(
    serve: Callable[..., Endpoint], tmp_path: Path, trouble: Reply, told: str
) -> None:
    served = serve(trouble)
    spec = spec_of()
    reader = OpenAIReader(spec, tmp_path, retries=1, timeout=0.5)
    assert reason_of(reader) == told
    assert len(served.requests) == 2
    started = time.monotonic()
    for question in ("another question", "a third", "a fourth"):
        assert reason_of(reader, question) == told
    assert time.monotonic() - started < 0.3
    assert len(served.requests) == 2
    # The next run tries at once.
    assert reason_of(OpenAIReader(spec_of(), tmp_path, retries=0, timeout=0.5)) != ""
    assert len(served.requests) == 3


def test_after_an_outage_one_tries_again_while_the_others_go_by_it() -> None:
    outage = Outage()
    assert outage.reason(0.2) is None
    outage.declare("down", 0.2)
    assert (outage.reason(0.2), outage.reason(0.2)) == ("down", "down")
    time.sleep(0.25)
    assert (outage.reason(0.2), outage.reason(0.2)) == (None, "down")
    outage.over()
    assert (outage.reason(0.2), outage.reason(0.2)) == (None, None)
    outage.declare("no key", LASTING)
    time.sleep(0.25)
    assert outage.reason(0.2) == "no key"


def test_an_endpoint_that_comes_back_is_used_again(
    serve: Callable[..., Endpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (client, endpoint_module):
        monkeypatch.setattr(module, "OUTAGE_SECONDS", 0.3)
    serve(failure(500), completion("Rome"))
    reader = OpenAIReader(spec_of(), tmp_path, retries=0)
    assert "gave up" in reason_of(reader)
    assert "gave up" in reason_of(reader)
    time.sleep(0.35)
    assert reader.answer(about()).text == "Rome"
    assert reader.answer(about("another question")).text == "Rome"


def test_an_endpoint_that_is_down_is_told_and_what_is_stored_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Endpoint(lambda _: completion("Rome")).serving() as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
        OpenAIReader(spec_of(), tmp_path).answer(about())
    reader = OpenAIReader(spec_of(), tmp_path, retries=1)
    told = reason_of(reader, "another question")
    assert told.startswith("m at loopback: can't be reached (")
    assert told.endswith("); is it running, and is OPENAI_BASE_URL right?")
    assert reader.answer(about()).text == "Rome"


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (failure(401, "bad key"), "m at loopback: refuses the key in OPENAI_API_KEY (401)"),
        (failure(403), "m at loopback: refuses the key in OPENAI_API_KEY (403)"),
        (failure(404, "no m"), "m at loopback: no such model, or OPENAI_BASE_URL is wrong (404: no m)"),
    ],
)
def test_a_wrong_key_or_model_is_asked_once_in_a_run(
    serve: Callable[..., Endpoint], tmp_path: Path, trouble: Reply, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (client, endpoint_module):
        monkeypatch.setattr(module, "OUTAGE_SECONDS", 0.0)
    served = serve(trouble)
    spec = spec_of()
    reader = OpenAIReader(spec, tmp_path)
    assert reason_of(reader) == told
    assert reason_of(reader, "another question") == told
    assert len(served.requests) == 1


def test_a_refused_question_does_not_stop_the_others(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    serve(failure(400, "context too long"), completion("Rome"))
    reader = OpenAIReader(spec_of(), tmp_path)
    assert reason_of(reader) == "m at loopback: refuses the request (400: context too long)"
    assert reader.answer(about("another question")).text == "Rome"


@pytest.mark.parametrize(
    "strange",
    [
        Reply(body="<html>welcome</html>"),
        Reply(body={}),
        Reply(body={"choices": []}),
        Reply(body={"choices": [{}]}),
        Reply(body=[1]),
        Reply(status=418, body="teapot"),
        Reply(status=400, body={"error": None}),
        Reply(status=400, body={"error": "flat"}),
        Reply(status=400, body=["list"]),
        Reply(status=502, body="x" * 100_000),
        Reply(body="{not json", headers={"Content-Type": "application/json"}),
    ],
)
def test_whatever_an_endpoint_sends_is_a_reason_in_one_line(
    serve: Callable[..., Endpoint], tmp_path: Path, strange: Reply
) -> None:
    serve(strange)
    told = reason_of(OpenAIReader(spec_of(), tmp_path, retries=0))
    assert told.startswith("m at loopback: ")
    assert len(told) < 400


# Keys


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422, 429, 500])
def test_a_key_reaches_the_endpoint_and_nothing_else(
    serve: Callable[..., Endpoint],
    tmp_path: Path,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    echo = f"you sent Bearer {KEY}, that is {KEY[:12]}*** and {KEY[-9:]}"
    served = serve(completion(echo) if status == 200 else failure(status, echo))
    spec = spec_of()
    reader = OpenAIReader(spec, tmp_path, retries=0)
    told = reader.answer(about()).text if status == 200 else reason_of(reader)
    assert served.keys == [f"Bearer {KEY}"]
    captured = capfd.readouterr()
    everything = [told, repr(vars(reader)), str(spec), caplog.text, captured.out, captured.err]
    everything += [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    for text in everything:
        assert KEY not in text
    if status != 200:
        assert KEY[:12] not in told
        assert KEY[-9:] not in told


@pytest.mark.parametrize("broken", ["sk-two\nlines-0123456789", "sk-ключ-0123456789", 'sk-"quoted"-0123456789'])
def test_a_key_that_no_header_can_hold_is_not_told_either(
    serve: Callable[..., Endpoint], tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", broken)
    serve(failure(400, f"what is {json.dumps(broken)}?"))
    told = reason_of(OpenAIReader(spec_of(), tmp_path, retries=0))
    assert "0123456789" not in told


def test_a_word_given_for_a_key_is_left_in_answers(
    serve: Callable[..., Endpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    serve(completion("none of them"))
    assert OpenAIReader(spec_of(), tmp_path).answer(about()).text == "none of them"


def test_openai_itself_needs_a_key_and_a_local_server_none(
    serve: Callable[..., Endpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reason_of(OpenAIReader(spec_of(), tmp_path)) == "m at api.openai.com: OPENAI_API_KEY is not set"
    serve(completion("Rome"))
    assert OpenAIReader(spec_of(), tmp_path).answer(about()).text == "Rome"


@given(st.text(max_size=30), st.text(min_size=8, max_size=20), st.text(max_size=30))
def test_no_long_part_of_a_key_is_left_in_a_text(before: str, key: str, after: str) -> None:
    scrubbed = Secret(key).scrub(before + key + key[3:] + after)
    left = scrubbed.split("***")
    assert not any(key[i : i + 8] in part for part in left for i in range(len(key) - 7))
    assert repr(Secret(key)) == "***"
    assert Secret("").scrub(before) == before


# Store, limit, totals


def test_a_damaged_completion_is_asked_again(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    served = serve(completion("Rome"))
    reader = OpenAIReader(spec_of(), tmp_path)
    reader.answer(about())
    (stored,) = (tmp_path / "completions").glob("??/*")
    whole = stored.read_bytes()
    bits = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 37)]
    for damaged in (b"", whole[:-5], b"[]", b'{"text": 3}', b"\xff", *bits):
        stored.write_bytes(damaged)
        assert not reader.answer(about()).cached
        assert stored.read_bytes() == whole
    assert len(served.requests) == 6 + len(bits)


def test_a_store_that_cannot_be_written_costs_nothing(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    served = serve(completion("Rome"))
    (tmp_path / "completions").write_text("a file in the way")
    told = reason_of(OpenAIReader(spec_of(), tmp_path))
    assert told.startswith("the cache can't be written (")
    assert str(tmp_path) not in told
    assert served.requests == []


ASK = """
import sys
from pathlib import Path
from pytest_engram import reading as readers
from pytest_engram.memory import Entry
from pytest_engram.reading import Asked
reader = readers.make(readers.resolve("openai:m", None), Path(sys.argv[1]))
for question in sys.argv[2:]:
    print(reader.answer(Asked(question, [Entry("1", "1. Rome.", 1.0)])).text)
"""


def test_two_runs_at_once_never_ask_the_same_twice(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    served = serve(lambda _: replace(completion("Rome"), delay=0.2))
    questions = [["same", f"own {number} a", f"own {number} b"] for number in range(4)]

    def run(own: list[str]) -> str:
        command = [sys.executable, "-c", ASK, str(tmp_path), *own]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, questions)) == {"Rome\n" * 3}
    assert len(served.requests) == 9
    left = [path for path in (tmp_path / "completions").glob("??/*") if path.suffix != ".json"]
    assert left == []


def waiting(number: int = 0) -> Outcome:
    return Outcome("s", f"q{number}", "m", 1, 10, [], {}, "ok")


def test_the_limit_is_used_up_and_not_passed(
    serve: Callable[..., Endpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_CONCURRENCY", "3")
    served = serve(lambda _: replace(completion("Rome"), delay=0.3))
    desk = readers.desk(spec_of(), tmp_path)
    for number in range(9):
        assert not desk.read(waiting(number), about(f"question {number}"))
    assert len(desk) == 9
    found = list(desk.rest())
    assert sorted(line.question_id for line in found) == [f"q{number}" for number in range(9)]
    assert {(line.answer, line.reader, *line.missing) for line in found} == {("Rome", "m (openai)")}
    assert len(desk) == 0
    assert served.busiest == 3
    desk.close()


def test_a_desk_asks_a_cheap_reader_at_once_and_one_that_fails_ends_nothing() -> None:
    class Broken:
        def answer(self, asked: Asked) -> Answer:
            raise ValueError(f"no\n{asked.question}")

    newest = readers.resolve("newest", None)
    assert newest is not None
    line = waiting()
    desk = readers.desk(newest, Path("nowhere"))
    assert desk.read(line, about())
    assert (line.answer, line.reader, line.missing, len(desk)) == (FACTS[1].text, "newest (no LLM)", {}, 0)
    line = waiting()
    assert Desk(newest, Broken(), 1).read(line, about("Why?"))
    assert (line.answer, line.missing) == (None, {"answer": "ValueError: no Why?"})


def test_a_line_that_waits_says_so_until_it_is_answered(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    serve(replace(completion("Rome"), delay=0.3))
    desk = readers.desk(spec_of(), tmp_path)
    line = waiting()
    desk.read(line, about())
    assert line.missing == {"answer": "the run ended before its reader did"}
    assert list(desk.ready()) == []
    assert list(desk.rest()) == [line]
    assert (line.answer, line.missing) == ("Rome", {})


def test_a_killed_run_loses_nothing_that_was_answered(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    served = serve(completion("Rome"), Reply(delay=30.0, body={}), completion("Oslo"))
    process = subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path), "first", "second"], stdout=subprocess.DEVNULL)
    while len(served.requests) < 2:
        assert process.poll() is None, "it ended before it had asked twice"
        time.sleep(0.02)
    process.kill()
    process.wait()
    command = [sys.executable, "-c", ASK, str(tmp_path), "first", "second"]
    again = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert again.stdout == "Rome\nOslo\n"
    assert len(served.requests) == 3


def test_a_cost_is_the_endpoints_own_else_by_the_given_price(
    serve: Callable[..., Endpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(completion("Rome", cost=0.25), completion("Rome"))
    monkeypatch.setenv("ENGRAM_READER_PRICE", "0.15, 0.60")
    reader = OpenAIReader(spec_of(), tmp_path)
    assert reader.answer(about("a")).cost == 0.25
    assert reader.answer(about("b")).cost == pytest.approx(100 * 0.15e-6 + 3 * 0.60e-6)


def outcome(answer: str | None = "x", reason: str = "", **fields: Any) -> Outcome:
    missing = {"subem": reason} if reason else {}
    return Outcome(
        "s", "q", "m", 1, 10, [], {}, "ok", answer=answer, reader="m (openai)", missing=missing, fields=fields
    )


def test_totals_count_what_was_asked_not_what_was_stored() -> None:
    spec = ReaderSpec(name="openai:m", kind="openai", label="m (openai)", model="m")
    asked = [outcome(tokens_in=100, tokens_out=3, cost=0.25, cached=False) for _ in range(2)]
    stored = [outcome(tokens_in=100, tokens_out=3, cost=0.25, cached=True)]
    down = [outcome(None, "down") for _ in range(3)] + [outcome(None, "odd")]
    unread = [Outcome("s", "q", "m", 1, 10, [], {}, "ok")]
    found = readers.totals([*asked, *stored, *down, *unread])
    assert asdict(found) == {
        "answered": 3,
        "stored": 1,
        "tokens_in": 200,
        "tokens_out": 6,
        "cost": 0.5,
        "unanswered": {"down": 3, "odd": 1},
    }
    assert readers.lines(spec, found) == [
        "reader m (openai): 3 answers; 2 asked, 1 from the store; 200 tokens in, 6 out, $0.5000",
        "reader m (openai): 3 not answered: down",
        "reader m (openai): 1 not answered: odd",
    ]
    unknown = readers.totals([*asked, outcome(tokens_in=1, tokens_out=1, cached=False)])
    assert unknown.cost is None
    assert readers.lines(spec, unknown)[0].endswith("201 tokens in, 7 out, of unknown cost")
    newest = readers.totals([Outcome("s", "q", "m", 1, 10, [], {}, "ok", answer="x", reader="newest (no LLM)")])
    assert readers.lines(ReaderSpec("newest", "newest", "newest (no LLM)"), newest) == [
        "reader newest (no LLM): 1 answer"
    ]


def test_money_that_bought_no_answer_is_told_all_the_same() -> None:
    spec = ReaderSpec(name="openai:m", kind="openai", label="m (openai)", model="m")
    paid = [outcome(None, "empty", tokens_in=100, tokens_out=3, cost=cost, cached=False) for cost in (0.25, 0.5)]
    assert readers.lines(spec, readers.totals(paid)) == [
        "reader m (openai): 0 answers; 200 tokens in, 6 out, $0.7500",
        "reader m (openai): 2 not answered: empty",
    ]
    unknown = readers.lines(spec, readers.totals([outcome(None, "empty", cost=None, cached=False)]))
    assert unknown[0] == "reader m (openai): 0 answers; 0 tokens in, 0 out, of unknown cost"
    assert readers.lines(spec, readers.totals([outcome(None, "down")])) == ["reader m (openai): 1 not answered: down"]


# Whole runs


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Five of the demo's questions, a method for them, and a cache of its own."""
    import yaml

    from pytest_engram.plugin.session import shipped_cases

    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    suite = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    suite |= {"name": "tiny", "questions": suite["questions"][:5]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(suite))
    return pytester


def run(project: pytest.Pytester, reader: str, *arguments: str) -> tuple[pytest.RunResult, list[dict[str, Any]]]:
    found = project.runpytest_subprocess(
        "--engram-method=bm25", "--engram-no-controls", f"--engram-reader={reader}", "tiny.yaml", *arguments
    )
    assert "Traceback" not in found.stdout.str() + found.stderr.str()
    log = project.path / "reports" / "latest" / "items.jsonl"
    return found, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def last_word(request: dict[str, Any]) -> Reply:
    """The last word of the newest memory: a model's part, played by a rule."""
    memories = [line for line in request["messages"][1]["content"].splitlines() if line[:1].isdigit()]
    return completion("Answer: " + max(memories, key=lambda line: int(line.split(".")[0])).rstrip(".").split()[-1])


def test_a_run_asks_with_the_limits_of_all_its_workers_and_the_next_one_asks_nothing(
    serve: Callable[..., Endpoint], project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    served = serve(last_word)
    first, log = run(project, "openai:m", "-n", "2")
    assert first.ret == 0
    assert len(served.requests) == 5
    for record in log:
        assert record["reader"] == "m (openai)"
        assert record["answer"] == record["answer"].split()[-1]
        found = any(gold.lower() in record["answer"].lower() for gold in record["gold"])  # one plain word each
        assert record["metrics"]["subem"] == float(found)
        assert record["fields"]["tokens_in"] == 100
    first.stdout.fnmatch_lines(["reader m (openai): 5 answers; 5 asked, 0 from the store; 500 tokens in, 15 out, $*"])
    manifest = json.loads((project.path / "reports/latest/manifest.json").read_text())
    assert manifest["reader"]["settings"] == {"factconsolidation": {"temperature": 0, "max_tokens": 10}}
    assert manifest["reader"]["prompt"]["official"] is False
    assert manifest["reader"]["totals"]["answered"] == 5
    second, again = run(project, "openai:m")
    assert len(served.requests) == 5
    assert [r["answer"] for r in again] == [r["answer"] for r in log]
    second.stdout.fnmatch_lines(
        ["reader m (openai): 5 answers; 0 asked, 5 from the store; 0 tokens in, 0 out, $0.0000"]
    )
    for path in project.path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_wrong_key_is_one_line_and_cells_that_were_not_run(
    serve: Callable[..., Endpoint], project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    served = serve(failure(401, f"Incorrect API key provided: {KEY}"))
    found, log = run(project, "openai:m", *workers)
    assert found.ret == 0
    assert len(served.requests) == 1
    reason = "m at loopback: refuses the key in OPENAI_API_KEY (401)"
    found.stdout.fnmatch_lines([f"reader m (openai): 5 not answered: {reason}"])
    assert {(r["status"], r["metrics"]["subem"], r["missing"]["subem"]) for r in log} == {("ok", None, reason)}
    assert {r["metrics"]["answer@10"] is None for r in log} == {False}
    rows = json.loads((project.path / "reports/latest/results.json").read_text())["rows"]
    (row,) = [row for row in rows if row["metric"] == "subem"]
    assert (row["status"], row["value"], row["reason"]) == ("not run", None, reason)
    for path in project.path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_newest_is_named_wherever_its_number_stands(project: pytest.Pytester) -> None:
    found, log = run(project, "newest")
    assert found.ret == 0
    assert {r["reader"] for r in log} == {"newest (no LLM)"}
    assert all(r["metrics"]["subem"] in (0.0, 1.0) for r in log)
    assert "newest (no LLM)" in found.stdout.str()
    for name in ("results.md", "results.html", "results.tex"):
        assert "no LLM" in (project.path / "reports/latest" / name).read_text(), name


@pytest.mark.parametrize(
    ("reader", "told"),
    [
        ("oracle", "ERROR: --engram-reader: no reader 'oracle'; known are none, newest, openai:MODEL"),
        ("openai", "ERROR: --engram-reader: no reader 'openai'; known are none, newest, openai:MODEL"),
    ],
)
def test_an_unknown_reader_stops_the_run_before_it_begins(project: pytest.Pytester, reader: str, told: str) -> None:
    found, log = run(project, reader)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    assert told in found.stderr.str().splitlines()
    assert log == []
