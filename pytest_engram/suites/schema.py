"""The JSON Schemas of suite files and of lines of own data, so that editors complete and check them.

    python -m pytest_engram.suites.schema

writes `engram.schema.json`, which a suite file names in its first line, and `own-data.schema.json` into the package.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

PATH = Path(__file__).parents[1] / "engram.schema.json"
LINES = PATH.with_name("own-data.schema.json")


def schema() -> dict[str, Any]:
    """One schema for all suite files: `engram`, `source` and `family` choose the part that applies."""
    from pytest_engram.basics.registry import Registry
    from pytest_engram.suites import SOURCES
    from pytest_engram.suites.microtests import families
    from pytest_engram.suites.microtests.model import Cases

    definitions: dict[str, Any] = {}
    sources: Registry[Any] = Registry("data source", SOURCES)
    pilots = {name: _define(f"pilot-{name}", module.Spec, definitions) for name, module in sources.items()}
    micros = {name: import_module(f"{__package__}.microtests.family_{name}").Spec for name in families()}
    own = {name: _define(f"micro-{name}", spec, definitions) for name, spec in micros.items() if spec is not Cases}
    cases = _define("micro", Cases, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A suite of pytest-engram",
        "type": "object",
        "required": ["engram", "name"],
        "properties": {
            "engram": {"enum": ["micro", "pilot"], "description": "Marks the file as a suite, and says of what kind."}
        },
        "if": {"properties": {"engram": {"const": "pilot"}}},
        "then": {
            "required": ["source"],
            "properties": {"source": {"enum": sorted(pilots)}},
            "allOf": [_when("source", name, part) for name, part in pilots.items()],
        },
        "else": {
            "allOf": [_when("family", name, part) for name, part in own.items()],
            "if": {"properties": {"family": {"enum": sorted(own)}}, "required": ["family"]},
            "else": cases,
        },
        "$defs": definitions,
    }


def _when(key: str, value: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": part}


def _define(name: str, model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """Add a model and all that it refers to, under names of its own; give the reference to it."""
    made = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
    for inner, definition in made.pop("$defs", {}).items():
        definitions[f"{name}.{inner}"] = definition
    definitions[name] = made
    return {"$ref": f"#/$defs/{name}"}


def lines() -> dict[str, Any]:
    """One schema for the lines of own data: `$defs` has the entry and the question, and a line is one of them."""
    from pytest_engram.suites.own.lines import EntryLine, QuestionLine

    definitions: dict[str, Any] = {}
    parts = [_define(name, model, definitions) for name, model in (("entry", EntryLine), ("question", QuestionLine))]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of own data of pytest-engram",
        "oneOf": parts,
        "$defs": definitions,
    }


def text(content: dict[str, Any] | None = None) -> str:
    """A schema as it is shipped; default: that of suite files."""
    return json.dumps(schema() if content is None else content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, content in ((PATH, schema()), (LINES, lines())):
        path.write_text(text(content), encoding="utf-8", newline="\n")
