"""The shipped background: facts about other people, so that a case's neighbourhoods are real."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def people() -> tuple[str, ...]:
    """The facts of `cases/backgrounds/people.yaml`, in order."""
    import yaml

    text = (files("pytest_engram.cases") / "backgrounds" / "people.yaml").read_text(encoding="utf-8")
    return tuple(yaml.safe_load(text))
