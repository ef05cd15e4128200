"""Registration: what was fixed before a run, and which part changed since."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from micro import load
from test_microtests_levels import SMALL

from pytest_engram.judging import registration
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.microtests import winners


@pytest.fixture
def suite(tmp_path: Path):
    return load(tmp_path, SMALL)


def test_a_suite_is_registered_where_nothing_changed(tmp_path: Path, suite) -> None:
    assert registration.status(suite) == "not registered"
    assert registration.register([tmp_path]) == [(suite.path, "not registered")]
    assert registration.status(suite) == "registered before this run"
    locked = json.loads((tmp_path / "engram.lock").read_text(encoding="utf-8"))
    assert list(locked) == ["own.yaml"]
    assert list(locked["own.yaml"]) == ["case file", "rule text", "rule code", "family code", "shared texts"]


def test_the_hash_of_a_text_is_over_its_length_and_its_lines(suite) -> None:
    text = suite.path.read_bytes().rstrip(b"\n")
    assert registration.parts(suite)["case file"] == hashlib.sha256(b"%d:%b" % (len(text), text)).hexdigest()


def test_line_endings_change_nothing(tmp_path: Path, suite) -> None:
    registration.register([tmp_path])
    suite.path.write_bytes(suite.path.read_bytes().replace(b"\n", b"\r\n"))
    assert registration.status(suite) == "registered before this run"


def test_a_changed_case_is_told(tmp_path: Path, suite) -> None:
    registration.register([tmp_path])
    changed = load(tmp_path, SMALL.replace("Porto", "Faro"))
    assert registration.status(changed) == "changed since: case file"


def test_a_changed_rule_is_told(tmp_path: Path, suite, monkeypatch: pytest.MonkeyPatch) -> None:
    registration.register([tmp_path])
    monkeypatch.setattr(suite, "rule", winners.Rule("majority-support", "Whoever shouts loudest.", winners.newest))
    assert registration.status(suite) == "changed since: rule text, rule code"


def test_a_changed_background_is_told(tmp_path: Path, suite, monkeypatch: pytest.MonkeyPatch) -> None:
    registration.register([tmp_path])
    monkeypatch.setattr(suite, "background", suite.background[1:])
    assert registration.status(suite) == "changed since: shared texts"


def test_the_nearest_lock_counts_and_others_stay_as_they_are(tmp_path: Path) -> None:
    inner = tmp_path / "cases" / "micro"
    inner.mkdir(parents=True)
    load(inner, SMALL, "one.yaml")
    registration.register([tmp_path / "cases"])
    two = load(inner, SMALL.replace("name: moves", "name: two"), "two.yaml")
    before = (tmp_path / "cases" / "engram.lock").read_text(encoding="utf-8")
    registration.register([two.path])
    assert not (inner / "engram.lock").exists()
    after = json.loads((tmp_path / "cases" / "engram.lock").read_text(encoding="utf-8"))
    assert list(after) == ["micro/one.yaml", "micro/two.yaml"]
    assert after["micro/one.yaml"] == json.loads(before)["micro/one.yaml"]


def test_a_suite_that_is_gone_leaves_the_lock(tmp_path: Path, suite) -> None:
    registration.register([tmp_path])
    other = load(tmp_path, SMALL.replace("name: moves", "name: two"), "two.yaml")
    suite.path.unlink()
    registration.register([tmp_path])
    assert list(json.loads((tmp_path / "engram.lock").read_text(encoding="utf-8"))) == [other.path.name]


def test_a_wrong_suite_registers_nothing(tmp_path: Path, suite) -> None:
    (tmp_path / "wrong.yaml").write_text("engram: micro\nname: x\n", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"wrong.yaml:\d+: "):
        registration.register([tmp_path])
    assert not (tmp_path / "engram.lock").exists()


def test_pilot_sets_and_other_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "pilot.yaml").write_text("engram: pilot\nname: x\n", encoding="utf-8")
    (tmp_path / "compose.yaml").write_text("services: {}\n", encoding="utf-8")
    assert registration.register([tmp_path]) == []
    assert not (tmp_path / "engram.lock").exists()


def test_a_broken_lock_is_told_with_its_cure(tmp_path: Path, suite) -> None:
    (tmp_path / "engram.lock").write_text("{", encoding="utf-8")
    with pytest.raises(registration.LockError, match=r"engram.lock: can't be read .*`engram register`"):
        registration.status(suite)


def test_a_suite_outside_the_lock_is_refused(tmp_path: Path, suite) -> None:
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(registration.LockError, match="lies outside its folder"):
        registration.register([suite.path], tmp_path / "elsewhere" / "engram.lock")


def test_the_shipped_suites_are_registered() -> None:
    from test_cases_micro import CASES, FILES
    from test_cases_micro import load as shipped

    assert registration.find_lock(FILES[0]) == CASES.parent / "engram.lock"
    assert {path.stem: registration.status(shipped(path.stem)) for path in FILES} == {
        path.stem: "registered before this run" for path in FILES
    }
