"""Whatever a suite file holds, it is read, or refused in one line with file, field and cure."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzz import RUBBISH, TEXTS, bounded, budget, changed, damaged, one_line
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_engram.basics.registry import Registry
from pytest_engram.review import here
from pytest_engram.suites import SOURCES, files, handover, microtests, pilots
from pytest_engram.suites.base import SuiteError

CASE = {
    "name": "home",
    "belief": "{who} lives in Oslo.",
    "web": ["{who} votes in Oslo.", "{who} rents in Oslo."],
    "update": "{who} lives in Rome.",
    "backers": ["{who} parks in Rome."],
    "also": [],
    "query": "Where does {who} live?",
    "slots": [{"who": "Ann"}, {"who": "Bob"}],
    "sweep": {"web": [0, 2], "backers": [0, 1], "repeats": [0]},
}
MICRO = {
    "engram": "micro",
    "name": "own",
    "rule": "majority-support",
    "background": "people",
    "tokenize": "words",
    "mirror": True,
    "sweep": {"web": [0]},
    "cases": [CASE],
}
HUB = {
    "engram": "micro",
    "name": "hubs",
    "family": "hub",
    "neighbours": 10,
    "background": [f"Fact number {n} is of person {n}." for n in range(20)],
    "hubs": [{"name": "a", "text": "Everybody knows everybody."}],
}
OTHERS = [
    MICRO | {"family": "sites", "rule": "newest"},
    MICRO | {"family": "reworded", "cases": [CASE | {"update": "{who} moved to Rome."}]},
]
OTHERS += [{"engram": "micro", "name": "dense", "family": "density", "over": "missing.yaml"}]
SHA = "0123456789abcdef" * 4
PILOT = {
    "engram": "pilot",
    "name": "own",
    "questions": [{"id": "x_no0", "text": SHA[:16]}, {"id": "x_no1", "text": SHA[16:32]}],
}
PILOTS = [
    PILOT | {"source": "demo_fc", "seed": 1, "metrics": ["answer@10", "subem"], "context_sha256": SHA},
    PILOT | {"source": "factconsolidation", "rows": "r", "metrics": ["resolved@5"], "answers_sha256": SHA},
    PILOT | {"source": "locomo", "granularity": "turn", "metrics": ["recall@5", "f1"], "data_sha256": SHA},
    PILOT | {"source": "longmemeval", "granularity": "session", "metrics": ["recall_any@5"], "split": "s"},
    PILOT | {"source": "demo_sessions", "granularity": "turn", "seed": 3, "metrics": ["session_ndcg_any@5"]},
    PILOT
    | {"source": "backed_fc", "kind": "named", "rows": "r", "metrics": ["correct"], "drawn": "by lot"}
    | {"questions": [{"id": "1-2", "text": SHA[:16], "backed": "newer", "speakers": "many"}]},
    PILOT
    | {
        "source": "own",
        "entries": "entries.jsonl",
        "questions": "questions.jsonl",
        "metrics": ["recall@2", "answer@2"],
    },
    {name: value for name, value in PILOT.items() if name != "questions"}
    | {"source": "beir", "folder": "beir", "split": "test", "metrics": ["ndcg@10"]},
]
SUITES: list[dict[str, Any]] = [MICRO, HUB, *OTHERS, *PILOTS]

# YAML by its marks: what opens, closes, names, refers and merges.
MARKS = r"""engram: micro\n|engram: pilot\n|name: x\n|cases:\n|questions:\n|source: locomo\n|metrics: |  - |- |: |? """
MARKS += (
    r"""|{|}|[|]|, |&a |*a|<<: |>-\n|'|"|#|\n|\t| |---\n|...\n|%YAML 1.1\n|!x |!!set |!!omap |!!int |!!float |!!bool """
)
MARKS += r"""|!!null |!!binary |!!timestamp |!!python/object:os.system |2023-13-45|1_0:59|.inf|0o8|=|~|\r\n|||"""
PARTS = MARKS.encode().decode("unicode_escape").split("|")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suites")
    (folder / "beir" / "qrels").mkdir(parents=True)
    files = {
        "entries.jsonl": '{"id": "m1", "text": "Our office is in Bern."}\n',
        "questions.jsonl": '{"id": "q1", "query": "Where is the office?", "gold": ["m1"], "answers": ["Bern"]}\n',
        "beir/corpus.jsonl": '{"_id": "m1", "title": "", "text": "Our office is in Bern."}\n',
        "beir/queries.jsonl": '{"_id": "q1", "text": "Where is the office?"}\n',
        "beir/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\tm1\t1\n",
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder / "own.yaml"


def read(path: Path, content: bytes) -> None:
    """Read it as the plugin does, or see that it is refused as it should be."""
    path.write_bytes(content)
    with bounded():
        files.is_suite(path)
        with suppress(SuiteError):
            pilots.scored([path])
        try:
            found = here.load(path, None, look=False)
        except SuiteError as error:
            one_line(error, str(path), cure=("; ", ", ", ". ", "must be ", ": write "))
            return
    for question in found.suite.questions:
        found.suite.haystack(question.haystack)
        found.key.gold(question.id)


def dumped(value: Any) -> bytes:
    try:
        text: str = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    except yaml.YAMLError:  # what YAML can't say
        text = repr(value)
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("whole", SUITES, ids=lambda whole: whole.get("source") or whole.get("family") or "cases")
def test_what_is_here_without_change_is_read(place: Path, whole: dict[str, Any]) -> None:
    place.write_bytes(dumped(whole))
    if whole.get("family") != "density":
        assert here.load(place, None, look=False).suite.questions


@budget(2)
@given(content=st.sampled_from(SUITES).flatmap(changed).map(dumped))
def test_a_suite_of_which_parts_are_others(place: Path, content: bytes) -> None:
    read(place, content)


@budget(2)
@example(content=dumped(OTHERS[-1] | {"over": "m" * 3000}))  # was an OSError: the name is too long
@given(content=st.sampled_from(SUITES).map(dumped).flatmap(damaged))
def test_a_suite_of_which_bytes_are_others(place: Path, content: bytes) -> None:
    read(place, content)


@budget(2)
@example(content="engram: pilot\nname: !!timestamp ''")  # was an AttributeError
@example(content="engram: pilot\nname: !!bool maybe")  # was a KeyError
@example(content="engram: pilot\nname: !!int ''")  # was an IndexError
@given(content=st.lists(st.sampled_from(PARTS) | TEXTS, max_size=30).map("".join))
def test_marks_of_yaml_in_any_order(place: Path, content: str) -> None:
    read(place, content.encode("utf-8", "surrogatepass"))


@budget()
@given(content=st.binary(max_size=60))
def test_bytes(place: Path, content: bytes) -> None:
    read(place, content)
    read(place, b"engram: micro\n" + content)


@budget()
@example(value={"sweep": {"\n": None}})  # was told on two lines
@given(value=st.dictionaries(st.sampled_from([*MICRO, *HUB, "source"]), RUBBISH, max_size=5))
def test_the_right_fields_with_anything_in_them(place: Path, value: dict[str, Any]) -> None:
    read(place, dumped({"engram": "micro"} | value))


VISIBLE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z", "M")), min_size=1, max_size=20).map(
    lambda text: text.replace("{", "{{").replace("}", "}}")
)


@st.composite
def sound(draw: Any) -> dict[str, Any]:
    """A suite that nothing is wrong with."""
    texts = draw(
        st.lists(VISIBLE.map(lambda text: f"It is said {text}."), min_size=4, max_size=9, unique_by=str.casefold)
    )
    belief, update, *rest = texts
    half = len(rest) // 2
    case = {"name": "c", "belief": belief, "update": update, "web": rest[:half], "backers": rest[half:]}
    case["query"] = draw(VISIBLE)
    return {"engram": "micro", "name": "sound", "rule": "majority-support", "cases": [case]} | {
        "tokenize": draw(st.sampled_from(["words", "characters"]))
    }


@budget(0.5)
@given(whole=sound())
def test_what_is_handed_over_is_what_was_read(place: Path, whole: dict[str, Any]) -> None:
    place.write_bytes(dumped(whole))
    try:
        suite = here.load(place, None).suite
    except SuiteError as error:  # two that look alike
        one_line(error, str(place))
        return
    folder = place.parent / "handed"
    sources: Any = Registry("data source", SOURCES)
    again = handover.read(handover.write(suite, folder), place, folder, sources)
    assert list(again.questions) == list(suite.questions)
    for question in suite.questions:
        assert list(again.haystack(question.haystack)) == list(suite.haystack(question.haystack))
    assert (again.name, again.kind, again.asks, again.split) == (suite.name, suite.kind, suite.asks, suite.split)
    assert dict(again.settings) == dict(suite.settings)
    assert [again.tokenize and again.tokenize(q.query) for q in again.questions] == [
        suite.tokenize and suite.tokenize(q.query) for q in suite.questions
    ]


def test_every_family_is_among_them() -> None:
    assert {suite.get("family", "cases") for suite in SUITES if suite["engram"] == "micro"} == {
        *microtests.families(),
        "cases",
    }
    assert {suite["source"] for suite in PILOTS} == set(SOURCES)
