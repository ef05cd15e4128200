"""The table of what can be fetched: complete, pinned, and in the places where readers look."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_engram.suites import downloads, factconsolidation
from pytest_engram.suites.downloads import TABLE, Download
from pytest_engram.suites.longmemeval import source as longmemeval


@pytest.mark.parametrize("download", TABLE, ids=lambda d: d.file)
def test_each_is_pinned_sized_and_licensed(download: Download) -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", download.commit)
    assert re.fullmatch(r"[0-9a-f]{64}", download.sha256)
    assert download.size > 0
    assert download.commit in download.url()
    assert download.licence in (downloads.MIT, downloads.APACHE, downloads.NON_COMMERCIAL)


def test_no_two_lie_in_one_place() -> None:
    assert len({d.file for d in TABLE}) == len({d.url() for d in TABLE}) == len(TABLE)


def test_addresses() -> None:
    """As GitHub serves raw files, and the hub its datasets."""
    by_file = {d.file: d for d in TABLE}
    assert by_file["locomo/task_eval/gpt_utils.py"].url() == (
        "https://raw.githubusercontent.com/snap-research/locomo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/"
        "task_eval/gpt_utils.py"
    )
    assert by_file["longmemeval/longmemeval_s_cleaned.json"].url("https://hub.example/") == (
        "https://hub.example/datasets/xiaowu0162/longmemeval-cleaned/resolve/"
        "98d7416c24c778c2fee6e6f3006e7a073259d48f/longmemeval_s_cleaned.json"
    )


def test_words() -> None:
    groups = downloads.groups()
    assert {d.name for d in groups["prompts"]} == {"locomo-prompts", "factconsolidation-prompts", "longmemeval-prompts"}
    assert groups["all"] == list(TABLE)
    assert [d.file for d in groups["locomo-prompts"]] == [
        "locomo/task_eval/gpt_utils.py",
        "mem0/evaluation/metrics/llm_judge.py",
    ]


def test_a_place_names_what_to_fetch() -> None:
    assert downloads.names_of([factconsolidation.FILE]) == ["factconsolidation"]
    assert downloads.names_of(["longmemeval/prompts.json", "locomo/locomo10.json"]) == ["locomo", "longmemeval-prompts"]
    assert downloads.names_of(["longmemeval/longmemeval_m_cleaned.json"]) == []


def test_longmemeval_is_the_one_that_counts_as_official() -> None:
    (download,) = downloads.groups()["longmemeval"]
    assert download.sha256 == longmemeval.OFFICIAL["s", "cleaned"]
    assert download.repo == longmemeval.REPOSITORIES["cleaned"]


def test_factconsolidation_is_read_as_it_is_fetched(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The official rows, in the hub's own format; the sha256 of the context is that of the official one."""
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
    (download,) = downloads.groups()["factconsolidation"]
    rows = json.loads((shared_data / factconsolidation.FILE).read_text("utf-8"))
    target = tmp_path / "fetched" / download.file
    target.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), target)
    written = replace(download, sha256=hashlib.sha256(target.read_bytes()).hexdigest())
    monkeypatch.setattr(downloads, "TABLE", (written,))
    row = factconsolidation.find_row("factconsolidation_sh_6k", None)
    assert hashlib.sha256(row.context.encode()).hexdigest() == (
        "e46cb14b53eedd71bf92762974a597d46b001157b6b769c03865dee9641818a1"
    )
    assert len(row.questions) == 100
    assert row.origin == f"{download.file} in the fetched data"


def test_factconsolidation_is_the_split_that_the_source_reads() -> None:
    (download,) = downloads.groups()["factconsolidation"]
    assert download.repo == factconsolidation.HUB.repo
    assert download.path == f"data/{factconsolidation.HUB.split}-00000-of-00001.parquet"
