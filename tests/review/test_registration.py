"""Registration: what was fixed before a run, and which part changed since."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from micro import CASES, FILES, SMALL, load, shipped

from pytest_engram.review import registration
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.microtests import suite as cases
from pytest_engram.suites.microtests import winners
from pytest_engram.suites.microtests.background import people


@pytest.fixture
def key(tmp_path: Path):
    return load(tmp_path, SMALL).key


def test_a_suite_is_registered_where_nothing_changed(tmp_path: Path, key) -> None:
    assert registration.status(key) == "not registered"
    assert registration.register([tmp_path]) == [(key.path, "not registered")]
    assert registration.status(key) == "registered before this run"
    locked = json.loads((tmp_path / "engram.lock").read_text(encoding="utf-8"))
    assert list(locked) == ["own.yaml"]
    assert list(locked["own.yaml"]) == ["case file", "rule text", "rule code", "family code", "shared texts"]


def test_the_hash_of_a_text_is_over_its_length_and_its_lines(key) -> None:
    text = key.path.read_bytes().rstrip(b"\n")
    assert registration.parts(key)["case file"] == hashlib.sha256(b"%d:%b" % (len(text), text)).hexdigest()


def test_line_endings_change_nothing(tmp_path: Path, key) -> None:
    registration.register([tmp_path])
    key.path.write_bytes(key.path.read_bytes().replace(b"\n", b"\r\n"))
    assert registration.status(key) == "registered before this run"


def test_a_changed_case_is_told(tmp_path: Path, key) -> None:
    registration.register([tmp_path])
    changed = load(tmp_path, SMALL.replace("Porto", "Faro")).key
    assert registration.status(changed) == "changed since: case file"


def test_a_changed_rule_is_told(tmp_path: Path, key, monkeypatch: pytest.MonkeyPatch) -> None:
    registration.register([tmp_path])
    monkeypatch.setattr(key, "rule", winners.Rule("majority-support", "Whoever shouts loudest.", winners.newest))
    assert registration.status(key) == "changed since: rule text, rule code"


def test_a_changed_background_is_told(tmp_path: Path, key, monkeypatch: pytest.MonkeyPatch) -> None:
    registration.register([tmp_path])
    monkeypatch.setattr(cases, "people", lambda: people()[1:])
    assert registration.status(load(tmp_path, SMALL).key) == "changed since: shared texts"


def test_the_nearest_lock_counts_and_others_stay_as_they_are(tmp_path: Path) -> None:
    inner = tmp_path / "cases" / "micro"
    inner.mkdir(parents=True)
    load(inner, SMALL, "one.yaml")
    registration.register([tmp_path / "cases"])
    two = load(inner, SMALL.replace("name: moves", "name: two"), "two.yaml").key
    before = (tmp_path / "cases" / "engram.lock").read_text(encoding="utf-8")
    registration.register([two.path])
    assert not (inner / "engram.lock").exists()
    after = json.loads((tmp_path / "cases" / "engram.lock").read_text(encoding="utf-8"))
    assert list(after) == ["micro/one.yaml", "micro/two.yaml"]
    assert after["micro/one.yaml"] == json.loads(before)["micro/one.yaml"]


def test_a_suite_that_is_gone_leaves_the_lock(tmp_path: Path, key) -> None:
    registration.register([tmp_path])
    other = load(tmp_path, SMALL.replace("name: moves", "name: two"), "two.yaml").key
    key.path.unlink()
    registration.register([tmp_path])
    assert list(json.loads((tmp_path / "engram.lock").read_text(encoding="utf-8"))) == [other.path.name]


def test_a_wrong_suite_registers_nothing(tmp_path: Path, key) -> None:
    (tmp_path / "wrong.yaml").write_text("engram: micro\nname: x\n", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"wrong.yaml:\d+: "):
        registration.register([tmp_path])
    assert not (tmp_path / "engram.lock").exists()


def test_pilot_sets_and_other_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "pilot.yaml").write_text("engram: pilot\nname: x\n", encoding="utf-8")
    (tmp_path / "compose.yaml").write_text("services: {}\n", encoding="utf-8")
    assert registration.register([tmp_path]) == []
    assert not (tmp_path / "engram.lock").exists()


def test_a_broken_lock_is_told_with_its_cure(tmp_path: Path, key) -> None:
    (tmp_path / "engram.lock").write_text("{", encoding="utf-8")
    with pytest.raises(registration.LockError, match=r"engram.lock: can't be read .*`engram register`"):
        registration.status(key)


def test_a_suite_outside_the_lock_is_refused(tmp_path: Path, key) -> None:
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(registration.LockError, match="lies outside its folder"):
        registration.register([key.path], tmp_path / "elsewhere" / "engram.lock")


def test_the_shipped_suites_are_registered() -> None:
    assert registration.find_lock(FILES[0]) == CASES.parent / "engram.lock"
    assert {path.stem: registration.status(shipped(path.stem).key) for path in FILES} == {
        path.stem: "registered before this run" for path in FILES
    }
