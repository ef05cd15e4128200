"""What is found on this machine is told, and what is missing with its cure."""

from __future__ import annotations

import dataclasses
import json
import shlex
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_engram.cli import doctor
from pytest_engram.cli.commands import main
from pytest_engram.suites import downloads
from pytest_engram.suites.longmemeval import demo


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # nobody listens there


def checks(data: Path | None = None, encoder: str = "auto") -> list[doctor.Check]:
    return list(doctor.examine(data, encoder))


def of(found: list[doctor.Check], what: str) -> doctor.Check:
    return next(check for check in found if what in check.what)


def test_without_data_and_hub_a_run_can_work_and_every_gap_has_a_cure() -> None:
    found = checks()
    assert [check for check in found if check.status == "bad"] == []
    assert of(found, "http://127.0.0.1:9").detail.startswith("no: ")
    lme = of(found, "lme_s")
    assert lme.status == "note"
    assert "DIR/longmemeval/longmemeval_s_cleaned.json" in lme.cure
    assert "HF_HUB_OFFLINE" not in lme.detail
    assert of(found, "demo_fc").status == "ok"
    assert "as registered" in of(found, "registration").detail


def test_what_can_be_fetched_is_told_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "cache" / "fetched" / "locomo" / "task_eval").mkdir(parents=True)
    (tmp_path / "cache" / "fetched" / "locomo" / "task_eval" / "gpt_utils.py").write_text("")
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    (tmp_path / "data" / "locomo" / "locomo10.json").write_text("[]")
    found = {check.what: check for check in doctor._fetchable(tmp_path / "data")}
    assert list(found) == [
        "locomo",
        "locomo-audit",
        "locomo-prompts",
        "factconsolidation",
        "factconsolidation-prompts",
        "longmemeval",
        "longmemeval-prompts",
    ]
    told = {what: (check.status, check.detail, check.cure) for what, check in found.items()}
    assert told["locomo"] == (
        "note",
        "here, but not the pinned file (its sha256 differs): locomo/locomo10.json in --engram-data",
        f"engram fetch locomo --to {tmp_path / 'data'}",
    )
    assert told["locomo-audit"] == ("note", "not here: locomo/audit/errors.json", "engram fetch locomo-audit")
    assert told["locomo-prompts"] == (
        "note",
        "the official prompt is not here (no locomo/answer_prompts.json in --engram-data or fetched)",
        "engram fetch locomo-prompts",
    )
    assert {check.section for check in found.values()} == {"fetch"}


def test_a_file_is_ok_by_its_sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cache" / "fetched" / "locomo" / "locomo10.json"
    file.parent.mkdir(parents=True)
    # FIPS 180-2's example.
    pinned = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (locomo,) = downloads.groups()["locomo"]
    monkeypatch.setattr(downloads, "TABLE", (dataclasses.replace(locomo, sha256=pinned, size=3),))
    place = "locomo/locomo10.json in the fetched data"
    for content, told in (
        (b"abc", ("ok", f"here: {place}", "")),
        (b"abd", ("note", f"here, but not the pinned file (its sha256 differs): {place}", "engram fetch locomo")),
        (b"ab", ("note", f"here, but not the pinned file (its sha256 differs): {place}", "engram fetch locomo")),
    ):
        file.unlink(missing_ok=True)
        file.write_bytes(content)
        (found,) = doctor._fetchable(None)
        assert (found.status, found.detail, found.cure) == told


def test_an_encoder_that_can_t_be_had_is_bad_and_told_in_one_line() -> None:
    found = of(checks(encoder="/no/such/folder"), "/no/such/folder")
    assert found.status == "bad"
    assert "\n" not in found.detail


def test_a_cache_that_can_t_be_written_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "file" / "cache"))
    (found,) = doctor._cached()
    assert found.status == "bad"
    assert "ENGRAM_CACHE" in found.cure


def test_what_the_cache_holds_is_measured(tmp_path: Path) -> None:
    (tmp_path / "cache" / "embeddings").mkdir(parents=True)
    (tmp_path / "cache" / "embeddings" / "x.npy").write_bytes(b"x" * 2_500_000)
    (found,) = doctor._cached()
    assert "embeddings 2 MB" in found.detail


def test_a_hub_that_hangs_costs_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "HUB_SECONDS", 1.1)
    ended = threading.Event()

    def hangs(*_: object, **__: object) -> None:
        ended.wait(30)
        raise OSError("nobody waits any more")

    monkeypatch.setattr("urllib.request.urlopen", hangs)
    started = time.monotonic()
    (found,) = doctor._reachable()
    assert time.monotonic() - started < 5
    ended.set()
    assert found.detail.startswith("no: no answer within 1.1 s")


def test_an_offline_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    (found,) = doctor._reachable()
    assert "HF_HUB_OFFLINE is set" in found.detail


def test_oddities_of_a_longmemeval_file_are_listed(tmp_path: Path) -> None:
    questions: list[Any] = demo.questions(1)[:3]
    questions[1]["answer"] = 17
    questions[2]["haystack_session_ids"][1] = questions[2]["haystack_session_ids"][0]
    questions[2]["haystack_sessions"][1] = questions[2]["haystack_sessions"][0]
    file = tmp_path / "data" / "longmemeval" / "longmemeval_s_cleaned.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(questions))
    told = [(check.status, check.detail) for check in checks(tmp_path / "data") if check.what == file.name]
    sessions = sum(len(question["haystack_sessions"]) for question in questions)
    assert told[0] == ("note", f"not official (its sha256 differs); 3 questions, {sessions} sessions")
    odd = " ".join(detail for _, detail in told[1:])
    assert f"1 question, the first {questions[1]['question_id']}: answer is a number" in odd
    assert f"1 question, the first {questions[2]['question_id']}: holds the same session twice under one id" in odd


SUITE = """\
engram: micro
name: own
rule: newest
cases:
  - {name: a, belief: Ann lives in Oslo., update: Ann lives in Rome., query: Where does Ann live?}
"""


def shipped(to: Path, monkeypatch: pytest.MonkeyPatch, *, source: bool) -> Path:
    """A folder of shipped suites of which one is not registered: of a checkout, or of an installed package."""
    folder = to / "the package" / "cases"
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text(SUITE)
    (folder / "engram.lock").write_text("{}")
    if source:
        (folder.parent / "pyproject.toml").write_text("")
    monkeypatch.setattr("pytest_engram.suites.shipped_cases", lambda: folder)
    monkeypatch.setattr(doctor, "shipped_cases", lambda: folder)
    return folder


INSTALL = "pip install --force-reinstall pytest-engram"


def test_what_is_not_as_registered_is_registered_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shipped(tmp_path, monkeypatch, source=True)
    found = of(checks(), "registration")
    assert (found.status, found.detail) == ("note", "own: not registered")
    assert found.cure == f"engram register '{folder}'"
    assert CliRunner().invoke(main, shlex.split(found.cure)[1:]).exit_code == 0
    assert of(checks(), "registration").detail == "all 1 are as registered"


def test_what_is_not_as_registered_is_installed_again_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped(tmp_path, monkeypatch, source=False)
    assert of(checks(), "registration").cure == INSTALL


def test_a_lock_that_can_t_be_written_is_no_checkout_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped(tmp_path, monkeypatch, source=True)
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    assert of(checks(), "registration").cure == INSTALL


@pytest.mark.parametrize(("source", "cure"), [(True, "mend the file"), (False, INSTALL)])
def test_a_shipped_suite_that_is_wrong_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: bool, cure: str
) -> None:
    folder = shipped(tmp_path, monkeypatch, source=source)
    (folder / "own.yaml").write_text(SUITE.replace("query", "qurey"))
    found = of(checks(), "own")
    assert (found.status, found.cure) == ("bad", cure)
    assert "own.yaml:5: cases[0].qurey: no such field; did you mean query?" in found.detail


def test_official_data_and_prompt_are_recognised(shared_data: Path) -> None:
    found = checks(shared_data)
    for benchmark in ("locomo", "factconsolidation", "longmemeval"):
        assert of(found, f"{benchmark}-prompts").detail.startswith("official (sha256 agrees): ")
    assert of(found, "fc_mh_6k").detail.startswith("official (sha256 agrees)")


def test_what_is_odd_in_locomo_is_listed(shared_data: Path) -> None:
    found = list(doctor._conversations(shared_data))
    assert [(check.status, check.what) for check in found] == [("ok", "locomo10.json")] * 5 + [
        ("ok", "locomo/audit/errors.json")
    ]
    file, *odd, audit = (check.detail for check in found)
    counts = "10 conversations, 5,882 turns, 1,986 questions"
    assert file == f"official (sha256 agrees): locomo/locomo10.json in --engram-data; {counts}"
    for told, counted in zip(odd, ["4 questions", "9 questions", "6 questions", "444 questions"], strict=True):
        assert told.startswith(f"odd: {counted}")
    assert audit.endswith("99 wrong answers, 57 wrong citations")


def test_another_locomo_without_the_audit_is_noted(shared_data: Path, tmp_path: Path) -> None:
    assert list(doctor._conversations(tmp_path)) == []
    copy = tmp_path / "locomo" / "locomo10.json"
    copy.parent.mkdir()
    copy.write_bytes((shared_data / "locomo" / "locomo10.json").read_bytes() + b"\n")
    file, *_, audit = doctor._conversations(tmp_path)
    assert (file.status, file.cure) == ("note", "fetch the official file again")
    assert file.detail.startswith("not official (its sha256 differs): ")
    assert audit.status == "note"
    assert "which answers of the key are wrong is not known" in audit.detail
