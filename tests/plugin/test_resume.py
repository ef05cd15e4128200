"""Runs that are killed and continued end as if nothing had happened, and ask for what is missing alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from endpoint import Endpoint, Reply, completion, failure

from pytest_engram.asking.again import drawn
from pytest_engram.review.here import differing
from pytest_engram.runs import begun as runbegun
from pytest_engram.suites import shipped_cases

# Several runs in this process must have one and the same class of items.
for _name in ("again", "answers", "ending", "fingerprint", "items", "recorder", "resume", "session", "untouched"):
    import_module(f"pytest_engram.plugin.{_name}")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

CONFTEST = '''
import os
import pathlib
import signal
import time

import pytest

from pytest_engram import method

HERE = pathlib.Path(__file__).parent


def put_down(file, what):
    """Append a line, and how many there are: in any process."""
    with open(HERE / file, "a") as stream:
        stream.write(what + "\\n")
    return len((HERE / file).read_text().splitlines())


def die():
    os.killpg(os.getpgid(0), signal.SIGKILL)


class First:
    used = 0

    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        put_down("written", type(self).__name__)
        self.entries += entries
        self.used += 1000

    def search(self, query, k):
        if not query.endswith("?"):  # an entry that it was given, before all questions
            return [self.entries[0].id]
        searches = put_down("searches", f"{type(self).__name__} {query}")
        if (HERE / "die_at").exists() and searches == int((HERE / "die_at").read_text()):
            die()
        self.used += 1
        return [entry.id for entry in self.entries[:k]]

    def usage(self):
        return {"calls": self.used}


class Greedy(First):
    """Breaks a rule at every third question. What it used for that is told by its next answer, so it tells nothing."""

    usage = None

    def search(self, query, k):
        found = super().search(query, k)
        return found + found[:1] * (sum(map(ord, query)) % 3 == 0)


class Failing(First):
    """Fails at some questions as long as its service is down. What it used for that is told by no answer."""

    usage = None

    def search(self, query, k):
        found = super().search(query, k)
        if (HERE / "down").exists() and sum(map(ord, query)) % 3 == 1:
            raise ConnectionError("the service is down")
        return found


@method(controls=[], embeds=False)
def first():
    return First


@method(controls=[], embeds=False)
def greedy():
    return Greedy


@method(controls=[], embeds=False)
def failing():
    return Failing


@method(controls=[], embeds=False, shared=True)
def together():
    return Together


class Together(First):
    """Its entries are in its folder, for every process."""

    def __init__(self, bench):
        super().__init__(bench)
        self.place = bench.folder / "entries"

    def write(self, entries):
        super().write(entries)
        self.place.write_text("\\n".join(entry.id for entry in self.entries))

    def search(self, query, k):
        self.entries = [type("Id", (), {"id": id_}) for id_ in self.place.read_text().split("\\n")]
        return super().search(query, k)


def pytest_runtest_logreport(report):
    if (HERE / "slow").exists() and report.when == "call":
        time.sleep(float((HERE / "slow").read_text()))
'''
DYING_REPORT = """
def pytest_sessionfinish(session):
    if (HERE / "die_in_report").exists():
        before = os.replace

        def replaced(part, path):
            before(part, path)
            if pathlib.Path(path).name == (HERE / "die_in_report").read_text():
                die()

        os.replace = replaced
"""
METHODS = "--engram-method=first,greedy"
QUESTIONS = 40
RUNS = ("run", "undisturbed")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Forty questions over one haystack, of which some are in the sample that is asked again."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_", "PYTEST_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    pytester.makeconftest(CONFTEST + DYING_REPORT)
    suite(pytester)
    return pytester


def suite(project: pytest.Pytester, questions: int = QUESTIONS, **changed: Any) -> None:
    given = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    given |= {"name": "tiny", "questions": given["questions"][:questions]} | changed
    (project.path / "tiny.yaml").write_text(yaml.safe_dump(given, sort_keys=False))


class Done(NamedTuple):
    """A run that has ended: its exit status, and what it showed."""

    returncode: int
    shown: str


def run(project: pytest.Pytester, *arguments: str, report: str = "run") -> Done:
    """A run that comes to its end; without workers in this process, which has all that it imports."""
    given = ["-p", "no:cacheprovider", f"--engram-report={report}", "tiny.yaml", *arguments]
    done = project.runpytest_subprocess(*given) if "2" in arguments else project.runpytest_inprocess(*given)
    return Done(int(done.ret), done.stdout.str() + done.stderr.str())


def killed(project: pytest.Pytester, *arguments: str) -> None:
    """A run in a process group of its own, which kills itself."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--engram-report=run", "tiny.yaml", *arguments]
    done = subprocess.run(
        command, cwd=project.path, capture_output=True, text=True, timeout=120, check=False, start_new_session=True
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


def lines(project: pytest.Pytester, file: str) -> list[str]:
    path = project.path / file
    return path.read_text().splitlines() if path.exists() else []


def log(project: pytest.Pytester, report: str = "run") -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(project, f"{report}/items.jsonl")]


def manifest(project: pytest.Pytester, report: str = "run") -> dict[str, Any]:
    return dict(json.loads((project.path / report / "manifest.json").read_text()))


def timeless(value: Any) -> Any:
    """A JSON value without what hangs on the clock."""
    if isinstance(value, dict):
        found = {name: timeless(inner) for name, inner in value.items() if "seconds" not in name}
        return {name: inner for name, inner in found.items() if name not in CLOCK}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


CLOCK = ("created", "duration_s", "search_p50", "search_p95", "log_sha256", "resumed", "run_sha256", "texts_sha256")


def same(project: pytest.Pytester, report: str, other: str, *, workers: bool = False) -> None:
    """Two runs differ in nothing but the clock. How many workers fill a memory is chance."""

    def told(record: dict[str, Any]) -> Any:
        return timeless({k: v for k, v in record.items() if not (workers and k in ("wrote", "usage"))})

    assert [line["item"] for line in log(project, report)] == [line["item"] for line in log(project, other)]
    for line, of_other in zip(map(told, log(project, report)), map(told, log(project, other)), strict=True):
        assert {k: v for k, v in line.items() if of_other.get(k) != v} == {}, line["item"]
        assert line == of_other
    results = [json.loads((project.path / name / "results.json").read_text()) for name in (report, other)]
    manifests = [manifest(project, name) for name in (report, other)]
    for found in (*results, *manifests):
        if workers:
            for name in ("costs", "admission"):
                found.pop(name, None)
    assert [*differing(timeless(results[0]), timeless(results[1]))] == []
    assert [*differing(timeless(manifests[0]), timeless(manifests[1]))] == []


def counted(done: Done) -> str:
    """What pytest says last, without its time, and without what it says of running in this process."""
    last = [line for line in done.shown.splitlines() if re.fullmatch(r"=+ .* in [\d.]+s.* =+", line)][-1]
    return re.sub(r", \d+ warnings?| in [\d.]+s.*", "", last).strip("= ")


def junit(project: pytest.Pytester, file: str) -> list[Any]:
    """Each item, what became of it, and its properties."""
    cases = ElementTree.parse(project.path / file).getroot().iter("testcase")
    return sorted(
        (str(case.get("name")), [child.tag for child in case], sorted(str(p.attrib) for p in case.iter("property")))
        for case in cases
    )


_DONE: dict[tuple[Any, ...], tuple[Done, list[str], dict[str, bytes]]] = {}


def undisturbed(project: pytest.Pytester, *arguments: str) -> tuple[Done, list[str]]:
    """A run that nobody disturbs, and what it searched; of equal ones, the first is taken again."""
    key = (*arguments, (project.path / "tiny.yaml").read_bytes())
    place = project.path / "undisturbed"
    if key not in _DONE:
        done = run(project, *arguments, "--junit-xml=undisturbed/junit.xml", report="undisturbed")
        files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
        _DONE[key] = done, lines(project, "searches"), files
    for file in ("searches", "written"):
        (project.path / file).unlink(missing_ok=True)
    done, searched, files = _DONE[key]
    place.mkdir(exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content)
    return done, searched


def sampled(project: pytest.Pytester) -> set[str]:
    """Names of the items whose questions are in the sample."""
    return {line["item"] for line in log(project, "undisturbed") if drawn("tiny", line["question_id"])}


def usage_error(done: Done, told: str) -> None:
    shown = done.shown
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("ERROR: ")]
    assert re.search(told, line), line


# Killed at any moment


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_that_was_killed_and_continued_is_as_one_that_was_not(project: pytest.Pytester, workers: str) -> None:
    first, all_searched = undisturbed(project, METHODS, "-n", workers)
    assert first.returncode == pytest.ExitCode.TESTS_FAILED, first.shown
    (project.path / "die_at").write_text("33")
    killed(project, METHODS, "-n", workers)
    (project.path / "die_at").unlink()
    before, kept = len(lines(project, "searches")), len(log(project))
    assert 0 < kept < before + 1

    second = run(project, METHODS, "-n", workers, "--junit-xml=second.xml", "--engram-resume")
    same(project, "run", "undisturbed", workers=workers == "2")
    assert second.returncode == first.returncode
    assert counted(second) == counted(first)
    assert junit(project, "second.xml") == junit(project, "undisturbed/junit.xml")
    # What the log had was not asked; the sample was, as in any run, at the end.
    assert len(lines(project, "searches")) - before == len(all_searched) - kept
    assert manifest(project)["resumed"] == {"times": 1, "kept": kept}
    assert manifest(project)["asked_again"]["asked"] > 0


def test_a_run_that_was_killed_again_and_again_asks_each_question_once(project: pytest.Pytester) -> None:
    _, all_searched = undisturbed(project, METHODS)
    for at in (1, 20, 45):
        (project.path / "die_at").write_text(str(at))
        killed(project, METHODS, "--engram-resume")
    (project.path / "die_at").unlink()
    run(project, METHODS, "--engram-resume")
    same(project, "run", "undisturbed")
    # The question that each kill cut short was asked once more.
    searched = lines(project, "searches")
    assert Counter(searched) - Counter(all_searched) == Counter(searched[at - 1] for at in (1, 20, 45))
    assert manifest(project)["resumed"] == {"times": 2, "kept": 42}  # at the first kill there was nothing yet


@pytest.mark.parametrize("file", ["items.jsonl", "manifest.json"])
def test_a_kill_while_the_report_is_written_leaves_nothing_to_ask_but_the_sample(
    project: pytest.Pytester, file: str
) -> None:
    undisturbed(project, METHODS)
    (project.path / "die_in_report").write_text(file)
    killed(project, METHODS)
    (project.path / "die_in_report").unlink()
    before = lines(project, "searches")
    run(project, METHODS, "--engram-resume")
    same(project, "run", "undisturbed")
    sample = {line.split("[")[0] for line in sampled(project)}
    again = lines(project, "searches")[len(before) :]
    if file == "items.jsonl":
        assert 0 < len(again) <= 2 * 2 * len(sample)
    else:
        assert again == []  # the manifest says that all was done


def test_a_complete_run_is_written_again_and_nothing_is_asked(project: pytest.Pytester) -> None:
    undisturbed(project, METHODS)
    first = run(project, METHODS)
    before = lines(project, "searches"), lines(project, "written")
    for workers in ("0", "2"):
        (project.path / "run/results.json").unlink()
        second = run(project, METHODS, "--engram-resume", "-n", workers)
        assert counted(second) == counted(first)
        assert (lines(project, "searches"), lines(project, "written")) == before
        same(project, "run", "undisturbed")


def test_without_the_option_a_run_begins_anew_and_with_nothing_there_as_well(project: pytest.Pytester) -> None:
    _, all_searched = undisturbed(project, METHODS)
    for arguments in (["--engram-resume"], []):
        run(project, METHODS, *arguments)
        assert sorted(lines(project, "searches")) == sorted(all_searched)
        assert "resumed" not in manifest(project)
        (project.path / "searches").unlink()


# What stands, and what is asked again


def test_what_failed_is_asked_again_and_all_else_stands(project: pytest.Pytester) -> None:
    undisturbed(project, "--engram-method=failing")
    (project.path / "down").touch()
    done = run(project, "--engram-method=failing")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    down = {line["item"] for line in log(project) if line["status"] == "error"}
    assert 0 < len(down) < QUESTIONS
    before = len(lines(project, "searches"))
    (project.path / "down").unlink()
    done = run(project, "--engram-method=failing", "--engram-resume")
    assert done.returncode == 0, done.shown
    same(project, "run", "undisturbed", workers=True)  # the memory was filled for another question
    sample = 2 * len(sampled(project))
    assert len(lines(project, "searches")) - before == len(down) + sample
    assert manifest(project)["resumed"] == {"times": 1, "kept": QUESTIONS - len(down)}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_shared_memory_is_written_for_what_is_left_and_costs_once(project: pytest.Pytester, workers: str) -> None:
    undisturbed(project, "--engram-method=together", "-n", workers)
    (project.path / "die_at").write_text("20")
    killed(project, "--engram-method=together", "-n", workers)
    (project.path / "die_at").unlink()
    run(project, "--engram-method=together", "-n", workers, "--engram-resume")
    assert len(lines(project, "written")) == 2  # its folder goes with its run
    assert sum("entries" in line.get("wrote", {}) for line in log(project)) == 1
    if workers == "0":
        same(project, "run", "undisturbed")


def test_a_memory_of_which_all_stands_is_not_filled(project: pytest.Pytester) -> None:
    """Of the questions outside the sample, `first` is done where it alone ran before."""
    suite(project, 8)
    undisturbed(project, METHODS)
    assert not sampled(project)
    (project.path / "die_at").write_text("16")
    killed(project, METHODS)
    (project.path / "die_at").unlink()
    (project.path / "written").unlink()
    run(project, METHODS, "--engram-resume")
    assert lines(project, "written") == ["Greedy"]
    same(project, "run", "undisturbed")


def test_an_interrupted_run_says_how_to_go_on(project: pytest.Pytester) -> None:
    undisturbed(project, METHODS)
    (project.path / "slow").write_text("0.2")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--engram-report=run", "tiny.yaml", METHODS]
    running = subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(600):
        if (project.path / "run/items.jsonl").exists() and len(log(project)) > 3:
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    shown, _ = running.communicate(timeout=60)
    assert running.returncode == pytest.ExitCode.INTERRUPTED, shown
    assert "interrupted; the same command with --engram-resume asks for the rest alone" in shown
    (project.path / "slow").unlink()
    before, kept = len(lines(project, "searches")), len(log(project))
    run(project, METHODS, "--engram-resume")
    same(project, "run", "undisturbed")
    assert manifest(project)["resumed"] == {"times": 1, "kept": kept}
    assert before < len(lines(project, "searches"))


# Another run


_BEGUN: dict[tuple[str, ...], dict[str, bytes]] = {}


def begun(project: pytest.Pytester, *arguments: str) -> None:
    """A run of eight questions that was killed at the fifth."""
    suite(project, 8)
    place = project.path / "run"
    if arguments not in _BEGUN:
        (project.path / "die_at").write_text("5")
        killed(project, *arguments)
        (project.path / "die_at").unlink()
        _BEGUN[arguments] = {name: (place / name).read_bytes() for name in ("items.jsonl", "run.json")}
    place.mkdir(exist_ok=True)
    for name, content in _BEGUN[arguments].items():
        (place / name).write_bytes(content)


OTHER: dict[str, tuple[list[str], str]] = {
    "k": (["--engram-k=5"], "k was 10 and is 5"),
    "budget": (["--engram-budget=50"], "budget was null and is 50"),
    "methods": (["--engram-method=greedy"], r"methods\.greedy was nothing and is "),
    "reader": (["--engram-reader=none"], "reader was .* and is null"),
    "selection": (["-k", "first"], 'selected.-k was nothing and is "first"'),
    "texts": (["--engram-withhold-texts"], "withheld was false and is true"),
}


@pytest.mark.parametrize("what", OTHER)
def test_another_run_is_refused_in_one_line_that_names_what_differs(project: pytest.Pytester, what: str) -> None:
    begun(project, "--engram-method=first")
    before = log(project)
    given, told = OTHER[what]
    done = run(project, "--engram-method=first", "--engram-resume", *given)
    usage_error(done, f"--engram-resume: run holds another run: {told}.*; begin anew, without --engram-resume")
    assert log(project) == before  # it may still be continued


def test_so_is_one_of_other_files(project: pytest.Pytester) -> None:
    begun(project, "--engram-method=first")
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + "\nNEW = 1\n")
    done = run(project, "--engram-method=first", "--engram-resume")
    usage_error(done, r'another run: methods\.first\.source was "[0-9a-f]{20,}.* and is ".*begin anew')
    conftest.write_text(conftest.read_text().removesuffix("\nNEW = 1\n"))
    suite(project, 9)
    done = run(project, "--engram-method=first", "--engram-resume")
    usage_error(done, r"another run: suites\.tiny\.\w+ was .* and is .*begin anew")
    suite(project, 8)
    assert run(project, "--engram-method=first", "--engram-resume").returncode == 0


def test_what_says_whose_a_log_is_holds_no_path_and_no_secret(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-that-nobody-may-see")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    begun(project, "--engram-method=first", "--engram-reader=openai:m")
    told = (project.path / "run/run.json").read_text()
    assert "secret" not in told
    assert str(project.path) not in told
    assert str(Path(sys.prefix)) not in told
    assert runbegun.read(project.path / "run") is not None


# Damage


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"fingerprint": 1}', '{"fingerprint": {}, "other": 1}'])
def test_a_damaged_file_of_whose_log_it_is_is_one_line(project: pytest.Pytester, content: str) -> None:
    begun(project, "--engram-method=first")
    (project.path / "run/run.json").write_text(content)
    done = run(project, "--engram-method=first", "--engram-resume")
    usage_error(done, "--engram-resume: run/run.json: damaged .*; begin anew, without --engram-resume")


def test_a_log_of_which_nobody_knows_whose_it_is_is_one_line(project: pytest.Pytester) -> None:
    begun(project, "--engram-method=first")
    (project.path / "run/run.json").unlink()
    done = run(project, "--engram-method=first", "--engram-resume")
    usage_error(done, "--engram-resume: run has no run.json to tell what it is of; begin anew")


def test_a_log_that_was_cut_short_loses_its_last_line_alone(project: pytest.Pytester) -> None:
    suite(project, 8)
    undisturbed(project, "--engram-method=first")
    begun(project, "--engram-method=first")
    path = project.path / "run/items.jsonl"
    content = path.read_text()
    assert len(content.splitlines()) == 4
    path.write_text(content[:-30])
    run(project, "--engram-method=first", "--engram-resume")
    same(project, "run", "undisturbed")
    assert manifest(project)["resumed"] == {"times": 1, "kept": 3}


def test_of_several_lines_of_an_item_the_last_one_counts(project: pytest.Pytester) -> None:
    suite(project, 8)
    undisturbed(project, "--engram-method=first")
    begun(project, "--engram-method=first")
    path = project.path / "run/items.jsonl"
    first, *others = path.read_text().splitlines()
    worse = json.dumps(json.loads(first) | {"status": "error", "reason": "it was so at first"})
    path.write_text("\n".join([worse, first, *others]) + "\n")
    run(project, "--engram-method=first", "--engram-resume")
    same(project, "run", "undisturbed")
    assert manifest(project)["resumed"] == {"times": 1, "kept": 4}


def test_a_line_that_is_none_is_one_line(project: pytest.Pytester) -> None:
    begun(project, "--engram-method=first")
    path = project.path / "run/items.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([first[:-20], *others]) + "\n")
    done = run(project, "--engram-method=first", "--engram-resume")
    usage_error(done, r"--engram-resume: .*run/items\.jsonl:1: not a line of a run log .*; begin anew")


# What was paid for


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Endpoint]]:
    with ExitStack() as stack:

        def start(reply: Callable[[dict[str, Any]], Reply]) -> Endpoint:
            served = stack.enter_context(Endpoint(reply).serving())
            monkeypatch.setenv("OPENAI_BASE_URL", served.base_url)
            monkeypatch.setenv("ENGRAM_READER_PRICE", "1,1")
            monkeypatch.setenv("ENGRAM_JUDGE_PRICE", "1,1")
            return served

        yield start


def asked_of(request: dict[str, Any]) -> str:
    return str(request["messages"])


READING = ("--engram-method=first", "--engram-reader=openai:m")


def kill_at(project: pytest.Pytester, served: Endpoint, requests: int, *arguments: str) -> None:
    """Kill a run once its models were asked so often."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--engram-report=run", "tiny.yaml", *arguments]
    running = subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    before = len(served.requests)
    while len(served.requests) - before < requests:
        assert running.poll() is None
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("withheld", [False, True])
def test_no_answer_that_arrived_is_paid_for_twice(
    project: pytest.Pytester, serve: Callable[..., Endpoint], workers: str, withheld: bool
) -> None:
    suite(project, 12, metrics=["answer@10", "subem"])
    arguments = [*READING, "-n", workers, *(["--engram-withhold-texts"] if withheld else [])]
    served = serve(lambda _: Reply(body=completion("Paris").body, delay=0.1))
    undisturbed(project, *arguments)
    assert len(served.requests) == 12
    assert len({asked_of(request) for request in served.requests}) == 12
    served = serve(lambda _: Reply(body=completion("Paris").body, delay=0.1))
    kill_at(project, served, 9, *arguments)
    stored = len(list((project.path / "cache/completions").glob("??/*.json"))) - 12
    assert stored > 0
    done = run(project, *arguments, "--engram-resume")
    assert done.returncode == 0, done.shown
    # Those under way at the kill alone were asked for again.
    counts = Counter(asked_of(request) for request in served.requests)
    assert len(counts) == 12
    assert sum(counts.values()) == 9 + 12 - stored + max(0, len(served.requests) - 9 - 12 + stored)
    assert sum(count - 1 for count in counts.values()) <= 9 - stored + 4
    for line, other in zip(log(project), log(project, "undisturbed"), strict=True):
        assert {**timeless(line), "fields": None} == {**timeless(other), "fields": None}
        assert line["fields"]["cost"] == other["fields"]["cost"]


def test_a_kept_answer_needs_no_store(project: pytest.Pytester, serve: Callable[..., Endpoint]) -> None:
    suite(project, 8, metrics=["answer@10", "subem"])
    served = serve(lambda _: completion("Paris"))
    assert run(project, *READING).returncode == 0
    assert len(served.requests) == 8
    for path in (project.path / "cache/completions").rglob("*.json"):
        path.unlink()
    path = project.path / "run/items.jsonl"
    path.write_text("".join(line + "\n" for line in path.read_text().splitlines()[:5]))
    (project.path / "run/manifest.json").unlink()
    assert run(project, *READING, "--engram-resume").returncode == 0
    assert len(served.requests) == 8 + 3
    assert manifest(project)["reader"]["totals"]["answered"] == 8
    assert manifest(project)["reader"]["totals"]["stored"] == 0


def test_what_a_model_said_that_is_no_answer_is_not_paid_for_again_and_an_outage_is_asked_again(
    project: pytest.Pytester, serve: Callable[..., Endpoint]
) -> None:
    suite(project, 3, metrics=["answer@10", "subem"])
    questions: list[str] = []

    def reply(request: dict[str, Any]) -> Reply:
        questions.append(asked_of(request))
        number = list(dict.fromkeys(questions)).index(questions[-1])
        return [completion(None, finish="content_filter"), completion("Paris"), failure(400, "not now")][number]

    served = serve(reply)
    run(project, *READING)
    assert len(served.requests) == 3
    (project.path / "run/manifest.json").unlink()
    run(project, *READING, "--engram-resume")
    assert [questions.count(one) for one in dict.fromkeys(questions)] == [1, 1, 2]
    totals = manifest(project)["reader"]["totals"]
    assert totals["answered"] == 1
    assert totals["tokens_in"] == 200  # what was filtered has cost, too


def test_no_verdict_is_paid_for_twice(project: pytest.Pytester, serve: Callable[..., Endpoint]) -> None:
    suite(project, 6, metrics=["answer@10", "judged"])
    judging = ["--engram-method=first", "--engram-reader=newest", "--engram-judge=openai:j"]
    served = serve(lambda _: Reply(body=completion('{"label": "CORRECT"} yes').body, delay=0.05))
    undisturbed(project, *judging)
    paid = len(served.requests)
    served = serve(lambda _: Reply(body=completion('{"label": "CORRECT"} yes').body, delay=0.05))
    kill_at(project, served, paid // 2, *judging)
    done = run(project, *judging, "--engram-resume")
    assert done.returncode == 0, done.shown
    counts = Counter(asked_of(request) for request in served.requests)
    assert len(counts) == paid
    assert sum(counts.values()) <= paid + 4  # those under way at the kill
    before, known = len(served.requests), (project.path / "run/known_answers.jsonl").read_bytes()
    assert known == (project.path / "undisturbed/known_answers.jsonl").read_bytes()
    results, of_other = (json.loads(project.path.joinpath(name, "results.json").read_text()) for name in RUNS)
    # What came before the kill was paid for then: in the totals it counts as taken from the store.
    told, of_all = (found["manifest"]["judge"]["totals"] for found in (results, of_other))
    assert told["asked"] + told["stored"] == of_all["asked"] + of_all["stored"] == paid
    differences = [found.where for found in differing(timeless(results), timeless(of_other))]
    assert [where for where in differences if not where.startswith("manifest.judge.totals.")] == []
    # And of a complete run nobody is asked at all.
    for path in (project.path / "cache/completions").rglob("*.json"):
        path.unlink()
    assert run(project, *judging, "--engram-resume").returncode == 0
    assert len(served.requests) == before
    assert (project.path / "run/known_answers.jsonl").read_bytes() == known
    assert timeless(json.loads((project.path / "run/results.json").read_text())) == timeless(results)
