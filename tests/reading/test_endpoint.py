"""What real endpoints do, each kind of it once with a scripted one on loopback."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint as Served
from endpoint import Reply, completion, failure

from pytest_engram.reading.connection import Connection
from pytest_engram.reading.endpoint import Completion, Endpoint, EndpointError, Purse, Unavailable, available, settled

KEY = "sk-test-0123456789abcdefghijklmnop"
SETTINGS = {"temperature": 0, "max_tokens": 10}
HELLO = [{"role": "user", "content": "Hello?"}]

Serve = Callable[..., Served]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own settings must not reach these tests."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serves replies in turn, the last one for ever; a function replies to the request."""
    with ExitStack() as stack:

        def start(*replies: Reply | Callable[[dict[str, Any]], Reply], models: Any = None) -> Served:
            left = list(replies)

            def reply(request: dict[str, Any]) -> Reply:
                now = left.pop(0) if len(left) > 1 else left[0]
                return now if isinstance(now, Reply) else now(request)

            served = stack.enter_context(Served(reply, models).serving())
            monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
            return served

        yield start


def made(folder: Path, **more: Any) -> Endpoint:
    return Endpoint("m", SETTINGS, folder, **{"retries": 1, **more})


def reason(endpoint: Endpoint, question: str = "Hello?", **more: Any) -> Unavailable:
    with pytest.raises(Unavailable) as error:
        endpoint.complete([{"role": "user", "content": question}], **more)
    assert "\n" not in str(error.value)
    return error.value


# What is an answer


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (completion(None, finish="length"), "empty (finish_reason length); --engram-reader-set max_tokens=N *"),
        (completion("", finish="length"), "empty (finish_reason length); --engram-reader-set max_tokens=N *"),
        (completion(" \n", finish="length"), "empty (finish_reason length); *"),
        (completion(None, finish="content_filter"), "empty (finish_reason content_filter)"),
        (completion("", finish="content_filter"), "empty (finish_reason content_filter)"),
        (completion("Ro", finish="content_filter"), "filtered (finish_reason content_filter)"),
        (completion("No.", finish="refusal"), "filtered (finish_reason refusal)"),
        (completion(None, more={"refusal": "I can't."}), "refused to answer (finish_reason stop: I can't.)"),
        (completion(None), "empty (finish_reason stop)"),
        (completion(None, finish="tool_calls"), "empty (finish_reason tool_calls)"),
        (completion("", finish=None), "empty (finish_reason missing)"),
        (completion(None, finish="length", more={"reasoning_content": "Is it Oslo"}), "empty (finish_reason length)*"),
        (completion(None, finish="stop", more={"reasoning": "It is Rome."}), "empty (finish_reason stop)"),
        (completion("<think>Is it Oslo", finish="length"), "cut inside its thought (finish_reason length); --engram-*"),
        (completion("<think>Is it Oslo"), "cut inside its thought (finish_reason stop)"),
        (completion("<think>Oslo?</think>", finish="length"), "empty (finish_reason length)*"),
    ],
)
def test_what_was_cut_filtered_or_refused_is_no_answer_and_is_not_stored(
    serve: Serve, tmp_path: Path, reply: Reply, told: str
) -> None:
    from fnmatch import fnmatchcase

    served = serve(reply, reply, completion("Rome"))
    endpoint = made(tmp_path)
    for _ in range(2):  # asked again: nothing was stored
        missing = reason(endpoint)
        assert fnmatchcase(str(missing), f"m at loopback: {told}"), missing
        # What it cost, it cost.
        assert missing.spent is not None
        assert (missing.spent.tokens_in, missing.spent.tokens_out, missing.spent.cost) == (100, 3, 0.0)
    assert len(served.requests) == 2
    assert endpoint.complete(HELLO).text == "Rome"


def test_an_answer_that_is_honestly_empty_is_kept(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion(""))
    assert made(tmp_path).complete(HELLO) == Completion("", 100, 3, 0.0, cached=False, finish="stop")
    assert made(tmp_path).complete(HELLO).cached
    assert len(served.requests) == 1


def test_an_answer_that_reached_the_benchmarks_length_is_one(serve: Serve, tmp_path: Path) -> None:
    serve(completion("The capital of Avaria", finish="length"))
    assert made(tmp_path).complete(HELLO).text == "The capital of Avaria"


@pytest.mark.parametrize(
    "reply",
    [
        completion("<think>Is it Oslo? I do not know.</think>Rome"),
        completion("Rome", more={"reasoning_content": "Is it Oslo?"}),
        completion([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Rome"}]),
    ],
)
def test_thought_is_no_part_of_an_answer(serve: Serve, tmp_path: Path, reply: Reply) -> None:
    serve(reply)
    assert made(tmp_path).complete(HELLO).text == "Rome"
    assert made(tmp_path).complete(HELLO).text == "Rome"  # nor of a stored one


# Whose answer it is


def test_another_server_is_asked_under_the_same_name(serve: Serve, tmp_path: Path) -> None:
    first = serve(completion("Rome"))
    assert made(tmp_path).complete(HELLO).text == "Rome"
    second = serve(completion("Oslo"))
    assert made(tmp_path).complete(HELLO).text == "Oslo"
    assert (len(first.requests), len(second.requests)) == (1, 1)


def test_the_same_place_is_the_same_however_it_is_written(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(completion("Rome"))
    made(tmp_path).complete(HELLO)
    for name in ("localhost", "LOCALHOST"):
        monkeypatch.setenv("OPENAI_BASE_URL", served.base_url.replace("127.0.0.1", name) + "/")
        assert made(tmp_path).complete(HELLO).cached


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://models.example.org/v1", "https://models.example.org:443/v1/", True),
        ("https://models.example.org/v1", "https://models.example.org:8443/v1", False),
        ("https://models.example.org/one/v1", "https://models.example.org/two/v1", False),
        ("https://models.example.org/v1", "https://other.example.org/v1", False),
    ],
)
def test_host_port_and_path_tell_endpoints_apart(
    monkeypatch: pytest.MonkeyPatch, one: str, other: str, same: bool
) -> None:
    found = []
    for url in (one, other):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        found.append(Connection.of_environment().address)
    assert (found[0] == found[1]) is same


WEIGHTS = {"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_params": 7, "size": 14}}


def test_other_weights_in_the_same_place_are_asked_anew(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome"), completion("Oslo"), models=[{"id": "other"}, WEIGHTS | {"created": 1}])
    endpoint = made(tmp_path)
    assert endpoint.complete(HELLO).text == "Rome"
    assert endpoint.describe()["server"] == {"owned_by": "llamacpp", "meta": {"n_params": 7, "size": 14}}
    served.models = [WEIGHTS | {"created": 2}]  # the time of the asking, with some servers
    assert made(tmp_path).complete(HELLO).cached
    served.models = [WEIGHTS | {"meta": {"n_params": 8, "size": 14}}]
    assert made(tmp_path).complete(HELLO).text == "Oslo"
    served.models = [WEIGHTS]
    assert made(tmp_path).complete(HELLO).text == "Rome"
    assert len(served.requests) == 2
    assert served.listed == 4  # once for each that asks


def test_a_server_that_is_down_is_the_one_that_was_there_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Served(lambda _: completion("Rome"), [WEIGHTS]).serving() as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
        made(tmp_path).complete(HELLO)
    assert made(tmp_path, retries=0).complete(HELLO).cached


@pytest.mark.parametrize("models", [[], [1, None], "list", {"m": 1}, [{"id": "m"}], [{"id": ["m"]}]])
def test_whatever_a_server_lists_it_can_be_asked(serve: Serve, tmp_path: Path, models: Any) -> None:
    serve(completion("Rome"), models=models)
    endpoint = made(tmp_path)
    assert endpoint.complete(HELLO).text == "Rome"
    assert endpoint.describe()["server"] == {}


def test_what_a_server_says_of_itself_is_told_without_paths_and_keys(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    reply = completion("Rome")
    reply.body["system_fingerprint"] = "fp_7"
    serve(reply, models=[{"id": "m", "root": "/home/ann/weights/m.gguf", "owned_by": f"by {KEY}"}])
    endpoint = made(tmp_path)
    endpoint.complete(HELLO)
    assert endpoint.describe()["server"] == {"root": "…/m.gguf", "owned_by": "by ***", "system_fingerprint": ["fp_7"]}
    assert all(KEY not in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_the_same_asked_again_is_stored_apart(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("one"), completion("two"))
    for _ in range(2):
        assert [made(tmp_path).complete(HELLO, nth=nth).text for nth in (0, 1)] == ["one", "two"]
    assert len(served.requests) == 2


# What is sent

REFUSES_MAX_TOKENS = failure(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
)
REFUSES_TEMPERATURE = failure(
    400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)


def picky(request: dict[str, Any]) -> Reply:
    """As OpenAI's reasoning models are."""
    if "max_tokens" in request:
        return REFUSES_MAX_TOKENS
    return REFUSES_TEMPERATURE if "temperature" in request else completion("Rome")


def test_what_a_model_refuses_is_sent_otherwise_and_told(serve: Serve, tmp_path: Path) -> None:
    served = serve(picky)
    endpoint = made(tmp_path)
    assert endpoint.complete(HELLO).text == "Rome"
    assert endpoint.complete([{"role": "user", "content": "And now?"}]).text == "Rome"
    sent = [{name: r[name] for name in r if name not in ("model", "messages")} for r in served.requests]
    assert sent == [SETTINGS, {"temperature": 0, "max_completion_tokens": 10}] + [{"max_completion_tokens": 10}] * 2
    told = {
        "settings": {"max_completion_tokens": 10},
        "notes": [
            "m refuses max_tokens: sent as max_completion_tokens",
            "m refuses temperature 0: not sent, so its own holds",
        ],
    }
    assert told.items() <= endpoint.describe().items()
    # A run that has it all from the store says the same.
    again = made(tmp_path)
    assert again.complete(HELLO).cached
    assert told.items() <= again.describe().items()
    assert len(served.requests) == 4


def test_a_temperature_that_the_user_wants_is_not_dropped(serve: Serve, tmp_path: Path) -> None:
    serve(REFUSES_TEMPERATURE)
    told = str(reason(made(tmp_path), settings={"temperature": 0.7}))
    assert told.startswith("m at loopback: refuses the request (400: Unsupported value: 'temperature'")


def test_a_refusal_that_quotes_the_question_drops_nothing(serve: Serve, tmp_path: Path) -> None:
    served = serve(failure(400, "the prompt 'What temperature was it?' is too long"), completion("Rome"))
    endpoint = made(tmp_path)
    assert "is too long" in str(reason(endpoint))
    assert endpoint.complete(HELLO).text == "Rome"
    assert [request["temperature"] for request in served.requests] == [0, 0]


@pytest.mark.parametrize("body", [{"choices": {"a": 1}}, {"choices": [{"message": {}}]}, {"choices": ["x"]}, "text"])
def test_a_reply_of_no_known_form_is_a_reason(serve: Serve, tmp_path: Path, body: Any) -> None:
    serve(Reply(body=body))
    assert str(reason(made(tmp_path))).startswith("m at loopback: ")


def test_an_error_that_comes_with_status_200_is_told_in_its_own_words(serve: Serve, tmp_path: Path) -> None:
    served = serve(Reply(body={"error": {"message": "model overloaded", "code": 503}}), completion("Rome"))
    assert "refused (503: model overloaded)" in str(reason(made(tmp_path)))
    assert made(tmp_path).complete(HELLO).text == "Rome"  # nothing was stored of it
    assert len(served.requests) == 2


def test_a_number_of_tokens_below_zero_is_not_known(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_PRICE", "1,1")
    serve(completion("Rome", prompt_tokens=-15))
    found = made(tmp_path).complete(HELLO)
    assert (found.text, found.tokens_in, found.cost) == ("Rome", None, None)


def test_a_refusal_that_does_not_end_is_a_reason(serve: Serve, tmp_path: Path) -> None:
    served = serve(REFUSES_MAX_TOKENS)
    assert "refuses the request (400: Unsupported parameter" in str(reason(made(tmp_path)))
    assert len(served.requests) == 2


def test_settings_that_the_package_does_not_know_are_sent_too(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome"))
    wanted = {"top_k": 1, "chat_template_kwargs": {"enable_thinking": False}, "stop": ["\n"]}
    made(tmp_path).complete(HELLO, settings=wanted)
    assert wanted.items() <= served.requests[0].items()
    assert "temperature" not in served.requests[0]


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"temperature": 0, "max_tokens": 10}),
        ({"max_tokens": 50, "seed": 7}, {"temperature": 0, "max_tokens": 50, "seed": 7}),
        ({"temperature": None}, {"max_tokens": 10}),
        ({"max_completion_tokens": 900}, {"temperature": 0, "max_completion_tokens": 900}),
        ({"max_completion_tokens": None}, {"temperature": 0, "max_tokens": 10}),
    ],
)
def test_a_users_settings_stand_in_place_of_the_benchmarks(given: dict[str, Any], sent: dict[str, Any]) -> None:
    assert settled(SETTINGS, given) == sent


# Waiting


@pytest.mark.parametrize("status", [429, 503])
def test_a_long_wait_is_not_waited_for_and_what_was_done_is_said(serve: Serve, tmp_path: Path, status: int) -> None:
    served = serve(failure(status, "come back", {"Retry-After": "3600"}))
    endpoint = made(tmp_path, retries=4)
    started = time.monotonic()
    told = f"m at loopback: asks to wait 3600 s; gave up after 1 try ({status}: come back)"
    assert str(reason(endpoint)) == told
    assert str(reason(endpoint, "Another?")) == told  # nor is anybody else
    assert time.monotonic() - started < 5
    assert len(served.requests) == 1


def test_a_date_to_wait_for_is_understood(serve: Serve, tmp_path: Path) -> None:
    serve(failure(429, headers={"Retry-After": formatdate(time.time() + 600, usegmt=True)}))
    told = str(reason(made(tmp_path)))
    assert "asks to wait 59" in told or "asks to wait 600 s" in told


@pytest.mark.parametrize("wait", ["0.2", "nonsense", "-5", "inf"])
def test_tries_are_counted_as_they_were_made(serve: Serve, tmp_path: Path, wait: str) -> None:
    served = serve(failure(500, "on fire", {"Retry-After": wait}))
    assert str(reason(made(tmp_path, retries=2))) == "m at loopback: gave up after 3 tries (500: on fire)"
    assert len(served.requests) == 3


def test_an_endpoint_that_says_not_to_try_again_is_heard(serve: Serve, tmp_path: Path) -> None:
    served = serve(failure(500, "for good", {"x-should-retry": "false"}))
    assert "500: for good" in str(reason(made(tmp_path, retries=4)))
    assert len(served.requests) == 1


def test_one_that_does_not_answer_in_time_is_asked_as_often_as_it_is_said(serve: Serve, tmp_path: Path) -> None:
    served = serve(replace(completion("late"), delay=1.0))
    assert str(reason(made(tmp_path, retries=0, timeout=0.3))) == "m at loopback: no answer within 0.3 s"
    assert len(served.requests) == 1


def test_the_first_question_goes_alone(serve: Serve, tmp_path: Path) -> None:
    served = serve(replace(failure(401), delay=0.2))
    endpoint = made(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        told = set(pool.map(lambda n: str(reason(endpoint, f"question {n}")), range(6)))
    assert told == {"m at loopback: refuses the key in OPENAI_API_KEY (401)"}
    assert len(served.requests) == 1


def test_the_others_go_together(serve: Serve, tmp_path: Path) -> None:
    served = serve(lambda _: replace(completion("Rome"), delay=0.3))
    endpoint = made(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        questions = [[{"role": "user", "content": str(number)}] for number in range(4)]
        assert {said.text for said in pool.map(endpoint.complete, questions)} == {"Rome"}
    assert served.busiest == 3


# Money


def test_a_limit_stops_the_asking_in_good_order(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome", cost=0.4))
    purse = Purse(1.0)
    reader, judge = made(tmp_path, purse=purse), made(tmp_path, purse=purse, role="judge")
    for number, endpoint in enumerate((reader, judge, reader)):
        assert endpoint.complete([{"role": "user", "content": str(number)}]).cost == 0.4
    assert purse.spent == pytest.approx(1.2)
    for endpoint in (reader, judge):
        assert str(reason(endpoint, "one more")) == "--engram-max-cost of $1 is reached"
    assert reader.complete([{"role": "user", "content": "0"}]).cached  # what is stored costs nothing
    assert len(served.requests) == 3
    assert made(tmp_path).complete([{"role": "user", "content": "one more"}]).text == "Rome"  # in the next run


def test_calls_under_way_end_and_count(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome", cost=0.1), lambda _: replace(completion("Rome", cost=0.5), delay=0.3))
    purse = Purse(0.2)
    endpoint = made(tmp_path, purse=purse)
    endpoint.complete(HELLO)
    answers: list[str] = []

    def ask(number: int) -> None:
        try:
            answers.append(endpoint.complete([{"role": "user", "content": str(number)}]).text)
        except Unavailable as missing:
            answers.append(str(missing))

    threads = [threading.Thread(target=ask, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Rome"] * 3
    assert purse.spent == pytest.approx(1.6)
    assert purse.closed() == "--engram-max-cost of $0.2 is reached"
    assert len(served.requests) == 4


def test_what_is_no_answer_costs_too(serve: Serve, tmp_path: Path) -> None:
    serve(completion(None, finish="length", cost=0.7))
    purse = Purse(0.5)
    endpoint = made(tmp_path, purse=purse)
    assert "empty" in str(reason(endpoint))
    assert str(reason(endpoint)) == "--engram-max-cost of $0.5 is reached"


@pytest.mark.parametrize("cost", [None, "much", -1.0, True])
def test_a_limit_over_costs_that_nobody_knows_stops_with_the_cure(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cost: Any
) -> None:
    monkeypatch.setattr(Connection, "host", "elsewhere")  # on the own machine all is free
    served = serve(completion("Rome", cost=cost))
    endpoint = made(tmp_path, purse=Purse(1.0))
    assert endpoint.complete(HELLO).cost is None
    told = "--engram-max-cost can't be kept: what an answer costs is not known; set ENGRAM_READER_PRICE"
    assert str(reason(endpoint, "one more")) == told
    assert len(served.requests) == 1
    assert made(tmp_path, purse=Purse()).complete([{"role": "user", "content": "one more"}]).cost is None


def test_a_limit_of_nothing_asks_nobody(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome"))
    assert str(reason(made(tmp_path, purse=Purse(0.0)))) == "--engram-max-cost of $0 is reached"
    assert served.requests == []


@pytest.mark.parametrize(
    ("variables", "role", "cost"),
    [
        ({"ENGRAM_READER_PRICE": "1,10"}, "reader", (100 * 1 + 3 * 10) / 1e6),
        ({"ENGRAM_READER_PRICE": "1,10"}, "judge", (100 * 1 + 3 * 10) / 1e6),
        ({"ENGRAM_READER_PRICE": "1,10", "ENGRAM_JUDGE_PRICE": "2,0"}, "judge", 200 / 1e6),
        ({"ENGRAM_READER_PRICE": "1,10", "ENGRAM_JUDGE_PRICE": "2,0"}, "reader", 130 / 1e6),
        ({"ENGRAM_JUDGE_PRICE": "2,0"}, "reader", 0.0),  # on the own machine
    ],
)
def test_a_price_holds_for_readers_and_judges(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], role: str, cost: float
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    serve(completion("Rome"))
    assert made(tmp_path, role=role).complete(HELLO).cost == pytest.approx(cost)


def test_a_price_without_counted_tokens_is_no_cost(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_READER_PRICE", "1,10")
    reply = completion("Rome")
    del reply.body["usage"]
    serve(reply)
    assert made(tmp_path).complete(HELLO) == Completion("Rome", None, None, None, finish="stop")


def test_a_judges_price_that_makes_no_sense_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_JUDGE_PRICE", "cheap")
    with pytest.raises(EndpointError, match=r"^ENGRAM_JUDGE_PRICE is 'cheap'; write dollars for a million tokens"):
        made(tmp_path, role="judge")
    available("openai:m")  # a reader's is none of it


def test_a_reason_names_the_option_of_its_role(serve: Serve, tmp_path: Path) -> None:
    serve(completion(None, finish="length"))
    assert "; --engram-judge-set max_tokens=N gives it more" in str(reason(made(tmp_path, role="judge")))


def test_nothing_is_asked_or_imported_before_it_must_be(serve: Serve, tmp_path: Path) -> None:
    served = serve(completion("Rome"), models=[WEIGHTS])
    endpoint = made(tmp_path)
    assert endpoint.describe() == {
        "model": "m",
        "endpoint": "loopback",
        "settings": SETTINGS,
        "notes": [],
        "server": {},
    }
    assert (served.requests, served.listed) == ([], 0)
    assert json.loads(json.dumps(endpoint.describe())) == endpoint.describe()
