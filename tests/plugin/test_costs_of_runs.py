"""Tokens and the budget, in whole runs on a small suite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from runs import DEMO

from tests.plugin.test_memories import CASES, log, notes, project, run

__all__ = ["project"]  # the fixture

# Tokens, by hand, from the vocabulary:
#   mara lives in lisbon .    5      ben works at ac ##me .         6
#   mara lives in porto .     5      ben works at in ##ite ##ch .   7
NAMED = """
class Named(Plain):
    def ranked(self, query):
        note(longest=max(len(entry.text) for entry in self.entries))
        return [entry for entry in self.entries if entry.text.split()[0] in query.split()] or self.entries
"""
FOUND = NAMED + "@method(controls=[])\ndef mine():\n    return Named\n"
JOINED = (
    NAMED
    + """
class Joined(Named):
    def search(self, query, k):
        a, b = self.ranked(query)[:2]
        return [Recalled(f"{a.text} {b.text}", (a.id, b.id))]

@method(controls=[])
def mine():
    return Joined
"""
)
PLAIN = "@method(controls=[])\ndef mine():\n    return Plain\n"


def manifest(project: pytest.Pytester) -> dict[str, Any]:
    return json.loads((project.path / "reports/latest/manifest.json").read_text())


@pytest.mark.parametrize("workers", ["0", "2"])
def test_every_line_has_the_tokens_of_what_came_back(project: pytest.Pytester, workers: str) -> None:
    (project.path / "cases.yaml").write_text(CASES)
    assert run(project, FOUND, "-n", workers, "cases.yaml").ret == 0
    assert {line["case"]: line["tokens"] for line in log(project)} == {"mara": 10, "ben": 13}
    told = manifest(project)
    assert told["tokenizer"]["name"] == "WordPiece of all-MiniLM-L6-v2"
    assert len(told["tokenizer"]["sha256"]) == 64
    assert told["budget"] is None


def test_a_text_of_the_memory_s_own_is_counted_and_the_longest_entry_put_down(project: pytest.Pytester) -> None:
    (project.path / "cases.yaml").write_text(CASES)
    assert run(project, JOINED, "cases.yaml").ret == 0
    lines = {line["case"]: line for line in log(project)}
    assert {case: line["tokens"] for case, line in lines.items()} == {"mara": 10, "ben": 13}
    (longest,) = {record["longest"] for record in notes(project)}
    assert {line["longest"] for line in lines.values()} == {longest}


def test_nothing_is_no_token_and_an_error_has_none(project: pytest.Pytester) -> None:
    body = """
class Half(Plain):
    def search(self, query, k):
        if query.startswith("Where does Ben"):
            raise OSError("gone")
        return [] if query.startswith("Where does Mara") else Plain.search(self, query, k)

@method(controls=[])
def mine():
    return Half
"""
    (project.path / "cases.yaml").write_text(CASES)
    assert run(project, body, "cases.yaml").ret == 1
    lines = {line["case"]: line for line in log(project)}
    assert lines["mara"]["tokens"] == 0
    assert "tokens" not in lines["ben"]


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(("budget", "mara", "ben"), [(5, 1, 0), (9, 1, 1), (12, 2, 1), (13, 2, 2)])
def test_a_budget_cuts_what_came_back_before_it_is_judged(
    project: pytest.Pytester, workers: str, budget: int, mara: int, ben: int
) -> None:
    (project.path / "cases.yaml").write_text(CASES)
    assert run(project, FOUND, "-n", workers, f"--engram-budget={budget}", "cases.yaml").ret == 0
    lines = {line["case"]: line for line in log(project)}
    assert (len(lines["mara"]["ids"]), len(lines["ben"]["ids"])) == (mara, ben)
    assert all(line["tokens"] <= budget for line in lines.values())
    # Of two sides that both come back neither wins; one alone does.
    sides = {0: "neither", 1: "belief", 2: "both"}
    assert (lines["mara"]["winner"], lines["ben"]["winner"]) == (sides[mara], sides[ben])
    assert manifest(project)["budget"] == budget
    table = (project.path / "reports/latest/results.md").read_text()
    assert f"k = 10 and at most {budget} tokens (WordPiece of all-MiniLM-L6-v2)" in table


def test_a_budget_cuts_what_a_reader_answers_from(project: pytest.Pytester) -> None:
    import yaml

    suite = yaml.safe_load((project.path / "tiny.yaml").read_text())
    (project.path / "tiny.yaml").write_text(yaml.safe_dump(suite | {"metrics": ["answer@10", "subem"]}))
    assert run(project, PLAIN, "tiny.yaml").ret == 0
    assert all(line["answer"] for line in log(project))
    assert run(project, PLAIN, "--engram-budget=1", "tiny.yaml").ret == 0
    assert {line["answer"] for line in log(project)} == {""}
    assert {line["metrics"]["subem"] for line in log(project)} == {0.0}


def test_a_budget_cuts_a_text_of_the_memory_s_own(project: pytest.Pytester) -> None:
    (project.path / "cases.yaml").write_text(CASES)
    assert run(project, JOINED, "--engram-budget=12", "cases.yaml").ret == 0
    lines = {line["case"]: line for line in log(project)}
    assert len(lines["mara"]["recalled"]) == 1
    assert "recalled" not in lines["ben"]
    assert lines["ben"]["tokens"] == 0


def test_a_warm_run_loads_no_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ["-p", "engram", "-p", "no:cacheprovider", "--engram-method=bm25", "--engram-no-controls", str(DEMO)]
    code = f"import sys, pytest; pytest.main({options!r}); print('LOADED', 'tokenizers' in sys.modules)"
    shown = [
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [text.splitlines()[-1] for text in shown] == ["LOADED True", "LOADED False"]
    lines = (tmp_path / "reports/latest/items.jsonl").read_text().splitlines()
    assert all(json.loads(line)["tokens"] > 0 for line in lines)
