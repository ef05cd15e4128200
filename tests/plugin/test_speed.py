"""What a run must not load. How long it takes is for `benchmarks/` to say, as a ratio; no test asserts a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from runs import DEMO

HEAVY = ("torch", "sklearn", "transformers", "sentence_transformers", "datasets", "pandas")


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The names among those given that a whole run, report included, has loaded at its end."""
    monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*names: str) -> set[str]:
        arguments = [
            "-p",
            "engram",
            "-p",
            "no:cacheprovider",
            "--engram-method=bm25",
            "--engram-no-controls",
            str(DEMO),
        ]
        code = (
            f"import sys, pytest; pytest.main({arguments!r}); print('LOADED', *({set(names)!r} & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert (tmp_path / "reports" / "latest" / "results.html").is_file(), done.stdout
        return set(done.stdout.splitlines()[-1].split()[1:])

    return run


def test_a_run_that_embeds_nothing_loads_no_model_and_a_warm_one_no_plotting_library(loaded) -> None:
    assert loaded(*HEAVY, "matplotlib") == {"matplotlib"}
    assert loaded(*HEAVY, "matplotlib") == set()  # the same figures: the plots are there
