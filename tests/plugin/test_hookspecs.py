"""A source, a reader, a judge and a metric of somebody's own, in their conftest, without a file of ours touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

CONFTEST = '''
from typing import Literal

from pydantic import BaseModel

from pytest_engram import Entry, method
from pytest_engram.judging.judges import Case
from pytest_engram.judging.named import Found, Metric
from pytest_engram.reading import Answer, ReaderSpec
from pytest_engram.suites.base import Gold, Key, Lists, Loaded, Question, Suite


class Spec(BaseModel):
    engram: Literal["pilot"]
    name: str
    source: Literal["zoo"]
    metrics: list[str]


class Zoo:
    """Two questions about 24 animals; the keeper wrote down what they eat."""

    Spec = Spec

    def load(self, spec, path, data):
        entries = [Entry(f"a{i:02d}", f"Animal {i} eats thing {i}.", float(i)) for i in range(24)]
        questions = [Question(f"zoo-{i}", f"animal-{i}", f"What does animal {i} eat?", "zoo") for i in (3, 20)]
        golds = {
            f"zoo-{i}": Gold(answers=(f"thing {i}",), relevant={f"a{i:02d}"}, shown=(f"thing {i}",)) for i in (3, 20)
        }
        suite = Suite(spec.name, path, questions, Lists({"zoo": entries}), source="zoo")
        return Loaded(suite, Key(spec.name, path, spec.metrics, golds))


class Echo:
    """Answers with the first entry that it is given."""

    USAGE = "echo:PREFIX"

    def resolve(self, argument, data):
        return ReaderSpec(name=f"echo:{argument}", kind="echo", label=f"echo {argument}", settings={"prefix": argument})

    def make(self, spec, cache_dir, purse):
        self.prefix = spec.settings["prefix"]
        return self

    def answer(self, asked):
        return Answer(f"{self.prefix} {asked.entries[0].text}", tokens_in=7, tokens_out=3)


class Strict:
    """Accepts an answer that ends as an accepted one does; asked three times, it doubts itself once."""

    USAGE = "strict"
    label = "strict"

    def resolve(self, argument):
        return self

    def __call__(self, case: Case):
        right = any(case.answer.rstrip(".").endswith(answer) for answer in case.answers)
        return [right, right, not right]


def last_place(found: Found, depth):
    """1 / rank of the last relevant id, a plain function."""
    ranks = [i for i, id_ in enumerate(found.ids[:depth], 1) if id_ in found.gold.relevant]
    return 1 / ranks[-1] if ranks else 0.0


def words(found: Found, depth):
    return min(1.0, len(found.answer.split()) / 10)


def pytest_engram_sources():
    return {"zoo": Zoo()}


def pytest_engram_readers():
    return {"echo": Echo()}


def pytest_engram_judges():
    return {"strict": Strict()}


def pytest_engram_metrics():
    return {"last_place": last_place, "words": Metric(words, reads=True)}


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]


@method(label="First", controls=[], embeds=False)
def first():
    return First
'''

SUITE = """\
engram: pilot
name: my_zoo
source: zoo
metrics: [recall_any@5, last_place@5, answer@10, subem, words, judged]
"""


@pytest.fixture
def zoo(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    (pytester.path / "zoo.yaml").write_text(SUITE)
    return pytester


def log(zoo: pytest.Pytester) -> list[dict[str, Any]]:
    lines = (zoo.path / "reports/latest/items.jsonl").read_text().splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda line: line["question_id"])


@pytest.mark.parametrize("workers", ["0", "2"])
def test_all_four_come_from_a_conftest_and_are_used(zoo: pytest.Pytester, workers: str) -> None:
    run = zoo.runpytest_subprocess(
        "--engram-method=first", "--engram-reader=echo:Well,", "--engram-judge=strict", "-n", workers, "zoo.yaml"
    )
    assert run.ret == 0, run.stdout.str()
    far, near = log(zoo)
    # The first five are a00 to a04, so that animal 3 is found at rank 4, and animal 20 is not. The answer is always
    # "Well, Animal 0 eats thing 0.": six words, right for neither; two of three verdicts say so.
    assert near["question_id"] == "zoo-3"
    assert near["metrics"] == {
        "recall_any@5": 1.0,
        "last_place@5": 0.25,
        "answer@10": 1.0,
        "subem": 0.0,
        "words": 0.6,
        "judged": pytest.approx(1 / 3),
    }
    assert far["metrics"] | {"words": 0, "judged": 0} == {
        "recall_any@5": 0.0,
        "last_place@5": 0.0,
        "answer@10": 0.0,
        "subem": 0.0,
        "words": 0,
        "judged": 0,
    }
    assert near["answer"] == "Well, Animal 0 eats thing 0."
    assert near["fields"]["verdicts"] == [False, False, True]
    manifest = json.loads((zoo.path / "reports/latest/manifest.json").read_text())
    assert manifest["reader"]["name"] == "echo:Well,"
    assert manifest["judge"] == {"name": "strict", "label": "strict"}
    rows = json.loads((zoo.path / "reports/latest/results.json").read_text())["rows"]
    assert {row["metric"]: row["status"] for row in rows} == dict.fromkeys(near["metrics"], "ok")
    assert "recall_any@5" in run.stdout.str()


def test_without_judge_and_reader_their_metrics_say_why(zoo: pytest.Pytester) -> None:
    assert zoo.runpytest_subprocess("--engram-method=first", "--engram-reader=none", "zoo.yaml").ret == 0
    assert {name: log(zoo)[0]["missing"][name] for name in ("subem", "words")} == dict.fromkeys(
        ("subem", "words"), "no reader: choose one with --engram-reader"
    )
    assert zoo.runpytest_subprocess("--engram-method=first", "zoo.yaml").ret == 0
    assert log(zoo)[0]["missing"] == {"judged": "no judge: choose one with --engram-judge"}


def test_a_judge_that_fails_is_a_reason_and_not_a_crash(zoo: pytest.Pytester) -> None:
    conftest = (zoo.path / "conftest.py").read_text()
    (zoo.path / "conftest.py").write_text(conftest.replace("return [right, right, not right]", "raise OSError('gone')"))
    run = zoo.runpytest_subprocess("--engram-method=first", "--engram-judge=strict", "zoo.yaml")
    assert run.ret == 0, run.stdout.str()
    assert [line["missing"] for line in log(zoo)] == [{"judged": "OSError: gone"}] * 2
    assert [line["metrics"]["judged"] for line in log(zoo)] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-reader=ecco:x"], "*--engram-reader: no reader 'ecco:x'; known are none, echo:PREFIX, newest, *"),
        (
            ["--engram-judge=strickt"],
            "*--engram-judge: no judge 'strickt'; known are none, openai:MODEL, recorded:FILE.jsonl, strict",
        ),
    ],
)
def test_what_is_misspelt_is_one_line_with_those_that_there_are(
    zoo: pytest.Pytester, arguments: list[str], told: str
) -> None:
    run = zoo.runpytest_subprocess("--engram-method=first", "zoo.yaml", *arguments)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines([told])
    assert "Traceback" not in run.stderr.str()


def test_an_unknown_metric_or_source_is_one_line_with_its_place(zoo: pytest.Pytester) -> None:
    (zoo.path / "zoo.yaml").write_text(SUITE.replace("last_place@5", "last_plaice@5"))
    run = zoo.runpytest_subprocess("--engram-method=first", "zoo.yaml")
    run.stdout.fnmatch_lines(["*zoo.yaml:4: metrics[[]1[]]: no metric 'last_plaice@5'; known are *last_place*"])
    (zoo.path / "zoo.yaml").write_text(SUITE.replace("source: zoo", "source: zo"))
    run = zoo.runpytest_subprocess("--engram-method=first", "zoo.yaml")
    run.stdout.fnmatch_lines(["*zoo.yaml:3: source: no data source 'zo'; known are *factconsolidation*zoo*"])


def test_two_things_of_one_name_are_refused(zoo: pytest.Pytester) -> None:
    conftest = (zoo.path / "conftest.py").read_text()
    (zoo.path / "conftest.py").write_text(conftest.replace('{"last_place": last_place', '{"answer": last_place'))
    run = zoo.runpytest_subprocess("--engram-method=first", "zoo.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*two metrics have the name 'answer'; rename one"])


def test_a_metric_of_ones_own_measures_a_shipped_suite(zoo: pytest.Pytester) -> None:
    from pytest_engram.suites import shipped_cases

    demo = (shipped_cases() / "pilot" / "demo_fc.yaml").read_text()
    assert "metrics: [answer@10, resolved@10, subem]" in demo
    (zoo.path / "demo.yaml").write_text(demo.replace("[answer@10, resolved@10, subem]", "[answer@10, last_place@10]"))
    run = zoo.runpytest_subprocess("--engram-method=first", "-n", "1", "demo.yaml")
    assert run.ret == 0, run.stdout.str()
    measured = [(line["metrics"]["answer@10"], line["metrics"]["last_place@10"]) for line in log(zoo)]
    assert {answer for answer, _ in measured} == {0.0, 1.0}
    assert all((place > 0) == (answer == 1) for answer, place in measured)
