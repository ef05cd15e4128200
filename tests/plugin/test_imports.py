"""An installed plugin is loaded into every pytest run, so what its hooks load must cost next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "click",
    "datasets",
    "filelock",
    "huggingface_hub",
    "jinja2",
    "matplotlib",
    "numpy",
    "openai",
    "platformdirs",
    "pyarrow",
    "pydantic",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "tabulate",
    "torch",
    "tqdm",
    "transformers",
    "yaml",
}
NEW = """
import json, sys, pytest
before = set(sys.modules)
import pytest_engram.plugin.hooks
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_the_hooks_load_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "pytest_engram" in loaded
    assert not loaded & HEAVY
