"""The shipped JSON Schema agrees with the models, and with jsonschema's reading of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from micro import FILES

from pytest_engram.suites import schema

SHIPPED = json.loads(schema.PATH.read_text(encoding="utf-8"))
PILOTS = sorted((Path(__file__).parents[2] / "cases" / "pilot").glob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(SHIPPED)


def problems(data: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(data)]


def test_it_is_up_to_date() -> None:
    cure = "run `python -m pytest_engram.suites.schema`"
    assert schema.PATH.read_text(encoding="utf-8") == schema.text(), cure


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SHIPPED)


@pytest.mark.parametrize("path", [*FILES, *PILOTS], ids=lambda path: path.stem)
def test_every_shipped_suite_fits(path: Path) -> None:
    assert problems(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def shipped(name: str) -> Any:
    path = next(path for path in [*FILES, *PILOTS] if path.stem == name)
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_what_the_models_refuse_it_refuses() -> None:
    wrong = []
    for change in (
        lambda data: data.pop("rule"),
        lambda data: data["cases"][0].pop("query"),
        lambda data: data["cases"][0].update(belive="x"),
        lambda data: data["sweep"].update(web=[]),
        lambda data: data["sweep"].update(web=[-1]),
        lambda data: data.update(cases=[]),
        lambda data: data.update(engram="pilots"),
        lambda data: data.update(name="two words"),
    ):
        data = shipped("gradual_override")
        change(data)
        wrong.append(problems(data))
    assert all(wrong)
    hub = shipped("hub")
    del hub["hubs"][0]["text"]
    assert problems(hub)
    density = shipped("density_6k")
    density["over"] = 3
    assert problems(density)
    pilot = shipped("fc_mh_6k")
    pilot["questions"][0]["text"] = "no fingerprint"
    assert problems(pilot)


def test_editors_can_tell_what_a_field_is_for() -> None:
    case = SHIPPED["$defs"]["micro.Case"]["properties"]
    assert all("description" in field for field in case.values())
