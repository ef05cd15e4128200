"""What `docs/baselines.md` says of the baselines is what they are, and its commands run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pytest_engram.judging import baselines
from pytest_engram.methods import mmr, recency_dense, rrf
from pytest_engram.plugin.methods import BASELINES
from pytest_engram.retrieval import okapi

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
ROWS = {cells[0].strip("` "): cells for line in PAGE.splitlines() if (cells := line.strip("|").split("|"))[1:]}


def test_every_baseline_has_its_line() -> None:
    assert {*BASELINES, *baselines.NAMES} <= ROWS.keys()


def test_the_constants_are_those_of_the_code() -> None:
    assert f"{rrf.CONSTANT}, the paper's" in ROWS["rrf"][3]
    assert f"decay {recency_dense.DECAY}, weights 1" in ROWS["recency-dense"][3]
    assert f"λ = {mmr.WEIGHT}, {mmr.CANDIDATES} candidates" in ROWS["mmr"][3]
    assert f"k1 = {okapi.K1}, b = {okapi.B}, ε = {okapi.EPSILON}" in ROWS["bm25"][3]
    assert f"seed {baselines.SEED}" in ROWS["placebo"][2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for both commands: they embed the same texts."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_run(
    command: str, pytester: pytest.Pytester, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(cache))
    program, *arguments = shlex.split(command)
    assert program == "pytest"
    found = pytester.runpytest_subprocess(*arguments)
    assert found.ret == 0, found.stdout.str()
    results = json.loads((pytester.path / "reports/latest/results.json").read_text())
    if "--engram-answer-baselines=all" in arguments:
        assert {row["baseline"] for row in results["answer_baselines"]} == {*baselines.NAMES}
        assert "where no memory has a part in it" in (pytester.path / "reports/latest/results.md").read_text()
    else:
        assert {row["method"] for row in results["methods"]} == {*BASELINES, "bm25", "dense"}
