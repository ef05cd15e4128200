"""One function judges whatever a run left, and gives the same again: values by hand, and every kind of suite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import micro
import numpy as np
import pytest
from both import METRICS, Both
from micro import CASES, ForgetsCalls, KeepsAll, WithSupport

from pytest_engram.judging.judge import asked, judge
from pytest_engram.judging.named import Found, Unmeasured, metric
from pytest_engram.judging.scoring import BeyondTheLog
from pytest_engram.runs import schema
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold, Key

NO_READER = "no reader: choose one with --engram-reader"
NO_JUDGE = "no judge: choose one with --engram-judge"
PILOTS = CASES.parent / "pilot"

ROME = Gold(("Rome", "Roma"), ("b", "d"), shown=("Rome", "Roma"), ceiling=True, fields={"hops": 2})


def key(*metrics: str, gold: Gold = ROME, not_run: str | None = None) -> Key:
    """Of one question, `q`, which the entries b and d answer."""
    return Key("hand", Path("hand.yaml"), metrics, {"q": gold}, not_run=not_run)


def line(ids: Sequence[str] = ("a", "b", "c", "d"), k: int = 10, **fields: Any) -> Outcome:
    """What was recalled for `q`, as the asking leaves it."""
    given = {"suite": "hand", "question_id": "q", "method": "m", "seed": 1, "metrics": {}, "status": "ok"} | fields
    return Outcome(k=k, ids=list(ids), **given)


def judged(name: str, found: Outcome, metrics: Mapping[str, Any] = METRICS) -> tuple[float | None, str | None]:
    """One metric of a line, and why it could not be measured."""
    made = judge(key(name), found, metrics)
    assert list(made.metrics) == [name]
    return made.metrics[name], made.missing.get(name)


# Metrics by name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Of a, b, c and d, the second and the fourth answer.
        ("answer@1", 0.0),
        ("answer@2", 1.0),
        ("recall_any@1", 0.0),
        ("recall_any@2", 1.0),
        ("recall_all@2", 0.0),
        ("recall_all@3", 0.0),
        ("recall_all@4", 1.0),
        # DCG takes the first gain whole and divides the i-th by log2(i): 1 each at rank 2, 1/2 at rank 4. Best: 1 + 1.
        ("ndcg_any@1", 0.0),
        ("ndcg_any@2", 1 / 2),
        ("ndcg_any@4", 1.5 / 2),
        ("ndcg_any@10", 1.5 / 2),
    ],
)
def test_metrics_of_the_returned_ids_by_hand(name: str, value: float) -> None:
    assert judged(name, line()) == (value, None)


def test_nothing_returned_is_zero_and_not_unmeasured() -> None:
    for name in ("answer@5", "recall_any@5", "recall_all@5", "ndcg_any@5"):
        assert judged(name, line([])) == (0.0, None)


@pytest.mark.parametrize(("answer", "value"), [("It is the Rome!", 1.0), ("ROMA", 1.0), ("Oslo", 0.0), ("", 0.0)])
def test_subem_is_of_the_readers_answer_whatever_was_returned(answer: str, value: float) -> None:
    assert judged("subem", line([], answer=answer)) == (value, None)


def test_an_empty_answer_is_one_in_the_log_as_well() -> None:
    found = from_the_log(line([], answer="", reader="newest"))
    assert judged("subem", found) == judged("subem", line([], answer="", reader="newest")) == (0.0, None)


@pytest.mark.parametrize(
    ("verdicts", "value"),
    [([True], 1.0), ([False], 0.0), ([True, False, False, True], 0.5), ([True, False, False], 1 / 3)],
)
def test_judged_is_the_share_of_verdicts_that_accept(verdicts: list[bool], value: float) -> None:
    assert judged("judged", line(answer="Oslo", fields={"verdicts": verdicts})) == (value, None)


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("subem", {}, NO_READER),
        ("subem", {"missing": {"answer": "it was asleep"}, "reader": "R"}, "it was asleep"),
        ("judged", {}, NO_READER),
        ("judged", {"missing": {"answer": "it was asleep"}, "reader": "R"}, "it was asleep"),
        ("judged", {"fields": {"verdicts": [True]}}, NO_READER),  # a verdict on no answer is none
        ("judged", {"answer": "Rome"}, NO_JUDGE),
        ("judged", {"answer": "Rome", "fields": {"verdicts": []}}, NO_JUDGE),
        ("judged", {"answer": "Rome", "missing": {"verdict": "it was away"}}, "it was away"),
        ("recall_any@11", {}, "needs 11 ids, k is 10: raise --engram-k for every method"),
        ("answer@30", {}, "needs 30 ids, k is 10: raise --engram-k for every method"),
        ("answer", {}, "this metric needs a depth, such as @10: write it behind the name"),
        ("session_recall_any@5", {}, "only LongMemEval's turns are scored as sessions"),
    ],
)
def test_what_can_not_be_measured_is_none_and_says_why(name: str, fields: dict[str, Any], reason: str) -> None:
    found = line(**fields)
    assert judged(name, found) == (None, reason)
    made = judge(key(name), found, METRICS)
    assert made.hit is None
    assert judge(key(name), asked(made), METRICS) == made


def test_a_depth_of_exactly_k_can_be_measured() -> None:
    assert judged("recall_all@4", line(k=4)) == (1.0, None)


def test_the_first_metric_decides_and_one_that_is_missing_takes_no_other_with_it() -> None:
    hits = {
        ("recall_any@2", "recall_any@1"): True,
        ("recall_any@1", "recall_any@2"): False,
        ("ndcg_any@4", "recall_any@2"): False,  # 0.75 is no hit
        ("subem", "recall_any@2"): None,
    }
    assert {names: judge(key(*names), line(), METRICS).hit for names in hits} == hits
    made = judge(key("subem", "recall_any@2"), line(), METRICS)
    assert (made.metrics, made.missing) == ({"subem": None, "recall_any@2": 1.0}, {"subem": NO_READER})


def test_a_metric_that_a_plugin_brings() -> None:
    def share(found: Found, depth: int | None) -> float:
        if depth is None:
            raise Unmeasured("say how deep")
        return len(set(found.ids[:depth]).intersection(found.gold.relevant)) / depth

    own = {"share": share, "terse": metric(reads=True)(lambda found, _: len(found.answer or "") < 5)}
    assert judged("share@4", line(), own) == (0.5, None)
    assert judged("share", line(), own) == (None, "say how deep")
    assert judged("share@11", line(), own) == (None, "needs 11 ids, k is 10: raise --engram-k for every method")
    assert judged("terse", line(), own) == (None, NO_READER)
    assert judged("terse", line(answer="Rome"), own) == (1.0, None)


# What else a line says


def test_what_a_person_is_shown() -> None:
    dropped = [{"id": "d", "by": "a", "why": "older", "rank": 30}, {"id": "x", "by": "a", "why": "older", "rank": None}]
    found = line(["a", "b"], dropped=dropped, lost=False, fields={"tokens_in": 7})
    made = judge(key("answer@1"), found, METRICS)
    assert (made.gold, made.gold_ids, made.ceiling, made.excluded) == (["Rome", "Roma"], ["b", "d"], True, None)
    assert made.fields == {"tokens_in": 7, "hops": 2}


@pytest.mark.parametrize(
    ("ids", "rank", "told", "lost"),
    [
        (["a", "c"], 10, False, True),  # it stood at the last place that is returned
        (["a", "c"], 1, False, True),
        (["a", "c"], 11, False, False),  # it would not have been returned anyway
        (["a", "c"], None, False, False),  # nobody can tell where it stood
        (["a", "d"], 1, False, False),  # another answer is there
        (["a", "c"], 1, None, None),  # the memory tells of no conflict
    ],
)
def test_an_answer_is_lost_where_it_was_within_k_and_none_is_left(
    ids: list[str], rank: int | None, told: bool | None, lost: bool | None
) -> None:
    dropped = [{"id": "b", "by": "a", "why": "older", "rank": rank}]
    made = judge(key("answer@1"), line(ids, dropped=dropped, lost=told), METRICS)
    assert made.lost is lost
    assert judge(key("answer@1"), asked(made), METRICS) == made


def test_what_was_dropped_and_answers_nothing_loses_nothing() -> None:
    dropped = [{"id": "c", "by": "a", "why": "older", "rank": 1}]
    assert judge(key("answer@1"), line(["a"], dropped=dropped, lost=False), METRICS).lost is False


@pytest.mark.parametrize("status", ["violation", "error", "not run"])
def test_a_line_that_holds_no_recall_has_every_metric_and_no_value(status: str) -> None:
    found = line([], status=status, reason="it is so")
    made = judge(key("answer@1", "subem"), found, METRICS)
    assert (made.metrics, made.missing, made.hit) == ({"answer@1": None, "subem": None}, {}, None)
    assert (made.status, made.reason, made.lost, made.gold_ids) == (status, "it is so", None, [])
    assert judge(key("answer@1", "subem"), asked(made), METRICS) == made


@pytest.mark.parametrize("status", ["ok", "violation", "error", "not run"])
def test_a_question_that_the_means_of_ids_leave_out_has_the_metrics_of_its_answer_alone(status: str) -> None:
    left_out = key("recall_any@1", "subem", gold=Gold(("Rome",), ("a",), excluded="abstention", shown=("Rome",)))
    made = judge(left_out, line(["a"] if status == "ok" else [], status=status, answer="Rome"), METRICS)
    subem = {"subem": 1.0 if status == "ok" else None}
    assert (made.metrics, made.missing, made.hit, made.excluded) == (subem, {}, None, "abstention")
    assert judge(left_out, asked(made), METRICS) == made


def test_it_has_none_where_no_metric_is_of_an_answer_and_says_where_nobody_answered() -> None:
    gold = Gold(("Rome",), ("a",), excluded="abstention", shown=("Rome",))
    made = judge(key("recall_any@1", gold=gold), line(["a"]), METRICS)
    assert (made.metrics, made.missing, made.hit) == ({}, {}, None)
    made = judge(key("recall_any@1", "judged", gold=gold), line(["a"]), METRICS)
    assert (made.metrics, made.missing) == ({"judged": None}, {"judged": NO_READER})


@pytest.mark.parametrize("status", ["ok", "not run"])
def test_a_metric_that_the_official_protocol_leaves_out_is_no_missing_one(status: str) -> None:
    """LoCoMo's official judge gives no verdict on category 5: all else is measured there."""
    locomo = key("recall@1", "f1", "judged", gold=Gold(("Rome",), ("a",), prompt={"category": 5}))
    locomo.prompts = "locomo"
    found = line(["a"] if status == "ok" else [], status=status, answer="not mentioned")
    made = judge(locomo, found, METRICS)
    assert list(made.metrics) == ["recall@1", "f1"]
    assert (made.missing, made.left_out) == ({}, {"judged": "category 5 (adversarial) is not judged"})
    assert judge(locomo, asked(made), METRICS) == made
    own = key("answer@1", "subem", gold=Gold(("Rome",), ("a",), left_out={"answer": "it is no question of one fact"}))
    made = judge(own, found, METRICS)
    assert (list(made.metrics), made.left_out) == (["subem"], {"answer@1": "it is no question of one fact"})


def test_without_its_data_a_suite_leaves_nothing_out() -> None:
    absent = key("recall_any@1", gold=Gold(excluded="abstention"), not_run="no data")
    made = judge(absent, line([], status="not run", reason="no data"), METRICS)
    assert (made.metrics, made.excluded) == ({}, None)
    assert judge(absent, asked(made), METRICS) == made


def test_a_question_that_the_suite_lacks_is_an_error() -> None:
    with pytest.raises(KeyError):
        judge(key("answer@1"), line(question_id="other"), METRICS)


# Every kind of suite: what is judged twice, or read from the log and judged, is judged alike


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


def from_the_log(found: Outcome) -> Outcome:
    return schema.outcome(json.loads(found.to_line()))


def same_again(read: Any, found: Sequence[Outcome]) -> list[Outcome]:
    """The lines, judged; by two keys, from the log, and from what was judged, always the same."""
    one, other = read().key, read().key
    before = deepcopy(found)
    made = [judge(one, item, METRICS) for item in found]
    assert list(found) == list(before)  # a line is not changed by judging it
    for item, result in zip(found, made, strict=True):
        assert judge(one, asked(result), METRICS) == result
        assert judge(other, from_the_log(item), METRICS) == result
        assert from_the_log(result) == result
        assert judge(other, asked(from_the_log(result)), METRICS) == result
    gold_free = {"metrics": {}, "hit": None, "gold": [], "gold_ids": [], "ceiling": None, "winner": None, "case": None}
    for result in made:
        left = asked(result)
        assert {name: getattr(left, name) for name in gold_free} == gold_free
    return made


def recalled(suite: Both) -> Iterator[Outcome]:
    """Lines of all questions: ids from all over the haystack, with and without a trace, an answer and a verdict."""
    for number, question in enumerate(suite.questions):
        ids = [entry.id for entry in suite.haystack(question.haystack)]
        some = ids[number % 7 :: 9][:10]
        dropped = [{"id": ids[-1 - number % 5], "by": ids[0], "why": "older", "rank": 1 + number % 12}]
        yield suite.line(question, some)
        yield suite.line(question, some, dropped=dropped, lost=False)
        yield suite.line(question, [], answer="", reader="R", fields={"tokens_in": 3, "cached": False})
        yield suite.line(question, some[:1], reader="R", missing={"answer": "it was asleep"})
        yield suite.line(question, [], status="violation", reason="broken")


@pytest.mark.parametrize("name", ["demo_fc", "demo_sessions"])
def test_facts_and_sessions(name: str) -> None:
    read = partial(micro.read, PILOTS / f"{name}.yaml", look=True)
    made = same_again(read, list(recalled(read())))
    assert {item.hit for item in made} == {True, False, None}
    assert {item.lost for item in made} == {True, False, None}


def test_turns(tmp_path: Path) -> None:
    text = (
        (PILOTS / "demo_sessions.yaml").read_text(encoding="utf-8").replace("granularity: session", "granularity: turn")
    )
    names = "metrics: [session_recall_any@5, recall_all@10, session_ndcg_any@30]"
    path = tmp_path / "turns.yaml"
    path.write_text(re.sub("metrics: .*", names, text), encoding="utf-8")
    read = partial(micro.read, path, look=True)
    made = same_again(read, list(recalled(read())))
    assert {name for item in made for name in item.missing} >= {"session_ndcg_any@30"}


CASE = """\
    engram: micro
    name: moves
    RULE
    cases:
      - name: mara
        belief: Mara lives in Lisbon.
        web: [There is a rented flat., There is a polling card.]
        update: Mara lives in Porto.
        backers: [There is a gym card.]
        also: [Mara lives in Faro.]
        query: Mara?
        sweep: {web: [0, 2], backers: [0, 1]}
"""


def asked_all(suite: micro.Micro, make: type, bench: Any = None) -> list[Outcome]:
    lines = [micro.asked(suite, question, make, bench) for question in suite.questions]
    return [*lines, *(suite.line(q, status="error", reason="boom") for q in suite.questions)]


def towns(suite: micro.Micro) -> list[str]:
    """Mara's towns, in the order in which the first level states them, which is that of all levels."""
    texts = [entry.text for entry in suite.haystack(suite.questions[0].haystack)]
    return [text.removesuffix(".").split()[-1] for text in texts if text.startswith("Mara lives")]


def test_cases(tmp_path: Path) -> None:
    read = partial(micro.load, tmp_path, CASE.replace("RULE", "rule: majority-support"))
    order = towns(read())
    assert order.index("Lisbon") < order.index("Porto")
    side = {"Lisbon": "belief", "Porto": "update", "Faro": "neither"}
    # Of 0 and 2 facts for the belief against 0 and 1 for the update: even, update, belief, belief.
    expected = [None, "update", "belief", "belief"]
    for memory, town in ((micro.DropsOlder, order[-1]), (micro.DropsNewer, order[0])):
        made = same_again(read, asked_all(read(), memory))[:4]
        winner = side[town]
        assert [(item.web, item.backers, item.expected, item.winner) for item in made] == [
            (web, backers, right, winner)
            for (web, backers), right in zip([(0, 0), (0, 1), (2, 0), (2, 1)], expected, strict=True)
        ]
        assert [item.hit for item in made] == [right and right == winner for right in expected]
        assert [item.metrics for item in made] == [
            {} if right is None else {"correct": float(right == winner)} for right in expected
        ]
        assert [item.fields for item in made] == [{"axis": "backers", "also_lost": int(town != "Faro")}] * 4
    # Of what should have come back, what did.
    for item, right in zip(made, expected, strict=True):
        texts = {entry.id: entry.text for entry in read().haystack(item.question_id)}
        met = [f"Mara lives in {town}."] if right in (None, side[town]) else []
        assert [texts[id_] for id_ in item.gold_ids] == met


def test_sites(tmp_path: Path) -> None:
    read = partial(micro.load, tmp_path, CASE.replace("RULE", "family: sites\n    rule: same-either-way"))
    for made in same_again(read, asked_all(read(), KeepsAll))[:4]:
        assert (made.metrics, made.hit, made.winner) == ({"correct": 1.0}, True, "both")
        assert "one_by_one" not in made.fields
    for made in same_again(read, asked_all(read(), ForgetsCalls))[:4]:
        assert (made.metrics, made.hit, made.winner) == ({"correct": 0.0}, False, "both")
        # It knows what was written last, which is nothing about Mara.
        assert made.fields["one_by_one"] == made.asked["one_by_one"] == []
    suite = read()
    with pytest.raises(BeyondTheLog):
        suite.judge(suite.questions[0], ["e001"])


def test_density() -> None:
    read = partial(micro.read, CASES / "density_demo.yaml", look=True)
    suite = read()
    question = suite.questions[0]
    original, update = (suite.gold(question).fields[side] for side in ("original", "update"))
    values = [(2.0, 1.25), (1.0, 1.0), (0.5, 1.0)]
    lines = [suite.line(question, asked={"support": {original: a, update: b}}) for a, b in values]
    made = same_again(read, lines)
    assert [(item.metrics["correct"], item.hit) for item in made] == [(1.0, True), (0.0, False), (0.0, False)]
    assert [(item.fields["support_original"], item.fields["support_update"]) for item in made] == values
    (none,) = same_again(read, [suite.line(question, asked={"support": None})])
    assert (none.metrics, none.missing, none.hit) == (
        {"correct": None},
        {"correct": "the method has no support()"},
        None,
    )
    same_again(read, asked_all(suite, WithSupport))


HUB = "engram: micro\nname: hub\nfamily: hub\nneighbours: 3\nhubs: [{name: everything, text: All of it.}]\n"


def test_hub(tmp_path: Path) -> None:
    read = partial(micro.load, tmp_path, HUB)
    suite = read()
    question = suite.questions[0]
    values = [(10.0, 90.0), (50.0, 50.0), (90.0, 10.0)]
    # What mutual neighbours would give is of the graph, not of the method: it decides nothing.
    lines = [
        suite.line(question, asked={"hub": {"percentile_method": a, "percentile_plain": b, "percentile_mutual": b - a}})
        for a, b in values
    ]
    made = same_again(read, lines)
    assert [(item.metrics["correct"], item.hit) for item in made] == [(1.0, True), (0.0, False), (0.0, False)]
    assert made[0].fields == {
        "neighbours": 3,
        "percentile_method": 10.0,
        "percentile_plain": 90.0,
        "percentile_mutual": 80.0,
    }
    (none,) = same_again(read, [suite.line(question, asked={"hub": None})])
    assert (none.metrics, none.missing) == ({"correct": None}, {"correct": "the method has no support()"})
    vectors = np.random.default_rng(1).normal(size=(61, 8))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    same_again(read, asked_all(suite, WithSupport, SimpleNamespace(embed=lambda _: vectors)))
