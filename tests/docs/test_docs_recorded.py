"""What `docs/recorded.md` shows is what happens: its file, its refusal, its export, and the table that comes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_engram.asking import recorded

PAGE = (Path(__file__).parents[2] / "docs" / "recorded.md").read_text(encoding="utf-8")
EXAMPLE, EXPORT, ELSEWHERE = (
    re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0] for language in ("json", "python", "javascript")
)
ALONE = ("--engram-suite=demo_fc", "--engram-no-controls", "-q", "-p", "no:cacheprovider")


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("ENGRAM_DATA", "ENGRAM_ENCODER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return pytester


def shown(command: str) -> list[str]:
    """What the page shows below a command."""
    block = next(block for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) if f"{command}\n" in block)
    return [line for line in block.split(f"{command}\n")[1].splitlines() if line]


def test_the_example_is_a_run(folder: pytest.Pytester) -> None:
    (folder.path / "paper.jsonl").write_text(EXAMPLE, encoding="utf-8")
    run = folder.runpytest_subprocess("--engram-method=paper.jsonl", *ALONE)
    assert run.ret == 0
    for line in shown("--engram-method=paper.jsonl --engram-suite=demo_fc --engram-no-controls"):
        assert line in run.outlines
    log = [json.loads(line) for line in (folder.path / "reports/latest/items.jsonl").read_text().splitlines()]
    answered = {line["question_id"]: line for line in log if line["status"] == "ok"}
    assert len(answered) == 3
    assert len(log) == 80
    assert [line["seconds"] for line in answered.values()] == [0.21, None, None]
    assert answered["demo_fc_no2"]["tokens"] == 640
    assert answered["demo_fc_no2"]["metrics"] == {"answer@10": None, "resolved@10": None, "subem": 0.0}


def test_the_refusal_is_told() -> None:
    (told,) = shown("--engram-method=wrong.jsonl --engram-suite=demo_fc")
    with pytest.raises(recorded.Refused) as refused:
        recorded.parse(EXAMPLE.replace("0.21", '"0.21"').encode(), "wrong.jsonl")
    assert [f"ERROR: {problem}" for problem in refused.value.problems] == [told]


def test_every_field_is_on_the_page() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(recorded.Line._fields[1:])


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_way_from_the_questions_to_the_table(folder: pytest.Pytester) -> None:
    for name, text in (("export.py", EXPORT), ("elsewhere.mjs", ELSEWHERE)):
        (folder.path / name).write_text(text, encoding="utf-8")
    for command, target in (
        ([sys.executable, "export.py", "demo_fc", "."], "asked.jsonl"),
        (["node", "elsewhere.mjs"], "overlap.jsonl"),
    ):
        with open(folder.path / target, "wb") as out:
            subprocess.run(command, stdout=out, check=True, cwd=folder.path)
    run = folder.runpytest_subprocess("--engram-method=overlap.jsonl,bm25", *ALONE)
    assert run.ret == 0
    for line in shown("--engram-method=overlap.jsonl,bm25 --engram-suite=demo_fc --engram-no-controls"):
        assert line in run.outlines
