"""Every field of a run's files, replaced by what it must not be, is refused in one line that names file and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import runs
from click.testing import CliRunner

from pytest_engram.cli import commands as cli
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import log as runlog

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


STEERING = "\x1b[31m\x00\x07\x9b \u202e\u2066\u200f\u061c \ud83d <script>alert(1)</script> \\input{/etc/passwd}"


@pytest.mark.parametrize("place", ["suite", "method", "metric", "reason", "label", "notes", "encoder"])
def test_no_name_or_text_steers_a_terminal_a_table_or_a_page(folder: Path, tmp_path: Path, place: str) -> None:
    log = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()][:3]
    manifest = json.loads((folder / "manifest.json").read_text())
    for line in log:
        if place == "metric":
            line["metrics"] = {STEERING: 1.0}
        elif place == "reason":
            line.update(status="error", reason=STEERING)
        elif place in ("suite", "method"):
            line[place] = STEERING
    if place == "label":
        manifest["methods"] = {name: {"label": STEERING} for name in manifest["methods"]}
    elif place == "notes":
        for suite in manifest["suites"].values():
            suite.update(notes=[STEERING], not_run=STEERING, construction=STEERING)
    elif place == "encoder":
        manifest["encoder"] = {"name": STEERING, "hash": STEERING, "note": STEERING, "dimensions": 3}
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    (folder / "manifest.json").write_text(json.dumps(manifest))

    compared = {".md": tmp_path / "compared.md", ".html": tmp_path / "compared.html"}
    shown = [CliRunner().invoke(cli.main, [command, str(folder)]) for command in ("report", "verify")]
    for more in ([], *(["-o", str(path)] for path in compared.values())):
        shown += [CliRunner().invoke(cli.main, ["compare", str(folder), str(folder), "--anyway", *more])]
    for result in shown:
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    files = [folder / f"results{end}" for end in (".md", ".tex", ".html")] + list(folder.glob("*.svg"))
    texts = {path: path.read_text("utf-8") for path in [*files, *compared.values()] if path.exists()}
    assert len(texts) >= 5
    for text in [result.output for result in shown] + list(texts.values()):
        assert not set("\x1b\x00\x07\x9b\u202e\u2066\u200f\u061c") & set(text)
    for path, text in texts.items():
        assert path.suffix == ".tex" or "<script>alert" not in text
        assert path.suffix != ".tex" or "\\input{" not in text
