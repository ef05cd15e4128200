"""A memory that ran elsewhere, in whole runs: judged as one that ran here, and refused before any item runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_engram.review.verify import verify
from pytest_engram.runs import folder as runfolder
from pytest_engram.suites import shipped_cases

CONFTEST = """
from typing import Literal

from pydantic import BaseModel

from pytest_engram import Entry, method
from pytest_engram.suites.base import Gold, Key, Lists, Loaded, Question, Suite


class Spec(BaseModel):
    engram: Literal["pilot"]
    name: str
    source: Literal["zoo"]
    metrics: list[str]


class Zoo:
    Spec = Spec

    def load(self, spec, path, data):
        entries = [Entry(f"a{i:02d}", f"Animal {i} eats thing {i}.", float(i)) for i in range(24)]
        questions = [Question(f"zoo-{i}", f"animal-{i}", f"What does animal {i} eat?", "zoo") for i in (3, 20)]
        golds = {
            f"zoo-{i}": Gold(answers=(f"thing {i}",), relevant={f"a{i:02d}"}, shown=(f"thing {i}",)) for i in (3, 20)
        }
        suite = Suite(spec.name, path, questions, Lists({"zoo": entries}), source="zoo")
        return Loaded(suite, Key(spec.name, path, spec.metrics, golds))


class Strict:
    USAGE = "strict"
    label = "strict"

    def resolve(self, argument):
        return self

    def __call__(self, case):
        return [any(answer in case.answer for answer in case.answers)]


def pytest_engram_sources():
    return {"zoo": Zoo()}


def pytest_engram_judges():
    return {"strict": Strict()}


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
"""

SUITE = "engram: pilot\nname: my_zoo\nsource: zoo\nmetrics: [recall_any@5, answer@10, subem, judged]\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    return pytester


@pytest.fixture
def zoo(project: pytest.Pytester) -> pytest.Pytester:
    project.makeconftest(CONFTEST)
    (project.path / "zoo.yaml").write_text(SUITE)
    return project


@pytest.fixture
def facts(project: pytest.Pytester) -> pytest.Pytester:
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    shipped |= {"name": "tiny", "questions": shipped["questions"][:6]}
    (project.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    return project


def run(project: pytest.Pytester, method: str, *arguments: str) -> Any:
    return project.runpytest_subprocess("-p", "no:cacheprovider", f"--engram-method={method}", *arguments)


def log(project: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / "reports/latest/items.jsonl").read_text().splitlines()]


def results(project: pytest.Pytester) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / "reports/latest/results.json").read_text())
    return found


def manifest(project: pytest.Pytester) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project.path / "reports/latest/manifest.json").read_text())
    return found


def write(project: pytest.Pytester, *records: Any, name: str = "mem.jsonl") -> Path:
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


# As a method that ran here


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_that_is_recorded_from_its_own_log_is_the_same_run(facts: pytest.Pytester, workers: str) -> None:
    assert run(facts, "bm25", "--engram-no-controls", "tiny.yaml").ret == 0
    ran = log(facts)
    write(facts, *({name: line[name] for name in ("question_id", "suite", "ids", "seconds")} for line in ran))
    done = run(facts, "mem.jsonl,bm25", "--engram-no-controls", "-n", workers, "tiny.yaml")
    assert done.ret == 0, done.stdout.str()
    by_method: dict[str, dict[str, Any]] = {"mem": {}, "bm25": {}}
    for line in log(facts):
        by_method[line["method"]][line["question_id"]] = line
    assert len(by_method["mem"]) == 6
    for line in ran:
        here, elsewhere = by_method["bm25"][line["question_id"]], by_method["mem"][line["question_id"]]
        for name in ("ids", "metrics", "hit", "gold", "gold_ids", "answer", "reader", "haystack", "k", "status"):
            assert elsewhere.get(name) == here.get(name)
        assert elsewhere["seconds"] == line["seconds"]
        assert "wrote" not in elsewhere
    found = results(facts)
    rows = {(row["method"], row["metric"]): row for row in found["rows"]}
    for metric in ("answer@10", "subem"):
        same = ("value", "low", "high", "n", "status", "interval")
        assert [rows["mem", metric][name] for name in same] == [rows["bm25", metric][name] for name in same]
    paired = [pair for pair in found["paired"] if pair["method"] == "mem"]
    assert {(pair["baseline"], pair["difference"], pair["p"]) for pair in paired} == {("bm25", 0.0, 1.0)}
    about = manifest(facts)
    assert about["named"] == ["mem", "bm25"]
    assert about["encoder"] is None  # nothing was embedded, no encoder loaded
    assert about["methods"]["mem"]["recorded"]["file"] == "mem.jsonl"
    assert str(facts.path) not in json.dumps(about["methods"])
    found_again = list(verify(runfolder.read(facts.path / "reports/latest"), [facts.path / "tiny.yaml"]))
    assert [finding for finding in found_again if finding.status == "differs"] == []
    assert "scores of tiny" in [finding.what for finding in found_again if finding.status == "agrees"]


def test_anchors_run_beside_it_unless_it_is_to_run_alone(facts: pytest.Pytester) -> None:
    write(facts, {"question_id": "demo_fc_no0", "ids": []})
    done = run(facts, "mem.jsonl", "--co", "-q", "tiny.yaml")
    assert {line.rpartition("[")[2] for line in done.outlines if "tiny.yaml::" in line} == {"mem]", "dense]", "bm25]"}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_texts_answers_and_verdicts(zoo: pytest.Pytester, workers: str) -> None:
    head = {"method": {"label": "Paper", "encoder": "ada-002", "packages": {"mem0ai": "1.0.3"}}}
    texts = ["Nothing.", {"text": "Animal 3 eats thing 3.", "sources": ["a03", "a04"]}]
    write(
        zoo,
        head,
        {"question_id": "zoo-3", "texts": texts[1:], "answer": "It's thing 3.", "verdicts": [True, False]},
        {"question_id": "zoo-20", "texts": texts, "answer": "No idea.", "verdicts": [False]},
    )
    # The judge of this run is for answers that nobody has judged: `first` has none that is right.
    done = run(zoo, "mem.jsonl,first", "--engram-no-controls", "--engram-judge=strict", "-n", workers, "zoo.yaml")
    assert done.ret == 0, done.stdout.str()
    lines = {line["question_id"]: line for line in log(zoo) if line["method"] == "mem"}
    near, far = lines["zoo-3"], lines["zoo-20"]
    assert near["metrics"] == {"recall_any@5": 1.0, "answer@10": 1.0, "subem": 1.0, "judged": 0.5}
    assert near["recalled"] == [{"text": "Animal 3 eats thing 3.", "sources": ["a03", "a04"]}]
    assert (near["reader"], near["answer"]) == ("recorded", "It's thing 3.")
    assert near["fields"]["verdicts"] == [True, False]
    assert near["seconds"] is None
    assert far["metrics"] == {"recall_any@5": None, "answer@10": 0.0, "subem": 0.0, "judged": 0.0}
    assert far["missing"]["recall_any@5"].startswith("can't be traced")
    assert all("verdicts" in line["fields"] for line in log(zoo) if line["method"] == "first")
    about = manifest(zoo)["methods"]["mem"]
    assert (about["label"], about["encoder"], about["packages"]) == ("Paper", "ada-002", {"mem0ai": "1.0.3"})
    rows = {row["metric"]: row for row in results(zoo)["rows"] if row["method"] == "mem"}
    assert (rows["judged"]["value"], rows["judged"]["n"]) == (0.25, 2)
    assert rows["subem"]["reader"] == "recorded"


def test_answers_without_verdicts_are_judged_by_this_runs_judge(zoo: pytest.Pytester) -> None:
    write(zoo, {"question_id": "zoo-3", "answer": "thing 3"}, {"question_id": "zoo-20", "answer": "thing 3"})
    assert run(zoo, "mem.jsonl", "--engram-no-controls", "--engram-judge=strict", "zoo.yaml").ret == 0
    assert {line["question_id"]: line["metrics"]["judged"] for line in log(zoo)} == {"zoo-3": 1.0, "zoo-20": 0.0}
    row = next(row for row in results(zoo)["rows"] if row["metric"] == "answer@10")
    assert (row["value"], row["status"]) == (None, "not run")
    assert row["reason"] == "mem.jsonl gives neither ids nor texts for this question"


def test_verdicts_from_elsewhere_need_no_judge_here(zoo: pytest.Pytester) -> None:
    write(zoo, *({"question_id": f"zoo-{i}", "verdicts": [i == 3]} for i in (3, 20)))
    assert run(zoo, "mem.jsonl", "--engram-no-controls", "--engram-reader=none", "zoo.yaml").ret == 0
    rows = {row["metric"]: row for row in results(zoo)["rows"]}
    assert (rows["judged"]["value"], rows["judged"]["status"]) == (0.5, "ok")
    assert rows["subem"]["reason"] == "mem.jsonl gives no answer for this question"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_has_no_line_is_not_run_and_never_left_out(facts: pytest.Pytester, workers: str) -> None:
    (facts.path / "other.yaml").write_text((facts.path / "tiny.yaml").read_text().replace("name: tiny", "name: other"))
    write(facts, *({"question_id": f"demo_fc_no{i}", "suite": "tiny", "ids": ["1"]} for i in range(4)))
    done = run(facts, "mem.jsonl", "--engram-no-controls", "-n", workers, "tiny.yaml", "other.yaml")
    assert done.ret == 0, done.stdout.str()
    assert len(log(facts)) == 12
    reasons = {(line["suite"], line["reason"]) for line in log(facts) if line["status"] == "not run"}
    assert reasons == {
        ("tiny", "mem.jsonl has no line for this question"),
        ("other", "mem.jsonl has no line for any question of this suite"),
    }
    rows = {(row["suite"], row["metric"]): row for row in results(facts)["rows"]}
    assert rows["tiny", "answer@10"]["value"] is None
    assert rows["tiny", "answer@10"]["reason"] == "4 of 6 items run: mem.jsonl has no line for this question"
    assert rows["other", "answer@10"]["reason"] == "mem.jsonl has no line for any question of this suite"
    done.stdout.fnmatch_lines(["*8 not run*"])


def test_rules_hold_for_it(facts: pytest.Pytester) -> None:
    write(facts, *({"question_id": f"demo_fc_no{i}", "ids": ["1", "2", "x"][: i + 1]} for i in range(6)))
    done = run(facts, "mem.jsonl", "--engram-no-controls", "--engram-k=2", "tiny.yaml")
    assert done.ret == 1
    lines = {line["question_id"]: line for line in log(facts)}
    assert [lines[f"demo_fc_no{i}"]["status"] for i in range(4)] == ["ok", "ok", "violation", "violation"]
    assert lines["demo_fc_no2"]["reason"] == "mem on tiny:demo_fc_no2: equal k: 3 ids returned, k is 2"


@pytest.mark.parametrize("arguments", [["a.jsonl,sub/a.jsonl"], ["a.jsonl", "--engram-method=./sub/a.jsonl"]])
def test_several_files_are_several_methods(zoo: pytest.Pytester, arguments: list[str]) -> None:
    for name, animal in (("a.jsonl", "a03"), ("sub/a.jsonl", "a20")):
        write(zoo, *({"question_id": f"zoo-{i}", "ids": [animal]} for i in (3, 20)), name=name)
    done = run(zoo, *arguments, "--engram-method=a.jsonl,./a.jsonl", "--engram-no-controls", "-n", "1", "zoo.yaml")
    assert done.ret == 0, done.stdout.str()
    hits = {(line["method"], line["question_id"]): line["metrics"]["recall_any@5"] for line in log(zoo)}
    assert hits == {("a", "zoo-3"): 1.0, ("a", "zoo-20"): 0.0, ("a-2", "zoo-3"): 0.0, ("a-2", "zoo-20"): 1.0}
    about = manifest(zoo)
    assert about["named"] == ["a", "a-2"]
    assert [about["methods"][name]["label"] for name in ("a", "a-2")] == ["a", "a (a.jsonl)"]


# Refused before any item runs


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([{"question_id": "zoo-3", "idz": []}], "mem.jsonl:1: idz: no such field; did you mean ids?"),
        ([{"question_id": "zoo-3", "ids": [3]}], 'mem.jsonl:1: ids[0]: must be a text; got 3; write "3"'),
        (
            [{"question_id": "zoo-4", "ids": []}],
            'mem.jsonl:1: question_id: no question "zoo-4"; did you mean "zoo-3"? Looked at: my_zoo',
        ),
        (
            [{"question_id": "zoo-3", "ids": []}] * 2,
            'mem.jsonl:2: question_id: "zoo-3" of suite my_zoo has line 1 already; delete one of the two',
        ),
        ([], 'mem.jsonl: holds no question; write a line {"question_id": ..., "ids": [...]} for each'),
    ],
)
def test_a_wrong_file_is_one_line_and_nothing_runs(zoo: pytest.Pytester, records: list[Any], told: str) -> None:
    write(zoo, *records)
    done = run(zoo, "mem.jsonl", "-n", "2" if "zoo-4" in told else "0", "zoo.yaml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in done.errlines if line.strip()] == [f"ERROR: {told}"]
    assert not (zoo.path / "reports").exists()


def test_every_fault_has_its_line_and_a_missing_file_is_one(zoo: pytest.Pytester) -> None:
    write(zoo, {"question_id": "zoo-3"}, {"question_id": "zoo-20", "seconds": True})
    done = run(zoo, "mem.jsonl", "zoo.yaml")
    assert [line[:20] for line in done.errlines if line.strip()] == ["ERROR: mem.jsonl:1: ", "ERROR: mem.jsonl:2: "]
    done = run(zoo, "there/is/none.jsonl", "zoo.yaml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: there/is/none.jsonl: there is no such file; correct the path"])


def test_a_suite_that_can_not_be_read_is_told_and_not_the_lines_of_it(zoo: pytest.Pytester) -> None:
    (zoo.path / "bad.yaml").write_text(SUITE.replace("my_zoo", "bad").replace("subem", "subemm"))
    write(zoo, {"question_id": "bad-1", "ids": []}, {"question_id": "zoo-3", "ids": []})
    done = run(zoo, "mem.jsonl", "--engram-no-controls", "zoo.yaml", "bad.yaml")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*bad.yaml:4: metrics[[]2[]]: no metric 'subemm'*"])
