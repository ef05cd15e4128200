"""A memory that ran elsewhere: its file is refused in one line a fault, or gives an outcome for every question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram import judging
from pytest_engram.asking import recorded
from pytest_engram.asking.memories import Memories
from pytest_engram.asking.recorded import Recording, Refused
from pytest_engram.asking.runner import Asker
from pytest_engram.basics.registry import Registry
from pytest_engram.judging.judge import asked, judge
from pytest_engram.memory import Entry, Method
from pytest_engram.plugin import returned
from pytest_engram.reading import Answer, Asked, Desk, ReaderSpec, totals
from pytest_engram.reading.desk import unread
from pytest_engram.runs import schema
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Gold, Key, Lists, Question, Suite

METRICS: Registry[Any] = Registry("metric", judging.METRICS)
ENTRIES = [Entry(f"e{number}", f"Animal {number} eats thing {number}.", float(number)) for number in range(24)]
KEY = Key(
    "zoo",
    Path("zoo.yaml"),
    ["recall_any@5", "answer@10", "subem", "judged"],
    {f"q{i}": Gold(answers=(f"thing {i}",), relevant={f"e{i}"}) for i in range(4)},
)


def zoo(name: str = "zoo", ids: tuple[str, ...] = ("q0", "q1", "q2", "q3"), **more: Any) -> Suite:
    questions = [Question(id_, f"animal-{id_}", f"What does {id_} eat?", "zoo") for id_ in ids]
    return Suite(name, Path(f"{name}.yaml"), questions, Lists({"zoo": ENTRIES}), **more)


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def parsed(*records: Any) -> Recording:
    return recorded.parse(lines(*records), "some/mem.jsonl")


def placed(*records: Any, suites: tuple[Suite, ...] = (), whole: bool = True) -> Recording:
    found = parsed(*records)
    recorded.place(found, suites or (zoo(),), whole=whole)
    return found


class Echo:
    def answer(self, asked: Asked) -> Answer:
        return Answer(asked.entries[0].text if asked.entries else "nothing")


def ask(
    recording: Recording, question_id: str = "q0", suite: Suite | None = None, k: int = 10, fits: int | None = None
) -> Outcome:
    suite = suite or zoo()
    memories = Memories(k, lambda: pytest.fail("something was embedded"))
    budget = None if fits is None else lambda texts: min(fits, len(texts))
    asker = Asker(memories, lambda _: None, {"mem": recording}, budget)
    question = next(question for question in suite.questions if question.id == question_id)
    line = asker.ask(suite, question, recording.method("mem"), 0, "item", lambda: pytest.fail("a memory was made"))
    if unread(line):  # as the process that judges does it
        entries = returned.entries(line, {entry.id: entry for entry in ENTRIES})
        Desk(ReaderSpec("echo", "echo", "echo"), Echo(), 1).read(line, Asked(line.query, entries))
    return line


def judged(recording: Recording, question_id: str = "q0", **more: Any) -> Outcome:
    line = ask(recording, question_id, **more)
    found = judge(KEY, line, METRICS)
    assert judge(KEY, asked(found), METRICS) == found  # `engram verify` makes the same of it
    read_again = schema.outcome(json.loads(found.to_line()))
    assert (read_again.seconds, read_again.metrics) == (found.seconds, found.metrics)
    return found


# What a line gives


def test_ids_are_judged_as_if_they_had_been_returned_here() -> None:
    found = judged(placed({"question_id": "q2", "ids": ["e5", "e2"], "seconds": 1.5, "tokens": 12}), "q2")
    assert (found.status, found.ids, found.seconds, found.tokens) == ("ok", ["e5", "e2"], 1.5, 12)
    assert found.metrics == {"recall_any@5": 1.0, "answer@10": 1.0, "subem": 0.0, "judged": None}
    assert (found.answer, found.reader) == ("Animal 5 eats thing 5.", "echo")  # as no answer was given, one is read
    assert found.haystack == 24


def test_no_seconds_are_not_0_seconds() -> None:
    found = judged(placed({"question_id": "q0", "ids": ["e0"]}))
    assert found.seconds is None
    assert json.loads(found.to_line())["seconds"] is None
    assert judged(placed({"question_id": "q0", "ids": ["e0"], "seconds": 0})).seconds == 0.0


def test_texts_are_judged_on_what_they_say_and_traced_by_their_sources() -> None:
    texts = ["Nothing.", {"text": "It eats thing 0.", "sources": ["e7", "e0"]}, {"text": "More."}]
    found = judged(placed({"question_id": "q0", "texts": texts}))
    assert found.metrics["answer@10"] == 1.0
    assert found.metrics["recall_any@5"] is None
    assert found.missing["recall_any@5"].startswith("can't be traced")
    assert found.ids == ["e7", "e0"]
    traced = judged(placed({"question_id": "q0", "texts": texts[1:2]}))
    assert traced.metrics["recall_any@5"] == 1.0


def test_an_answer_that_is_given_is_not_read_again() -> None:
    found = judged(placed({"question_id": "q0", "ids": ["e1"], "answer": "The thing 0."}))
    assert (found.answer, found.reader) == ("The thing 0.", "recorded")
    assert (found.metrics["subem"], found.metrics["recall_any@5"]) == (1.0, 0.0)
    assert totals([found]).answered == 0  # this run's reader has not answered it
    assert judged(placed({"question_id": "q0", "ids": [], "answer": ""})).answer == ""


def test_an_answer_alone_says_nothing_of_what_was_recalled() -> None:
    found = judged(placed({"question_id": "q0", "answer": "thing 0"}))
    why = "mem.jsonl gives neither ids nor texts for this question"
    assert found.metrics == {"recall_any@5": None, "answer@10": None, "subem": 1.0, "judged": None}
    assert found.missing["recall_any@5"] == found.missing["answer@10"] == why
    # An empty list says that nothing was returned.
    assert judged(placed({"question_id": "q0", "ids": [], "answer": "thing 0"})).metrics["answer@10"] == 0.0


def test_a_person_s_verdict_is_kept_beside_the_judge_s() -> None:
    found = judged(placed({"question_id": "q0", "answer": "thing 0", "verdicts": [True, False], "human": False}))
    assert (found.fields["human"], found.metrics["judged"]) == (False, 0.5)
    assert "human" not in judged(placed({"question_id": "q0", "answer": "thing 0"})).fields


def test_verdicts_alone_are_enough_for_judged() -> None:
    found = judged(placed({"question_id": "q0", "verdicts": [True, True, False]}))
    assert found.metrics == {"recall_any@5": None, "answer@10": None, "subem": None, "judged": pytest.approx(2 / 3)}
    assert found.missing["subem"] == "mem.jsonl gives no answer for this question"
    assert found.fields["verdicts"] == [True, True, False]
    # They are of an answer that is not told, and of none that a reader of this run would give.
    beside = judged(placed({"question_id": "q0", "ids": ["e0"], "verdicts": [False]}))
    assert beside.metrics == {"recall_any@5": 1.0, "answer@10": 1.0, "subem": None, "judged": 0.0}
    assert (beside.answer, beside.reader) == (None, "recorded")


def test_a_budget_cuts_it_and_what_was_answered_from_more_does_not_count() -> None:
    record = {"question_id": "q0", "ids": ["e1", "e0"], "verdicts": [True]}
    answered = placed(record | {"answer": "thing 0"})
    whole, cut = judged(answered, fits=2), judged(answered, fits=1)
    assert whole.metrics == {"recall_any@5": 1.0, "answer@10": 1.0, "subem": 1.0, "judged": 1.0}
    assert cut.metrics == {"recall_any@5": 0.0, "answer@10": 0.0, "subem": None, "judged": None}
    assert cut.missing["subem"] == "mem.jsonl was answered from more than --engram-budget leaves"
    assert cut.answer is None
    assert judged(placed({"question_id": "q0", "ids": ["e1", "e0"]}), fits=1).answer == "Animal 1 eats thing 1."


@pytest.mark.parametrize(
    ("record", "k", "told"),
    [
        ({"ids": ["e1", "e2", "e3"]}, 2, "mem on zoo:q0: equal k: 3 ids returned, k is 2"),
        ({"ids": ["e1", "e1"]}, 2, "mem on zoo:q0: equal k: id 'e1' is returned twice, at ranks 1 and 2"),
        ({"ids": ["x"]}, 2, "mem on zoo:q0: equal k: id 'x' is unknown: no entry of the haystack (24 entries) has it"),
        ({"texts": ["a", "b", "c"]}, 2, "mem on zoo:q0: equal k: 3 ids returned, k is 2"),
        ({"texts": [{"text": "a", "sources": ["x"]}]}, 2, "mem on zoo:q0: equal k: id 'x' is unknown: no entry of *"),
    ],
)
def test_a_broken_rule_is_a_violation_of_that_item(record: dict[str, Any], k: int, told: str) -> None:
    recording = placed({"question_id": "q0", **record}, {"question_id": "q1", "ids": ["e1"]})
    found = ask(recording, "q0", k=k)
    assert found.status == "violation"
    assert found.reason.startswith(told.rstrip("*"))
    assert ask(recording, "q1", k=k).status == "ok"


def test_questions_without_a_line_are_not_run_and_say_so() -> None:
    other = zoo("other", ("p0",))
    recording = placed({"question_id": "q0", "ids": []}, suites=(zoo(), other))
    one, all_ = ask(recording, "q1"), ask(recording, "p0", other)
    assert (one.status, one.reason) == ("not run", "mem.jsonl has no line for this question")
    assert (all_.status, all_.reason) == ("not run", "mem.jsonl has no line for any question of this suite")
    assert one.seconds is None


def test_a_suite_that_asks_more_than_once_can_not_be_told_by_a_file() -> None:
    suite = zoo(asks="one by one")
    found = ask(placed({"question_id": "q0", "ids": []}, suites=(suite,)), "q0", suite)
    assert (found.status, found.reason) == (
        "not run",
        "zoo asks a memory for more than a file can tell; run it where the memory is",
    )


# The method


def test_the_first_line_may_say_what_the_method_is() -> None:
    head = {"method": {"label": "Mem, paper", "encoder": "ada-002", "packages": {"mem0ai": "1.0", "x": None}}}
    found = parsed(head, {"question_id": "q0", "ids": []})
    method = recorded.named([found], {})["mem"].method("mem")
    assert (method.label, method.role, method.controls, method.embeds) == ("Mem, paper", "experiment", None, False)
    about = method.describe()
    assert about["encoder"] == "ada-002"
    assert about["packages"] == {"mem0ai": "1.0", "x": None}
    assert about["recorded"] == {"file": "mem.jsonl", "sha256": found.sha256}
    assert [line.number for line in found.lines] == [2]


def test_names_are_valid_and_nobody_elses() -> None:
    paths = ["a/my mem (2).jsonl", "bm25.jsonl", "b/bm25.jsonl", "all.jsonl", ".jsonl", "mem0.jsonl", "b/mem0.jsonl"]
    given = [Recording(path) for path in paths]
    known = {"bm25": Method("bm25", "BM25", "anchor", (), False, (), False, "session", print)}
    found = recorded.named(given, known, lambda name: name.startswith("mem0"))
    assert list(found) == [
        "my-mem-2",
        "bm25-2",
        "bm25-3",
        "recorded-all",
        "recorded",
        "recorded-mem0",
        "recorded-mem0-2",
    ]
    labels = [recording.label for recording in found.values()]
    assert labels == ["my mem (2)", "bm25", "bm25 (bm25.jsonl)", "all", "recorded", "mem0", "mem0 (mem0.jsonl)"]


def test_what_workers_get_is_what_was_placed(tmp_path: Path) -> None:
    records = [{"question_id": f"q{i}", "texts": [{"text": "ö", "sources": ["e1"]}, "b"]} for i in range(3)]
    recording = placed({"method": {"label": "L"}}, *records, {"question_id": "q3", "answer": "x", "verdicts": [True]})
    name = recorded.write({"mem": recording}, tmp_path)
    (found,) = recorded.load(name, tmp_path).values()
    assert found.placed == recording.placed
    assert found.method("mem") == recording.method("mem")
    (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(Refused, match="was changed in the cache; run again"):
        recorded.load(name, tmp_path)
    (tmp_path / f"{name}.json").unlink()
    with pytest.raises(Refused, match="was the cache emptied"):
        recorded.load(name, tmp_path)


# Refusals: file, line, field, problem and cure


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at column 2; write one JSON object a line"),
        ("[1, 2]", "must be an object; got [1, 2]; write one JSON object a line"),
        ("[" * 100_000, "no JSON that can be read; write one plain JSON object a line"),
        ('{"question_id": "q0", "tokens": ' + "9" * 5000 + "}", "no JSON that can be read; write one plain JSON *"),
        ('{"ids": []}', "question_id: this field is missing; add it"),
        ('{"questionId": "q0"}', "questionId: no such field; did you mean question_id?"),
        (
            '{"question_id": "q0", "score": 1}',
            "score: no such field; known are question_id, suite, ids, texts, answer, verdicts, seconds, tokens, human",
        ),
        ('{"question_id": 7, "ids": []}', 'question_id: must be a text; got 7; write "7"'),
        ('{"question_id": "q0"}', "nothing that could be judged; add `ids`, `texts`, `answer` or `verdicts`, or *"),
        ('{"question_id": "q0", "ids": "e1"}', 'ids: must be a list of ids; got "e1"; write it in [ and ]'),
        ('{"question_id": "q0", "ids": ["e1", 2]}', 'ids[1]: must be a text; got 2; write "2"'),
        ('{"question_id": "q0", "ids": [null]}', "ids[0]: must be a text; got null; write a text, or leave *"),
        ('{"question_id": "q0", "ids": [], "texts": []}', "texts: `ids` and `texts` both say what was recalled; *"),
        ('{"question_id": "q0", "texts": [{"source": []}]}', "texts[0].source: no such field; did you mean sources?"),
        ('{"question_id": "q0", "texts": [{}]}', "texts[0].text: this field is missing; add it"),
        ('{"question_id": "q0", "texts": [{"text": "a", "sources": "e"}]}', "texts[0].sources: must be a list of ids*"),
        ('{"question_id": "q0", "answer": null}', "answer: must be a text; got null; write a text, or leave the *"),
        ('{"question_id": "q0", "answer": "\\ud800"}', 'answer: holds half a character; got "\\ud800"; write it as *'),
        ('{"question_id": "q0", "verdicts": []}', "verdicts: must have a verdict; got []; write true or false, or *"),
        ('{"question_id": "q0", "verdicts": [1]}', "verdicts[0]: must be true or false; got 1; write one of them"),
        (
            '{"question_id": "q0", "answer": "a", "human": "yes"}',
            'human: must be true or false; got "yes"; write one of them, or leave the field out',
        ),
        (
            '{"question_id": "q0", "ids": [], "human": true}',
            "human: is a person's verdict on an answer, and there is none; add `answer`, or leave it out",
        ),
        ('{"question_id": "q0", "seconds": true}', "seconds: must be a number of seconds; got true; write one, or *"),
        ('{"question_id": "q0", "seconds": NaN}', "seconds: must be a number of seconds; got NaN; write one, or *"),
        ('{"question_id": "q0", "seconds": 1e999}', "seconds: must be a number of seconds; got Infinity; write one*"),
        ('{"question_id": "q0", "seconds": -1}', "seconds: must be between 0 and 1000000000; got -1; correct it"),
        ('{"question_id": "q0", "tokens": 1.5}', "tokens: must be a whole number; got 1.5; write one, or leave *"),
        ('{"question_id": "q0", "ids": [], "ids": []}', "ids: stands twice in one object; delete one"),
        ('{"method": {}}', "method: stands in the first line alone; delete it here"),
    ],
)
def test_a_wrong_line_is_refused_in_one_line(line: str, told: str) -> None:
    content = lines({"question_id": "ok", "ids": []}) + line.encode() + b"\n"
    with pytest.raises(Refused) as refused:
        recorded.parse(content, "some/mem.jsonl")
    (problem,) = refused.value.problems
    expected = f"some/mem.jsonl:2: {told}"
    assert problem.startswith(expected[:-1]) if told.endswith("*") else problem == expected
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ({"method": "mem"}, 'method: must be an object; got "mem"; write {"label": ...}'),
        ({"method": {"lable": "x"}}, "method.lable: no such field; did you mean label?"),
        ({"method": {"label": " "}}, 'method.label: must be words of one line; got " "; write some'),
        ({"method": {"encoder": 5}}, 'method.encoder: must be a text; got 5; write "5"'),
        (
            {"method": {"packages": ["a"]}},
            'method.packages: must be an object; got ["a"]; write {"package": "version"}',
        ),
        ({"method": {"packages": {"a": 1}}}, 'method.packages.a: must be a text; got 1; write "1"'),
        ({"method": {}, "question_id": "q0"}, "question_id: no such field; known are method"),
    ],
)
def test_a_wrong_first_line_is_refused_in_one_line(head: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused) as refused:
        parsed(head, {"question_id": "q0", "ids": []})
    assert refused.value.problems == [f"some/mem.jsonl:1: {told}"]


def test_no_file_and_no_line_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"^no/mem.jsonl: there is no such file; correct the path$"):
        recorded.read(tmp_path / "mem.jsonl", "no/mem.jsonl")
    with pytest.raises(Refused, match=r"^x.jsonl: can't be read \(Is a directory\); give a file of JSON lines$"):
        recorded.read(tmp_path, "x.jsonl")
    for content in (b"", b"\n \n", b"\xef\xbb\xbf", lines({"method": {}})):
        with pytest.raises(Refused, match=r"^m.jsonl: holds no question; write a line \{.*\} for each$"):
            recorded.parse(content, "m.jsonl")
    with pytest.raises(Refused, match=r"^m.jsonl:1: not UTF-8, from byte 2 on; save the file as UTF-8$"):
        recorded.parse(b'"\xff"', "m.jsonl")


def test_marks_of_other_systems_are_no_fault() -> None:
    found = recorded.parse(b'\xef\xbb\xbf{"question_id": "q0", "answer": "a\xe2\x80\xa8b"}\r\n\r\n', "m.jsonl")
    assert [(line.question_id, line.answer) for line in found.lines] == [("q0", "a\u2028b")]


def test_many_faults_are_told_each_and_then_counted() -> None:
    with pytest.raises(Refused) as refused:
        parsed(*({"question_id": "q0"} for _ in range(25)))
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 5 more"


@pytest.mark.parametrize(
    ("records", "told"),
    [
        (
            [{"question_id": "qq3", "ids": []}],
            'question_id: no question "qq3"; did you mean "q3"? Looked at: zoo, farm',
        ),
        (
            [{"question_id": "elsewhere", "ids": []}],
            'question_id: no question "elsewhere"; run its suite as well, or delete the line. Looked at: zoo, farm',
        ),
        (
            [{"question_id": "q0", "suite": "zo", "ids": []}],
            'suite: no suite "zo" in this run; did you mean zoo? Its suites are zoo, farm',
        ),
        (
            [{"question_id": "q0", "suite": "moon", "ids": []}],
            'suite: no suite "moon" in this run; run it as well, or delete the line. Its suites are zoo, farm',
        ),
        (
            [{"question_id": "f1", "suite": "zoo", "ids": []}],
            'question_id: no question "f1"; it is one of farm. Looked at: zoo',
        ),
        (
            [{"question_id": "q1", "ids": []}],
            'suite: "q1" is a question of zoo and of farm; add the field, with one of them',
        ),
        (
            [{"question_id": "q0", "ids": []}, {"question_id": "q0", "suite": "zoo", "answer": "x"}],
            'question_id: "q0" of suite zoo has line 1 already; delete one of the two',
        ),
    ],
)
def test_a_line_of_no_question_of_the_run_is_refused(records: list[Any], told: str) -> None:
    with pytest.raises(Refused) as refused:
        placed(*records, suites=(zoo(), zoo("farm", ("q1", "f1"))))
    assert refused.value.problems == [f"some/mem.jsonl:{len(records)}: {told}"]


def test_a_file_of_another_benchmark_is_refused_at_once() -> None:
    many = zoo(ids=tuple(f"question-number-{number}" for number in range(2000)))
    with pytest.raises(Refused) as refused:
        placed(*({"question_id": f"question_number_{n}", "ids": []} for n in range(5000)), suites=(many,))
    assert len(refused.value.problems) == 21
    assert "did you mean" in refused.value.problems[0]


def test_the_same_id_in_two_suites_is_told_apart_by_the_suite() -> None:
    farm = zoo("farm", ("q1",))
    one, other = {"question_id": "q1", "suite": "zoo", "ids": ["e1"]}, {"question_id": "q1", "suite": "farm", "ids": []}
    found = placed(one, other, suites=(zoo(), farm))
    assert ask(found, "q1").ids == ["e1"]
    assert ask(found, "q1", farm).ids == []


def test_what_can_not_be_looked_at_is_no_fault_of_the_file() -> None:
    gone = zoo("gone", ("all",), not_run="no data")
    assert placed({"question_id": "g7", "ids": []}, suites=(zoo(), gone)).placed == {}
    assert placed({"question_id": "g7", "suite": "gone", "ids": []}, suites=(zoo(), gone)).placed == {}
    # A suite file that can't be read is told when it is collected.
    assert placed({"question_id": "b7", "ids": []}, whole=False).placed == {}
    assert placed({"question_id": "b7", "suite": "bad", "ids": []}, whole=False).placed == {}


# Whatever stands in a file

NAMES = st.sampled_from(
    [
        "question_id",
        "suite",
        "ids",
        "texts",
        "answer",
        "verdicts",
        "seconds",
        "tokens",
        "method",
        "text",
        "sources",
        "x",
    ]
)
SOME = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["q0", "zoo", "e1", "e2"]),
)
VALUES = st.recursive(
    SOME, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)
RIGHT = st.fixed_dictionaries(
    {"question_id": st.sampled_from(["q0", "q1"])},
    optional={
        "suite": st.just("zoo"),
        "ids": st.lists(st.sampled_from(["e1", "e2", "e3", "nobody"]), max_size=12),
        "texts": st.lists(st.text() | st.fixed_dictionaries({"text": st.text(), "sources": st.lists(st.just("e1"))})),
        "answer": st.text(),
        "verdicts": st.lists(st.booleans(), max_size=3),
        "seconds": st.floats(0, 100),
        "tokens": st.integers(0, 100),
    },
)
LINES = st.one_of(
    st.text(),
    st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=5).map(json.dumps),
    RIGHT.map(json.dumps),
    st.tuples(RIGHT, NAMES, VALUES).map(lambda parts: json.dumps(parts[0] | {parts[1]: parts[2]})),
    VALUES.map(json.dumps),
)


@given(LINES)
def test_any_line_gives_an_outcome_or_is_refused_in_one_line(line: str) -> None:
    check(line.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=60))
def test_any_bytes_do(content: bytes) -> None:
    check(content)


def check(content: bytes) -> None:
    try:
        recording = recorded.parse(content, "m.jsonl")
        recorded.place(recording, [zoo()])
        problems = []
    except Refused as refused:
        problems = refused.problems or ["none was told"]
    for problem in problems:
        assert problem.startswith("m.jsonl")
        assert len(problem.splitlines()) == 1
        problem.encode()
    for question in () if problems else ("q0", "q1", "q2"):
        found = judged(recording, question)
        assert found.status in ("ok", "violation", "not run")
        assert found.status == "ok" or len(found.reason.splitlines()) == 1
