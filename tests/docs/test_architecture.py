"""Every path and every name on the page about the rooms exists, and every room is on it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
CODE = set(re.findall(r"`([^`\s]+)`", PROSE))
PATHS = {code for code in CODE if "/" in code}
ROOMS = {path.parent.name for path in (ROOT / "pytest_engram").glob("*/__init__.py")}
# Not names of this package: commands, files of a run, what stands in YAML.
OTHERS = {"engram", "items.jsonl", "pyproject.toml", "source:"}
NAMES = {code for code in CODE - PATHS - OTHERS if re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+)*", code)}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_exists(name: str) -> None:
    if name in ("methods", "memory") or name in ROOMS:
        import_module(f"pytest_engram.{name}")
        return
    module, _, last = name.rpartition(".")
    try:
        found: Any = resolve_name(f"pytest_engram.{name}")
    except AttributeError:  # a dataclass's field, which its class does not have as an attribute
        found = resolve_name(f"pytest_engram.{module}").__annotations__[last]
    assert found is not None


def test_every_room_is_on_the_page_and_in_its_picture() -> None:
    picture = PAGE.split("```")[1]
    assert ROOMS - {"development"} <= set(re.findall(r"\w+", picture))
    assert len(NAMES) > 40


def test_the_example_is_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_engram.judging.named import Found, of
    from pytest_engram.suites.base import Gold

    names: dict[str, Any] = {}
    exec(PAGE.split("```python\n")[1].split("```")[0], names)
    (metric,) = names["pytest_engram_metrics"]().values()
    assert of(metric).measure(Found(["a", "b", "c"], 10, Gold(relevant={"b", "c"})), 10) == 0.5
    assert of(metric).measure(Found(["a"], 10, Gold(relevant={"b"})), 10) == 0.0
