"""A method that opens a file with answers is found, whenever it does so; its own files and its bench are its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from pytest_engram.suites import shipped_cases

HEAD = '''
import asyncio
import pathlib
import shutil
import subprocess
import threading

from pytest_engram import method

HERE = pathlib.Path(__file__).parent
DATA = HERE / "data" / "memoryagentbench" / "Conflict_Resolution.json"


class First:
    def __init__(self, bench):
        self.bench = bench
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]


class Own(First):
    """Keeps a store in its folder, imports late, and reads a file of the project."""

    def write(self, entries):
        super().write(entries)
        (self.bench.folder / "store.txt").write_text("mine")
        (HERE / "notes.txt").write_text("mine")

    def search(self, query, k):
        import wave
        assert (self.bench.folder / "store.txt").read_text() == (HERE / "notes.txt").read_text()
        self.bench.lexical([entry.text for entry in self.entries])
        return super().search(query, k)


@method(controls=[], embeds=False)
def own():
    return Own
'''

WAYS = {
    "search": """
    def search(self, query, k):
        open(DATA).close()
        return super().search(query, k)
""",
    "write": """
    def write(self, entries):
        DATA.read_text()
        super().write(entries)
""",
    "init": """
    def __init__(self, bench):
        super().__init__(bench)
        DATA.read_bytes()
""",
    "lazily": """
    def search(self, query, k):
        for id_ in super().search(query, k):
            DATA.read_text()
            yield id_
""",
    "async": """
    async def search(self, query, k):
        await asyncio.sleep(0)
        DATA.read_text()
        return First.search(self, query, k)
""",
    "thread": """
    def search(self, query, k):
        thread = threading.Thread(target=lambda: DATA.read_text())
        thread.start()
        thread.join()
        return super().search(query, k)
""",
    "another name": """
    def search(self, query, k):
        (HERE / "harmless").exists() or (HERE / "harmless").symlink_to(DATA)
        (HERE / "harmless").read_text()
        return super().search(query, k)
""",
    "a program": """
    def search(self, query, k):
        subprocess.run(["cat", str(DATA)], capture_output=True)
        return super().search(query, k)
""",
}
MINE = """

class Mine(First):
{body}

@method(controls=[], embeds=False)
def mine():
    return Mine
"""
FIXTURE = """

@method(controls=[], embeds=False)
def mine(tmp_path_factory):
    DATA.read_text()
    return First
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text()) | {"name": "tiny"}
    shipped["questions"] = shipped["questions"][:4]
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    data = pytester.path / "data" / "memoryagentbench"
    data.mkdir(parents=True)
    (data / "Conflict_Resolution.json").write_text("[]")
    return pytester


def run(project: pytest.Pytester, more: str = "", *arguments: str, name: str = "mine", data: str = "data") -> Any:
    project.makeconftest(HEAD + more)
    given = ["-p", "no:cacheprovider", f"--engram-method={name}", f"--engram-data={data}", "tiny.yaml"]
    return project.runpytest_subprocess(*given, *(arguments or ["-n", "0"]))


def log(project: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / "reports/latest/items.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("body", [MINE.format(body=body) for body in WAYS.values()] + [FIXTURE], ids=[*WAYS, "fixture"])
def test_a_method_that_opens_a_benchmarks_file_is_a_violation_that_names_it(
    project: pytest.Pytester, body: str
) -> None:
    done = run(project, body)
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    # From the first time on: what was read is known ever after.
    assert [line["status"] for line in log(project)] == ["violation"] * 4
    told = "opened memoryagentbench/Conflict_Resolution.json in --engram-data, which holds answers"
    assert all(told in line["reason"] for line in log(project))
    assert str(project.path) not in (project.path / "reports/latest/items.jsonl").read_text()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("HERE / 'tiny.yaml'", "the suite file tiny.yaml"),
        ("HERE / 'reports/latest/items.jsonl'", "items.jsonl in the report folder"),
        ("next((HERE / 'cache/asked').glob('*'))", ".json in the cache's asked"),
        ("HERE / 'cache/fetched/locomo/locomo10.json'", "locomo/locomo10.json in the fetched data"),
    ],
)
def test_other_files_with_answers_are_known_as_well_also_to_workers(
    project: pytest.Pytester, path: str, told: str
) -> None:
    fetched = project.path / "cache" / "fetched" / "locomo"
    fetched.mkdir(parents=True)
    (fetched / "locomo10.json").write_text("[]")
    body = f"""
    def search(self, query, k):
        with __import__("contextlib").suppress(FileNotFoundError):
            open({path}).close()
        return super().search(query, k)
"""
    done = run(project, MINE.format(body=body), "-n", "1")
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    assert all(told in line["reason"] for line in log(project)), log(project)[0]


@pytest.mark.parametrize("data", ["data", "."])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_store_of_its_own_a_late_import_and_the_bench_are_no_violation(
    project: pytest.Pytester, workers: str, data: str
) -> None:
    done = run(project, "", "-n", workers, name="own", data=data)
    assert done.ret == 0, done.stdout.str()
    assert {line["status"] for line in log(project)} == {"ok"}


def test_a_project_inside_the_data_folder_still_hides_the_benchmarks(project: pytest.Pytester) -> None:
    (project.path / "memoryagentbench").symlink_to(project.path / "data" / "memoryagentbench")
    done = run(project, MINE.format(body=WAYS["search"]), data=".")
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    assert "Conflict_Resolution.json in memoryagentbench of --engram-data" in log(project)[0]["reason"]


def test_what_a_shared_memory_opened_as_it_was_written_is_told_by_its_items(project: pytest.Pytester) -> None:
    body = """
    def write(self, entries):
        DATA.read_text()
        (self.bench.folder / "ids").write_text("\\n".join(entry.id for entry in entries))

    def search(self, query, k):
        return (self.bench.folder / "ids").read_text().split()[:k]
"""
    more = MINE.format(body=body).replace("embeds=False", "embeds=False, shared=True")
    done = run(project, more, "-n", "1")
    assert done.ret == pytest.ExitCode.TESTS_FAILED, done.stdout.str()
    assert {line["status"] for line in log(project)} == {"violation"}


@pytest.mark.parametrize("workers", ["0", "1"])
def test_training_data_are_read_through_the_bench(project: pytest.Pytester, workers: str) -> None:
    row = {
        "context": "Facts:\n0. Ann likes tea.\n1. Bob likes milk.",
        "questions": ["What does Ann like?"],
        "answers": [["tea"]],
        "metadata": {"source": "factconsolidation_sh_32k"},
    }
    (project.path / "data/memoryagentbench/Conflict_Resolution.json").write_text(json.dumps([row]))
    body = """
    def __init__(self, bench):
        super().__init__(bench)
        assert [question.answers for question in bench.training_split("factconsolidation_sh_32k")] == [("tea",)]
"""
    done = run(project, MINE.format(body=body), "-n", workers)
    assert done.ret == 0, done.stdout.str()
    assert {line["status"] for line in log(project)} == {"ok"}
