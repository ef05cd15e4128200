"""Whole runs, as a user would start them, on the generated demo and on methods written here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_engram.plugin import session as engram_session

SHIPPED = engram_session.shipped_cases()

CONFTEST = """
from pytest_engram import method

class First:
    def __init__(self, bench):
        self.entries = []
    def write(self, entries):
        self.entries += entries
    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]

class Greedy(First):
    def search(self, query, k):
        return [entry.id for entry in self.entries[: k + 1]]

class Twice(First):
    def search(self, query, k):
        return [self.entries[0].id] * 2

class Inventive(First):
    def search(self, query, k):
        return ["no such entry"]

class Numeric(First):
    def search(self, query, k):
        return [1]

class Broken(First):
    def search(self, query, k):
        raise RuntimeError("the store is on fire")

class Fickle(First):
    calls = 0
    def search(self, query, k):
        Fickle.calls += 1
        return [entry.id for entry in self.entries[Fickle.calls % 2 :][:k]]

class Fatal(First):
    def search(self, query, k):
        import os
        if "fatal" in query or self.entries and query:
            os._exit(3)

class Slow(First):
    def search(self, query, k):
        import time
        time.sleep(0.5)
        return super().search(query, k)

for cls in (First, Greedy, Twice, Inventive, Numeric, Broken, Fickle, Fatal, Slow):
    def make(cls=cls):
        return lambda bench: cls(bench)
    exec(f"@method(name='{cls.__name__.lower()}', label='{cls.__name__}', embeds=False, controls=[])\\n"
         f"def {cls.__name__.lower()}_fixture():\\n    return {cls.__name__}")
"""


def demo(folder: Path, name: str = "tiny", questions: int = 6) -> Path:
    """A suite file with the first questions of the shipped demo."""
    shipped = yaml.safe_load(next(iter(sorted((SHIPPED / "pilot").glob("demo_fc*.yaml")))).read_text())
    shipped["name"] = name
    shipped["questions"] = shipped["questions"][:questions]
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(shipped, sort_keys=False))
    return path


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own settings must not reach the runs of these tests."""
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    demo(pytester.path)
    return pytester


def log(project: pytest.Pytester, folder: str = "reports/latest") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / folder / "items.jsonl").read_text().splitlines()]


def results(project: pytest.Pytester) -> Any:
    return json.loads((project.path / "reports/latest/results.json").read_text())


# Collection


def test_a_question_is_an_item_with_a_plain_node_id(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=first", "--collect-only", "-q", "tiny.yaml")
    run.stdout.fnmatch_lines(["tiny.yaml::*[[]first[]]", "6 tests collected*"])
    assert run.ret == 0
    assert not (project.path / "reports").exists()


def test_nothing_is_collected_without_a_method_unless_the_path_is_given(project: pytest.Pytester) -> None:
    assert project.runpytest("--collect-only", "-q").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    given = project.runpytest("--collect-only", "-q", "tiny.yaml")
    given.stdout.fnmatch_lines(["tiny.yaml::*[[]first[]]"])
    assert given.ret == 0


def test_yaml_without_the_engram_key_is_never_collected(project: pytest.Pytester) -> None:
    (project.path / "compose.yaml").write_text("services:\n  engram: {image: x}\n")
    run = project.runpytest("--engram-method=first", "--co", "-q", ".")
    assert "compose" not in run.stdout.str()
    run.stdout.fnmatch_lines(["6 tests collected*"])


def test_python_tests_run_beside_suites_and_untouched_without_them(project: pytest.Pytester) -> None:
    project.makepyfile(test_own="def test_own(): pass")
    project.runpytest().assert_outcomes(passed=1)
    run = project.runpytest("--engram-method=first", ".")
    run.stdout.fnmatch_lines(["*1 passed*"])
    assert len(log(project)) == 6


def test_k_selects_and_the_table_says_that_it_is_a_part(project: pytest.Pytester) -> None:
    everything = project.runpytest("--engram-method=first,greedy", "--co", "-q", "tiny.yaml").outlines
    one = next(line for line in everything if line.endswith("[first]"))
    run = project.runpytest("--engram-method=first", "-k", one.split("::")[1].split("[")[0], "tiny.yaml")
    assert run.ret == 0
    assert len(log(project)) == 1
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert (row["status"], row["n"]) == ("partial", 1)
    assert project.runpytest("--engram-method=first", one).ret == 0


def test_last_failed_runs_the_violations_again(project: pytest.Pytester) -> None:
    assert project.runpytest("--engram-method=first,greedy", "tiny.yaml").ret == 1
    run = project.runpytest("--engram-method=first,greedy", "tiny.yaml", "--lf", "--co", "-q")
    run.stdout.fnmatch_lines(["*6/12 tests collected*"])
    assert "[first]" not in run.stdout.str()


def test_cases_come_from_the_ini_file(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nengram_cases = tiny.yaml\ntestpaths = nowhere\n")
    run = project.runpytest("--engram-method=first", "--co", "-q")
    run.stdout.fnmatch_lines(["6 tests collected*"])


def test_without_paths_the_shipped_suites_are_run(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=first", "--co", "-q")
    run.stdout.fnmatch_lines(["cases/pilot/fc_mh_6k.yaml::q017[[]first[]]"])
    run.stdout.fnmatch_lines(["cases/pilot/locomo.yaml::locomo_0_qa2[[]first[]]"])
    assert "tiny" not in run.stdout.str()
    assert "cases/full" not in run.stdout.str()


@pytest.mark.parametrize(
    "asked", ["--engram-suite=locomo_full", str(SHIPPED / "full"), str(SHIPPED / "full" / "locomo.yaml")]
)
def test_a_long_suite_is_run_where_it_is_asked_for(project: pytest.Pytester, asked: str) -> None:
    run = project.runpytest("--engram-method=bm25", asked, "--co", "-q")
    collected = [line for line in run.outlines if "::" in line]
    where = {line.split("::")[0].rpartition("/")[2] for line in collected}
    rows = {f"fc_{hops}_{size}k.yaml" for hops in ("sh", "mh") for size in (32, 64)}
    whole = asked.endswith("full") and "/" in asked
    assert where == ({"locomo.yaml", "backed_fc_full.yaml", *rows} if whole else {"locomo.yaml"})
    assert all("::all[" in line for line in collected if "locomo.yaml" in line)


def test_the_folder_above_a_long_suite_does_not_ask_for_it(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=bm25", str(SHIPPED), "--co", "-q")
    run.stdout.fnmatch_lines(["*pilot/locomo.yaml::locomo_0_qa2[[]bm25[]]"])
    assert "locomo.yaml::all" not in run.stdout.str()


# Workers


@pytest.mark.parametrize("dist", ["load", "loadfile", "loadscope", "loadgroup", "worksteal", "each"])
def test_every_way_to_distribute_gives_the_same_log(project: pytest.Pytester, dist: str) -> None:
    arguments = ["--engram-method=first,numeric", "tiny.yaml"]
    project.runpytest(*arguments, "--engram-report=alone")
    run = project.runpytest_subprocess(*arguments, "--engram-report=many", "-n", "2", "--dist", dist)
    assert run.ret == 1

    def timeless(folder: str) -> list[dict[str, Any]]:
        # `wrote` stands at the item whose asking filled the memory, of which each process has its own.
        records = ({**record, "seconds": 0} for record in log(project, folder))
        return [{name: value for name, value in record.items() if name != "wrote"} for record in records]

    assert timeless("alone") == timeless("many")


def test_workers_import_no_torch_and_a_run_that_never_embeds_loads_no_encoder(project: pytest.Pytester) -> None:
    project.makeconftest(
        CONFTEST
        + """
class Watch(First):
    def search(self, query, k):
        import sys
        heavy = [m for m in ("torch", "sentence_transformers", "sklearn", "datasets") if m in sys.modules]
        assert not heavy, heavy
        return super().search(query, k)

@method(embeds=False, controls=["bm25"])
def watch():
    return Watch

class Embedding(Watch):
    def search(self, query, k):
        assert self.bench.embed([e.text for e in self.entries]).shape[0] == len(self.entries)
        self.bench.embed_query(query)
        return super().search(query, k)
    def __init__(self, bench):
        self.bench = bench
        super().__init__(bench)

@method(embeds=True, controls=[])
def embedding():
    return Embedding
"""
    )
    # An encoder that can't be loaded: a run that never embeds does not notice.
    run = project.runpytest_subprocess("--engram-method=watch", "--engram-encoder=/nowhere", "tiny.yaml", "-n", "2")
    assert run.ret == 0, run.stdout.str()
    run = project.runpytest_subprocess("--engram-method=embedding", "tiny.yaml", "-n", "2")
    assert run.ret == 0, run.stdout.str()


def test_workers_compute_in_one_thread_each_unless_the_user_says_otherwise(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeconftest(
        CONFTEST
        + """
class Threads(First):
    def search(self, query, k):
        import os
        assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"]) == ("1", "3")
        return super().search(query, k)

@method(embeds=False, controls=[])
def threads():
    return Threads
"""
    )
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert project.runpytest_inprocess("--engram-method=threads", "tiny.yaml", "-n", "1").ret == 0
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_killed_worker_is_the_error_of_its_item_and_the_rest_is_kept(project: pytest.Pytester) -> None:
    run = project.runpytest_subprocess("--engram-method=first,fatal", "tiny.yaml", "-n", "2", "--max-worker-restart=20")
    assert run.ret == 1
    records = log(project)
    assert [r["status"] for r in records if r["method"] == "fatal"] == ["error"] * 6
    assert "crashed" in next(r["reason"] for r in records if r["method"] == "fatal")
    assert [r["status"] for r in records if r["method"] == "first"] == ["ok"] * 6


def test_ctrl_c_loses_nothing_that_was_answered(project: pytest.Pytester) -> None:
    demo(project.path, questions=40)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--engram-method=slow", "tiny.yaml"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    path = project.path / "reports/latest/items.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (path.exists() and path.read_text().count("\n") >= 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    kept = log(project)
    assert 2 <= len(kept) < 40
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert row["status"] == "partial"
    assert row["n"] == len(kept)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize("where", ["conftest.py", "sub/conftest.py"])
def test_two_methods_of_one_name_are_refused(project: pytest.Pytester, where: str, workers: list[str]) -> None:
    one = "from pytest_engram import method\n@method(name='mine', embeds=False, controls=[])\ndef {}(): return list\n"
    (project.path / "sub").mkdir()
    demo(project.path / "sub", "other")
    (project.path / "conftest.py").write_text(one.format("a"))
    with (project.path / where).open("a") as stream:
        stream.write(one.format("b"))
    run = project.runpytest_subprocess("--engram-method=mine", ".", *workers)
    shown = run.stdout.str() + run.stderr.str()
    assert run.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert f"two methods have the name 'mine', in {project.path}/conftest.py:2 and {project.path}/{where}:" in shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown


def test_ctrl_c_while_the_report_is_written_says_how_to_write_it(project: pytest.Pytester) -> None:
    interrupting = """
import pytest_engram.report as report

def interrupted(*_, **__):
    raise KeyboardInterrupt

def pytest_sessionstart():
    report.write = interrupted
"""
    (project.path / "interrupting.py").write_text(interrupting)
    run = project.runpytest_subprocess("--engram-method=first", "tiny.yaml", "-p", "interrupting")
    assert run.ret == pytest.ExitCode.INTERRUPTED
    run.stdout.fnmatch_lines(["interrupted while the report was written; `engram report reports/latest` writes it"])
    assert "Traceback" not in run.stdout.str() + run.stderr.str()
    assert len(log(project)) == 6
    again = project.run(
        sys.executable, "-c", "from pytest_engram.cli.commands import main; main()", "report", "reports/latest"
    )
    assert again.ret == 0, again.stderr.str()
    assert {row["status"] for row in results(project)["rows"] if row["metric"] == "answer@10"} == {"ok"}


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_suite_that_links_lead_to_is_run_once(project: pytest.Pytester, workers: list[str]) -> None:
    (project.path / "again").symlink_to(project.path)  # a loop
    (project.path / "copy.yaml").symlink_to(project.path / "tiny.yaml")
    run = project.runpytest_subprocess("--engram-method=first", ".", *workers)
    assert run.ret == 0, run.stdout.str()
    run.assert_outcomes()
    assert sum(int(count) for count in re.findall(r"(\d+) (?:hit|miss)", run.outlines[-1])) == 6
    assert len(log(project)) == 6


# Results and rules


def test_a_miss_is_a_result_and_no_failure(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=first", "tiny.yaml", "-v")
    assert run.ret == 0
    assert "MISS" in run.stdout.str()
    assert "miss" in run.outlines[-1]
    assert {record["status"] for record in log(project)} == {"ok"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("greedy", "greedy on tiny:*: equal k: 11 ids returned, k is 10"),
        ("twice", "twice on tiny:*: equal k: id * is returned twice, at ranks 1 and 2"),
        ("inventive", "inventive on tiny:*: equal k: id 'no such entry' is unknown: *"),
        ("numeric", "numeric on tiny:*: equal k: id 1 is int, not str"),
    ],
)
def test_a_violation_fails_its_item_and_leaves_no_number(project: pytest.Pytester, name: str, told: str) -> None:
    run = project.runpytest(f"--engram-method={name}", "tiny.yaml")
    assert run.ret == 1
    run.stdout.fnmatch_lines([told])
    assert "Traceback" not in run.stdout.str()
    assert {record["status"] for record in log(project)} == {"violation"}
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert (row["status"], row["value"]) == ("violation", None)


def test_a_method_that_raises_is_an_error_with_its_own_traceback(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=broken", "tiny.yaml")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*raise RuntimeError(*on fire*"])
    assert {(r["status"], r["reason"]) for r in log(project)} == {("error", "RuntimeError: the store is on fire")}


HOSTILE = """
import sys
import pytest
from pytest_engram import method
from pytest_engram.memory import Dropped

class Fine:
    def __init__(self, bench):
        self.entries = []
    def write(self, entries):
        self.entries += entries
    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]

class NoMessage(Exception):
    def __str__(self):
        raise RuntimeError("no message")

def stop(*_):
    raise NoMessage

def skip(*_):
    pytest.skip("too hard")

def leak(*_):
    raise OSError("/home/somebody/store.db is not there, key sk-123456789")

def made(name, function):
    return method(name=name, embeds=False, controls=[])(function)

def kind(**members):
    return lambda: type("Memory", (Fine,), members)

fine = made("fine", lambda: Fine)
wordless = made("wordless", kind(search=stop))
leaking = made("leaking", kind(search=leak))
leaving = made("leaving", kind(prepare=lambda self: sys.exit(3)))
skipping = made("skipping", kind(search=skip))
absent = made("absent", lambda: pytest.skip("no database"))
exiting = made("exiting", lambda: sys.exit(3))
silent = made("silent", kind(trace=lambda self, query, k: None))
lying = made("lying", kind(trace=lambda self, query, k: [Dropped("no such entry", "0", "because")]))
babbling = made("babbling", kind(trace=lambda self, query, k: [("0", "1", "because")]))
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_whatever_a_method_does_is_told_of_it_alone(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: list[str]
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-123456789")
    project.makeconftest(HOSTILE)
    demo(project.path, questions=2)
    names = ["wordless", "leaking", "leaving", "skipping", "absent", "exiting", "silent", "lying", "babbling"]
    run = project.runpytest_subprocess(f"--engram-method=fine,{','.join(names)}", "tiny.yaml", *workers)
    assert "INTERNALERROR" not in run.stdout.str() + run.stderr.str()
    assert run.ret == 1
    found = [row for row in results(project)["rows"] if row["metric"] == "answer@10"]
    rows = {row["method"]: (row["status"], row["reason"]) for row in found}
    assert rows["fine"] == ("ok", "")
    assert rows["silent"] == ("ok", "")
    of_2 = "2 of 2 items; the first:"
    assert rows["wordless"] == ("error", f"{of_2} NoMessage: its message can't be shown")
    assert rows["leaking"] == ("error", f"{of_2} OSError: …/store.db is not there, key $SOME_API_KEY")
    assert rows["leaving"] == ("error", f"{of_2} SystemExit: 3")
    assert rows["exiting"][0] == "error"
    assert rows["skipping"] == ("not run", "Skipped: too hard")
    assert rows["absent"] == ("not run", "Skipped: no database")
    assert rows["lying"][0] == rows["babbling"][0] == "violation"
    assert "trace: names 'no such entry', which is no entry of the haystack; return a list of" in rows["lying"][1]
    assert "trace: holds tuple; return a list of Dropped(id, by, why, rank)" in rows["babbling"][1]


def test_a_deterministic_method_that_answers_differently_is_found(project: pytest.Pytester) -> None:
    demo(project.path, questions=40)
    run = project.runpytest("--engram-method=fickle", "tiny.yaml")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["fickle on tiny:*: deterministic: asked twice, two different answers*stochastic=True*"])


def test_a_stochastic_method_is_run_on_its_seeds_and_may_differ(project: pytest.Pytester) -> None:
    project.makeconftest(
        CONFTEST
        + """
import random
class Dice(First):
    def __init__(self, bench):
        super().__init__(bench)
        self.random = random.Random(bench.seed)
    def search(self, query, k):
        return [entry.id for entry in self.random.sample(self.entries, k)]

@method(stochastic=True, embeds=False, controls=[])
def dice():
    return Dice
"""
    )
    run = project.runpytest("--engram-method=dice", "--engram-seeds=3", "tiny.yaml")
    assert run.ret == 0
    assert len({record["seed"] for record in log(project)}) == 3
    assert len(log(project)) == 18
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert row["interval"] == "range"


def test_training_on_a_pilot_question_under_another_id_is_refused(project: pytest.Pytester) -> None:
    project.makeconftest(
        CONFTEST
        + """
from pathlib import Path
LEAKED = Path(__file__).with_name("leaked.txt")
TEXT = LEAKED.read_text() if LEAKED.exists() else "nothing yet"

@method(embeds=False, controls=["first"], trained_on=[{"id": "another id", "text": TEXT}])
def trained():
    return First
"""
    )
    project.runpytest("--engram-method=first", "tiny.yaml")
    (project.path / "leaked.txt").write_text(log(project)[0]["query"].upper() + "  ")
    run = project.runpytest("--engram-method=trained", "tiny.yaml")
    assert run.ret == 1
    run.stdout.fnmatch_lines(
        ["trained: no training on scored data: 1 of its 1 training questions are scored: another*"]
    )
    assert {r["status"] for r in log(project) if r["method"] == "trained"} == {"violation"}
    assert {r["status"] for r in log(project) if r["method"] == "first"} == {"ok"}


def test_k_as_large_as_the_haystack_is_marked(project: pytest.Pytester) -> None:
    project.runpytest("--engram-method=first", "--engram-k=5000", "tiny.yaml")
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert row["status"] == "covers"
    assert "measures nothing" in row["reason"]


def test_a_metric_that_needs_more_ids_than_k_is_not_run(project: pytest.Pytester) -> None:
    project.runpytest("--engram-method=first", "--engram-k=5", "tiny.yaml")
    (row,) = [r for r in results(project)["rows"] if r["metric"] == "answer@10"]
    assert (row["status"], row["value"]) == ("not run", None)
    assert "needs 10 ids, k is 5" in row["reason"]


def test_a_method_sees_no_gold(project: pytest.Pytester) -> None:
    project.makeconftest(
        CONFTEST
        + """
from pytest_engram.suites.base import Question, Suite

class Spy(First):
    def __init__(self, bench):
        super().__init__(bench)
        self.bench = bench
    def search(self, query, k):
        seen, todo = set(), [self.bench]
        while todo:
            thing = todo.pop()
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            assert not isinstance(thing, (Question, Suite)), thing
            if isinstance(thing, dict):
                todo += thing.values()
            elif isinstance(thing, (list, tuple, set)):
                todo += thing
            else:
                todo += getattr(thing, "__dict__", {}).values()
        assert all(type(e).__name__ == "Entry" and len(e) == 4 and e.source == "" for e in self.entries)
        return super().search(query, k)

@method(embeds=False, controls=[])
def spy():
    return Spy
"""
    )
    assert project.runpytest("--engram-method=spy", "tiny.yaml").ret == 0


def test_a_method_may_use_a_database_fixture_of_function_scope(project: pytest.Pytester) -> None:
    project.makeconftest(
        CONFTEST
        + """
import sqlite3
import pytest

@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "memory.db")
    connection.execute("create table entries (id text, text text)")
    yield connection
    connection.close()

class InSqlite:
    def __init__(self, database):
        self.database = database
    def write(self, entries):
        self.database.executemany("insert into entries values (?, ?)", [(e.id, e.text) for e in entries])
    def search(self, query, k):
        word = query.rstrip("?").split()[-1]
        rows = self.database.execute("select id from entries where instr(text, ?) limit ?", (word, k))
        return [id for id, in rows]

@method(scope="function", embeds=False, controls=[])
def sqlite(database):
    return lambda bench: InSqlite(database)
"""
    )
    assert project.runpytest("--engram-method=sqlite", "tiny.yaml").ret == 0
    assert all(record["status"] == "ok" for record in log(project))


def test_junit_xml_has_the_outcomes_as_properties(project: pytest.Pytester) -> None:
    project.runpytest("--engram-method=first", "tiny.yaml", "--junitxml=junit.xml", "-n", "1")
    case = ET.parse(project.path / "junit.xml").getroot().find(".//testcase")
    assert case is not None
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert properties["engram_result"] in ("HIT", "MISS")
    assert properties["engram_answer@10"] in ("0.0", "1.0")


# What a user gets wrong


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-method=lom"], "ERROR: --engram-method: no method 'lom'; did you mean 'loom'?*"),
        (["--engram-method=nope"], "ERROR: --engram-method: no method 'nope'. Known: *"),
        (["--engram-method="], "ERROR: --engram-method: an empty name*"),
        (["--engram-method=first", "--engram-data=nowhere"], "ERROR: --engram-data: nowhere is not a folder*"),
        (["--engram-method=dense", "--engram-encoder=nowhere/no"], "ERROR: --engram-encoder: *nowhere/no*"),
        (["--engram-method=first", "--engram-k=0"], "ERROR: --engram-k: 0 is too small*"),
        (["--engram-method=first", "--engram-reader=oracle"], "ERROR: --engram-reader: *oracle*"),
        (["--engram-method=first", "--engram-fail-under=x"], "ERROR: --engram-fail-under: 'x' is not SUITE:METRIC=*"),
        (["--engram-method=first", "--engram-fail-under=a:b=nan"], "ERROR: --engram-fail-under: *': nan is no bound*"),
        (["--engram-method=first", "--engram-fail-under=a:b=-inf"], "ERROR: --engram-fail-under: *: -inf is no bound*"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_4(project: pytest.Pytester, arguments: list[str], told: str) -> None:
    run = project.runpytest_subprocess(*arguments, "tiny.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines([told])
    assert "Traceback" not in run.stderr.str() + run.stdout.str()


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("engram: pilot\nname: [\n", "*bad.yaml:*: not YAML: *"),
        ("engram: pilot\nname: a\nname: b\n", "*bad.yaml:3: name: this key stands twice; delete one"),
        ("engram: pilot\nname: a\nsource: nowhere\n", "*bad.yaml:3: source: no data source 'nowhere'; known are *"),
        ("engram: pilot\nname: a\n", "*bad.yaml*: source: this field is missing; add it*"),
        ("engram: soup\n", "*bad.yaml:1: engram: must be `pilot` or `micro`; got 'soup'"),
        ("- engram\n- x\nengram: 1\n", "*bad.yaml*not YAML*"),
    ],
)
def test_a_malformed_suite_is_one_line_and_exit_code_2(
    project: pytest.Pytester, text: str, told: str, workers: list[str]
) -> None:
    (project.path / "bad.yaml").write_text(text)
    run = project.runpytest_subprocess("--engram-method=first", "bad.yaml", *workers)
    assert run.ret == pytest.ExitCode.INTERRUPTED, run.stdout.str()
    run.stdout.fnmatch_lines([told])
    assert "Traceback" not in run.stdout.str()


def test_two_suites_of_one_name_are_told_apart(project: pytest.Pytester) -> None:
    (project.path / "copy.yaml").write_text((project.path / "tiny.yaml").read_text())
    run = project.runpytest("--engram-method=first", ".")
    assert run.ret == pytest.ExitCode.INTERRUPTED
    run.stdout.fnmatch_lines(["*name: 'tiny' is also the name of *; rename one"])


def test_an_empty_suite_is_no_error(project: pytest.Pytester) -> None:
    demo(project.path, questions=0)
    assert project.runpytest("--engram-method=first", "tiny.yaml").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_missing_data_is_not_run_with_the_reason_and_no_error(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(project.path / "no-hub"))
    (project.path / "official.yaml").write_text((SHIPPED / "pilot" / "fc_mh_6k.yaml").read_text())
    run = project.runpytest_subprocess("--engram-method=first", "official.yaml", "-n", "2")
    assert run.ret == 0
    assert "100 not run" in run.outlines[-1]
    assert {record["status"] for record in log(project)} == {"not run"}
    for row in results(project)["rows"]:
        assert (row["status"], row["value"]) == ("not run", None)
        assert "--engram-data" in row["reason"]


def test_fail_under_fails_the_run_and_says_by_how_much(project: pytest.Pytester) -> None:
    passing = project.runpytest("--engram-method=first", "--engram-fail-under=tiny:answer@10=0.0", "tiny.yaml")
    assert passing.ret == 0
    failing = project.runpytest("--engram-method=first", "--engram-fail-under=tiny:answer@10=1.01", "tiny.yaml")
    assert failing.ret == 1
    failing.stdout.fnmatch_lines(["--engram-fail-under tiny:answer@10=1.01: first has *(n=6)"])
    unknown = project.runpytest("--engram-method=first", "--engram-fail-under=tinny:answer@10=0.1", "tiny.yaml")
    assert unknown.ret == 1
    unknown.stdout.fnmatch_lines(["*no such number in this run; its suites and metrics: tiny:answer@10*"])


# Disks


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize("taken", ["report", "report/items.jsonl", "report/manifest.json", "report/results.html"])
def test_a_report_that_can_not_be_written_is_one_line_and_the_table_is_shown(
    project: pytest.Pytester, taken: str, workers: list[str]
) -> None:
    place = project.path / taken
    if taken == "report":
        place.write_text("a file of mine")
    else:
        place.mkdir(parents=True)
    run = project.runpytest_subprocess("--engram-method=first", "--engram-report=report", "tiny.yaml", *workers)
    shown = run.stdout.str() + run.stderr.str()
    assert run.ret == 1
    told = f"--engram-report: *{taken} can't be written (*); name a folder that can"
    run.stdout.fnmatch_lines(["*tiny*", "*First*0.*", told])
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown
    assert place.is_dir() or place.read_text() == "a file of mine"


@pytest.mark.parametrize("damage", ["halved", "emptied", "garbled"])
def test_a_damaged_cache_is_made_anew(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str
) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    (project.path / "sessions.yaml").write_text((SHIPPED / "pilot" / "demo_sessions.yaml").read_text())
    arguments = ["--engram-method=bm25", "--engram-no-controls", "-n", "1", "tiny.yaml", "sessions.yaml"]
    tables = ["results.md", "intervals.svg"]
    assert project.runpytest_subprocess(*arguments).ret == 0
    written = {name: untimed(project, name) for name in tables}
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert {path.parent.name for path in files} >= {"asked", "plots", "bm25-session"}
    for path in files:
        content = path.read_bytes()
        path.write_bytes(
            {"halved": content[: len(content) // 2], "emptied": b"", "garbled": b"\x9c" * len(content)}[damage]
        )
    again = project.runpytest_subprocess(*arguments)
    assert again.ret == 0, again.stdout.str()
    assert {name: untimed(project, name) for name in tables} == written


def untimed(project: pytest.Pytester, name: str) -> str:
    """A file and the tokens behind it, without the section of costs, whose times no two runs have alike."""
    before, _, costs = (project.path / "reports/latest" / name).read_text().partition("## Costs")
    assert bool(costs) == (name == "results.md")
    return before + str([(record["item"], record["tokens"]) for record in log(project)])


# An unrelated run


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest_engram.plugin.hooks\n"
        "print([m for m in ('numpy', 'scipy', 'yaml', 'pydantic', 'torch', 'sklearn', 'matplotlib', 'jinja2',"
        " 'pyarrow', 'datasets', 'click', 'tqdm') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert shown.stdout.strip() == "[]"


def test_help_names_every_option(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest("--help")
    for option in ("method", "k", "seeds", "no-controls", "encoder", "data", "reader", "report", "fail-under"):
        assert f"--engram-{option}" in run.stdout.str()


def test_a_cache_that_cant_be_written_is_one_line_where_workers_need_it(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.path / "cache").write_text("a file of mine")
    monkeypatch.setenv("ENGRAM_CACHE", str(project.path / "cache"))
    run = project.runpytest_subprocess("--engram-method=first", "-n", "2", "tiny.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR, run.stdout.str()
    run.stderr.fnmatch_lines(["ERROR: *can't be written (*); set ENGRAM_CACHE to a folder that can"])
    assert "Traceback" not in run.stderr.str() + run.stdout.str()
    assert project.runpytest_subprocess("--engram-method=first", "tiny.yaml").ret == 0


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_what_was_prepared_and_is_gone_or_changed_is_one_line(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(project.path / "cache"))
    conftest = (project.path / "conftest.py").read_text()
    harm = {"gone": "path.unlink()", "changed": "path.write_text(path.read_text().replace('1.', '2.'))"}[damage]
    wiped = f"""
import pathlib

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        for path in pathlib.Path({str(project.path / "cache" / "asked")!r}).glob("*.json"):
            {harm}
"""
    (project.path / "conftest.py").write_text(conftest + wiped)
    run = project.runpytest_subprocess("--engram-method=first", "-n", "1", "tiny.yaml")
    assert run.ret == pytest.ExitCode.USAGE_ERROR, run.stdout.str()
    told = {"gone": "can't be read any more (No such file or directory): was the cache emptied?", "changed": "changed"}
    run.stdout.fnmatch_lines([f"*tiny.yaml: what was prepared of it *{told[damage]}*"])
    assert "Traceback" not in run.stdout.str()


# Suites by name


def test_suites_are_run_by_name_and_keep_the_conftest(project: pytest.Pytester) -> None:
    run = project.runpytest("--engram-method=first", "--engram-suite=demo_fc,tiny", "--co", "-q")
    assert run.ret == 0, run.stdout.str()
    files = {line.partition("::")[0] for line in run.outlines if "::" in line}
    assert files == {"cases/pilot/demo_fc.yaml", "tiny.yaml"}
    for workers in ("0", "2"):
        assert project.runpytest_subprocess("--engram-method=first", "--engram-suite=tiny", "-n", workers).ret == 0
        assert {record["suite"] for record in log(project)} == {"tiny"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engram-suite=demo_fx"], "ERROR: --engram-suite: no suite 'demo_fx'; did you mean 'demo_fc'? Known: *"),
        (["--engram-suite=soup"], "ERROR: --engram-suite: no suite 'soup'. Known: *demo_fc*tiny*. Looked in *"),
        (["--engram-suite=tiny", "tiny.yaml"], "ERROR: --engram-suite: names or paths, not both; leave the paths out"),
    ],
)
def test_a_suite_that_is_not_there_is_one_line(project: pytest.Pytester, arguments: list[str], told: str) -> None:
    run = project.runpytest_subprocess("--engram-method=first", *arguments)
    assert run.ret == pytest.ExitCode.USAGE_ERROR, run.stdout.str()
    run.stderr.fnmatch_lines([told])
