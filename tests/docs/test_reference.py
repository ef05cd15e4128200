"""The committed reference run is what its log says."""

from __future__ import annotations

import gzip
import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.readme import REFERENCE
from pytest_engram import report
from pytest_engram.report import FILES
from pytest_engram.report.embedded import opened
from pytest_engram.review.pack import WRITTEN_AGAIN
from pytest_engram.runs import folder as runfolder

# Whose version decides how a file looks; numbers come from none of them.
DRAWN_BY = {"intervals.svg": "matplotlib", "flip_points.svg": "matplotlib", "results.html": "matplotlib"}
RUNS = ("", "sampled", "adapters", "smollm2")


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: run or "reference")
def again(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A committed run, and the same written again from its log."""
    committed = REFERENCE / request.param
    found = runfolder.read(committed)
    folder = tmp_path_factory.mktemp("again")
    report.write_run(folder, found.outcomes, found.manifest, found.texts)
    return committed, folder


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_reference_run_is_written_again_byte_for_byte(again: tuple[Path, Path], name: str) -> None:
    committed, folder = again
    if not (committed / name).exists():
        assert name in WRITTEN_AGAIN
        assert (committed / "items.jsonl.gz").is_file()  # packed, so that there is nothing to compare with
        return
    if package := DRAWN_BY.get(name):
        then, now = runfolder.read(committed).manifest["versions"][package], version(package)
        if then != now:
            pytest.skip(f"{name} was drawn by {package} {then}; {now} is installed here and may draw it differently")
    assert opened((folder / name).read_bytes()) == opened((committed / name).read_bytes())  # but for how zlib packs


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("name", "key"), [("items.jsonl", "log_sha256"), ("texts.json", "texts_sha256")])
def test_log_and_excerpts_of_the_reference_run_are_those_of_its_manifest(run: str, name: str, key: str) -> None:
    plain = REFERENCE / run / name
    content = plain.read_bytes() if plain.is_file() else gzip.decompress(Path(f"{plain}.gz").read_bytes())
    told = json.loads((REFERENCE / run / "manifest.json").read_bytes())[key]
    assert hashlib.sha256(content).hexdigest() == told
