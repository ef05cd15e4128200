"""Which suite files this run is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_engram.plugin.options import argument_paths
from pytest_engram.suites import shipped_cases
from pytest_engram.suites.files import SUFFIXES, is_suite, walk


class Shelf:
    """The suite files of a run.

    Args:
        config: its arguments and ini file.
        wanted: whether a method was named, so that suites run without having been asked for by path.
    """

    def __init__(self, config: pytest.Config, *, wanted: bool) -> None:
        self._config = config
        self._wanted = wanted
        self._collected: dict[Path, Path] = {}  # suite files by where they really are
        if wanted and config.args_source is not config.ArgsSource.ARGS:
            config.args[:] = self._default()

    def _default(self) -> list[str]:
        given = self._config.getini("engram_cases")
        for path in given:
            if not path.exists():
                raise pytest.UsageError(f"engram_cases: {path} does not exist; correct it in {self._config.inipath}")
        return [str(path) for path in given] or [str(shipped_cases())]

    def shipped_nodeid(self, path: Path) -> str | None:
        """`cases/pilot/x.yaml` for a shipped suite that lies outside the root directory, else None."""
        if path.is_relative_to(self._config.rootpath) or not path.is_relative_to(shipped_cases()):
            return None
        return f"cases/{path.relative_to(shipped_cases()).as_posix()}"

    def collects(self, path: Path, parent: pytest.Collector) -> bool:
        """Whether a file is a suite that this run was asked for, and has not met yet by way of another link."""
        if path.suffix not in SUFFIXES or not (self._wanted or parent.session.isinitpath(path)):
            return False
        return is_suite(path) and self._collected.setdefault(path.resolve(), path) == path

    def paths(self) -> list[Path]:
        """Suite files under the arguments, in the order in which pytest will find them."""
        ignored = tuple(self._config.getini("norecursedirs"))
        found: dict[Path, None] = {}
        for path in argument_paths(self._config):
            if path.is_dir() and self._wanted:
                found.update(dict.fromkeys(p for p in walk(path, ignored) if is_suite(p)))
            elif is_suite(path):
                found[path.resolve()] = None
        return list(found)
