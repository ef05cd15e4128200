"""A run that was not touched agrees with itself; an edited number is found, wherever it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pages
import pytest
import runs

from pytest_engram import report
from pytest_engram.review.verify import Finding, verify
from pytest_engram.runs import folder as runfolder


def findings(folder: Path, **more: Any) -> list[Finding]:
    return list(verify(runfolder.read(folder), **more))


def differing(folder: Path, **more: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for finding in findings(folder, **more):
        if finding.status == "differs":
            found[finding.what] = "; ".join(filter(None, (found.get(finding.what), finding.detail)))
    return found


def test_an_untouched_run_agrees_in_all_that_is_checked(tmp_path: Path) -> None:
    found = findings(runs.run(tmp_path))
    assert {f.status for f in found} == {"agrees"}
    checked = {f.what for f in found}
    assert {
        "items.jsonl",
        "texts.json",
        "results.json",
        "results.html",
        "suite demo_fc",
        "scores of demo_fc",
    } <= checked


@pytest.mark.parametrize(
    "name", ["results.md", "results.csv", "results.json", "results.tex", "results.html", "intervals.svg"]
)
def test_one_edited_digit_of_a_table_a_plot_or_the_page_is_found(tmp_path: Path, name: str) -> None:
    folder = runs.run(tmp_path)
    text = (folder / name).read_text(encoding="utf-8")
    digits = list(re.finditer(r"\d", text))
    for digit in (digits[len(digits) // 3], digits[-1]):
        other = str((int(digit[0]) + 1) % 10)
        (folder / name).write_text(text[: digit.start()] + other + text[digit.end() :], encoding="utf-8")
        assert list(differing(folder)) == [name]


def test_a_page_whose_data_another_zlib_compressed_agrees(tmp_path: Path) -> None:
    page = runs.run(tmp_path) / "results.html"
    html = page.read_text(encoding="utf-8")
    other = pages.packed_otherwise(html)
    assert other != html
    page.write_text(other, encoding="utf-8")
    assert differing(page.parent) == {}


def test_an_edited_number_of_results_json_is_named(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    value = json.loads((folder / "results.json").read_text())["rows"][0]["value"]
    runs.edit(folder / "results.json", f'"value": {value}', '"value": 0.99')
    assert differing(folder) == {"results.json": f"rows[0].value: 0.99, should be {value}"}


def test_an_edited_log_is_found_by_its_hash_and_by_every_table(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    runs.edit(folder / "items.jsonl", '"answer@10": 0.0', '"answer@10": 1.0')
    found = differing(folder)
    assert "changed after the run" in found["items.jsonl"]
    assert {"results.json", "results.md", "results.csv", "scores of demo_fc"} <= found.keys()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"answer@10": 0.0', '"answer@10": 1.0', r"metrics\.answer@10: 1\.0, should be 0\.0"),
        ('"subem": 0.0', '"subem": 1.0', r"metrics\.subem: 1\.0, should be 0\.0"),
        ('"hit": false', '"hit": true', r"hit: true, should be false"),
        ('"haystack": 350', '"haystack": 3500', r"haystack: 3500, should be 350"),
        ('"ceiling": true', '"ceiling": false', r"ceiling: false, should be true"),
        ('"gold": ["', '"gold": ["Not ', r"gold\[0\]: "),
        ('"gold_ids": ["', '"gold_ids": ["9', r"gold_ids\[0\]: "),
        ('"ids": ["', '"ids": ["9', r"is in no entry of the haystack|metrics|stands twice"),
    ],
)
def test_a_forger_who_writes_everything_again_is_found_by_the_suite(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    folder = runs.run(tmp_path)
    runs.edit(folder / "items.jsonl", old, new)
    runs.rewritten(folder)  # hashes, tables and page all agree with the edited log
    found = differing(folder)
    assert found.keys() <= {"scores of demo_fc", "items"}
    assert re.search(told, " ".join(found.values()))


def test_what_only_another_run_can_check_is_not_claimed(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    seconds = json.loads((folder / "items.jsonl").read_text().splitlines()[0])["seconds"]
    runs.edit(folder / "items.jsonl", f'"seconds": {seconds}', '"seconds": 123.0')
    runs.rewritten(folder)
    assert differing(folder) == {}  # as docs/cli.md says


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda m: m.update(k=5), {"items", "results.json"}),
        (lambda m: m.update(ran=79), {"items", "results.json"}),
        (lambda m: m.update(complete=False), {"items", "results.json"}),
        (lambda m: m.update(duration_s=1.0), {"results.json"}),
        (lambda m: m["suites"]["demo_fc"].update(n=79), {"suite demo_fc", "results.json"}),
        (lambda m: m["suites"]["demo_fc"].update(sha256="0" * 64), {"suite demo_fc", "results.json"}),
        (lambda m: m["suites"]["demo_fc"].update(official=True), {"suite demo_fc", "results.json"}),
    ],
)
def test_an_edited_manifest_is_found(tmp_path: Path, change: Callable[[Any], None], where: set[str]) -> None:
    folder = runs.run(tmp_path)
    runs.edit_json(folder / "manifest.json", change)
    assert where <= differing(folder).keys()


def test_a_line_that_stands_twice_is_found(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    log = folder / "items.jsonl"
    log.write_text(log.read_text() + log.read_text().splitlines()[0] + "\n")
    assert "line 81: stands twice" in differing(folder)["items"]


def test_a_suite_of_one_s_own_is_checked_where_its_place_is_given(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    log = (folder / "items.jsonl").read_text().replace('"suite": "demo_fc"', '"suite": "mine"')
    (folder / "items.jsonl").write_text(log)
    runs.edit_json(folder / "manifest.json", lambda m: m["suites"].update(mine=m["suites"].pop("demo_fc")))
    runs.rewritten(folder)
    assert [f.what for f in findings(folder) if f.status == "unchecked"] == ["suite mine"]
    own = tmp_path / "own.yaml"
    own.write_text(runs.DEMO.read_text().replace("name: demo_fc", "name: mine"))
    found = findings(folder, cases=[own])
    assert [f for f in found if f.status == "unchecked"] == []
    (problem,) = [f.detail for f in found if f.status == "differs"]
    assert problem.startswith("sha256: ")  # another file than the run's


def test_data_that_is_not_here_leaves_scores_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    outcomes = [runs.outcome("factconsolidation_sh_6k_no0", 1.0, suite="fc_sh_6k", item="q000[loom]")]
    report.write_run(tmp_path / "run", outcomes, runs.manifest(outcomes), {})
    found = {f.what: f for f in findings(tmp_path / "run")}
    assert found["scores of fc_sh_6k"].status == "unchecked"
    assert "--engram-data" in found["scores of fc_sh_6k"].detail


def test_an_encoder_is_compared_by_its_hash(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    name = "all-MiniLM-L6-v2"
    runs.edit_json(folder / "manifest.json", lambda m: m.update(encoder={"name": name, "hash": "0" * 64}))
    assert "has another hash" in differing(folder)[f"encoder {name}"]
