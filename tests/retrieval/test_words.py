"""Texts without spaces between words: BM25 by white space is told to be none, and by characters it is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import runs
import yaml

from pytest_engram.retrieval.words import characters, unsplit, words
from pytest_engram.review import here
from pytest_engram.suites.base import SuiteError

TOWNS = ["横浜", "神戸", "札幌", "仙台", "広島", "京都", "福岡", "名古屋", "新潟", "岡山", "熊本", "長崎"]
NAMES = ["鈴木", "高橋", "渡辺"]
BACKGROUND = [f"{name}さんは{town}の市場で働いています。" for town in TOWNS for name in NAMES][:30]


@pytest.mark.parametrize(
    ("text", "by_space", "by_character"),
    [
        ("Ann lives in Oslo.", ["ann", "lives", "in", "oslo."], ["ann", "lives", "in", "oslo."]),
        ("東京に住む", ["東京に住む"], ["東", "京", "に", "住", "む"]),
        (
            "山田 Taro は A4を買う",
            ["山田", "taro", "は", "a4を買う"],
            ["山", "田", "taro", "は", "a4", "を", "買", "う"],
        ),
        ("ไปไหน", ["ไปไหน"], list("ไปไหน")),
        ("서울에 살아요", ["서울에", "살아요"], ["서울에", "살아요"]),
        ("", [], []),
    ],
)
def test_tokens(text: str, by_space: list[str], by_character: list[str]) -> None:
    assert words(text) == by_space
    assert characters(text) == by_character


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("彼は東京に住んでいます。", True),
        ("他住在北京的一座老房子里", True),
        ("ชายคนนั้นอาศัยอยู่ในกรุงเทพ", True),
        ("山田 太郎 lives in 東京.", False),  # names, split as they should be
        ("彼 は 東京 に 住んで い ます", False),  # somebody split it already
        ("그는 서울에 살고 있습니다", False),
        ("Он живёт в Москве", False),
        ("Ann lives in Oslo.", False),
        ("", False),
    ],
)
def test_a_text_that_white_space_leaves_whole_is_told(text: str, told: bool) -> None:
    assert unsplit(words(text)) is told
    assert unsplit(characters(text)) is False


def suite(folder: Path, **more: Any) -> Path:
    case = {
        "name": "home",
        "belief": "田中さんは大阪に住んでいます。",
        "update": "田中さんは東京に住んでいます。",
        "query": "田中さんはどこに住んでいますか。",
    }
    content = {"engram": "micro", "name": "towns", "rule": "keep-both", "background": BACKGROUND, "cases": [case]}
    path = folder / "towns.yaml"
    path.write_text(yaml.safe_dump(content | more, allow_unicode=True), encoding="utf-8")
    return path


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_bm25_by_characters_finds_and_by_white_space_is_marked(tmp_path: Path, workers: str) -> None:
    rows = {}
    for how in ("words", "characters"):
        suite(tmp_path, tokenize=how)
        done = runs.pytest_in(tmp_path, "--engram-method=bm25", "--engram-no-controls", "towns.yaml", workers)
        assert done.returncode == 0, done.stdout + done.stderr
        report = tmp_path / "reports" / "latest"
        results = json.loads((report / "results.json").read_text(encoding="utf-8"))
        (rows[how],) = (row for row in results["rows"] if row["metric"] == "correct")
        marked = "(nearly) one token each" in (report / "results.md").read_text(encoding="utf-8")
        assert marked is (how == "words")
        assert results["manifest"]["suites"]["towns"].get("tokenize") == (None if how == "words" else how)
    # Both share 田, 中, は, に, 住, ん, で, い, ま, す with the question; no other text has 田, 中 or 住.
    assert (rows["characters"]["value"], rows["characters"]["marks"]) == (1.0, [])
    # No token of the question stands in any text: all scores are 0, and the first ten entries come back.
    assert len(rows["words"]["marks"]) == 1


def test_a_dictionary_is_refused_with_what_there_is(tmp_path: Path) -> None:
    path = suite(tmp_path, tokenize="icu")
    with pytest.raises(SuiteError, match="tokenize: input should be 'words' or 'characters'; got 'icu'"):
        here.load(path, None)
