"""Same command, same numbers: what hangs on the order of a set, or on what was asked before, is a violation."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from pytest_engram.asking.again import asks, drawn, problem
from pytest_engram.suites import shipped_cases

CONFTEST = '''
import os

from pytest_engram import method


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]


class Hashed(First):
    """Ranks by the order of a set, and hides it in a list."""

    def search(self, query, k):
        return list({entry.id for entry in self.entries})[:k]


class Learnt(First):
    """Knows, in the class, what it was asked before: a question asked again gets another answer."""

    asked = set()

    def search(self, query, k):
        again = query in self.asked
        self.asked.add(query)
        return [entry.id for entry in self.entries[again:][:k]]


class Counting(First):
    """The answer moves with the number of questions that this memory was asked."""

    def __init__(self, bench):
        super().__init__(bench)
        self.count = 0

    def search(self, query, k):
        self.count += 1
        return [entry.id for entry in self.entries[self.count :][:k]]


class Unfair(First):
    """Takes one too many when a question comes again."""

    asked = set()

    def search(self, query, k):
        again = query in self.asked
        self.asked.add(query)
        return [entry.id for entry in self.entries[: k + again]]


class Once(First):
    """Has a service that is gone when all was asked."""

    asked = set()

    def search(self, query, k):
        if query in self.asked:
            raise RuntimeError("the service is gone")
        self.asked.add(query)
        return super().search(query, k)


for cls in (First, Hashed, Learnt, Counting, Unfair, Once):
    exec(f"@method(name='{cls.__name__.lower()}', embeds=False, controls=[])\\n"
         f"def {cls.__name__.lower()}_fixture():\\n    return {cls.__name__}")
'''


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTHONHASHSEED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text()) | {"name": "tiny"}
    shipped["questions"] = shipped["questions"][:60]
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    pytester.makeconftest(CONFTEST)
    return pytester


def run(project: pytest.Pytester, name: str, *arguments: str) -> Any:
    return project.runpytest_subprocess("-p", "no:cacheprovider", f"--engram-method={name}", *arguments, "tiny.yaml")


def log(project: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / "reports/latest/items.jsonl").read_text().splitlines()]


def told(project: pytest.Pytester) -> dict[str, Any]:
    manifest = json.loads((project.path / "reports/latest/manifest.json").read_text())
    return dict(manifest["asked_again"])


def sample(project: pytest.Pytester) -> list[str]:
    ids = [question["id"] for question in yaml.safe_load((project.path / "tiny.yaml").read_text())["questions"]]
    return [id_ for id_ in ids if drawn("tiny", id_)]


@pytest.mark.parametrize(
    ("name", "workers"),
    [("hashed", "2"), ("learnt", "0"), ("learnt", "2"), ("counting", "0"), ("counting", "2"), ("unfair", "0")],
)
def test_an_answer_that_hangs_on_hashes_or_on_what_was_asked_before_is_a_violation(
    project: pytest.Pytester, name: str, workers: str
) -> None:
    done = run(project, name, "-n", workers, f"--junitxml={project.path / 'junit.xml'}")
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    broken = [line for line in log(project) if line["status"] == "violation"]
    assert {line["question_id"] for line in broken} == set(sample(project)) != set()
    for line in broken:
        rule = "equal k: 11 ids returned" if name == "unfair" else "deterministic: asked twice, two different answers"
        assert rule in line["reason"]
        assert (line["ids"], set(line["metrics"].values())) == ([], {None})
    assert len(log(project)) == 60
    # Each counts once, as what it is.
    *_, last = done.stdout.str().strip().splitlines()
    numbers = {word: int(number) for number, word in re.findall(r"(\d+) (failed|hit|miss)", last)}
    assert numbers.pop("failed") == len(broken)
    assert sum(numbers.values()) == 60 - len(broken)
    assert (project.path / "junit.xml").read_text().count("<failure") == len(broken)


def test_the_hashes_of_one_process_say_nothing_and_the_manifest_says_so(project: pytest.Pytester) -> None:
    done = run(project, "hashed", "-n", "0")
    assert done.ret == 0, done.stdout.str()
    assert (told(project)["process"], told(project)["hash_seeds"]) == ("the same", [])


@pytest.mark.parametrize("arguments", [["-n", "2"], ["-n", "3"], ["-n", "2", "--dist=loadfile"]])
def test_what_was_asked_again_and_how_is_in_the_manifest(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # the user's own must not make all workers alike
    done = run(project, "first", *arguments)
    assert done.ret == 0, done.stdout.str()
    found = told(project)
    assert found["asked"] == len(sample(project)) > 0
    assert (found["differed"], found["failed"], found["of"], found["one_in"]) == (0, 0, 60, 20)
    assert (found["process"], found["hash_seeds"]) == ("another", [str(n + 1) for n in range(int(arguments[1]))])


def test_an_error_when_asked_again_is_counted_and_is_no_violation(project: pytest.Pytester) -> None:
    done = run(project, "once", "-n", "0")
    assert done.ret == 0, done.stdout.str()
    assert (told(project)["differed"], told(project)["failed"]) == (0, len(sample(project)))


def test_every_item_is_asked_again_by_another_process_than_the_first() -> None:
    for workers in (2, 3, 4, 8):
        for number in range(50):
            for first in range(workers):
                second = [w for w in range(workers) if asks(f"q{number}", w, workers, own=w == first)]
                assert 1 <= len(second) <= 2
                assert first not in second
    assert asks("q", 0, 1, own=True)
    assert not asks("q", 0, 1, own=False)


def test_two_answers_are_compared_place_by_place() -> None:
    assert problem("m on s:q", "later", ["a", "b"], ["a", "b"]) is None
    shorter = problem("m on s:q", "later", ["a", "b"], ["a"])
    assert shorter is not None
    assert "from rank 2 (['b'], then, later, [])" in shorter
