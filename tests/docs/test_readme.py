"""What the README and the docs show is what the reference run found, and what the options are."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from PIL import Image

from benchmarks import readme
from pytest_engram.report import FILES
from pytest_engram.review.pack import WRITTEN_AGAIN
from pytest_engram.runs import folder as runfolder

TEXT = (readme.ROOT / "README.md").read_text(encoding="utf-8")


def test_every_block_is_the_reference_runs() -> None:
    blocks = readme.blocks()
    assert all(blocks.values())
    assert set(re.findall(r"<!-- reference: ([\w-]+) -->", TEXT)) == set(blocks)
    assert readme.filled(TEXT, blocks) == TEXT


def test_the_screenshot_shows_the_committed_page() -> None:
    with Image.open(readme.SCREENSHOT) as image:
        assert (
            image.info[readme.PAGE_HASH] == hashlib.sha256((readme.REFERENCE / "results.html").read_bytes()).hexdigest()
        )


@pytest.mark.parametrize("run", ["", "sampled", "smollm2"])
def test_the_reference_run_is_whole_and_says_with_what(run: str) -> None:
    folder = readme.REFERENCE / run
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    left = FILES if (folder / "items.jsonl").is_file() else set(FILES).difference(WRITTEN_AGAIN)
    assert all((folder / name).is_file() for name in left)
    assert runfolder.find(folder, "items.jsonl")
    assert manifest["encoder"]["name"] == "bge-small-en-v1.5"
    assert manifest["complete"]
    assert all(suite["official"] for name, suite in manifest["suites"].items() if name.startswith("fc_"))
    assert "/" not in str(manifest["git"]["commit"])


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if "://" not in target:
            assert (readme.ROOT / target).exists(), target


def test_every_option_is_in_the_readme(pytester: pytest.Pytester) -> None:
    options = set(re.findall(r"--engram-[a-z-]+", pytester.runpytest("--help").stdout.str()))
    assert options
    assert options <= set(re.findall(r"--engram-[a-z-]+", TEXT))
