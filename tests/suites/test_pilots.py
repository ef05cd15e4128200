"""What is scored is read from every pilot file, whoever wrote it; a file that can't be read is not passed over."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram.suites import pilots
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.fingerprints import Scored

PILOT = 'engram: pilot\nname: mine\nsource: whatever\nquestions:\n  - {id: a, text: "00ff"}\n'


def test_folders_and_files_each_once(tmp_path: Path) -> None:
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    (inner / "mine.yaml").write_text(PILOT)
    (tmp_path / "micro.yml").write_text("engram: micro\nname: m\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "notes.txt").write_text(PILOT)
    expected = [Scored("mine", "a", "00ff")]
    assert pilots.scored([tmp_path]) == expected
    assert pilots.scored([inner / "mine.yaml", tmp_path, tmp_path]) == expected
    assert pilots.scored([tmp_path / "absent"]) == []


def test_all_questions_are_known_once_they_are_loaded_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text("engram: pilot\nname: whole\nsource: whatever\nquestions: all\n")
    assert pilots.scored([tmp_path]) == []


strata = st.dictionaries(
    st.text(min_size=1, max_size=3), st.sets(st.integers(0, 10**6).map(str), max_size=30), max_size=6
)


@given(strata.filter(lambda found: any(found.values())), st.data())
def test_every_stratum_has_its_share(found: dict[str, set[str]], data: st.DataObject) -> None:
    ids = {name: [f"{name} {id_}" for id_ in sorted(members)] for name, members in found.items()}
    total = sum(map(len, ids.values()))
    n = data.draw(st.integers(0, total))
    drawn = pilots.stratified(ids, n, 1)
    assert len(set(drawn)) == len(drawn) == n
    assert drawn == sorted(drawn)
    quotas = {name: Fraction(n * len(members), total) for name, members in ids.items()}
    counts = {name: len(set(members) & set(drawn)) for name, members in ids.items()}
    topped = {name for name, quota in quotas.items() if counts[name] > floor(quota)}
    for name, quota in quotas.items():
        assert counts[name] in (floor(quota), ceil(quota))
    # No stratum was passed over for one with a smaller remainder.
    lowest = min((quotas[name] % 1 for name in topped), default=Fraction(1))
    assert all(quotas[name] % 1 <= lowest for name in ids if name not in topped)
    shuffled = {name: list(reversed(members)) for name, members in reversed(ids.items())}
    assert pilots.stratified(shuffled, n, 1) == drawn


def test_a_sample_is_that_of_python_s_library_stratum_by_stratum() -> None:
    ids = {"b": ["b3", "b1", "b2", "b4"], "a": ["a2", "a1"]}
    draw = random.Random(5)
    expected = draw.sample(["a1", "a2"], 1) + draw.sample(["b1", "b2", "b3", "b4"], 2)
    assert pilots.stratified(ids, 3, 5) == sorted(expected)
    # Halves: of equal remainders, the first name's is topped.
    assert [id_[0] for id_ in pilots.stratified({"y": ["y1", "y2"], "x": ["x1", "x2"]}, 1, 5)] == ["x"]


def test_more_than_there_are_can_t_be_drawn() -> None:
    with pytest.raises(ValueError, match="3 of 2 ids can't be drawn"):
        pilots.stratified({"a": ["1", "2"]}, 3, 0)
    assert pilots.stratified({}, 0, 0) == []


def test_shipped_pilots() -> None:
    found = pilots.scored([Path(__file__).parents[2] / "cases"])
    counts = {name: sum(question.suite == name for question in found) for name in {q.suite for q in found}}
    expected = {"fc_sh_6k": 100, "fc_mh_6k": 100, "fc_sh_262k": 100, "fc_mh_262k": 100, "demo_fc": 80}
    expected |= {"lme_s": 100, "demo_sessions": 48, "locomo": 300}
    expected |= {"backed_fc": 74, "backed_fc_implied": 52, "backed_fc_full": 370}
    assert counts.items() >= expected.items()


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ("questions: 3", r":4: questions: must be a list of questions"),
        ("", r"questions: must be a list of questions"),
        ("questions:\n  - {id: a, text: '00'}\n  - {text: b}", r":6: questions\[1\]: must have an `id`"),
        ("questions: [a]", r":4: questions\[0\]: must have an `id`"),
        ("questions: [", r"not YAML"),
    ],
)
def test_unreadable_pilot_is_an_error(tmp_path: Path, questions: str, problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"engram: pilot\nname: mine\nsource: whatever\n{questions}\n")
    with pytest.raises(SuiteError, match=problem):
        pilots.scored([tmp_path])


def test_script_says_how_it_is_called(tmp_path: Path) -> None:
    assert str(pilots.main([])).startswith("usage: ")
    assert str(pilots.main([str(tmp_path / "absent"), "x"])).startswith("usage: ")


def test_script_writes_the_committed_files(tmp_path: Path, shared_data: Path) -> None:
    assert pilots.main([str(shared_data), str(tmp_path / "out")]) == 0
    committed = Path(__file__).parents[2] / "cases" / "pilot"
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == [
        "backed_fc.yaml",
        "backed_fc_implied.yaml",
        "demo_fc.yaml",
        "fc_mh_262k.yaml",
        "fc_mh_6k.yaml",
        "fc_sh_262k.yaml",
        "fc_sh_6k.yaml",
        "lme_s.yaml",
        "locomo.yaml",
    ]
    (full,) = (tmp_path / "full").iterdir()
    for path in [*written, full]:
        assert (
            path.read_bytes() == (committed.parent / path.parent.name.replace("out", "pilot") / path.name).read_bytes()
        )
