"""Which suite files this run is about."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import pytest

from pytest_engram.plugin.options import argument_paths
from pytest_engram.suites import FULL, shipped_cases
from pytest_engram.suites.base import SuiteError
from pytest_engram.suites.files import SUFFIXES, is_suite, read, walk


class Shelf:
    """The suite files of a run.

    Args:
        config: its arguments and ini file.
        wanted: whether a method was named, so that suites run without having been asked for by path.
        names: of the suites that are to be run, in place of all.

    Raises:
        pytest.UsageError: there is no such suite, or names and paths are both given.
    """

    def __init__(self, config: pytest.Config, *, wanted: bool, names: Sequence[str] = ()) -> None:
        self._config = config
        self._wanted = wanted
        self._names = names
        self._collected: dict[Path, Path] = {}  # suite files by where they really are
        by_path = config.args_source is config.ArgsSource.ARGS
        if names and by_path and not hasattr(config, "workerinput"):
            raise pytest.UsageError("--engram-suite: names or paths, not both; leave the paths out")
        if names and not by_path:
            config.args[:] = self._named()
        elif wanted and not by_path:
            config.args[:] = self._default()

    def _default(self) -> list[str]:
        given = self._config.getini("engram_cases")
        for path in given:
            if not path.exists():
                raise pytest.UsageError(f"engram_cases: {path} does not exist; correct it in {self._config.inipath}")
        return [str(path) for path in given] or [str(shipped_cases())]

    def _named(self) -> list[str]:
        """The files of the named suites, of those that run by default and of those under the current folder."""
        here = self._config.invocation_params.dir
        places = [*map(Path, self._default()), here]
        found: dict[str, Path] = {}
        for place in places:
            for path in walk(place, tuple(self._config.getini("norecursedirs"))) if place.is_dir() else [place]:
                if is_suite(path):
                    found.setdefault(_name(path), path)
        for name in self._names:
            if name not in found:
                close = get_close_matches(name, found, 1)
                hint = f"; did you mean {close[0]!r}?" if close else "."
                looked = " and ".join(dict.fromkeys(str(place) for place in places))
                known = ", ".join(sorted(found))
                raise pytest.UsageError(f"--engram-suite: no suite {name!r}{hint} Known: {known}. Looked in {looked}")
        return [str(found[name]) for name in dict.fromkeys(self._names)]

    def shipped_nodeid(self, path: Path) -> str | None:
        """`cases/pilot/x.yaml` for a shipped suite that lies outside the root directory, else None."""
        if path.is_relative_to(self._config.rootpath) or not path.is_relative_to(shipped_cases()):
            return None
        return f"cases/{path.relative_to(shipped_cases()).as_posix()}"

    def collects(self, path: Path, parent: pytest.Collector) -> bool:
        """Whether a file is a suite that this run was asked for, and has not met yet by way of another link."""
        if path.suffix not in SUFFIXES or not (self._wanted or parent.session.isinitpath(path)):
            return False
        if self._left_out(path):
            return False
        return is_suite(path) and self._collected.setdefault(path.resolve(), path) == path

    def _left_out(self, path: Path) -> bool:
        """Whether a file is of the shipped suites that run only where it, or their own folder, is asked for."""
        full = (shipped_cases() / FULL).resolve()
        if not path.resolve().is_relative_to(full):
            return False
        return not any(asked.resolve().is_relative_to(full) for asked in argument_paths(self._config))

    def paths(self) -> list[Path]:
        """Suite files under the arguments, in the order in which pytest will find them."""
        ignored = tuple(self._config.getini("norecursedirs"))
        found: dict[Path, None] = {}
        for path in argument_paths(self._config):
            if path.is_dir() and self._wanted:
                found.update(dict.fromkeys(p for p in walk(path, ignored) if is_suite(p) and not self._left_out(p)))
            elif is_suite(path):
                found[path.resolve()] = None
        return list(found)


def _name(path: Path) -> str:
    """A suite's name, as far as its file can be read: what is wrong with it is told when it is collected."""
    try:
        return str(read(path)[0].get("name", path.stem))
    except SuiteError:
        return path.stem
