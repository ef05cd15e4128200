"""Every field of a run's files, replaced by what it must not be, is refused in one line that names file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import runs

from pytest_engram import runfolder, runlog

RUBBISH: tuple[Any, ...] = (None, 3, "x", [3], [{}], {"a": 1}, {"a": {"b": 1}}, -1, 10**30, float("nan"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return runs.run(tmp_path)


@pytest.mark.parametrize("place", ["log", "manifest", "suite", "method"])
def test_whatever_stands_in_a_field_a_report_is_made_or_one_line_says_why_not(folder: Path, place: str) -> None:
    from pytest_engram.report.aggregate import aggregate

    log = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()][:3]
    manifest = json.loads((folder / "manifest.json").read_text())
    (whole,) = {
        "log": [log[0]],
        "manifest": [manifest],
        "suite": list(manifest["suites"].values()),
        "method": list(manifest["methods"].values()),
    }[place]
    refused = 0
    for field in list(whole):
        kept = whole[field]
        for rubbish in RUBBISH:
            whole[field] = rubbish
            (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
            (folder / "manifest.json").write_text(json.dumps(manifest))
            try:
                found = runfolder.read(folder)
            except (runfolder.RunError, runlog.LogError) as error:
                told = str(error)
            else:
                aggregate(found.outcomes, found.manifest)
                continue
            refused += 1
            assert "\n" not in told
            assert field in told
            assert "items.jsonl:1: " in told or "manifest.json: " in told
        whole[field] = kept
    assert refused


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"metrics": {"answer@10": 0.5}}, "metrics.answer@10: 0.5 is neither 0 nor 1"),
        ({"metrics": {"ndcg_any@10": 1.5}}, "metrics.ndcg_any@10: 1.5 is not between 0 and 1"),
        ({"status": "great"}, "status: "),
        ({"dropped": [{}]}, "dropped.0: has no `id`"),
        ({"missing": 3}, "missing: "),
    ],
)
def test_a_value_that_is_no_result_is_refused(folder: Path, change: dict[str, Any], told: str) -> None:
    first, *rest = (folder / "items.jsonl").read_text().splitlines()
    (folder / "items.jsonl").write_text("\n".join([json.dumps(json.loads(first) | change), *rest]) + "\n")
    with pytest.raises(runlog.LogError, match=f"items.jsonl:1: not a line of a run log .{told}"):
        runlog.read(folder / "items.jsonl")


@pytest.mark.parametrize("name", ["items.jsonl", "manifest.json", "texts.json"])
def test_brackets_without_end_are_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("[" * 100_000 + "]" * 100_000 + "\n")
    with pytest.raises((runfolder.RunError, runlog.LogError), match=name):
        runfolder.read(folder)


def test_fields_of_a_later_version_are_no_error(folder: Path) -> None:
    runs.edit_json(folder / "manifest.json", lambda manifest: manifest.update(later={"a": 1}))
    first, *rest = (folder / "items.jsonl").read_text().splitlines()
    (folder / "items.jsonl").write_text("\n".join([json.dumps(json.loads(first) | {"later": 1}), *rest]) + "\n")
    assert runfolder.read(folder).manifest["later"] == {"a": 1}
