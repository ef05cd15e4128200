"""What `lint-imports` can't see of the tree: that nothing is left out, and the methods under their installed name."""

from __future__ import annotations

import graphlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_engram"
METHODS = ROOT / "methods"  # pytest_engram.methods, as it is installed
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]

# Prints who imports whom, as JSON: a module's name to the names of those that it imports, types aside.
GRAPH = """
import json, sys, grimp
sys.path.insert(0, sys.argv[1])
graph = grimp.build_graph("pytest_engram", "benchmarks", exclude_type_checking_imports=True, cache_dir=None)
print(json.dumps({name: sorted(graph.find_modules_directly_imported_by(name)) for name in graph.modules}))
"""


def packages() -> Iterator[str]:
    """The names of all folders with modules in them, as they are installed."""
    for folder in (PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())):
        if any(folder.glob("*.py")):
            yield ".".join(folder.relative_to(ROOT).parts)
    for folder in (METHODS, *(path for path in METHODS.rglob("*") if path.is_dir())):
        if any(folder.glob("*.py")):
            yield ".".join(("pytest_engram", *folder.relative_to(ROOT).parts))


def test_every_package_is_in_the_wheel() -> None:
    listed = CONFIG["setuptools"]["packages"]
    cases = {name for name in listed if name.startswith("pytest_engram.cases")}  # data alone
    assert set(listed) - cases == set(packages())
    assert len(set(listed)) == len(listed)


def test_every_room_has_its_layer() -> None:
    (layers,) = (contract["layers"] for contract in CONFIG["importlinter"]["contracts"] if contract["type"] == "layers")
    placed = {name for layer in layers for name in re.split(r"\s*\|\s*", layer)}
    rooms = {name for name in packages() if name.count(".") == 1} - {"pytest_engram.methods"}
    rooms |= {f"pytest_engram.{path.stem}" for path in PACKAGE.glob("[!_]*.py")}
    # Some of this room stands above the methods, which need the rest of it.
    rooms -= {"pytest_engram.development"}
    rooms |= {f"pytest_engram.development.{path.stem}" for path in (PACKAGE / "development").glob("[!_]*.py")}
    assert rooms <= placed


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Who imports whom, in the tree as a wheel lays it out."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "pytest_engram").mkdir()
    for path in PACKAGE.iterdir():
        os.symlink(path, tree / "pytest_engram" / path.name)
    os.symlink(ROOT / "methods", tree / "pytest_engram" / "methods")
    os.symlink(ROOT / "benchmarks", tree / "benchmarks")
    command = [sys.executable, "-c", GRAPH, str(tree)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_no_modules_import_each_other(imports: dict[str, list[str]]) -> None:
    assert "pytest_engram.memory" in imports["pytest_engram.methods.loom"]
    tuple(graphlib.TopologicalSorter(imports).static_order())  # CycleError names the circle


def test_only_the_calibration_knows_the_methods(imports: dict[str, list[str]]) -> None:
    """The plugin finds them by name; nothing else in the package may depend on what it measures."""
    methods = {name for name in imports if name.startswith("pytest_engram.methods")}
    users = {name for name, imported in imports.items() if methods & set(imported)} - methods
    assert {name for name in users if name.startswith("pytest_engram")} == {"pytest_engram.development.calibrate"}


def test_no_two_test_modules_have_one_name() -> None:
    """Folders of tests are no packages, so that pytest could not tell such modules apart."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)
