"""Adapters that need no extra, and what all have in common: named, imported, refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from pytest_engram.memory import Bench, Entry, Recalled
from pytest_engram.methods import adapters
from pytest_engram.methods.adapters import http_server_example, mcp
from pytest_engram.methods.adapters.http import HttpError, HttpMemory, http_memory
from pytest_engram.suites import shipped_cases

ENTRIES = [
    Entry("a-1", "Ines dines in Turin.", 1.0),
    Entry("a-2", "Ines dines in Genoa, {query} or not.", 2.0),
    Entry("a-3", "Otto plays the harp.", 3.0),
]


def bench(folder: Path, namespace: str = "engram-1") -> Bench:
    def embeddings() -> Any:
        raise AssertionError("an adapter that serves embeds nothing here")

    return Bench(
        k=10, seed=7, embeddings=embeddings, cache_dir=folder / "cache", namespace=namespace, folder=lambda: folder
    )


# Named on the command line


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "ENGRAM_HTTP_URL", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    shipped |= {"name": "tiny", "questions": shipped["questions"][:4]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "no:cacheprovider", "--engram-no-controls", "tiny.yaml", *arguments)


GONE = """
from pytest_engram.methods import adapters

adapters.ADAPTERS["mem0"] = ("mem0", "no-such-distribution")
"""


@pytest.mark.parametrize("name", ["mem0", "mem0-infer"])
def test_an_adapter_without_its_package_is_one_line_with_the_cure(project: pytest.Pytester, name: str) -> None:
    project.makeconftest(GONE)
    done = run(project, f"--engram-method={name}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    told = [line for line in [*done.outlines, *done.errlines] if line.strip()]
    assert told == [
        f"ERROR: --engram-method={name}: the package no-such-distribution is not installed: "
        "pip install 'pytest-engram[mem0]'"
    ]


def test_the_controls_of_a_method_may_be_an_adapter(project: pytest.Pytester) -> None:
    project.makeconftest(
        GONE
        + "from pytest_engram import method\nfrom pytest_engram.methods.bm25 import BM25\n"
        + '@method(controls=["mem0"])\ndef mine():\n    return BM25\n'
    )
    done = project.runpytest_subprocess("-p", "no:cacheprovider", "tiny.yaml", "--engram-method=mine")
    assert "ERROR: controls of mine: the package no-such-distribution is not installed" in done.stderr.str()


def test_a_package_that_cannot_be_imported_is_one_line(project: pytest.Pytester) -> None:
    project.makeconftest(GONE.replace('("mem0", "no-such-distribution")', '("gone", "pytest")'))
    done = run(project, "--engram-method=mem0")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "--engram-method=mem0: what is installed of it can't be imported (No module named" in done.stderr.str()


def test_a_method_of_the_conftest_may_have_an_adapters_name(project: pytest.Pytester) -> None:
    project.makeconftest(
        GONE
        + "from pytest_engram import method\nfrom pytest_engram.methods.bm25 import BM25\n"
        + "@method(controls=[])\ndef mem0():\n    return BM25\n"
    )
    assert run(project, "--engram-method=mem0").ret == 0


def test_adapters_must_be_named(project: pytest.Pytester) -> None:
    """`all` imports none, and does not take those that were named beside it for its own."""
    done = run(project, "--engram-method=all", "--collect-only", "-q")
    assert "[bm25]" in done.stdout.str()
    assert "[http]" not in done.stdout.str()
    done = run(project, "--engram-method=nothing")
    assert "adapters: http, lancedb, langgraph, llamaindex, mcp, mem0." in done.stderr.str()


def test_every_adapter_has_its_file_and_its_extra() -> None:
    folder = Path(adapters.__file__).parent
    assert {module for module, _ in adapters.ADAPTERS.values()} == {
        path.stem for path in folder.glob("[!_]*.py") if path.stem != "http_server_example"
    }
    assert adapters.adapter_of("mem0-infer") == "mem0"
    assert adapters.adapter_of("mem0x") is None


def test_naming_none_imports_none() -> None:
    code = (
        "import sys, pytest_engram.plugin.session, pytest_engram.plugin.methods\n"
        "print([name for name in sys.modules if name.startswith('pytest_engram.methods.adapters.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


# HTTP


@pytest.fixture
def example() -> Iterator[str]:
    """The example server, in this process."""
    server = http_server_example.Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_server_writes_searches_and_keeps_namespaces_apart(example: str, tmp_path: Path) -> None:
    one, other = (http_memory(example)(bench(tmp_path, name)) for name in ("engram-1", "engram-2"))
    one.write(ENTRIES)
    one.write(ENTRIES)  # a write that is repeated changes nothing
    other.write(ENTRIES[2:])
    assert one.search("Where does Otto play?", 2) == ["a-3", "a-1"]
    assert other.search("Where does Ines dine?", 10) == ["a-3"]
    late = http_memory(example)(bench(tmp_path, "engram-1"))  # what another process has
    assert late.search("dines in Genoa", 1) == ["a-2"]
    assert one.usage() == {"calls": 3.0}  # type: ignore[attr-defined]
    for memory in (one, other, late):
        memory.close()  # type: ignore[attr-defined]


def test_what_was_not_written_is_an_error_of_the_server(example: str, tmp_path: Path) -> None:
    memory = http_memory(example)(bench(tmp_path))
    with pytest.raises(HttpError, match=r'/search: 409 Conflict: \{"error": "nothing was written to engram-1"\}; its'):
        memory.search("anything", 1)


class Scripted(BaseHTTPRequestHandler):
    """Answers with what the test put into `script`, in turn."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    script: list[tuple[int, str]]
    asked: list[tuple[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        if not self.script:
            self.close_connection = True  # without an answer
            return
        status, answer = self.script.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode())
        self.close_connection = status == 299  # and does not say so

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[HttpMemory, type[Scripted]]]:
    handler = type("Handler", (Scripted,), {"script": [], "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    memory = http_memory(f"http://127.0.0.1:{server.server_port}/v1/", timeout=5, batch=2)(bench(tmp_path))
    yield memory, handler  # type: ignore[misc]
    memory._connection.close()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_what_is_sent_is_as_documented(scripted: tuple[HttpMemory, type[Scripted]]) -> None:
    memory, server = scripted
    results = '{"results": [{"id": "a-3"}, {"text": "Ines dines.", "sources": ["a-1", "a-2"]}, {"text": "Who?"}]'
    server.script += [(200, ""), (204, ""), (200, results + ', "usage": {"tokens": 12}}'), (404, "no such place")]
    memory.write(ENTRIES)
    assert memory.search("who?", 3) == [
        "a-3", Recalled("Ines dines.", ["a-1", "a-2"]), Recalled("Who?", ()),
    ]  # fmt: skip
    memory.close()
    assert [path for path, _ in server.asked] == ["/v1/write", "/v1/write", "/v1/search", "/v1/close"]
    first, second, asked, _ = (body for _, body in server.asked)
    assert [len(body["entries"]) for body in (first, second)] == [2, 1]
    assert first["entries"][0] == {"id": "a-1", "text": "Ines dines in Turin.", "time": 1.0, "source": ""}
    assert asked == {"namespace": "engram-1", "query": "who?", "k": 3}
    assert memory.usage() == {"calls": 3.0, "tokens": 12.0}


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (
            500,
            "Traceback\n  in store",
            "/v1/search: 500 Internal Server Error: Traceback in store; its own log may say",
        ),
        (404, "", "/v1/search: 404 Not Found: an empty answer; it must answer POST /write and POST /search"),
        (401, "who?", "401 Unauthorized: who?; the server wants to know who asks: http_memory(..., headers="),
        (413, "", "too much at once: http_memory(..., batch=100)"),
        (429, "", "--engram-retries=5 waits and tries again"),
        (200, "<html>hello", "/v1/search: the answer is no JSON: <html>hello"),
        (
            200,
            '["a-1"]',
            """/search: the answer has no list of results: ["a-1"]; it must be {'results': [{'id': ...}]}""",
        ),
        (200, "", "/search: the answer has no list of results: null; it must be"),
        (200, '{"results": ["a-1"]}', '/search: the result "a-1" has neither an id nor a text'),
    ],
)
def test_an_error_has_the_status_the_answer_and_a_cure(
    scripted: tuple[HttpMemory, type[Scripted]], status: int, answer: str, told: str
) -> None:
    memory, server = scripted
    server.script += [(status, answer)]
    with pytest.raises(HttpError) as error:
        memory.search("who?", 3)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert len(server.asked) == 1  # to try again is the plugin's


def test_an_idle_connection_that_ended_is_no_error_of_a_search(scripted: tuple[HttpMemory, type[Scripted]]) -> None:
    memory, server = scripted
    server.script += [(299, '{"results": []}'), (200, '{"results": [{"id": "a-1"}]}')]
    assert memory.search("one", 3) == []
    assert memory.search("two", 3) == ["a-1"]
    with pytest.raises(HttpError, match=r"is the server up\? \(RemoteDisconnected"):
        memory.write(ENTRIES)
    assert len([path for path, _ in server.asked if path == "/v1/write"]) == 1  # not sent twice


def test_a_server_that_is_down_or_no_address(tmp_path: Path) -> None:
    with pytest.raises(HttpError, match=r"^POST http://127.0.0.1:9/search: is the server up\? \(ConnectionRefused"):
        http_memory("http://127.0.0.1:9")(bench(tmp_path)).search("who?", 3)
    with pytest.raises(pytest.UsageError, match="'localhost:80' is not an address; it must be like http://"):
        http_memory("localhost:80")(bench(tmp_path))


def test_http_without_an_address_is_one_line(project: pytest.Pytester) -> None:
    done = run(project, "--engram-method=http")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --engram-method=http: no address; set ENGRAM_HTTP_URL=" in done.stderr.str()


def test_a_whole_run_over_http(project: pytest.Pytester, example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_URL", example)
    done = run(project, "--engram-method=http", "-n", "2")
    assert done.ret == 0, done.stdout.str()
    log = (project.path / "reports/latest/items.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["ids"]) for line in log] == [10] * 4


# MCP: what is sent, and what comes back


def test_templates_are_filled() -> None:
    values = {"folder": lambda: "/here", "k": 10, "query": "who is {id}?"}
    assert mcp.filled({"q": "{query}", "limit": "{k}", "all": [True, "{folder}/db, {k}"], "n": 1}, values) == {
        "q": "who is {id}?", "limit": 10, "all": [True, "/here/db, 10"], "n": 1,
    }  # fmt: skip
    entries = [entry._asdict() for entry in ENTRIES[:2]]
    assert mcp.filled({"entities": {"for each": {"name": "{id}", "said": ["{text}"]}}}, values, entries) == {
        "entities": [
            {"name": "a-1", "said": ["Ines dines in Turin."]},
            {"name": "a-2", "said": ["Ines dines in Genoa, {query} or not."]},
        ]
    }
    assert mcp.filled({"at": "{time}"}, {"time": 2.0}) == {"at": 2.0}
    assert mcp.filled('{"json": {}}', {}) == '{"json": {}}'


@pytest.mark.parametrize(
    ("content", "how", "found"),
    [
        (
            {"entities": [{"name": "a-1", "observations": ["one", "two"]}, {"name": "a-2", "observations": []}]},
            {"items": "entities", "text": "observations", "id": "name"},
            [Recalled("one", ("a-1",)), Recalled("two", ("a-1",))],
        ),
        (
            {"result": [{"memory": {"text": "one", "meta": {"ids": ["a-1", "a-2"]}}}]},
            {"items": "result", "text": "memory.text", "id": "memory.meta.ids.*"},
            [Recalled("one", ("a-1", "a-2"))],
        ),
        ({"hits": [{"id": "a-2"}, {"id": "a-1"}, {"id": "a-2"}]}, {"items": "hits", "id": "id"}, ["a-2", "a-1"]),
        ({"hits": [["one", 0.5]]}, {"items": "hits", "text": "0"}, [Recalled("one")]),
        (["one", "two"], {}, [Recalled("one"), Recalled("two")]),
        ("one\n\ntwo\n", {"split": "\n"}, [Recalled("one"), Recalled("two")]),
        ("one and two", {}, [Recalled("one and two")]),
        ([{"a": "é"}], {}, [Recalled('{"a": "é"}')]),
        (
            ["[a-1] Ines dines. [a-3] Otto plays."],
            {"text": "", "id": "", "id_pattern": r"\[([^\]]+)\] ?"},
            [Recalled("Ines dines. Otto plays.", ("a-1", "a-3"))],
        ),
        (
            [{"uri": "memory://a-1", "text": "one"}],
            {"text": "text", "id": "uri", "id_pattern": r"a-\d+"},
            [Recalled("one", ("a-1",))],
        ),
        ({"hits": []}, {"items": "hits"}, []),
        ({"hits": None}, {"items": "hits"}, []),
        ("", {}, []),
        ([], {}, []),
    ],
)
def test_a_result_becomes_texts(content: Any, how: dict[str, str], found: list[Any]) -> None:
    assert mcp.results_of(content, how) == found


def test_a_result_that_is_elsewhere_says_what_is_there() -> None:
    with pytest.raises(mcp.ServerError) as error:
        mcp.results_of({"hits": [{"body": "one"}]}, {"items": "hits", "text": "text"})
    assert str(error.value) == (
        """a result has no 'text': at 'text' it is {"body": "one"}; mcp_memory(..., result={'text': ...}) must say """
        "where it stands"
    )


def test_a_result_is_structured_or_text() -> None:
    def result(structured: Any, *texts: str) -> Any:
        blocks = [SimpleNamespace(type="text", text=text) for text in texts]
        return SimpleNamespace(structured_content=structured, content=[*blocks, SimpleNamespace(type="image")])

    assert mcp.content_of(result({"a": 1}, "{}")) == {"a": 1}
    assert mcp.content_of(result(None, '{"a": 1}')) == {"a": 1}
    assert mcp.content_of(result(None, "one")) == "one"
    assert mcp.content_of(result(None, "one", '{"b": 2}')) == ["one", {"b": 2}]
    assert mcp.content_of(result(None)) == []


GOOD: dict[str, Any] = {
    "command": ["server", "{folder}"],
    "write": {"tool": "put", "arguments": {"text": "{text}"}},
    "search": {"tool": "get", "arguments": {"query": "{query}"}},
    "result": {"text": "text"},
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"url": "http://127.0.0.1:1"}, r"give either command=\[...\] or url="),
        ({"command": "server --fast"}, r"it must be a list, such as \['server', '--fast'\]"),
        ({"write": "put"}, r"write is 'put'; it must be \{'tool': a name"),
        (
            {"write": {"tool": "put", "arguments": {"text": "{content}"}}},
            r"write: \{content\} is no placeholder; there",
        ),
        ({"search": {"tool": "get", "arguments": {"text": "{text}"}}}, r"search: \{text\} is no placeholder"),
        ({"env": {"FILE": "{id}"}}, r"env or headers: \{id\} is no placeholder; there are \{folder\}, \{namespace\}"),
        (
            {"write": {"tool": "put", "arguments": {"all": {"for each": "{text}"}, "user": "{id}"}}},
            r"write: \{id\} stands outside of 'for each'",
        ),
        ({"result": {"texts": "text"}}, "result has texts; there are items, text, id"),
        ({"result": {"text": "text", "id": "text"}}, "say by id_pattern which part is the id"),
    ],
)
def test_a_wrong_description_is_refused_before_a_server_is_started(
    changed: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "lacks", lambda _: None)
    assert callable(mcp.mcp_memory(**GOOD))
    with pytest.raises(ValueError, match=told):
        mcp.mcp_memory(**{**GOOD, **changed})


def test_the_helper_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(adapters.ADAPTERS, "mcp", ("mcp", "no-such-distribution"))
    with pytest.raises(pytest.UsageError, match=r"not installed: pip install 'pytest-engram\[mcp\]'$"):
        mcp.mcp_memory(**GOOD)
