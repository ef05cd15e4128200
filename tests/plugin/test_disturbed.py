"""Runs that are disturbed: a cache that was damaged, emptied or is full; a report folder that two runs want."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from harm import flip

from pytest_engram.suites import shipped_cases

CONFTEST = """
import time
from pytest_engram import method

class First:
    def __init__(self, bench):
        self.bench = bench
    def write(self, entries):
        self.entries = entries
        if EMBEDS:
            self.bench.embed([entry.text for entry in entries])
    def search(self, query, k):
        time.sleep(SECONDS)
        return [entry.id for entry in self.entries[:k]]

@method(controls=[], embeds=EMBEDS)
def first():
    return First
"""
# In place of the model, which would take most of these tests' time.
ENCODER = """
import zlib
import numpy
from pytest_engram.encoding import embeddings

def encode(texts):
    rows = [numpy.random.default_rng(zlib.crc32(text.encode())).normal(size=384) for text in texts]
    return numpy.array([row / numpy.linalg.norm(row) for row in rows], numpy.float32)

embeddings.load = lambda spec: encode
"""
QUIET = ["-p", "no:cacheprovider"]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Six questions over facts, a suite of sessions, and a cache of their own."""
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    pytester.makeini("[pytest]\nnorecursedirs = cache\n")
    memory(pytester)
    facts = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    facts |= {"name": "tiny", "questions": facts["questions"][:6]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(facts, sort_keys=False))
    (pytester.path / "sessions.yaml").write_text((shipped_cases() / "pilot" / "demo_sessions.yaml").read_text())
    return pytester


def memory(project: pytest.Pytester, *, embeds: bool = False, seconds: float = 0.0, more: str = "") -> None:
    project.makeconftest(f"EMBEDS, SECONDS = {embeds}, {seconds}\n" + CONFTEST + (ENCODER if embeds else "") + more)


def kept(project: pytest.Pytester) -> list[Path]:
    """The files of the cache, without its locks."""
    files = [path for path in (project.path / "cache").rglob("*") if path.is_file()]
    return sorted(path for path in files if path.suffix != ".lock" and path.name != "lock")


def tables(project: pytest.Pytester) -> str:
    """What does not depend on the clock: every item's ids, metrics and tokens."""
    lines = (project.path / "reports/latest/items.jsonl").read_text().splitlines()
    wanted = ("item", "ids", "metrics", "tokens")
    return str([[json.loads(line)[name] for name in wanted] for line in lines])


def one_line(run: pytest.RunResult, told: str) -> None:
    """The run ended with 4, said why in one line, and showed nobody a traceback."""
    shown = run.stdout.str() + run.stderr.str()
    assert run.ret == pytest.ExitCode.USAGE_ERROR, shown
    assert "Traceback" not in shown
    assert "INTERNALERROR" not in shown
    (run.stderr if "ERROR: " in run.stderr.str() else run.stdout).fnmatch_lines([told])


# A cache that was damaged

EMBEDDED = ["--engram-method=first", "--engram-encoder=all-MiniLM-L6-v2", "tiny.yaml", "-n", "1"]
SESSIONS = ["--engram-method=bm25", "--engram-no-controls", "sessions.yaml"]
KINDS = {"asked", "demo_sessions", "embeddings", "encoders", "plots", "tokens"}


def asked(project: pytest.Pytester) -> tuple[str, str]:
    """The figures of two runs, which together use all that a cache has; and their notes."""
    found, notes = "", ""
    for arguments in (EMBEDDED, SESSIONS):
        run = project.runpytest_subprocess(*QUIET, *arguments)
        assert run.ret == 0, run.stdout.str() + run.stderr.str()
        found += tables(project)
        notes += "".join(f"{line}\n" for line in run.stdout.lines if line.startswith("note: "))
    return found, notes


def test_one_bit_of_any_file_in_the_cache_changes_no_figure_and_is_noted(project: pytest.Pytester) -> None:
    memory(project, embeds=True)
    before, notes = asked(project)
    cache, files = project.path / "cache", kept(project)
    assert notes == ""
    assert {path.relative_to(cache).parts[0] for path in files} == KINDS
    # No cache holds anything that can run: compiled code, pickles, scripts, archives, by what such files begin with.
    assert {path.suffix for path in files} <= {".json", ".npy", ".keys", ".arrow", ".counts", ".kept"}
    for path in files:
        assert not path.read_bytes().startswith((b"j2", b"\x80", b"\xe3", b"#!", b"PK", b"\x7fELF")), path
        assert path.stat().st_mode & 0o111 == 0, path
    for at in (0.0, 0.4, 0.97):
        for path in files:
            if path.exists():
                flip(path, at)
        figures, notes = asked(project)
        assert figures == before
        assert {kind for kind in KINDS if f"/cache/{kind}/" in notes} == KINDS, notes
        files = kept(project)
    assert asked(project) == (before, "")


# A cache that was emptied between preparation and collection

WIPED = """
import pathlib, shutil

def pytest_collection(session):
    if hasattr(session.config, "workerinput") is IN_WORKER:
        for place in pathlib.Path(CACHE).glob(WHAT):
            shutil.rmtree(place) if place.is_dir() else place.unlink()
"""


def wipe(project: pytest.Pytester, what: str, *, in_worker: bool, embeds: bool = False) -> None:
    told = f"CACHE, WHAT, IN_WORKER = {str(project.path / 'cache')!r}, {what!r}, {in_worker}\n"
    memory(project, embeds=embeds, more=told + WIPED)


@pytest.mark.parametrize("what", ["*", "asked", "asked/*.json", "demo_sessions", "demo_sessions/*/questions.arrow"])
def test_a_cache_that_was_wiped_under_a_worker_is_one_line(project: pytest.Pytester, what: str) -> None:
    wipe(project, what, in_worker=True)
    run = project.runpytest_subprocess(*QUIET, "--engram-method=first", "-n", "1", "tiny.yaml", "sessions.yaml")
    one_line(run, "*.yaml: *what was prepared *was the cache emptied? Run again")


@pytest.mark.parametrize("embeds", [False, True])
def test_a_run_in_one_process_needs_a_wiped_cache_no_more(project: pytest.Pytester, embeds: bool) -> None:
    memory(project, embeds=embeds)
    methods = ["--engram-method=first,bm25", "--engram-no-controls"]
    arguments = [*methods, "--engram-encoder=all-MiniLM-L6-v2", "tiny.yaml", "sessions.yaml"]
    assert project.runpytest_subprocess(*QUIET, *arguments).ret == 0
    before = tables(project)
    wipe(project, "*", in_worker=False, embeds=embeds)
    run = project.runpytest_subprocess(*QUIET, *arguments)
    assert run.ret == 0, run.stdout.str()
    assert tables(project) == before


def test_what_was_recorded_elsewhere_and_is_gone_is_one_line(project: pytest.Pytester) -> None:
    ids = [question["id"] for question in yaml.safe_load((project.path / "tiny.yaml").read_text())["questions"]]
    lines = [json.dumps({"suite": "tiny", "question_id": id_, "ids": []}) for id_ in ids]
    (project.path / "elsewhere.jsonl").write_text("\n".join(lines) + "\n")
    wipe(project, "asked", in_worker=True)
    run = project.runpytest_subprocess(*QUIET, "--engram-method=elsewhere.jsonl", "-n", "1", "tiny.yaml")
    one_line(run, "*what was prepared of it can't be read any more*was the cache emptied? Run again")


# A cache that can't be written


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
@pytest.mark.parametrize("declared", [True, None])
def test_what_must_be_embedded_and_cant_be_kept_is_one_line(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, declared: bool | None, workers: list[str]
) -> None:
    memory(project, embeds=True)
    conftest = (project.path / "conftest.py").read_text()
    (project.path / "conftest.py").write_text(conftest.replace("embeds=EMBEDS", f"embeds={declared}"))
    (project.path / "mine").write_text("a file of mine")
    monkeypatch.setenv("ENGRAM_CACHE", str(project.path / "mine"))
    arguments = ["--engram-method=first", "--engram-encoder=all-MiniLM-L6-v2", "tiny.yaml"]
    run = project.runpytest_subprocess(*QUIET, *arguments, *workers)
    one_line(run, "ERROR: *mine*: can't be written (Not a directory); set ENGRAM_CACHE to a folder that can*")
    assert not (project.path / "reports").exists()


FULL = """
import errno, builtins, os
import numpy

def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

numpy.save = full
"""


@pytest.mark.parametrize("keeps", ["bench.embed(['a text'])", "bench.cached('x', [], lambda: {'x': numpy.ones(3)})"])
def test_a_full_cache_is_one_line(project: pytest.Pytester, keeps: str) -> None:
    # Where a disk is really full, numpy meets the same error.
    body = f"""
class Keeping(First):
    def write(self, entries):
        super().write(entries)
        import numpy
        bench = self.bench
        {keeps}

@method(controls=[])
def keeping():
    return Keeping
"""
    memory(project, more=ENCODER + body + FULL)
    arguments = ["--engram-method=keeping", "--engram-encoder=all-MiniLM-L6-v2", "tiny.yaml"]
    run = project.runpytest_subprocess(*QUIET, *arguments)
    one_line(run, "ERROR: *cache*: can't be written (No space left on device); set ENGRAM_CACHE to a folder that can*")
    assert not [path for path in (project.path / "cache").rglob("*.tmp") if path.is_dir()]


def test_a_model_that_cant_be_loaded_is_one_line(project: pytest.Pytester) -> None:
    broken = """
import sentence_transformers

def fails(*_, **__):
    raise ValueError("no weights\\nhere")

sentence_transformers.SentenceTransformer = fails
"""
    memory(project, embeds=True, more=broken)
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("embeddings.load =", "unused ="))
    arguments = ["--engram-method=first", "--engram-encoder=all-MiniLM-L6-v2", "tiny.yaml"]
    run = project.runpytest_subprocess(*QUIET, *arguments)
    one_line(run, "ERROR: encoder all-MiniLM-L6-v2: * can't be loaded (*); repair that copy or choose another encoder*")


# A report folder that two runs want


def begun(project: pytest.Pytester) -> subprocess.Popen[str]:
    """A run into reports/latest that takes its time, when it has begun to ask."""
    memory(project, seconds=0.5)
    command = [sys.executable, "-m", "pytest", *QUIET, "--engram-method=first", "tiny.yaml"]
    # A process group of its own, so that it can be killed with whatever it started.
    run = subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    for _ in range(600):
        if (project.path / "reports/latest/items.jsonl").exists():
            return run
        time.sleep(0.1)
    run.kill()
    raise AssertionError(run.communicate()[0])


def test_a_second_run_into_one_folder_is_one_line_and_the_first_is_whole(project: pytest.Pytester) -> None:
    first = begun(project)
    for workers in ([], ["-n", "1"]):
        second = project.runpytest_subprocess(
            *QUIET, "--engram-method=bm25", "--engram-no-controls", *workers, "tiny.yaml"
        )
        one_line(second, "ERROR: --engram-report: *latest: another run writes its report there; *name another folder*")
    other = project.runpytest_subprocess(
        *QUIET, "--engram-method=bm25", "--engram-no-controls", "--engram-report=other", "tiny.yaml"
    )
    assert other.ret == 0
    shown, _ = first.communicate(timeout=120)
    assert first.returncode == 0, shown
    folder = project.path / "reports/latest"
    assert len((folder / "items.jsonl").read_text().splitlines()) == 6
    for name in ("results.md", "results.json", "items.jsonl", "manifest.json"):
        assert "bm25" not in (folder / name).read_text(), name
    assert not (folder / ".lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_lock_of_a_killed_run_blocks_nobody(project: pytest.Pytester) -> None:
    first = begun(project)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert (project.path / "reports/latest/.lock").exists()
    second = project.runpytest_subprocess(*QUIET, "--engram-method=bm25", "--engram-no-controls", "tiny.yaml")
    assert second.ret == 0, second.stdout.str()
    assert not (project.path / "reports/latest/.lock").exists()


def test_a_run_that_finds_nothing_leaves_no_folder(project: pytest.Pytester) -> None:
    run = project.runpytest_subprocess(*QUIET, "--engram-method=first", "-k", "nothing_is_called_so", "tiny.yaml")
    assert run.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (project.path / "reports").exists()
