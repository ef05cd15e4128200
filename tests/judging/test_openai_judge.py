"""A model as a judge, against a real HTTP server on loopback that is generous, strict, unsure or away."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Reply, completion, failure

from pytest_engram.judging import openai
from pytest_engram.judging.judges import Bench, Case, Given, JudgeError, JudgeUnavailable, begin, described, lines
from pytest_engram.reading import Purse
from pytest_engram.suites.base import Key

CASE = Case("What is the capital of Avaria?", ("Rome",), "It is Rome.", question_id="q", suite="s")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def label(word: str) -> str:
    return json.dumps({"label": word})


def says(text: str, **usage: Any) -> Callable[[dict[str, Any]], Reply]:
    return lambda _: completion(text, **usage)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., openai.OpenAIJudge]:
    def make(endpoint: Endpoint, **given: Any) -> openai.OpenAIJudge:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        made = openai.resolve("m")
        begin(made, Given(**({"data": None, "cache_dir": tmp_path / "cache"} | given)))
        return made

    return make


def test_a_verdict_is_asked_for_once_and_then_comes_from_the_store(judge: Callable[..., openai.OpenAIJudge]) -> None:
    with Endpoint(says(label("CORRECT"))).serving() as endpoint:
        first, second = judge(endpoint), judge(endpoint)
        assert first(CASE) == second(CASE) == [True]
        assert len(endpoint.requests) == 1
        assert endpoint.requests[0]["temperature"] == 0
        assert "max_tokens" not in endpoint.requests[0]
        assert "Accepted: Rome\nAnswer: It is Rome." in endpoint.requests[0]["messages"][0]["content"]
    assert first.totals() == {"asked": 1, "stored": 0, "tokens_in": 100, "tokens_out": 3, "cost": 0.0}
    assert second.totals() == {"asked": 0, "stored": 1, "tokens_in": 0, "tokens_out": 0, "cost": 0.0}


def test_several_runs_are_several_verdicts_and_each_is_stored(judge: Callable[..., openai.OpenAIJudge]) -> None:
    said = iter([label("CORRECT"), label("WRONG"), label("CORRECT"), label("WRONG")])
    with Endpoint(lambda _: completion(next(said))).serving() as endpoint:
        assert judge(endpoint, runs=3)(CASE) == [True, False, True]
        assert len(endpoint.requests) == 3
        assert judge(endpoint, runs=3)(CASE) == [True, False, True]
        assert len(endpoint.requests) == 3
        assert judge(endpoint, runs=4)(CASE) == [True, False, True, False]
        assert len(endpoint.requests) == 4


def test_longmemeval_is_asked_as_officially_and_its_label_is_yes(
    judge: Callable[..., openai.OpenAIJudge], shared_data: Path
) -> None:
    texts = json.loads((shared_data / "longmemeval/prompts.json").read_text(encoding="utf-8"))["judge"]
    told = {"type": "multi-session", "date": "2023/05/30", "abstention": True}
    case = Case("Q?", ("never said",), "I don't know.", prompts="longmemeval", prompt=told)
    with Endpoint(says("Yes.")).serving() as endpoint:
        assert judge(endpoint, data=shared_data)(case) == [True]
    (request,) = endpoint.requests
    assert request["messages"] == [
        {"role": "user", "content": texts["abstention"].format("Q?", "never said", "I don't know.")}
    ]
    assert (request["temperature"], request["max_tokens"]) == (0, 10)


def test_settings_of_the_user_s_take_the_place_of_the_benchmark_s(
    judge: Callable[..., openai.OpenAIJudge], shared_data: Path
) -> None:
    case = Case("Q?", ("a",), "b", prompts="longmemeval", prompt={"type": "multi-session"})
    with Endpoint(says("no")).serving() as endpoint:
        made = judge(endpoint, data=shared_data, settings={"max_tokens": 500, "temperature": None})
        assert made(case) == [False]
    assert endpoint.requests[0]["max_tokens"] == 500
    assert "temperature" not in endpoint.requests[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("I can't tell.", "the judge gave no label"), ("CORRECT, or WRONG", "the judge gave both labels")],
)
def test_what_is_no_verdict_is_not_a_wrong(judge: Callable[..., openai.OpenAIJudge], text: str, reason: str) -> None:
    with Endpoint(says(text)).serving() as endpoint:
        made = judge(endpoint)
        with pytest.raises(JudgeUnavailable, match=f"^{reason}$"):
            made(CASE)
    assert made.totals()["tokens_in"] == 100  # it was paid for all the same


def test_an_endpoint_that_refuses_is_a_reason(judge: Callable[..., openai.OpenAIJudge]) -> None:
    with Endpoint(lambda _: failure(401)).serving() as endpoint:
        made = judge(endpoint)
        with pytest.raises(JudgeUnavailable, match="m at loopback: refuses the key"):
            made(CASE)
    assert made.totals() == {"asked": 0, "stored": 0, "tokens_in": 0, "tokens_out": 0, "cost": 0.0}


def test_reader_and_judge_spend_from_one_purse(
    judge: Callable[..., openai.OpenAIJudge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_JUDGE_PRICE", "10,10")  # dollars a million: 103 tokens cost $0.00103
    purse = Purse(0.0015)
    with Endpoint(says(label("CORRECT"))).serving() as endpoint:
        made = judge(endpoint, purse=purse)
        others = [Case("Q?", ("a",), str(number)) for number in range(3)]
        assert [made(others[0]), made(others[1])] == [[True], [True]]
        with pytest.raises(JudgeUnavailable, match=r"--engram-max-cost of \$0.0015 is reached"):
            made(others[2])
    assert len(endpoint.requests) == 2
    assert made.totals()["cost"] == pytest.approx(2 * 103 * 10 / 1e6)


def test_what_the_manifest_and_a_person_are_told(judge: Callable[..., openai.OpenAIJudge], shared_data: Path) -> None:
    key = Key("s", Path("s.yaml"), ["judged"], {})
    key.prompts = "locomo"
    with Endpoint(says(label("CORRECT"))).serving() as endpoint:
        made = judge(endpoint, data=shared_data, runs=2)
        bench = Bench(made)
        bench.ask("one", CASE)
        assert list(bench.results()) == [("one", [True, True], "")]
        bench.close()
        told = described("openai:m", made, {"s": key})
    assert {name: told[name] for name in ("name", "label", "model", "endpoint", "runs")} == {
        "name": "openai:m",
        "label": "m",
        "model": "m",
        "endpoint": "loopback",
        "runs": 2,
    }
    assert told["settings"] == {"temperature": 0}
    assert told["prompts"]["s"]["label"] == "official prompt"
    assert told["totals"] == {"asked": 2, "stored": 0, "tokens_in": 200, "tokens_out": 6, "cost": 0.0}
    assert lines(made, 1, 0, {"it was away": 2}) == [
        "judge m: 1 answer and 0 known ones judged; 2 asked, 0 from the store; 200 tokens in, 6 out, $0.0000",
        "judge m: 2 not judged: it was away",
    ]


def test_what_can_not_be_a_judge_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    with pytest.raises(JudgeError, match="OPENAI_BASE_URL is no http or https address"):
        openai.resolve("m")
    with pytest.raises(JudgeError, match="no model is named: write openai:MODEL"):
        openai.resolve("")
    with pytest.raises(JudgeError, match="no judge: leave --engram-judge-runs"):
        begin(None, Given(None, tmp_path, runs=2))
    begin(None, Given(None, tmp_path))
