"""Own data: what a line may hold, what is told of one that does not fit, and what is measured of one that does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pyarrow.parquet
import pytest
from both import METRICS, Both
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.basics.registry import Registry
from pytest_engram.basics.texts import contains, normalise
from pytest_engram.judging import chance
from pytest_engram.judging.named import UNTRACED
from pytest_engram.memory import Entry
from pytest_engram.suites import SOURCES, handover, loading, pilots, reach, schema
from pytest_engram.suites.base import Loaded, SuiteError
from pytest_engram.suites.own import gold, lines, source

ENTRIES = [
    {"id": "e1", "text": "The cat sat on the mat.", "time": "2026-05-08T13:00", "source": "Ann"},
    {"id": "e3", "text": "The cat moved to the sofa.", "time": "2026-05-08T15:00"},
    {"id": "e2", "text": "A dog barked.", "time": "2026-05-08T14:00"},
    {"id": "e4", "text": "The sofabed is new.", "time": "2026-05-08T16:00"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "query": "Where is the cat?", "gold": ["e1", "e3"], "answers": ["sofa"], "group": "pets"},
    {"id": "q2", "query": "Who barked?", "gold": {"e2": 2, "e4": 1, "e1": 0}, "group": "noise"},
    {"id": "q3", "query": "What is new?", "answers": "sofabed"},
    {"id": "q4", "query": "Who sang?", "gold": [], "answers": ["nobody"]},
]
METRICS_ASKED = "[recall@2, recall_any@1, recall_all@2, ndcg@3, answer@1, subem, f1]"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


def put(
    folder: Path, entries: Any = ENTRIES, questions: Any = QUESTIONS, metrics: str = METRICS_ASKED, more: str = ""
) -> Path:
    """A suite file with its data beside it; text is written as it is."""
    for name, rows in (("entries", entries), ("questions", questions)):
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    path = folder / "mine.yaml"
    path.write_text(
        "engram: pilot\nname: mine\nsource: own\nentries: entries.jsonl\nquestions: questions.jsonl\n"
        f"metrics: {metrics}\n{more}",
        encoding="utf-8",
    )
    return path


def load(path: Path, data: Path | None = None) -> Loaded:
    sources: Registry[Any] = Registry("data source", SOURCES)
    return loading.load(path, data, sources=sources, metrics=METRICS, shipped_metrics=METRICS)


def both(path: Path, data: Path | None = None) -> Both:
    return Both(*load(path, data))


def told(path: Path) -> str:
    with pytest.raises(SuiteError) as error:
        load(path)
    return str(error.value).replace(f"{path.parent}/", "")


# What it becomes


def test_entries_stand_in_the_order_of_time_and_questions_in_that_of_the_file(tmp_path: Path) -> None:
    found = both(put(tmp_path))
    entries = found.haystack(found.questions[0].haystack)
    assert [entry.id for entry in entries] == ["e1", "e2", "e3", "e4"]
    assert entries[1].time - entries[0].time == 3600
    assert [entry.source for entry in entries] == ["Ann", "", "", ""]
    assert [(q.id, q.name, q.query) for q in found.questions] == [(q["id"], q["id"], q["query"]) for q in QUESTIONS]
    assert len({q.haystack for q in found.questions}) == 1


def test_without_times_the_order_is_that_of_the_file(tmp_path: Path) -> None:
    bare = [{"id": e["id"], "text": e["text"]} for e in ENTRIES]
    found = both(put(tmp_path, bare))
    entries = found.haystack(found.questions[0].haystack)
    assert [(entry.id, entry.time) for entry in entries] == [("e1", 0.0), ("e3", 1.0), ("e2", 2.0), ("e4", 3.0)]


def test_metrics_by_hand(tmp_path: Path) -> None:
    found = both(put(tmp_path))
    first, graded, answered, nothing = found.questions
    judged = found.judge(first, ["e3", "e2", "e1"], answer="On the sofa.")
    discounted = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert judged.metrics == {
        "recall@2": 0.5,
        "recall_any@1": 1.0,
        "recall_all@2": 0.0,
        "ndcg@3": pytest.approx(discounted, abs=1e-12),
        "answer@1": 1.0,  # e3 says sofa; e1, which is gold as well, does not
        "subem": 1.0,
        "f1": pytest.approx(2 / 3),  # of "on sofa", with one of two words right
    }
    assert found.judge(first, ["e1", "e2", "e3"]).metrics["answer@1"] == 0.0
    assert judged.group == "pets"
    # Grades 2 and 1, and what was judged 0 is not gold: 1 / log2(2) + 2 / log2(3), over the other way round.
    line = found.judge(graded, ["e4", "e2", "e1"])
    assert line.metrics["recall@2"] == 1.0
    assert line.metrics["ndcg@3"] == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)), abs=1e-12)
    assert line.gold_ids == ["e4", "e2"]
    assert line.left_out.keys() == {"answer@1", "subem", "f1"}
    # Where only answers are known, nothing is said about recall.
    line = found.judge(answered, ["e4"], answer="A sofabed.")
    assert line.metrics == {"answer@1": 1.0, "subem": 1.0, "f1": pytest.approx(1.0)}
    assert set(line.left_out.values()) == {"which entries answer is not told"}
    # And where nothing answers, there is nothing to recall.
    line = found.judge(nothing, ["e4"], answer="Nobody.")
    assert set(line.left_out.values()) == {"no entry answers"}
    assert line.metrics["subem"] == 1.0


def test_an_answer_inside_a_word_is_marked_as_chance(tmp_path: Path) -> None:
    found = both(put(tmp_path))
    assert found.judge(found.questions[0], ["e4"]).fields["by_chance"] == {"answer@1": "a part of a word"}


@given(
    st.lists(st.text(alphabet="ab \n.é", min_size=0, max_size=8), min_size=1, max_size=8),
    st.lists(st.text(alphabet="ab \n.é", max_size=3), min_size=1, max_size=3),
)
def test_an_answer_is_found_where_a_search_through_each_text_finds_it(texts: list[str], answers: list[str]) -> None:
    entries = [Entry(f"e{i}", text, float(i)) for i, text in enumerate(texts)]
    found = gold._Texts(entries, searched=True).holding(answers)
    assert found == {e.id: normalise(e.text) for e in entries if contains(normalise(e.text), answers)}
    assert list(found) == sorted(found, key=lambda id_: int(id_[1:]))


def test_a_text_of_the_memory_s_own_counts_by_its_sources(tmp_path: Path) -> None:
    found = both(put(tmp_path))
    recalled = [{"text": "Cat and dog.", "sources": ["e1", "e3"]}, {"text": "Again.", "sources": ["e1"]}]
    line = found.judge(found.questions[0], ["e1", "e3"], recalled=recalled)
    assert line.metrics["recall@2"] == 1.0
    # The first text stands for one of two that answer; the second repeats it, and earns nothing.
    assert line.metrics["ndcg@3"] == pytest.approx(1 / (1 + 1 / math.log2(3)))
    recalled = [{"text": "Cat and dog.", "sources": []}]
    assert found.judge(found.questions[0], [], recalled=recalled).missing["ndcg@3"] == UNTRACED


def test_the_worth_of_random_entries(tmp_path: Path) -> None:
    from itertools import permutations

    found = both(put(tmp_path, questions=QUESTIONS[:2], metrics="[recall@2, ndcg@2, ndcg@3, recall_any@1, answer@1]"))
    drawn = list(permutations(["e1", "e2", "e3", "e4"], 3))
    floors = chance.floors(found.suite, found.key, 3)
    for name in ("recall@2", "ndcg@2", "ndcg@3", "recall_any@1"):
        lines = [found.judge(q, list(ids), 3) for q in found.questions for ids in drawn]
        assert floors[name] == pytest.approx(sum(line.metrics[name] or 0 for line in lines) / len(lines))
    lines = [found.judge(found.questions[0], list(ids), 3) for ids in drawn]
    assert floors["answer@1"] == pytest.approx(sum(line.metrics["answer@1"] or 0 for line in lines) / len(lines))


def test_haystacks_by_name_and_by_list(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "text": "One.", "haystack": "x"},
        {"id": "b", "text": "Two.", "haystack": ["y", "x"]},
        {"id": "c", "text": "Three.", "haystack": "y"},
    ]
    questions = [
        {"id": "1", "query": "?", "gold": ["b"], "haystack": "x"},
        {"id": "2", "query": "?", "gold": ["b"], "haystack": "y"},
        {"id": "3", "query": "?", "gold": ["a"], "haystack": ["c", "a"]},
        {"id": "4", "query": "?", "gold": ["c"], "haystack": ["a", "c"]},
    ]
    found = both(put(tmp_path, entries, questions, "[recall@1]"))
    assert [[e.id for e in found.haystack(q.haystack)] for q in found.questions] == [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
        ["a", "c"],
    ]
    assert found.questions[2].haystack == found.questions[3].haystack
    # Questions over one of several haystacks were drawn together, unless the file says otherwise.
    assert [found.gold(q).cluster for q in found.questions] == [q.haystack for q in found.questions]
    assert found.key.cluster == "haystack"


def test_clusters_are_the_files_own(tmp_path: Path) -> None:
    questions = [{**q, "cluster": f"talk {i % 2}"} for i, q in enumerate(QUESTIONS)]
    found = both(put(tmp_path, questions=questions, more="cluster: talk\n"))
    assert [found.gold(q).cluster for q in found.questions] == ["talk 0", "talk 1", "talk 0", "talk 1"]
    assert found.key.cluster == "talk"
    assert both(put(tmp_path)).key.cluster is None


def test_parquet_is_as_good(tmp_path: Path) -> None:
    plain = both(put(tmp_path))
    listed = [
        {**q, "answers": [q["answers"]] if isinstance(q.get("answers"), str) else q.get("answers")} for q in QUESTIONS
    ]
    listed[1]["gold"] = ["e2", "e4"]
    for name, rows in (("entries", ENTRIES), ("questions", listed)):
        columns = {key: None for row in rows for key in row}
        table = pyarrow.table({key: [row.get(key) for row in rows] for key in columns})
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text().replace(".jsonl", ".parquet"))
    found = both(path)
    assert found.questions == plain.questions
    assert found.haystack(found.questions[0].haystack) == plain.haystack(plain.questions[0].haystack)
    assert [found.gold(q).answers for q in found.questions] == [plain.gold(q).answers for q in plain.questions]
    rows = pyarrow.table({"id": ["a", "b"], "text": ["One.", None]})
    pyarrow.parquet.write_table(rows, tmp_path / "entries.parquet")
    assert told(path) == "entries.parquet: row 2: text: this field is missing; add it"
    (tmp_path / "entries.parquet").write_bytes(b"no")
    assert told(path).startswith("entries.parquet: can't be read as Parquet (")


def test_the_manifest_tells_where_it_came_from(tmp_path: Path) -> None:
    found = both(put(tmp_path, more="licence: CC0\nshareable: false\n"))
    about = found.describe()
    assert about["origin"] == "entries.jsonl, questions.jsonl, own data"
    assert (about["licence"], about["entries"], about["haystacks"]) == ("CC0", 4, 1)
    assert (
        "1 of 4 questions are left out of recall@2, recall_any@1, recall_all@2, ndcg@3: no entry answers"
        in about["notes"]
    )
    assert str(tmp_path) not in json.dumps(about)
    assert found.key.shareable is False
    questions = [*QUESTIONS[:3], {**QUESTIONS[3], "answers": ["somebody"]}]
    assert both(put(tmp_path, questions=questions)).describe()["data_sha256"] != about["data_sha256"]


def test_a_worker_gets_no_gold(tmp_path: Path) -> None:
    loaded = load(put(tmp_path))
    name = handover.write(loaded.suite, tmp_path / "asked")
    sources: Registry[Any] = Registry("data source", SOURCES)
    again = handover.read(name, loaded.suite.path, tmp_path / "asked", sources)
    assert list(again.questions) == list(loaded.suite.questions)
    assert again.haystack(again.questions[0].haystack) == loaded.suite.haystack(again.questions[0].haystack)
    content = "".join(path.read_text() for path in (tmp_path / "asked").iterdir())
    assert "sofabed is new" in content
    assert "nobody" not in content
    assert "pets" not in content


def test_a_method_may_not_open_the_questions(tmp_path: Path) -> None:
    path = put(tmp_path)
    found = reach.answers(None, [path], tmp_path / "reports", tmp_path)
    assert found[tmp_path / "questions.jsonl"] == "questions.jsonl of mine.yaml"


def test_what_is_scored_is_known_once_it_is_loaded(tmp_path: Path) -> None:
    from pytest_engram.asking import training

    path = put(tmp_path)
    assert pilots.scored([path]) == []
    assert {q.text for q in training.scored([path], [load(path).suite])} == {q["query"] for q in QUESTIONS}


# What does not fit


def line(**fields: Any) -> str:
    return json.dumps(fields) + "\n"


GOOD = line(id="e1", text="One.")


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (GOOD + "{\n", "2: not JSON: Expecting property name enclosed in double quotes at column 2; write one JSON"),
        ("\n" + GOOD + "[1]\n", "3: must be an object; got [1]; write one JSON object a line"),
        (GOOD + line(id=2, text="x"), '2: id: must be a text; got 2; write "2"'),
        (GOOD + line(id="e2"), "2: text: this field is missing; add it"),
        (GOOD + line(id="e2", txt="x"), "2: txt: no such field; did you mean text?"),
        (
            GOOD + line(id="e2", text="x", zebra=1),
            "2: zebra: no such field; known are id, text, time, source, haystack",
        ),
        (GOOD + line(id="e2", text=" "), "2: text: is empty; write something, or leave it out"),
        (GOOD + line(id="e1", text="x"), '2: id: "e1" is the id of an entry above; rename one'),
        (GOOD + line(id="e2\n", text="x"), "2: id: must be one line without white space around it"),
        (GOOD + line(id="e2", text="x", time=3), "2: time: the first entry has no time, and this one a number"),
        (line(id="e2", text="x", time="soon"), '1: time: must be a date or a number; got "soon"; write it like "2026-'),
        (line(id="e2", text="x", time=True), "1: time: must be a date or a number; got true"),
        ('{"id": "a", "text": "x", "time": NaN}', "1: time: must be a date or a number; got NaN"),
        ('{"id": "a", "id": "b"}', "1: id: stands twice in one object; delete one"),
        ('{"id": "a", "text": "\\ud800"}', "1: text: holds half a character"),
        (line(id="e2", text="x", haystack=[]), "1: haystack: is an empty list; name a haystack"),
        (line(id="e2", text="x", haystack="h") + GOOD, "2: haystack: this field is missing, and other entries have it"),
    ],
)
def test_an_entry_that_does_not_fit(tmp_path: Path, entries: str, problem: str) -> None:
    assert told(put(tmp_path, entries, QUESTIONS)).startswith(f"entries.jsonl:{problem}")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"gold": ["e33"]}, 'gold: no entry "e33"; did you mean "e3"?'),
        ({"gold": ["x"]}, 'gold: no entry "x"; correct it'),
        ({"gold": "e1"}, 'gold: must be a list of ids of entries; got "e1"; write it like ["e1"] or {"e1": 2}'),
        ({"gold": ["e1", "e1"]}, 'gold: "e1" stands twice; delete one'),
        ({"gold": {"e1": 0.5}}, 'gold: must have a whole number for "e1"; got 0.5; above 0 is relevant'),
        ({"anwsers": ["x"]}, "anwsers: no such field; did you mean answers?"),
        ({"answers": [3]}, 'answers: [0] must be a text; got 3; write "3"'),
        ({}, "nothing that could be judged; add `gold` or `answers`, or delete the line"),
        ({"answers": "x", "haystack": "h"}, 'haystack: no entry names a haystack "h"; give entries a `haystack`'),
        ({"answers": "x", "haystack": ["e22"]}, 'haystack: no entry "e22"; did you mean "e2"?'),
        ({"gold": ["e1"], "haystack": ["e2"]}, 'gold: the entry "e1" is not in the question\'s haystack'),
    ],
)
def test_a_question_that_does_not_fit(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    path = put(tmp_path, questions=[QUESTIONS[0], {"id": "q9", "query": "?", **fields}])
    assert told(path).startswith(f"questions.jsonl:2: {problem}")


def test_a_question_that_stands_twice_or_names_no_haystack(tmp_path: Path) -> None:
    assert told(put(tmp_path, questions=[QUESTIONS[0], QUESTIONS[0]])) == (
        'questions.jsonl:2: id: "q1" is the id of a question above; rename one'
    )
    entries = [{"id": f"e{i}", "text": "x", "haystack": f"talk{i % 2}"} for i in range(4)]
    assert told(put(tmp_path, entries)) == (
        "questions.jsonl:1: haystack: this field is missing, and there are 2 haystacks; add it"
    )
    questions = [{**QUESTIONS[0], "haystack": "talk3"}]
    assert told(put(tmp_path, entries, questions)) == (
        'questions.jsonl:1: haystack: no entry names "talk3"; did you mean "talk1"?'
    )


def test_files_that_are_not_here_are_not_run(tmp_path: Path) -> None:
    path = put(tmp_path)
    (tmp_path / "entries.jsonl").rename(tmp_path / "entrys.jsonl")
    loaded = load(path)
    assert loaded.suite.not_run == (
        "no entries.jsonl beside mine.yaml, nor in --engram-data (did you mean entrys.jsonl?). Cure: put it there"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "entrys.jsonl").rename(tmp_path / "data" / "entries.jsonl")
    assert load(path, tmp_path / "data").suite.not_run is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("entries.jsonl", "/etc/entries.jsonl", "4: entries: must be a path beside the suite file"),
        ("entries.jsonl", "../entries.jsonl", "4: entries: must be a path beside the suite file"),
        ("entries.jsonl", "entries.csv", "4: entries: must end in .jsonl or .ndjson or .parquet; got 'entries.csv'"),
        ("questions:", "question:", "5: question: no such field; did you mean questions?"),
        ("recall@2", "recal@2", "6: metrics: 'recal@2' can't be measured on these questions; known are recall@N"),
        ("recall@2", "recall", "6: metrics: 'recall' can't be measured on these questions; known are recall@N"),
    ],
)
def test_a_suite_file_that_does_not_fit(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = put(tmp_path)
    path.write_text(path.read_text().replace(old, new, 1))
    assert told(path).startswith(f"mine.yaml:{problem}")


def test_a_metric_that_no_question_can_have(tmp_path: Path) -> None:
    problem = "no question has `answers`, which answer@1 needs; give some, or leave this metric out"
    assert told(put(tmp_path, questions=QUESTIONS[1:2])) == f"mine.yaml: metrics[4]: {problem}"
    problem = "no question has `gold`, which recall@2 needs; give some, or leave this metric out"
    assert told(put(tmp_path, questions=QUESTIONS[2:3])) == f"mine.yaml: metrics[0]: {problem}"


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["e1", "q1", "2026"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["id", "text", "time", "source", "haystack", "query", "gold", "answers", "group", "cluster"])


@given(st.lists(st.dictionaries(FIELDS, ANYTHING, max_size=5) | ANYTHING, max_size=3), st.booleans())
def test_whatever_a_line_holds_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], asked: bool
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    told = ""
    try:
        load(put(folder, questions=rows) if asked else put(folder, rows))
    except SuiteError as error:
        told = str(error)
    assert "\n" not in told


def test_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "QUESTIONS", 3)
    path = put(tmp_path)
    assert told(path).startswith("questions.jsonl:4: more than 3 lines; write fewer")
    monkeypatch.setattr(source, "ENTRIES", 2)
    assert told(path).startswith("entries.jsonl:3: more than 2 lines; write fewer")


def test_an_empty_or_unreadable_file(tmp_path: Path) -> None:
    assert told(put(tmp_path, "\n\n")) == "entries.jsonl: holds no line; write one JSON object a line"
    path = put(tmp_path)
    (tmp_path / "entries.jsonl").write_bytes(b'{"id": "\xff"}\n')
    assert told(path) == "entries.jsonl:1: not UTF-8, from byte 9 on; save the file as UTF-8"


def test_ids_that_no_test_can_be_named_by(tmp_path: Path) -> None:
    found = both(put(tmp_path, questions=[QUESTIONS[0], {**QUESTIONS[1], "id": "a b/c::d[e]"}], metrics="[recall@1]"))
    assert [q.name for q in found.questions] == ["q1", "no1"]


# The schema


SCHEMA = json.loads(schema.LINES.read_text(encoding="utf-8"))


def test_the_schema_is_up_to_date() -> None:
    cure = "run `python -m pytest_engram.suites.schema`"
    assert schema.LINES.read_text(encoding="utf-8") == schema.text(schema.lines()), cure
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("kind", "fields", "fits"),
    [
        *(("entry", entry, True) for entry in ENTRIES),
        *(("question", question, True) for question in QUESTIONS),
        ("entry", {"id": "a", "text": "x", "haystack": ["b", "c"], "time": 3.5}, True),
        ("question", {"id": "a", "query": "x", "gold": ["b"], "haystack": ["b", "c"]}, True),
        ("entry", {"id": "a"}, False),
        ("entry", {"id": "a", "txt": "x"}, False),
        ("entry", {"id": 1, "text": "x"}, False),
        ("question", {"id": "a", "query": "x", "gold": "b"}, False),
        ("question", {"id": "a", "query": "x", "gold": {"b": 0.5}}, False),
        ("question", {"id": "a", "query": "x", "gold": ["b"], "haystack": []}, False),
    ],
)
def test_the_schema_takes_what_the_reading_takes(tmp_path: Path, kind: str, fields: Any, fits: bool) -> None:
    schemed = jsonschema.Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]})
    assert (not list(schemed.iter_errors(fields))) == fits
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(fields) + "\n")
    try:
        lines.read(path, lines.EntryLine if kind == "entry" else lines.QuestionLine, 10)
        read = True
    except SuiteError:
        read = False
    assert read == fits


def test_every_field_has_a_description() -> None:
    for model in (lines.EntryLine, lines.QuestionLine):
        assert all(field.description for field in model.model_fields.values())
