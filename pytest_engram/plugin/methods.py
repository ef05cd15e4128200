"""Which methods there are, and which of them this run is about."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest

from pytest_engram.memory import Method
from pytest_engram.plugin.options import SEED, Options

SHIPPED = ("bm25", "dense", "tide", "loom")  # modules of pytest_engram.methods
ANCHORS = ("dense", "bm25")


class Methods:
    """The methods of a run.

    Args:
        plugins: what fixtures are looked for in.
        options: which of them were named.
    """

    first_seed = SEED

    def __init__(self, plugins: pytest.PytestPluginManager, options: Options) -> None:
        self._plugins = plugins
        self._options = options
        for name in SHIPPED:
            plugins.register(import_module(f"pytest_engram.methods.{name}"), f"engram-{name}")

    def known(self) -> dict[str, Method]:
        """All methods that plugins and conftest files brought, by name; a conftest's overrides a shipped one.

        Raises:
            pytest.UsageError: two have one name, so that nobody could tell which of them was measured.
        """
        found: dict[str, Method] = {}
        for _, plugin in self._plugins.list_name_plugin():  # in the order of their registration
            for value in list(getattr(plugin, "__dict__", {}).values()):
                info = getattr(value, "__engram_method__", None) if callable(value) else None
                if not isinstance(info, Method) or (info.name in found and _is_shipped(info)):
                    continue
                other = found.get(info.name, info)
                if _place(other) != _place(info) and not _is_shipped(other):
                    places = f"{_place(other)} and {_place(info)}"
                    raise pytest.UsageError(f"two methods have the name {info.name!r}, in {places}; rename one")
                found[info.name] = info
        return found

    @property
    def selected(self) -> list[Method]:
        """The named methods, and, unless they are to run alone, their ablations, controls and anchors.

        Raises:
            pytest.UsageError: a name is no method's.
        """
        known = self.known()
        names = list(self._options.methods) or ["all"]
        if "all" in names:
            names = [name for name in names if name != "all"] + sorted(known, key=_shipped_last(known))
        chosen: dict[str, Method] = {}
        for name in names:
            chosen[name] = _known(known, name, "--engram-method")
        if self._options.controls:
            for name in list(chosen):
                controls = chosen[name].controls
                for other in ANCHORS if controls is None else controls:
                    chosen.setdefault(other, _known(known, other, f"controls of {name}"))
        return list(chosen.values())

    def named(self) -> list[str]:
        """The methods that the run is about."""
        if self._options.methods and "all" not in self._options.methods:
            return list(self._options.methods)
        experiments = [m.name for m in self.selected if m.role == "experiment"]
        return experiments or [m.name for m in self.selected]

    def seeds(self, method: Method) -> list[int]:
        """One seed, or `--engram-seeds` for a stochastic method."""
        return [SEED + i for i in range(self._options.seeds if method.stochastic else 1)]


def _place(info: Method) -> str:
    code = info.function.__code__
    # One conftest can be met twice, through a link to its folder.
    return f"{os.path.realpath(code.co_filename)}:{code.co_firstlineno}"


def _is_shipped(info: Method) -> bool:
    return info.function.__module__.startswith("pytest_engram.methods")


def _shipped_last(known: dict[str, Method]) -> Any:
    return lambda name: (_is_shipped(known[name]), list(known).index(name))


def _known(known: dict[str, Method], name: str, where: str) -> Method:
    if name in known:
        return known[name]
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise pytest.UsageError(
        f"{where}: no method {name!r}{hint} Known: {', '.join(sorted(known))}. A method is a fixture made by @method, "
        "in the conftest.py of the root directory or in a plugin"
    )
