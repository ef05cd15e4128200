"""Memories behind a server: the reference server of the Model Context Protocol, one over HTTP, and the HTTP example."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from server import free_port

from pytest_engram.asking.calls import Calls
from pytest_engram.basics.cache import cache_dir
from pytest_engram.memory import Bench, Entry, Recalled
from pytest_engram.methods.adapters.http_server_example import Store
from pytest_engram.methods.adapters.mcp import ServerError, mcp_memory, reference_server
from pytest_engram.suites import demo_fc, shipped_cases
from pytest_engram.suites.facts import parse_facts

pytestmark = pytest.mark.e2e

QUESTIONS = 20
SEED = 20261008  # of demo_fc
NODE = cache_dir() / "npm" / "node_modules" / ".bin"  # as install.sh leaves it
# Where a package of Python brought it, Node lies beside the interpreter.
PATH = os.pathsep.join([str(NODE), os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")


def missing(server: bool) -> str | None:
    if find_spec("mcp") is None:
        return "no client: pip install 'pytest-engram[mcp]' (`make test-e2e` does)"
    if server and shutil.which("node", path=PATH) is None:
        return "no Node.js (`make test-e2e` installs it)"
    if server and shutil.which("mcp-server-memory", path=PATH) is None:
        return "no server: npm install @modelcontextprotocol/server-memory (`make test-e2e` does)"
    return None


needs_mcp = pytest.mark.skipif(missing(False) is not None, reason=str(missing(False)))
needs_server = pytest.mark.skipif(missing(True) is not None, reason=str(missing(True)))


def block(name: str) -> str:
    """A conftest of docs/adapters.md."""
    found = re.search(rf"```python\n# conftest.py: {name}\n(.*?)```", PAGE, re.DOTALL)
    assert found, name
    return found[1]


class Run:
    """A run in a folder, over some questions of the demo."""

    def __init__(self, folder: Path, method: str, *arguments: str, conftest: str = "", **environment: str) -> None:
        spec = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text(encoding="utf-8"))
        spec |= {"name": "handful", "questions": spec["questions"][:QUESTIONS]}
        (folder / "handful.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
        (folder / "conftest.py").write_text(conftest, encoding="utf-8")
        ours = ("ENGRAM_", "PYTEST_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "handful.yaml",
            f"--engram-method={method}", "--engram-no-controls", *arguments,
        ]  # fmt: skip
        self.done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, "PATH": PATH, "ENGRAM_CACHE": str(folder / "cache"), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.folder = folder

    def log(self) -> list[dict[str, Any]]:
        lines = (self.folder / "reports/latest/items.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def written_once(log: list[dict[str, Any]]) -> dict[str, Any]:
    """What writing the one haystack took; each process has found in it what was written."""
    told = [line["wrote"] for line in log if line.get("wrote")]
    assert all(wrote["found"] is True for wrote in told if "found" in wrote)
    assert any("found" in wrote for wrote in told)
    (wrote,) = [wrote for wrote in told if "entries" in wrote]
    return wrote


def bench(folder: Path) -> Bench:
    def embeddings() -> Any:
        raise AssertionError("nothing is embedded here")

    return Bench(
        k=10, seed=7, embeddings=embeddings, cache_dir=folder, namespace="engram-1", folder=lambda: folder / "store"
    )


@contextmanager
def serving(command: list[str], answers: Callable[[], bool]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        give_up = time.monotonic() + 30
        while not answers():
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < give_up, "the server does not answer"
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# The reference server


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Calls]]:
    monkeypatch.setenv("PATH", PATH)
    (tmp_path / "store").mkdir()
    memory = reference_server.__engram_method__.function()(bench(tmp_path))
    calls = Calls()
    yield memory, calls
    calls.call(memory.close)
    calls.close()


@needs_server
def test_the_reference_server_holds_what_it_is_given(reference: tuple[Any, Calls], tmp_path: Path) -> None:
    memory, calls = reference
    calls.call(memory.write, [Entry(f"e{i}", f"Fact {i} of many.", float(i)) for i in range(150)])
    assert calls.call(memory.search, "fact 77 OF", 10) == [Recalled("Fact 77 of many.", ("e77",))]
    assert calls.call(memory.search, "Fact", 10) == [Recalled(f"Fact {i} of many.", (f"e{i}",)) for i in range(10)]
    assert calls.call(memory.search, "Which fact is 77?", 10) == []
    assert memory.usage() == {"calls": 5.0}
    stored = (tmp_path / "store" / "memory.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(stored) == 150
    calls.call(memory.close)
    calls.call(memory.close)
    assert calls.call(memory.search, "fact 77 OF", 10) == [Recalled("Fact 77 of many.", ("e77",))]


@needs_server
def test_no_server_outlives_its_run(tmp_path: Path) -> None:
    """The conftest of the docs, in workers; each server puts its process id down."""
    pids = tmp_path / "pids"
    conftest = block("mcp").replace(
        '["mcp-server-memory"]', f"""["sh", "-c", "echo $$ >> {pids}; exec mcp-server-memory"]"""
    )
    run = Run(tmp_path, "graph", "-n", "2", conftest=conftest)
    assert run.done.returncode == 0, run.done.stdout
    log = run.log()
    assert {line["status"] for line in log} == {"ok"}
    assert len(log) == QUESTIONS
    assert [line["ids"] for line in log] == [[]] * QUESTIONS  # it looks for the whole question as it stands
    wrote = written_once(log)
    assert wrote["entries"] == 350
    assert wrote["bytes"] > 20_000
    started = [int(line) for line in pids.read_text().splitlines()]
    assert len(started) >= 3  # one to write, one in each worker
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


TOOLS: dict[str, Any] = {
    "write": {"tool": "create_entities", "arguments": {"entities": "{text}"}},
    "search": {"tool": "search_nodes", "arguments": {"query": "{query}"}},
    "result": {"items": "nodes"},
}


@needs_server
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"command": ["no-such-program"]}, "there is no program 'no-such-program': install it, or give its whole path"),
        (
            {"command": [sys.executable, "-c", "import sys; sys.exit('no database here')"]},
            "Connection closed; its last words: no database here",
        ),
        (
            {"search": {"tool": "find", "arguments": {}}},
            "the server has no tool 'find'; it has create_entities, create_relations",
        ),
        ({}, "search_nodes: a result has no 'nodes': at 'nodes' it is {\"entities\": [], \"relations\": []}; "),
        ({"url": "http://127.0.0.1:9/mcp", "command": None}, "the server at http://127.0.0.1:9/mcp: is it up? Connect"),
    ],
)  # fmt: skip
def test_what_fails_is_one_line(
    changed: dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", PATH)
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    given = {"command": ["mcp-server-memory"], "env": environment, **TOOLS, **changed}
    memory: Any = mcp_memory(**given)(bench(tmp_path))
    calls = Calls()
    with pytest.raises(ServerError) as error:
        calls.call(memory.search, "anything", 10)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    calls.call(memory.close)
    calls.close()


@needs_server
def test_what_the_tool_refuses_is_said_by_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", PATH)
    calls = Calls()
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    memory: Any = mcp_memory(command=["mcp-server-memory"], env=environment, **TOOLS)(bench(tmp_path))
    with pytest.raises(ServerError, match=r"create_entities: the server says: .*expected array"):
        calls.call(memory.write, [Entry("e1", "One.", 1.0)])
    calls.call(memory.close)
    calls.close()


# The Model Context Protocol over HTTP

OVER_HTTP = '''
import json, pathlib, re, sys
from mcp.server.mcpserver import MCPServer

store = pathlib.Path(sys.argv[2])
server = MCPServer("words")

def words(text):
    return set(re.findall(r"\\w+", text.lower()))

@server.tool()
def remember(content: str) -> str:
    """One text, kept for good."""
    with store.open("a") as kept:
        kept.write(json.dumps(content) + "\\n")
    return "kept"

@server.tool()
def recall(query: str, limit: int) -> list[str]:
    """The texts that share most words."""
    kept = [json.loads(line) for line in store.read_text().splitlines()]
    return sorted(kept, key=lambda text: -len(words(query) & words(text)))[:limit]

server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
'''


@needs_mcp
def test_a_server_over_http_that_dies_is_found_again(tmp_path: Path) -> None:
    """Its texts hold the ids, which are cut out of them."""
    port = free_port()
    (tmp_path / "over_http.py").write_text(OVER_HTTP, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "over_http.py"), str(port), str(tmp_path / "kept")]
    memory: Any = mcp_memory(
        url=f"http://127.0.0.1:{port}/mcp",
        headers={"X-Namespace": "{namespace}"},
        write={"tool": "remember", "arguments": {"content": "[{id}] {text}"}},
        search={"tool": "recall", "arguments": {"query": "{query}", "limit": "{k}"}},
        result={"items": "result", "text": "", "id": "", "id_pattern": r"\[([^\]]+)\]"},
    )(bench(tmp_path))
    calls = Calls()
    otto = Recalled("Otto plays the harp.", ("a-2",))
    with serving(command, lambda: listening(port)):
        calls.call(memory.write, [Entry("a-1", "Ines dines in Turin.", 1.0), Entry("a-2", "Otto plays the harp.", 2.0)])
        assert calls.call(memory.search, "Who plays the harp?", 1) == [otto]
        assert memory.usage() == {"calls": 3.0}
    with pytest.raises(ServerError):
        calls.call(memory.search, "Who plays the harp?", 1)
    with serving(command, lambda: listening(port)):
        assert calls.call(memory.search, "Who plays the harp?", 1) == [otto]
        calls.call(memory.close)
    calls.close()


# The HTTP example


@contextmanager
def example() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The server of http_server_example.py, which says where it listens."""
    module = "pytest_engram.methods.adapters.http_server_example"
    with serving([sys.executable, "-m", module], lambda: True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process


@pytest.mark.parametrize("method", ["http", "ours"])
def test_a_run_over_http(tmp_path: Path, method: str) -> None:
    """Named by the environment, and by the conftest of the docs."""
    with example() as (url, process):
        run = Run(tmp_path, method, "-n", "2", conftest=block("http"), ENGRAM_HTTP_URL=url, OURS_URL=url)
        assert run.done.returncode == 0, run.done.stdout
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == 0
    log = run.log()
    assert len(log) == QUESTIONS
    assert {line["status"] for line in log} == {"ok"}
    assert sum(line["hit"] for line in log) >= QUESTIONS // 4
    assert written_once(log)["entries"] == 350
    store = Store()
    store.write([entry._asdict() for entry in parse_facts(demo_fc.generate(SEED).context)])
    for line in log:
        assert line["ids"] == store.search(line["query"], 10)


def test_a_server_that_is_down_is_an_error_of_each_item(tmp_path: Path) -> None:
    run = Run(tmp_path, "http", ENGRAM_HTTP_URL=f"http://127.0.0.1:{free_port()}")
    assert run.done.returncode == 1
    log = run.log()
    assert {line["status"] for line in log} == {"error"}
    assert all("is the server up?" in line["reason"] for line in log)
