"""All that the outcomes of a run depend on, as JSON: a run that is continued must be the same in each of these.

What only decides how far a run gets is left out: how many processes ask, tries of a failed call, the limit of money.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.basics.privacy import public
from pytest_engram.basics.registry import Registry
from pytest_engram.judging import judges
from pytest_engram.memory import Method
from pytest_engram.plugin import vault
from pytest_engram.plugin.options import Options
from pytest_engram.reading import ReaderSpec
from pytest_engram.review.described import describe
from pytest_engram.runs import manifest

if TYPE_CHECKING:
    from pytest_engram.plugin.methods import Methods


def _folder(package: str) -> Path:
    found = find_spec(package)
    assert found is not None
    return Path(str(found.origin)).resolve().parent


_OWN = (_folder("pytest_engram"), _folder("pytest_engram.methods"))  # the methods need not lie in the package
_STATE = ("registered",)  # what is said of a suite and decides no outcome
_TOOK = ("totals", "notes", "server")  # what is said of a judge as it is asked


def of(
    config: pytest.Config,
    options: Options,
    methods: Methods,
    suites: Iterable[str],
    reader: ReaderSpec | None,
    judge: judges.Verdict | None,
    registries: Sequence[Registry[Any]],
) -> dict[str, Any]:
    """The fingerprint of a run.

    Args:
        config: pytest's, for what is selected of the suites.
        options: this plugin's.
        methods: of the run.
        suites: their names.
        reader: who answers; None: nobody.
        judge: who judges; None: nobody.
        registries: of whatever else plugins and conftest files brought, such as metrics.
    """
    keys = vault.of(config).keys
    found = {
        "k": options.k,
        "budget": options.budget,
        "withheld": options.withhold,
        "selected": _selected(config),
        "methods": {method.name: _method(method, methods.seeds(method)) for method in methods.selected},
        "named": methods.named(),
        "suites": {name: {k: v for k, v in describe(keys[name]).items() if k not in _STATE} for name in suites},
        "encoder": _encoder(options, methods.selected),
        "reader": None if reader is None else _reader(reader, options, [keys[name].prompts for name in suites]),
        "judge": None if judge is None else _judge(judge, options, {name: keys[name] for name in suites}),
        "plugins": dict(_others(registries)),
        "code": _code(),
        "versions": {"python": platform.python_version()} | {n: manifest.version_of(n) for n in manifest.PACKAGES},
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def _selected(config: pytest.Config) -> dict[str, Any]:
    """What the command line leaves of the suites' items."""
    parts = [argument.partition("::") for argument in config.args]
    given = {
        "-k": config.option.keyword,
        "-m": config.option.markexpr,
        "--deselect": config.getoption("deselect", None),
        "arguments": sorted(f"{Path(file).name}::{item}" for file, _, item in parts if item),
    }
    return {name: value for name, value in given.items() if value}


def _method(method: Method, seeds: Sequence[int]) -> dict[str, Any]:
    packages = {name: manifest.version_of(name) for name in method.packages}
    own = {} if method.recorded is not None else {"source": _source(method.function)}
    return {**method.describe(), "scope": method.scope, "seeds": list(seeds), "versions": packages, **own}


def _encoder(options: Options, methods: Sequence[Method]) -> dict[str, Any] | None:
    """That of the run, where a method may want one; without it, why it can't be had."""
    if all(method.embeds is False or method.recorded is not None for method in methods):
        return None
    from pytest_engram.encoding.encoders import EncoderError, resolve

    try:
        spec = resolve(options.encoder, options.data)
    except EncoderError as error:  # it is an error once a method asks for it
        return {"name": None, "reason": str(error)}
    return {"name": spec.name, "hash": spec.hash, "query_prefix": spec.query_prefix}


def _reader(spec: ReaderSpec, options: Options, benchmarks: Iterable[str | None]) -> dict[str, Any]:
    told = spec.describe()
    if spec.model is not None:  # the official prompts may come from the data folder
        from pytest_engram.reading import prompts

        told["prompts"] = {str(name): prompts.find(name, options.data).describe() for name in dict.fromkeys(benchmarks)}
    return told


def _judge(judge: judges.Verdict, options: Options, keys: Mapping[str, Any]) -> dict[str, Any]:
    judging = {name: key for name, key in keys.items() if "judged" in key.metrics}
    told = judges.described(options.judge, judge, judging)
    settings = {name: value for name, value in told.items() if name not in _TOOK}
    return {**settings, "runs": options.judge_runs, "set": dict(options.judge_settings)}


def _others(registries: Iterable[Registry[Any]]) -> Iterable[tuple[str, str]]:
    """The code of what comes from elsewhere than this package; what is shipped is not even imported for it."""
    for registry in registries:
        for name in sorted(registry):
            if not str(registry.brought(name)).startswith("pytest_engram.") and (
                source := _source(getattr(registry[name], "measure", registry[name]))
            ):
                yield f"{registry.kind} {name}", source


def _source(part: Any) -> str | None:
    """The sha256 of the file that defines something; None where it has none, or is a part of this package."""
    try:
        path = Path(inspect.getsourcefile(part) or "").resolve()
    except TypeError:  # an object: its class
        try:
            path = Path(inspect.getsourcefile(type(part)) or "").resolve()
        except TypeError:
            return None
    if any(map(path.is_relative_to, _OWN)) or not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _code() -> str:
    """The sha256 of this package's own code and data, its methods among them."""
    digest = hashlib.sha256()
    for folder in _OWN:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".pyo"):
                digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """As it is when it is read again, and without where things lie on this machine."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return public(value).encode("utf-8", "backslashreplace").decode()
    return value if isinstance(value, (int, float, bool)) or value is None else public(str(value))
