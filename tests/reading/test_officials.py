"""Official prompts: found by their sha256 alone, wherever they stand in a file, and no file is executed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.reading import officials
from pytest_engram.suites import downloads

# From the benchmark's own data card: the sha256 of utils/templates.py's texts for FactConsolidation.
RAG_AGENT = "ca4ea130355adab357ce8cd00bb11c1cdbe7cb945454764a66f1ac7f692f501d"
SYSTEM = "fbb5a811635de72d10075fa9ef51c69e6e33b8ea4ed5fbfd193526910de6a2a5"


@pytest.fixture(autouse=True)
def _nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def official(shared_data: Path) -> dict[str, str]:
    """The official texts, out of the file that is no part of the project."""
    found: dict[str, str] = json.loads((shared_data / "memoryagentbench/prompts.json").read_text())["factconsolidation"]
    return found


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return folder


def checkout(official: dict[str, str]) -> str:
    """A module in the form of the benchmark's: names for literals, several tasks, and code that must not run."""
    query = {"long_context_agent": "Read. {question}", "rag_agent": official["rag_agent"]}
    return (
        "import sys\n"
        "sys.exit('executed')\n"
        f"SYSTEM_MESSAGE = {official['system']!r}\n"
        "BASE_TEMPLATES = {\n"
        "    'eventqa': {'system': SYSTEM_MESSAGE, 'memorize': '{context}', 'query': {'rag_agent': '{question}'}},\n"
        f"    'factconsolidation': {{'system': SYSTEM_MESSAGE, 'memorize': '', 'query': {query!r}}},\n"
        "}\n"
        "DATASET_MAPPING = {('factconsolidation_',): 'factconsolidation', ('icl_',): sorted(['b', 'a'])}\n"
        "def get_template(*names):\n"
        "    raise SystemExit('executed')\n"
    )


def hashes(texts: Any) -> dict[str, str]:
    return {part: hashlib.sha256(text.encode()).hexdigest() for part, text in texts.items()}


@pytest.mark.parametrize("benchmark", ["factconsolidation", "locomo", "longmemeval"])
def test_all_official_texts_are_found_in_the_data_folder(shared_data: Path, benchmark: str) -> None:
    found = officials.find(benchmark, shared_data)
    assert hashes(found.texts) == officials.SHA256[benchmark]
    assert found.problem == ""


def test_several_files_together_give_a_benchmarks_texts(shared_data: Path) -> None:
    found = officials.find("locomo", shared_data)
    assert found.source == "locomo/answer_prompts.json in --engram-data and locomo/judge_prompt.json in --engram-data"


@pytest.mark.parametrize(
    "place",
    ["MemoryAgentBench/utils/templates.py", "memoryagentbench/utils/templates.py", "utils/templates.py"],
)
def test_a_checkout_is_read_and_not_executed(tmp_path: Path, official: dict[str, str], place: str) -> None:
    found = officials.find("factconsolidation", write(tmp_path, place, checkout(official)))
    assert hashes(found.texts) == {"rag_agent": RAG_AGENT, "system": SYSTEM}
    assert (found.source, found.problem) == (f"{place} in --engram-data", "")


def test_what_was_fetched_is_found_without_a_data_folder(
    tmp_path: Path, official: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "cache/fetched", "MemoryAgentBench/utils/templates.py", checkout(official))
    sha256 = hashlib.sha256((folder / "MemoryAgentBench/utils/templates.py").read_bytes()).hexdigest()
    (download,) = downloads.groups()["factconsolidation-prompts"]
    monkeypatch.setattr(downloads, "TABLE", (replace(download, sha256=sha256),))
    found = officials.find("factconsolidation", None)
    assert hashes(found.texts) == {"rag_agent": RAG_AGENT, "system": SYSTEM}
    assert found.source == "MemoryAgentBench/utils/templates.py in the fetched data"


def test_a_text_is_known_by_its_sha256_whatever_it_is_called(tmp_path: Path, official: dict[str, str]) -> None:
    odd = {"a": [{"b": official["system"]}, 3, None], "zz": {"y": {"x": official["rag_agent"]}}}
    found = officials.find("factconsolidation", write(tmp_path, "prompts.json", json.dumps(odd)))
    assert hashes(found.texts) == {"rag_agent": RAG_AGENT, "system": SYSTEM}
    inside = (
        f"def f(x):\n    if x:\n        y = {official['system']!r}\n    return [lambda: {official['rag_agent']!r}]\n"
    )
    found = officials.find("factconsolidation", write(tmp_path / "other", "utils/templates.py", inside))
    assert hashes(found.texts) == {"rag_agent": RAG_AGENT, "system": SYSTEM}


@pytest.mark.parametrize("part", ["system", "rag_agent"])
def test_one_character_makes_a_text_unofficial(tmp_path: Path, official: dict[str, str], part: str) -> None:
    # The hashes that a file itself claims are not believed.
    held = {"rag_agent": official["rag_agent"], "system": official["system"]}
    changed = {**held, part: held[part] + " ", "sha256": {"system": SYSTEM, "rag_agent": RAG_AGENT}}
    found = officials.find("factconsolidation", write(tmp_path, "memoryagentbench/prompts.json", json.dumps(changed)))
    assert part not in found.texts
    assert found.problem.startswith(f"the official text of {part} is not here (")
    assert found.problem.endswith("; `engram fetch factconsolidation-prompts`")


def test_an_unofficial_file_does_not_hide_an_official_checkout(tmp_path: Path, official: dict[str, str]) -> None:
    write(tmp_path, "memoryagentbench/prompts.json", json.dumps({"factconsolidation": {**official, "system": "Hm."}}))
    found = officials.find("factconsolidation", write(tmp_path, "utils/templates.py", checkout(official)))
    assert found.problem == ""


def test_only_the_parts_that_are_needed_are_missed(shared_data: Path, tmp_path: Path) -> None:
    write(tmp_path, "locomo/answer_prompts.json", (shared_data / "locomo/answer_prompts.json").read_text())
    assert officials.find("locomo", tmp_path, ["answer", "suffix category 2"]).problem == ""
    assert officials.find("locomo", tmp_path).problem.startswith("the official text of judge is not here (")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memoryagentbench/prompts.json", ""),
        ("memoryagentbench/prompts.json", "[" * 100_000),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': {"),
        ("utils/templates.py", "A = " + "(" * 5000 + ")" * 5000),
        ("utils/templates.py", "\0"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str) -> None:
    found = officials.find("factconsolidation", write(tmp_path, name, text))
    assert found.texts == {}
    told = f"the official prompt is not here ({name} in --engram-data can't be read)"
    assert found.problem == f"{told}; `engram fetch factconsolidation-prompts`"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prompts.json", "[]"),
        ("prompts.json", "null"),
        ("prompts.json", '{"factconsolidation": {"system": 1, "rag_agent": null}}'),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': open('/etc/passwd')}"),
        ("utils/templates.py", "A = B = C = 1\nD = -[1]\nE = {[]: 1}\n"),
    ],
)
def test_a_file_without_official_texts_is_named(tmp_path: Path, name: str, text: str) -> None:
    found = officials.find("factconsolidation", write(tmp_path, name, text))
    assert found.texts == {}
    assert f"({name} in --engram-data holds no official text)" in found.problem


def test_bytes_that_are_no_text_are_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_bytes(b"\xff\xfe\x00")
    assert officials.find("factconsolidation", tmp_path).texts == {}


@pytest.mark.parametrize("data", [None, Path(__file__).parent])
def test_without_any_file_the_cure_is_told(data: Path | None) -> None:
    found = officials.find("longmemeval", data)
    assert (found.texts, found.source) == ({}, "")
    where = "no longmemeval/prompts.json in --engram-data or fetched"
    assert found.problem == f"the official prompt is not here ({where}); `engram fetch longmemeval-prompts`"
