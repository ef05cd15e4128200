"""Suite files as hostile or clumsy hands leave them: what YAML means is kept, and the rest is one line."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.suites import files
from pytest_engram.suites.base import SuiteError


def read(folder: Path, text: str) -> tuple[dict[str, Any], files.Lines]:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return files.read(path)


# The examples of https://yaml.org/type/merge.html, spelt as values that can be told apart.
MERGES = """\
engram: micro
centre: &centre {x: 1, y: 2}
left: &left {x: 0, y: 2}
big: &big {r: 10}
small: &small {r: 1}
one: {<<: *centre, r: 10, label: a}
several: {<<: [*centre, *big], label: b}
override: {<<: [*big, *left, *small], x: 1, label: c}
again: {<<: *centre, x: 5}
of_merged: {<<: &inner {<<: *centre, x: 6}, y: 7}
twice: {<<: *inner}
"""


def test_merge_keys_mean_what_yaml_says_and_own_keys_go_before_merged_ones(tmp_path: Path) -> None:
    data, lines = read(tmp_path, MERGES)
    assert data["one"] == {"x": 1, "y": 2, "r": 10, "label": "a"}
    assert data["several"] == {"x": 1, "y": 2, "r": 10, "label": "b"}
    assert data["override"] == {"x": 1, "y": 2, "r": 10, "label": "c"}
    assert data["again"] == {"x": 5, "y": 2}
    assert data["of_merged"] == {"x": 6, "y": 7}
    assert data["twice"] == {"x": 6, "y": 2}
    assert lines[("again", "x")] == 9
    assert lines[("again", "y")] == 2
    assert lines[("again",)] == 9


def _laughs(kind: str) -> str:
    each = {"list": "[{}]", "map": "{{{}}}", "merge": "{{<<: [{}]}}"}[kind]
    text = "engram: micro\nl0: &l0 {x: lol}\n"
    for i in range(1, 10):
        parts = [f"k{j}: *l{i - 1}" if kind == "map" else f"*l{i - 1}" for j in range(10)]
        text += f"l{i}: &l{i} {each.format(', '.join(parts))}\n"
    return text


@pytest.mark.parametrize("kind", ["list", "map", "merge"])
def test_aliases_that_multiply_are_refused_before_they_fill_the_memory(tmp_path: Path, kind: str) -> None:
    started = time.monotonic()
    with pytest.raises(SuiteError, match=r"suite\.yaml:\d+: l\d.*aliases.*write fewer") as told:
        read(tmp_path, _laughs(kind))
    assert "\n" not in str(told.value)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("name: !!int x", r":2: name: not YAML: invalid literal"),
        ("name: 2020-13-45", r":2: name: not YAML: month must be in"),
        ("name: " + "9" * 5000, r":2: name: not YAML: "),
        ("name: {<<: 3}", r":2: name: `<<` merges mappings"),
        ("name: {<<: [{a: 1}, 3]}", r":2: name: `<<` merges mappings"),
        ("name: {a: 1, a: 2}", r":2: name\.a: this key stands twice"),
        ("name: {<<: {a: 1, a: 2}}", r":2: name\.a: this key stands twice"),
        ("name: " + "[" * 900 + "]" * 900, r":2: name: nested too deeply"),
    ],
)
def test_every_value_that_is_none_has_its_line(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(SuiteError, match=told) as error:
        read(tmp_path, f"engram: micro\n{line}\n")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_suite_in_another_encoding_is_one_that_must_be_saved_as_utf_8(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "suite.yaml"
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    path.write_bytes(f"{mark}# a comment\nengram: micro\n".encode(encoding))
    assert files.is_suite(path)
    with pytest.raises(SuiteError, match="save it as UTF-8"):
        files.read(path)


def test_what_is_no_file_is_no_suite_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to(tmp_path / "missing.yaml")
    for name in ("pipe.yaml", "folder.yaml", "nowhere.yaml"):
        assert not files.is_suite(tmp_path / name)


def test_folders_that_hold_links_to_themselves_are_walked_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "suite.yaml").write_text("engram: micro\n")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "here").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    assert files.walk(tmp_path) == [tmp_path / "a" / "suite.yaml"]
