"""Every block of the tutorial, executed in its order in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "your-memory.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python conftest\.py|console)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, list[dict[str, object]]]]:
    """Each command with what it printed and the log that it left."""
    folder = tmp_path_factory.mktemp("notes")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ENGRAM_", "PYTEST_"))}
    environment = kept | {
        "ENGRAM_CACHE": str(tmp_path_factory.mktemp("cache")),
        "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
    }
    found = []
    for kind, text in BLOCKS:
        if kind != "console":
            (folder / "conftest.py").write_text(text, encoding="utf-8")
            continue
        for line in text.strip().splitlines():
            command = line.removeprefix("$ ")
            if command.startswith(("pip install", "mkdir")):  # the tests run in an environment that has it
                continue
            parts = shlex.split(command.replace("-n auto", "-n 2"))
            run = subprocess.run(
                parts, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
            )
            assert run.returncode == 0, run.stdout + run.stderr
            lines = (folder / "reports" / "latest" / "items.jsonl").read_text(encoding="utf-8").splitlines()
            found.append((command, run.stdout, [json.loads(line) for line in lines]))
    return found


def test_every_command_works_and_every_memory_is_measured(done: list[tuple[str, str, list[dict[str, object]]]]) -> None:
    assert len(done) == 4
    for command, _, log in done[:3]:
        method = command.split("--engram-method=")[1].split()[0]
        own = [line for line in log if line["method"] == method]
        assert len(own) == 80
        assert {line["status"] for line in own} == {"ok"}


def test_the_rewriting_memories_are_judged_on_their_texts_alike(
    done: list[tuple[str, str, list[dict[str, object]]]],
) -> None:
    by_question = []
    for command, _, log in done[1:3]:
        method = command.split("--engram-method=")[1].split()[0]
        own = {line["question_id"]: line for line in log if line["method"] == method}
        assert all(line["recalled"] for line in own.values())
        by_question.append({id_: line["metrics"]["answer@10"] for id_, line in own.items()})  # type: ignore[index]
    assert sum(by_question[0].values()) > 20  # it finds something
    assert {line["method"] for line in done[2][2]} == {"served", "bm25", "dense", "tide"}


def test_the_last_command_prints_a_figure_a_method(done: list[tuple[str, str, list[dict[str, object]]]]) -> None:
    assert len(re.findall(r"^.+: \d\.\d{3}$", done[3][1], flags=re.MULTILINE)) == 4
