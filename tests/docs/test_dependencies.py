"""docs/dependencies.md lists what pyproject.toml does, each once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")


def lines(part: str) -> list[list[str]]:
    """The cells of a table's lines, below its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| `.*\|$", part, re.M)]


def test_the_table_has_every_direct_dependency_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [re.match(r"[\w.-]+", dependency)[0] for dependency in project["dependencies"]]  # type: ignore[index]
    table = lines(PAGE.split("\n## ")[0])
    assert sorted(cells[0].strip("`") for cells in table) == sorted(direct)
    assert all(len(cells) == 4 and all(cells) for cells in table)  # nothing is left open


def test_what_was_not_taken_is_no_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    refused = [re.findall(r"`([\w-]+)`", cells[0])[0] for cells in lines(PAGE.split("\n## ")[1])]
    assert refused
    assert not [name for name in refused if any(re.match(rf"{name}\b", one) for one in project["dependencies"])]
