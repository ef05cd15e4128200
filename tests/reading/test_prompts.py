"""The prompt: the official one by its hash alone, its layout, and the answer in a model's text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_engram.reading import prompts

# From the benchmark's own data card: the sha256 of utils/templates.py's texts for FactConsolidation.
RAG_AGENT = "ca4ea130355adab357ce8cd00bb11c1cdbe7cb945454764a66f1ac7f692f501d"
SYSTEM = "fbb5a811635de72d10075fa9ef51c69e6e33b8ea4ed5fbfd193526910de6a2a5"


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


def test_the_official_prompt_is_found_in_prompts_json(shared_data: Path, official: dict[str, str]) -> None:
    found = prompts.find(shared_data)
    assert (found.system, found.query) == (official["system"], official["rag_agent"])
    assert found.describe() == {
        "label": "official prompt",
        "official": True,
        "sha256": {"rag_agent": RAG_AGENT, "system": SYSTEM},
        "source": "memoryagentbench/prompts.json in --engram-data",
    }


@pytest.mark.parametrize(
    "place",
    ["MemoryAgentBench/utils/templates.py", "memoryagentbench/utils/templates.py", "utils/templates.py"],
)
def test_the_official_prompt_is_found_in_a_checkout_that_is_not_executed(
    tmp_path: Path, official: dict[str, str], place: str
) -> None:
    found = prompts.find(write(tmp_path, place, checkout(official)))
    assert found.official
    assert found.source == f"{place} in --engram-data"
    assert (found.system, found.query) == (official["system"], official["rag_agent"])


@pytest.mark.parametrize("part", ["system", "rag_agent"])
def test_one_character_makes_it_unofficial(tmp_path: Path, official: dict[str, str], part: str) -> None:
    changed = {**official, part: official[part] + " "}
    write(tmp_path, "memoryagentbench/prompts.json", json.dumps({"factconsolidation": changed}))
    found = prompts.find(tmp_path)
    assert not found.official
    assert found.label == "our own prompt, not the official one"
    assert (found.system, found.query) == (prompts.OWN_SYSTEM, prompts.OWN_QUERY)
    assert f"memoryagentbench/prompts.json in --engram-data is not official (sha256 of {part} differs)" in found.source
    # The hashes that a file itself claims are not believed.
    claimed = {"factconsolidation": changed, "sha256": {"system": SYSTEM, "rag_agent": RAG_AGENT}}
    write(tmp_path, "memoryagentbench/prompts.json", json.dumps(claimed))
    assert not prompts.find(tmp_path).official


def test_an_unofficial_file_does_not_hide_an_official_checkout(tmp_path: Path, official: dict[str, str]) -> None:
    write(tmp_path, "memoryagentbench/prompts.json", json.dumps({"factconsolidation": {**official, "system": "Hm."}}))
    assert prompts.find(write(tmp_path, "MemoryAgentBench/utils/templates.py", checkout(official))).official


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memoryagentbench/prompts.json", ""),
        ("memoryagentbench/prompts.json", "[]"),
        ("memoryagentbench/prompts.json", "null"),
        ("memoryagentbench/prompts.json", '{"factconsolidation": {"system": 1, "rag_agent": null}}'),
        ("memoryagentbench/prompts.json", '{"factconsolidation": {"system": "a", "rag_agent": "no place"}}'),
        ("memoryagentbench/prompts.json", "[" * 100_000),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': {"),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': open('/etc/passwd')}"),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': {'system': UNKNOWN, 'query': {}}}"),
        ("utils/templates.py", "BASE_TEMPLATES = {'factconsolidation': 3}"),
        ("utils/templates.py", "A = " + "(" * 5000 + ")" * 5000),
        ("utils/templates.py", "A = B = C = 1\nD = -[1]\nE = {[]: 1}\n"),
        ("utils/templates.py", "\0"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_our_own_wording_used(tmp_path: Path, name: str, text: str) -> None:
    found = prompts.find(write(tmp_path, name, text))
    assert (found.system, found.query) == (prompts.OWN_SYSTEM, prompts.OWN_QUERY)
    assert found.source == f"pytest-engram; {name} in --engram-data has no factconsolidation templates that can be read"


def test_bytes_that_are_no_text_are_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_bytes(b"\xff\xfe\x00")
    assert not prompts.find(tmp_path).official


@pytest.mark.parametrize("data", [None, Path(__file__).parent])
def test_without_the_file_our_own_wording_is_labelled_so(data: Path | None) -> None:
    found = prompts.find(data)
    assert found.describe()["official"] is False
    assert found.label == "our own prompt, not the official one"
    assert "no checkout of MemoryAgentBench" in found.source
    assert prompts.QUESTION in found.query


def test_the_messages_are_the_numbered_memories_then_the_query() -> None:
    prompt = prompts.Prompt("Be brief.", "Pool above. {question}\nAnswer:", "here")
    assert prompt.messages("Who?", ["7. First {question} {0}.", "9. Second."]) == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": "Memory 1:\n7. First {question} {0}.\nMemory 2:\n9. Second.\nPool above. Who?\nAnswer:",
        },
    ]
    assert prompt.messages("{x} {question}?", [])[1]["content"] == "Pool above. {x} {question}?\nAnswer:"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        ("  Paris \n", "Paris"),
        ("Answer: Paris", "Paris"),
        ("answer:Paris.", "Paris."),
        ("The question is who.\nANSWER:\n Donald Trump", "Donald Trump"),
        ("Answer: one Answer: two", "one Answer: two"),
        ("Answer: Paris\nbecause of 12.", "Paris\nbecause of 12."),
        ("Paris\nAnswer:", "Paris\nAnswer:"),
        ("Nonanswer: Paris", "Nonanswer: Paris"),
        ("Answer", "Answer"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_answer_is_what_follows_answer_else_the_text(text: str, answer: str) -> None:
    assert prompts.parse_answer(text) == answer


def test_nothing_heavy_is_imported() -> None:
    import subprocess

    code = (
        "import sys, pytest_engram.reading.prompts; print({'numpy', 'yaml', 'openai', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
