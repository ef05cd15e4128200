"""LongMemEval: equal to a plain implementation of the official protocol, on whatever a file may hold.

The plain one is `plain_longmemeval.py`; it was written from the protocol's description, and uses rank-bm25.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import plain_longmemeval as plain
import pytest
from both import Both
from harm import flip
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_engram.asking import rules
from pytest_engram.basics import sealed
from pytest_engram.basics.cache import CacheError
from pytest_engram.basics.registry import Registry
from pytest_engram.development import devdata
from pytest_engram.judging.longmemeval import scores
from pytest_engram.memory import Bench
from pytest_engram.methods.bm25 import BM25
from pytest_engram.suites import SOURCES, demo_sessions, files, pilots
from pytest_engram.suites.base import NotRun, SuiteError
from pytest_engram.suites.fingerprints import fingerprint
from pytest_engram.suites.longmemeval import demo, parse, protocol, store
from pytest_engram.suites.longmemeval import source as longmemeval
from pytest_engram.suites.longmemeval.protocol import Session, document_ids

CASES = Path(__file__).parents[2] / "cases" / "pilot"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(folder: Path, questions: Any, name: str = "longmemeval_s_cleaned.json") -> Path:
    """A file where `--engram-data folder` has it; with the escapes that half a surrogate pair needs."""
    path = folder / "longmemeval" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(questions), encoding="utf-8")
    return path


def suite(folder: Path, found: list[dict[str, Any]], granularity: str = "session", **fields: Any) -> Both:
    """The questions as a suite, through the file and the cache, as in a run."""
    put(folder, found)
    spec = longmemeval.Spec.model_validate(
        {
            "engram": "pilot",
            "name": "lme",
            "source": "longmemeval",
            "granularity": granularity,
            "metrics": list(protocol.metric_names("turn" if granularity == "turn" else "session")),
            "questions": [{"id": id_} for id_ in dict.fromkeys(q["question_id"] for q in found)],
        }
        | fields
    )
    return Both(*longmemeval.load(spec, Path("lme.yaml"), folder))


def bm25(made: Both, number: int, k: int) -> list[str]:
    """The ids that the shipped method returns for a question."""
    question = made.questions[number]
    bench = Bench(
        k=k,
        seed=0,
        embeddings=lambda: pytest.fail("BM25 embeds nothing"),
        cache_dir=Path("unused"),
        tokenize=made.suite.tokenize,
        rank=made.suite.rank,
        lexical=made.suite.haystacks.lexical,
    )
    memory = BM25(bench)
    memory.write(made.haystack(question.haystack))
    return memory.search(question.query, k)


def turn(role: str, content: str, **has_answer: bool) -> dict[str, Any]:
    return {"role": role, "content": content, **has_answer}


def question(sessions: dict[str, list[dict[str, Any]]] | list[Any], **fields: Any) -> dict[str, Any]:
    """A question of the official schema; the sessions a day apart."""
    pairs = list(sessions.items()) if isinstance(sessions, dict) else sessions
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "where is the cat",
        "answer": "on the mat",
        "question_date": "2023/06/01 (Thu) 09:00",
        "haystack_session_ids": [id_ for id_, _ in pairs],
        "haystack_dates": [f"2023/05/{i:02d} (Mon) 02:21" for i in range(1, len(pairs) + 1)],
        "haystack_sessions": [turns for _, turns in pairs],
        "answer_session_ids": [id_ for id_, _ in pairs if "answer" in id_],
    } | fields


# Equality with the plain implementation

words = st.sampled_from(["cat", "Cat", "mat", "the", "", "naïve", "猫", "\u2028", "it\tis", "🐈", "the the"])
texts = st.lists(words, max_size=4).map(" ".join)
turns = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "user", "assistant", "system"]), "content": texts},
    optional={"has_answer": st.booleans()},
)
ids = st.sampled_from(["s_1", "s_2", "answer_1", "answer_2", "answer_1_2", "answeranswer", "noans_1", "x"])
dates = st.sampled_from(["2023/05/20 (Sat) 02:21", "2023/05/20 (Sat) 02:20", "2022/01/01 (Sat) 23:59", "?"])
haystacks = st.lists(st.tuples(ids, dates, st.lists(turns, max_size=4)), min_size=1, max_size=14)


@st.composite
def benchmarks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A small file: sessions stand in several haystacks, and twice in one."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        sessions = draw(haystacks)
        found.append(
            question(
                [(id_, said) for id_, _, said in sessions],
                question_id=f"q{number}" + draw(st.sampled_from(["", "_abs"])),
                question=draw(texts),
                answer=draw(st.sampled_from(["yes", 3, 2.5])),
                haystack_dates=[date for _, date, _ in sessions],
            )
        )
    return found


@pytest.mark.parametrize("granularity", ["session", "turn"])
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=benchmarks(), k=st.integers(1, 60))
def test_every_metric_of_bm25_is_the_plain_one(
    tmp_path: Path, granularity: str, found: list[dict[str, Any]], k: int
) -> None:
    made = suite(tmp_path, found, granularity)
    for number, raw in enumerate(found):
        official, texts = plain.corpus(raw, granularity)
        entries = made.haystack(made.questions[number].haystack)
        assert sorted(entry.text for entry in entries) == sorted(texts)
        assert (made.gold(made.questions[number]).excluded is None) == (plain.left_out(raw) is None)
        assume(texts)  # rank-bm25 divides by their number
        ranking = plain.bm25(raw["question"], texts)
        expected = plain.figures(ranking, official, granularity)
        returned = bm25(made, number, k)
        assert [int(id_[1:]) for id_ in returned] == ranking[:k].tolist()
        score = made.judge(made.questions[number], returned, k)
        if made.gold(made.questions[number]).excluded:
            assert score.metrics == {}
            continue
        assert score.metrics.keys() == expected.keys()
        for name, value in score.metrics.items():
            if value is None:
                assert needed(name, ranking, official) > k
                assert f"k is {k}" in score.missing[name] or f"k, which is {k}" in score.missing[name]
            else:
                assert value == expected[name], name


def needed(name: str, ranking: Any, official: list[str]) -> int:
    """How many ids the official code looks at for a metric."""
    cut = int(name.rpartition("@")[2])
    if not name.startswith("session_"):
        return cut
    for reach in range(cut, len(official) + 1):
        if len({official[i].rpartition("_")[0] for i in ranking[:reach]}) >= cut:
            return reach
    return max(cut, len(official))


@settings(max_examples=300, deadline=None)
@given(
    official=st.lists(
        st.sampled_from(["answer_1_1", "answer_1_3", "noans_1_2", "s_1_1", "s_2_1", "answer_2_1"]), min_size=1
    ),
    shuffle=st.randoms(use_true_random=False),
    granularity=st.sampled_from(["session", "turn"]),
)
def test_a_whole_ranking_scores_as_plain(
    official: list[str], shuffle: random.Random, granularity: protocol.Granularity
) -> None:
    ranking = list(range(len(official)))
    shuffle.shuffle(ranking)
    found, missing = scores(ranking, official, granularity, k=max(50, len(official)))
    assert found == plain.figures(ranking, official, granularity)
    assert missing == {}


# Documents and gold, by hand

EVIDENCE = [turn("assistant", "hello"), turn("user", "one"), turn("user", "two", has_answer=True)]


def session_of(turns: list[dict[str, Any]]) -> Session:
    return parse.record(question({"x": turns})).sessions[0]


def test_a_turn_is_numbered_over_both_roles_and_renamed_without_evidence() -> None:
    assert document_ids("answer_a_1", session_of(EVIDENCE), "turn") == ["noans_a_1_2", "answer_a_1_3"]
    assert document_ids("chat_1", session_of(EVIDENCE), "turn") == ["chat_1_2", "chat_1_3"]


def test_a_session_is_gold_by_what_the_user_said() -> None:
    assert document_ids("answer_a_1", session_of(EVIDENCE), "session") == ["answer_a_1"]
    assistant = [turn("user", "one"), turn("assistant", "two", has_answer=True)]
    assert document_ids("answer_answer", session_of(assistant), "session") == ["noans_noans"]
    assert document_ids("answer_a", session_of([]), "session") == ["noans_a"]


def test_only_what_the_user_said_is_an_entry(tmp_path: Path) -> None:
    raw = question({"answer_a": EVIDENCE, "chat": [turn("assistant", "hidden")]})
    assert [(e.text, e.source) for e in suite(tmp_path, [raw]).haystack("q1")] == [("one two", ""), ("", "")]
    turns = suite(tmp_path, [raw], "turn").haystack("q1")
    assert [(e.text, e.source) for e in turns] == [("one", "user"), ("two", "user")]


def test_ids_say_nothing_and_are_unique_where_a_session_stands_twice(tmp_path: Path) -> None:
    raw = question([("answer_a", EVIDENCE), ("chat", EVIDENCE), ("chat", EVIDENCE)])
    for granularity in ("session", "turn"):
        found = [entry.id for entry in suite(tmp_path, [raw], granularity).haystack("q1")]
        assert len(set(found)) == len(found) == (3 if granularity == "session" else 6)
        assert not any("answer" in id_ or "noans" in id_ for id_ in found)


def test_gold_counts_as_often_as_it_stands(tmp_path: Path) -> None:
    # Both copies are gold; with one of them first, DCG is 1 of an ideal of 1 + 1/log2(2) = 2.
    raw = question([("answer_a", EVIDENCE), ("x", []), ("answer_a", EVIDENCE)])
    made = suite(tmp_path, [raw])
    metrics = made.judge(made.questions[0], ["s0000", "s0001"], k=10).metrics
    assert (metrics["recall_all@3"], metrics["ndcg_any@3"]) == (1.0, 0.5)
    assert made.judge(made.questions[0], ["s0001", "s0002"]).gold_ids == ["s0002"]
    assert made.gold(made.questions[0]).ceiling is True


def test_what_the_suite_file_lists_is_measured_and_the_first_decides(tmp_path: Path) -> None:
    raw = question({"x": [], "answer_a": EVIDENCE})
    made = suite(tmp_path, [raw], metrics=["recall_all@3", "ndcg_any@30", "recall_any@1"])
    score = made.judge(made.questions[0], ["s0000", "s0001"], k=10)
    assert score.metrics == {"recall_all@3": 1.0, "ndcg_any@30": None, "recall_any@1": 0.0}
    assert score.missing == {"ndcg_any@30": "needs 30 ids, k is 10: raise --engram-k for every method"}
    assert score.hit is True
    assert made.judge(made.questions[0], ["s0000"], k=10).hit is False


def test_a_session_can_stand_under_two_ids_when_turns_are_scored_as_sessions() -> None:
    official = ["noans_x_1", "answer_x_3", "s_1_1", "s_2_1"]
    # Three sessions are covered by the first three ids: noans_x, answer_x and s_1.
    found, _ = scores([0, 1, 2, 3], official, "turn", k=4)
    assert (found["session_recall_any@1"], found["session_recall_any@3"]) == (0.0, 1.0)
    # DCG = 0 + 1/log2(2) + 0, ideal 1.
    assert found["session_ndcg_any@3"] == 1.0


def test_turns_that_need_more_ids_than_k_to_cover_the_sessions_are_not_measured() -> None:
    official = ["s_1_1", "s_1_2", "s_1_3", "s_1_4", "answer_x_1", "s_2_1"]
    found, missing = scores([0, 1, 2, 3], official, "turn", k=4)
    assert found["session_recall_any@1"] == 0.0
    assert found["session_recall_any@3"] is None
    assert "cover 3 sessions" in missing["session_recall_any@3"]
    assert found["recall_any@3"] == 0.0
    # The same ids from a method that was allowed one more: it has no more to say.
    assert scores([0, 1, 2, 3], official, "turn", k=5)[0]["session_recall_any@3"] == 0.0


# Which questions count

SKIPPED = [
    ("q1", {"answer_a": EVIDENCE}, None),
    ("q1_abs_2", {"answer_a": EVIDENCE}, protocol.ABSTENTION),
    ("q1", {"answer_a": [turn("assistant", "x", has_answer=True)]}, protocol.NO_EVIDENCE),
    ("q1", {"chat": EVIDENCE}, None),  # no gold, but evidence: officially scored, recall_all 1 and recall_any 0
    ("q1", {"answer_a": [turn("user", "x", has_answer=False)]}, protocol.NO_EVIDENCE),
]


@pytest.mark.parametrize(("id_", "sessions", "reason"), SKIPPED)
def test_official_skip_rules(tmp_path: Path, id_: str, sessions: dict[str, Any], reason: str | None) -> None:
    made = suite(tmp_path, [question(sessions, question_id=id_)])
    assert made.gold(made.questions[0]).excluded == reason
    metrics = made.judge(made.questions[0], ["s0000"], k=1).metrics
    assert bool(metrics) == (reason is None)
    if "chat" in sessions:
        assert (metrics["recall_any@1"], metrics["recall_all@1"], metrics["ndcg_any@1"]) == (0.0, 1.0, 0.0)


# Reading


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=st.lists(st.dictionaries(st.text(max_size=3), st.text() | st.lists(st.integers())), max_size=5),
    chunk=st.integers(1, 20),
    indent=st.sampled_from([None, 1]),
)
def test_a_file_is_read_piece_by_piece_as_json_reads_it_whole(
    monkeypatch: pytest.MonkeyPatch, found: list[Any], chunk: int, indent: int | None
) -> None:
    monkeypatch.setattr(parse, "CHUNK", chunk)
    assert list(parse._elements(io.StringIO(f" {json.dumps(found, indent=indent)}\n"))) == found


WRONG = [
    ("{}", "the file must be a list of questions"),
    ("", "is not JSON after question 0"),
    ("[{", "is not JSON after question 0"),
    (f'[{{"answer": {"9" * 6000}}}]', "can't be read at question 1: Exceeds the limit"),
    ("[1 2]", "question 1: must be a mapping, but is a int"),
    ('[{"question_id": 3}]', "question 1: question_id must be a str, but is a int"),
    ("[{}]", "question 1: has no question_id"),
    (json.dumps([question({})])[:-1], "is not JSON after question 1"),
    (json.dumps([question({}), question({"x": [{"role": "user"}]})]), "question 2: haystack_sessions[0]"),
    (json.dumps([question({"x": [turn("user", 3)]})]), "haystack_sessions[0] has a turn whose content"),  # type: ignore[arg-type]
    (json.dumps([question({"x": []}, haystack_session_ids=[3])]), "haystack_session_ids[0] must be a str"),
]


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_a_wrong_file_is_told_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = put(tmp_path, [])
    file.write_text(text, encoding="utf-8")
    with pytest.raises(NotRun) as raised:
        store.prepare(file, "longmemeval_s_cleaned.json")
    assert problem in str(raised.value)
    assert str(raised.value).startswith("longmemeval_s_cleaned.json ")
    assert "\n" not in str(raised.value)
    assert str(tmp_path) not in str(raised.value)


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    file = put(tmp_path, [])
    file.write_bytes(b'[{"question_id": "\xff"}]')
    with pytest.raises(NotRun, match="not UTF-8"):
        store.prepare(file, "x.json")


# A damaged history measures nothing

DAMAGED = [
    (question({}), "its haystack is empty"),
    (question({"answer_a": EVIDENCE}, haystack_dates=[]), "its lists of ids (1), dates (0) and sessions (1) differ"),
    (question({"answer_a": EVIDENCE}, haystack_sessions=[]), "its lists of ids (1), dates (1) and sessions (0) differ"),
    (
        question({"answer_a": EVIDENCE, "b": []}, haystack_dates=["2023/05/01", "2023/05/02", "2023/05/03"]),
        "its lists of ids (2), dates (3) and sessions (2) differ",
    ),
    (question({"answer_a": EVIDENCE}, haystack_dates=[None]), "1 of its 1 dates are missing"),
    (question({"answer_a": EVIDENCE, "b": []}, haystack_dates=["2023/05/01", " "]), "1 of its 2 dates are missing"),
    ({k: v for k, v in question({"a": EVIDENCE}).items() if k != "haystack_dates"}, "its lists of ids (1), dates (0)"),
]


@pytest.mark.parametrize(("raw", "problem"), DAMAGED)
def test_a_damaged_history_is_not_run_with_the_reason(tmp_path: Path, raw: dict[str, Any], problem: str) -> None:
    whole = question({"answer_b": EVIDENCE}, question_id="q2")
    made = suite(tmp_path, [raw, whole])
    told = made.questions[0].not_run
    assert told is not None
    assert told.startswith(f"longmemeval_s_cleaned.json has a damaged history of this question: {problem}")
    assert told.endswith("Cure: fetch the official file again")
    line = made.unasked(made.questions[0])
    assert (line.status, line.reason, line.metrics.get("recall_any@5")) == ("not run", told, None)
    assert made.questions[1].not_run is None
    described = made.describe()
    assert described["notes"][1] == "1 of 2 questions have a damaged history and are not run"
    assert described["scored"] == 1
    assert made.texts() == (["one two"], ["where is the cat"])


def test_a_history_in_which_the_user_says_nothing_has_no_turns_to_be_asked_over(tmp_path: Path) -> None:
    raw = question({"a": [turn("assistant", "x")], "b": []})
    assert suite(tmp_path, [raw]).questions[0].not_run is None
    assert "the user says nothing in it" in str(suite(tmp_path, [raw], "turn").questions[0].not_run)


def test_dates_that_can_t_be_read_stand_at_the_one_before_and_are_noted(tmp_path: Path) -> None:
    said = {name: [turn("user", name, has_answer=True)] for name in "abcd"}
    dates = ["?", "2023-05-20T01:00+09:00", "32 May", "2023-05-19T10:00+00:00"]
    made = suite(tmp_path, [question(said, haystack_dates=dates), question(said, question_id="q2")])
    # 01:00 in Tokyo is 16:00 of the day before in London, which is after 10:00.
    assert [(e.text, e.time) for e in made.haystack("q1")] == [
        ("d", 1_684_490_400.0),  # date -u -d '2023-05-19T10:00+00:00' +%s
        ("a", 1_684_512_000.0),  # date -u -d '2023-05-20T01:00+09:00' +%s
        ("b", 1_684_512_000.0),
        ("c", 1_684_512_000.0),
    ]
    assert made.describe()["notes"][-1] == (
        "2 of 8 sessions of 2 questions have a date that can't be read; they stand at the date before"
    )


def test_a_question_knows_what_its_official_prompts_ask_for(tmp_path: Path) -> None:
    found = [
        question({"answer_a": EVIDENCE}),
        question({"answer_a": EVIDENCE}, question_id="q2_abs", question_date=None),
    ]
    made = suite(tmp_path, found, metrics=["recall_any@5", "judged", "f1", "subem"])
    assert made.key.prompts == "longmemeval"
    assert [made.gold(asked).prompt for asked in made.questions] == [
        {"type": "multi-session", "date": "2023/06/01 (Thu) 09:00", "abstention": False},
        {"type": "multi-session", "date": "", "abstention": True},
    ]


def test_entries_are_in_time_order_but_ties_of_bm25_in_the_official_one(tmp_path: Path) -> None:
    same = [turn("user", "the cat", has_answer=True)]
    others = [(name, [turn("user", f"a {name}")]) for name in ("dog", "fox", "owl")]
    raw = question([("a", same), ("answer_b", same), *others])
    raw["haystack_dates"].reverse()
    made = suite(tmp_path, [raw])
    assert [entry.id for entry in made.haystack("q1")] == ["s0004", "s0003", "s0002", "s0001", "s0000"]
    official = plain.bm25(raw["question"], plain.corpus(raw, "session")[1])
    assert set(official[:2]) == {0, 1}
    assert bm25(made, 0, 5) == [f"s{position:04d}" for position in official]


def test_half_a_surrogate_pair_loads(tmp_path: Path) -> None:
    raw = question({"answer_a": [turn("user", "cut \ud83d off", has_answer=True)]}, question="cut \ud83d")
    made = suite(tmp_path, [raw], "turn")
    assert made.haystack("q1")[0].text == "cut \ud83d off"
    assert made.questions[0].query == "cut \ud83d"
    assert bm25(made, 0, 1) == ["t0000"]


def test_a_number_is_an_answer(tmp_path: Path) -> None:
    made = suite(tmp_path, [question({"x": EVIDENCE}, answer=15)])
    assert made.gold(made.questions[0]).answers == ("15",)


def test_oddities(tmp_path: Path) -> None:
    found = [
        question([("x", EVIDENCE), ("x", EVIDENCE)], answer=3),
        question([("x", EVIDENCE), ("x", [])], question_id="q2", haystack_dates=["?", "2023/05/01 (Mon) 02:21"]),
        question({"y": EVIDENCE}, question_id="q2", haystack_dates=[], answer=4, answer_session_ids=["z"]),
        question({"y": EVIDENCE, "z": EVIDENCE}, question_id="q4", haystack_dates=["2023/05/02", "2023/05/01"]),
    ]
    assert longmemeval.oddities(put(tmp_path, found)) == [
        "2 questions, the first q1: answer is a number, not a string",
        "1 question, the first q2: has a session without a user turn",
        "1 question, the first q2: has an id that stood before: the first is taken",
        "1 question, the first q2: has dates that can't be read: the date before is taken",
        "1 question, the first q4: haystack is not in the order of its dates",
        "1 question, the first q2: holds different sessions twice under one id",
        "1 question, the first q1: holds the same session twice under one id",
        "1 question, the first q2: its history is damaged: it is not run",
        "1 question, the first q2: names an answer session that its haystack lacks",
    ]


def test_an_orderly_file_has_no_oddities(tmp_path: Path) -> None:
    assert longmemeval.oddities(put(tmp_path, [question({"x": EVIDENCE, "y": EVIDENCE})])) == []


# Once read, never again


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = question({"answer_a": EVIDENCE})
    suite(tmp_path, [raw])
    file = put(tmp_path, [raw])
    store.prepare(file, "x")  # written anew, with another time: hashed again
    monkeypatch.setattr(store, "records", lambda *_: pytest.fail("the file was parsed again"))
    monkeypatch.setattr(store.hashlib, "file_digest", lambda *_: pytest.fail("the file was hashed again"))
    folder = store.prepare(file, "x")
    assert list(store.Store(folder, "session").questions) == ["q1"]


def test_another_content_in_the_same_place_is_read_anew(tmp_path: Path) -> None:
    first = suite(tmp_path, [question({"answer_a": EVIDENCE})])
    second = suite(tmp_path, [question({"answer_a": EVIDENCE}, question="another")])
    assert (first.questions[0].query, second.questions[0].query) == ("where is the cat", "another")


def test_what_is_left_of_an_interrupted_run_does_no_harm(tmp_path: Path, cache: Path) -> None:
    raw = question({"answer_a": EVIDENCE})
    suite(tmp_path, [raw])
    (folder,) = cache.glob(f"longmemeval/*.{store.FORMAT}")
    (folder / "summary.json").unlink()
    assert suite(tmp_path, [raw]).haystack("q1")[0].text == "one two"


@pytest.mark.parametrize("name", ["questions.arrow", "gold.arrow", "sessions.arrow", "summary.json"])
@pytest.mark.parametrize("at", [0.0, 0.35, 0.65, 1.0])
def test_one_bit_of_what_is_kept_is_noted_and_read_anew(tmp_path: Path, cache: Path, name: str, at: float) -> None:
    raw = question({"answer_a": EVIDENCE})
    before = suite(tmp_path, [raw])
    told = (before.questions[0].query, before.haystack("q1"), before.key.gold("q1"))
    (folder,) = cache.glob(f"longmemeval/*.{store.FORMAT}")
    sealed.noted()
    flip(folder / name, at)
    with pytest.raises(CacheError, match="what was prepared is gone or damaged"):
        (store.Golds if name == "gold.arrow" else store.Store)(folder, "session")
    again = suite(tmp_path, [raw])
    assert (again.questions[0].query, again.haystack("q1"), again.key.gold("q1")) == told
    assert f"{folder}: damaged in the cache; made anew" in sealed.noted()


def test_one_bit_of_the_memo_of_a_files_hash_is_noted(tmp_path: Path, cache: Path) -> None:
    raw = question({"answer_a": EVIDENCE})
    suite(tmp_path, [raw])
    (memo,) = cache.glob("longmemeval/hashes/*.json")
    whole = memo.read_bytes()
    for at in range(0, len(whole), 11):
        memo.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        suite(tmp_path, [raw])
        assert sealed.noted() == [f"{memo}: damaged in the cache; made anew"], at


def test_datasets_opens_what_is_kept(tmp_path: Path, cache: Path) -> None:
    datasets = pytest.importorskip("datasets")
    suite(tmp_path, [question({"answer_a": EVIDENCE})])
    (folder,) = cache.glob(f"longmemeval/*.{store.FORMAT}")
    assert datasets.Dataset.from_file(str(folder / "gold.arrow"))["session"][0] == ["answer_a"]
    asked = datasets.Dataset.from_file(str(folder / "questions.arrow"))
    assert (asked["id"][0], asked.column_names) == ("q1", ["id", "query", "rows", "times", "undated", "damage"])


# Suites


def test_the_file_is_looked_for_under_its_names(tmp_path: Path) -> None:
    raw = [question({"answer_a": EVIDENCE})]
    names = {
        ("s", "original"): ("longmemeval_s.json", "longmemeval_s"),
        ("m", "original"): ("longmemeval_m", "longmemeval_m.json"),
        ("m", "cleaned"): ("longmemeval_m_cleaned.json",),
        ("oracle", "cleaned"): ("longmemeval_oracle.json",),
        ("oracle", "original"): ("longmemeval_oracle",),
    }
    for number, ((split, release), accepted) in enumerate(names.items()):
        for name in accepted:
            folder = tmp_path / f"{number}{name}"
            put(folder, raw, name)
            assert suite(folder, raw, split=split, release=release).questions[0].query == "where is the cat"


def test_data_that_cannot_be_had_is_said_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    spec, path = shipped("lme_s")
    monkeypatch.setattr("pytest_engram.suites.locations._unreachable", lambda _: "the hub could not be reached")
    with pytest.raises(
        NotRun, match=r"Cure: .*give --engram-data DIR with DIR/longmemeval/longmemeval_s_cleaned\.json"
    ):
        longmemeval.load(spec, path, tmp_path)
    made = Both(*longmemeval.missing(spec, path, "the reason"))
    assert len(made.questions) == 100
    assert {q.query for q in made.questions} == {""}


def test_a_question_that_the_file_lacks_is_not_run(tmp_path: Path) -> None:
    made = suite(tmp_path, [question({"answer_a": EVIDENCE})], questions=[{"id": "q1"}, {"id": "q7"}])
    assert made.haystack("q7") == []
    assert made.texts() == (["one two"], ["where is the cat"])
    assert "longmemeval_s_cleaned.json does not have this question" in str(made.questions[1].not_run)
    line = made.unasked(made.questions[1])
    assert (line.status, line.reason) == ("not run", made.questions[1].not_run)
    assert made.describe()["notes"] == [
        "longmemeval_s_cleaned.json is not the official file (its sha256 differs)",
        "1 of 2 questions are not in this copy",
    ]


def test_a_question_with_another_text_is_not_run(tmp_path: Path) -> None:
    raw = question({"answer_a": EVIDENCE})
    other = [{"id": "q1", "text": fingerprint("something else")}]
    made = suite(tmp_path, [raw], questions=other)
    assert "another text" in str(made.questions[0].not_run)
    line = made.unasked(made.questions[0])
    assert (line.status, line.reason) == ("not run", made.questions[0].not_run)


def test_the_manifest_says_whether_the_file_is_the_official_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = question({"answer_a": EVIDENCE})
    described = suite(tmp_path, [raw]).describe()
    assert (described["official"], described["scored"], described["granularity"]) == (False, 1, "session")
    monkeypatch.setitem(longmemeval.OFFICIAL, ("s", "cleaned"), described["data_sha256"])
    assert suite(tmp_path, [raw]).describe()["official"] is True
    put(tmp_path, [raw], "longmemeval_m_cleaned.json")
    assert suite(tmp_path, [raw], split="m").describe()["official"] is None


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"metrics": ["session_recall_any@5"]}, "'session_recall_any@5' is not measured at granularity session"),
        ({"metrics": ["recall_any@7"]}, "'recall_any@7' is not measured"),
        ({"questions": [{"id": "a"}, {"id": "a"}]}, "'a' stands twice"),
        ({"granularity": "word"}, "granularity"),
        ({"release": "newest"}, "release"),
        ({"questions": []}, "questions"),
    ],
)
def test_a_wrong_suite_file_is_told_in_one_line(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    data, lines = files.read(CASES / "lme_s.yaml")
    with pytest.raises(SuiteError) as raised:
        files.validate(longmemeval.Spec, data | fields, Path("lme.yaml"), lines)
    assert problem in str(raised.value)


def shipped(name: str) -> tuple[Any, Path]:
    path = CASES / f"{name}.yaml"
    data, lines = files.read(path)
    return files.validate(Registry("data source", SOURCES)[data["source"]].Spec, data, path, lines), path


def test_the_pilot_set_is_the_documented_draw(shared_data: Path) -> None:
    held = json.loads((shared_data / "longmemeval" / "question_ids.json").read_bytes())["questions"]
    types = {question["question_id"]: question["question_type"] for question in held}
    spec, _ = shipped("lme_s")
    ids = [q.id for q in spec.questions]
    strata: dict[str, list[str]] = {}
    for id_, type_ in types.items():
        strata.setdefault(type_ + ", abstains" * ("_abs" in id_), []).append(id_)
    assert ids == pilots.stratified(strata, 100, 20261008)
    assert spec.drawn.startswith("stratified(ids by question type x abstention, 100, seed 20261008)")
    # By hand: 100 of 500 is a fifth; 97 whole parts, and one more for .8, and for two of the three remainders of .4.
    expected = {
        "knowledge-update": 15,  # of 72: 14.4
        "knowledge-update, abstains": 1,  # of 6: 1.2
        "multi-session": 24,  # of 121: 24.2
        "multi-session, abstains": 3,  # of 12: 2.4
        "single-session-assistant": 11,  # of 56: 11.2
        "single-session-preference": 6,  # of 30: 6.0
        "single-session-user": 13,  # of 64: 12.8
        "single-session-user, abstains": 1,  # of 6: 1.2
        "temporal-reasoning": 25,  # of 127: 25.4
        "temporal-reasoning, abstains": 1,  # of 6: 1.2
    }
    assert Counter(types[id_] + ", abstains" * ("_abs" in id_) for id_ in ids) == expected
    assert sum("_abs" in id_ for id_ in ids) == 6


def test_the_pilot_sets_are_disjoint_from_what_the_methods_learn_from() -> None:
    scored = pilots.scored([CASES / "lme_s.yaml", CASES / "demo_sessions.yaml"])
    assert len(scored) == 148
    rules.check_training("loom", devdata.learnt(), scored)


# The demo


def test_the_demo_has_a_case_of_every_rule() -> None:
    spec, path = shipped("demo_sessions")
    made = Both(*demo_sessions.load(spec, path, None))
    raw = demo.questions(spec.seed)
    assert len(made.questions) == 48
    excluded = [made.gold(question).excluded for question in made.questions]
    assert (excluded.count(protocol.ABSTENTION), excluded.count(protocol.NO_EVIDENCE)) == (6, 6)
    assert excluded.count(None) == 36 == sum(plain.left_out(question) is None for question in raw)
    assert all(len(question["haystack_sessions"]) == demo.SESSIONS for question in raw)
    official = [plain.corpus(question, "session")[0] for question in raw]
    assert any(len(set(ids)) < len(ids) for ids in official)
    assert any(id_.startswith("noans") for ids in official for id_ in ids)
    assert any(sum("answer" in id_ for id_ in ids) > 2 for ids in official)


@pytest.mark.parametrize("granularity", ["session", "turn"])
def test_the_demo_by_bm25_is_the_plain_one_and_neither_trivial_nor_hopeless(granularity: str) -> None:
    spec, path = shipped("demo_sessions")
    every = list(protocol.metric_names("turn" if granularity == "turn" else "session"))
    spec = spec.model_copy(update={"granularity": granularity, "metrics": every})
    made = Both(*demo_sessions.load(spec, path, None))
    values = []
    for number, raw in enumerate(demo.questions(spec.seed)):
        official, texts = plain.corpus(raw, granularity)
        expected = plain.figures(plain.bm25(raw["question"], texts), official, granularity)
        metrics = made.judge(made.questions[number], bm25(made, number, 200), k=200).metrics
        if not made.gold(made.questions[number]).excluded:
            assert metrics == expected
            values.append(expected["recall_any@5"])
    assert 0.1 < sum(values) / len(values) < 0.9


def test_the_demo_is_the_same_everywhere() -> None:
    assert demo.questions(1) == demo.questions(1) != demo.questions(2)
    spec, path = shipped("demo_sessions")
    made = Both(*demo_sessions.load(spec, path, None))
    assert made.describe()["notes"] == []  # the committed fingerprints fit what is generated
