"""Which methods there are, and which of them this run is about."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_engram.asking import recorded
from pytest_engram.memory import Method
from pytest_engram.plugin.options import SEED, Options

SHIPPED = ("bm25", "count", "dense", "tide", "loom")  # modules of pytest_engram.methods
# More of them by name, which run where one is named, or all of them as `GROUP`: no other run grows by them.
BASELINES = {"rrf": "rrf", "recency-dense": "recency_dense", "mmr": "mmr"}
GROUP = "baselines"
ANCHORS = ("dense", "bm25")
_ADAPTER = "engram-adapter-"  # what the plugins are called that a named adapter is
_BASELINE = "engram-baseline-"


class Methods:
    """The methods of a run.

    Args:
        plugins: what fixtures are looked for in.
        options: which of them were named.
        handed: gives what was recorded elsewhere, in a worker, which reads no such file.
    """

    first_seed = SEED

    def __init__(
        self,
        plugins: pytest.PytestPluginManager,
        options: Options,
        handed: Callable[[], dict[str, recorded.Recording]] | None = None,
    ) -> None:
        self._plugins = plugins
        self._options = options
        self._handed = handed
        for name in SHIPPED:
            plugins.register(import_module(f"pytest_engram.methods.{name}"), f"engram-{name}")
        for name, module in BASELINES.items():
            plugins.register(import_module(f"pytest_engram.methods.{module}"), f"{_BASELINE}{name}")

    def known(self) -> dict[str, Method]:
        """All methods that plugins, conftest files and recordings brought; a conftest's overrides a shipped one.

        Raises:
            pytest.UsageError: two have one name, so that nobody could tell which of them was measured; or a recording
                can't be used.
        """
        return self._found(lambda _: True) | {name: method for name, (_, method) in self._recorded.items()}

    @property
    def recordings(self) -> dict[str, recorded.Recording]:
        """What was recorded elsewhere, by the names of the methods that it makes."""
        return {name: recording for name, (recording, _) in self._recorded.items()}

    @cached_property
    def _recorded(self) -> dict[str, tuple[recorded.Recording, Method]]:
        """Each recording, and the method that it is. A file that is named by two paths is one."""
        if not self._options.recorded:
            return {}
        try:
            if self._handed is not None:  # as the controller named them
                return {name: (recording, recording.method(name)) for name, recording in self._handed().items()}
            paths: dict[Path, str] = {}
            for given, path in self._options.recorded.items():
                paths.setdefault(path.resolve(), given)
            found = [recorded.read(path, given) for path, given in paths.items()]
        except recorded.Refused as refused:
            raise pytest.UsageError(*refused.problems) from None
        adapter_of = import_module("pytest_engram.methods.adapters").adapter_of
        named = recorded.named(found, self._found(lambda _: True), lambda name: adapter_of(name) is not None)
        return {name: (recording, recording.method(name)) for name, recording in named.items()}

    def _given(self) -> list[str]:
        """The names that were given, those of a group in its place."""
        given = self._options.methods
        return [one for name in given for one in (BASELINES if name == GROUP else [self._called(name)])]

    def _called(self, given: str) -> str:
        """The name of a method, which may have been given as the path of its recording."""
        if given not in self._options.recorded:
            return given
        path = self._options.recorded[given].resolve()
        named = {self._options.recorded[one.path].resolve(): name for name, one in self.recordings.items()}
        return named[path]

    def _found(self, counts: Callable[[str], bool]) -> dict[str, Method]:
        """The methods of the plugins whose name counts."""
        found: dict[str, Method] = {}
        for label, plugin in self._plugins.list_name_plugin():  # in the order of their registration
            if not counts(label):
                continue
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
        names = self._given() or ["all"]
        if "all" in names:  # but the adapters, which are there only where one of them is named, and the baselines
            every = self._found(lambda label: not label.startswith((_ADAPTER, _BASELINE)))
            names = [name for name in names if name != "all"] + sorted(every, key=_shipped_last(every))
        chosen: dict[str, Method] = {}
        for name in names:
            chosen[name] = self._known(name, "--engram-method")
        if self._options.controls:
            for name in list(chosen):
                controls = chosen[name].controls
                for other in ANCHORS if controls is None else controls:
                    chosen.setdefault(other, self._known(other, f"controls of {name}"))
        return list(chosen.values())

    def named(self) -> list[str]:
        """The methods that the run is about."""
        if self._options.methods and "all" not in self._options.methods:
            return list(dict.fromkeys(self._given()))
        experiments = [m.name for m in self.selected if m.role == "experiment"]
        return experiments or [m.name for m in self.selected]

    def seeds(self, method: Method) -> list[int]:
        """One seed, or `--engram-seeds` for a stochastic method."""
        return [SEED + i for i in range(self._options.seeds if method.stochastic else 1)]

    def _known(self, name: str, where: str) -> Method:
        known = self.known()
        if name in known:
            return known[name]
        adapters = import_module("pytest_engram.methods.adapters")
        adapter = adapters.adapter_of(name)
        if adapter is not None:
            self._bring(adapter, f"{where}={name}" if where.startswith("-") else where)
            known = self.known()
            if name in known:
                return known[name]
        from difflib import get_close_matches

        close = get_close_matches(name, [*known, *adapters.ADAPTERS], 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise pytest.UsageError(
            f"{where}: no method {name!r}{hint} Known: {', '.join(sorted(known))}; adapters: "
            f"{', '.join(adapters.ADAPTERS)}. A method is a fixture made by @method, in the conftest.py of the root "
            "directory or in a plugin"
        )

    def _bring(self, adapter: str, where: str) -> None:
        """Register an adapter.

        Raises:
            pytest.UsageError: what it needs is not installed, or can't be imported.
        """
        adapters = import_module("pytest_engram.methods.adapters")
        label = _ADAPTER + adapter
        if self._plugins.has_plugin(label):
            return
        missing = adapters.lacks(adapter)
        if missing is not None:
            raise pytest.UsageError(f"{where}: {missing}")
        try:
            module = import_module(f"pytest_engram.methods.adapters.{adapters.ADAPTERS[adapter][0]}")
        except ImportError as error:
            raise pytest.UsageError(
                f"{where}: what is installed of it can't be imported ({' '.join(str(error).split())}): "
                f"pip install --upgrade 'pytest-engram[{adapter}]'"
            ) from error
        self._plugins.register(module, label)


def _place(info: Method) -> str:
    code = info.function.__code__
    # One conftest can be met twice, through a link to its folder.
    return f"{os.path.realpath(code.co_filename)}:{code.co_firstlineno}"


def _is_shipped(info: Method) -> bool:
    return info.function.__module__.startswith("pytest_engram.methods")


def _shipped_last(known: dict[str, Method]) -> Any:
    return lambda name: (_is_shipped(known[name]), list(known).index(name))
