"""Whether the code that judges is still what its files say: a method that runs in the same process could change it.

Every function that a loaded module of this package defines is compared with the one in its file, and what stands in
capitals, and which functions its names lead to, with what it was when the run began. A change that was undone before
the end is not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.machinery
import re
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

PACKAGE = "pytest_engram"
# The rooms that ask, judge and report. Methods are judged, and judge nothing; suites were read before any ran.
ROOMS = ("asking", "judging", "plugin", "reading", "report", "review", "runs", "statistics")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_CONTAINERS = (dict, list, set)


# What the controller loads late and judges with. To what an imported name led is known of loaded modules alone.
_LATE = ("judge", "locomo", "longmemeval", "metrics", "named", "scoring", "versions")


class Snapshot:
    """Of the modules that are loaded now.

    Args:
        judges: whether this process judges: what it judges with is loaded first.
    """

    def __init__(self, *, judges: bool = False) -> None:
        for name in _LATE if judges else ():
            importlib.import_module(f"{PACKAGE}.judging.{name}")
        self._names = {module.__name__: dict(_bound(module)) for module in modules()}

    def changed(self) -> list[str]:
        """What is not as it was, or not as its file has it, as `module:name`, sorted."""
        found: set[str] = set()
        for module in modules():
            name = module.__name__.removeprefix(f"{PACKAGE}.")
            found.update(f"{name}:{where}" for where in _unlike_its_file(module))
            now = dict(_bound(module))
            before = self._names.get(module.__name__, {})
            found.update(f"{name}:{where}" for where, value in before.items() if not _same(value, now.get(where)))
        return sorted(found)


# By run. It leads to gold, by the constants of the vault's module, and so hangs at nothing that an item is given.
_begun: WeakKeyDictionary[Any, Snapshot] = WeakKeyDictionary()


def begin(config: Any, *, judges: bool) -> None:
    """Take the snapshot of a run."""
    _begun[config] = Snapshot(judges=judges)


def changed(config: Any) -> list[str]:
    """What is not as it was when the run began, nor as its file has it."""
    return _begun[config].changed() if config in _begun else []


def modules() -> list[ModuleType]:
    """Those that are loaded and decide about numbers."""
    rooms = tuple(f"{PACKAGE}.{room}" for room in ROOMS)
    return [module for name, module in sorted(sys.modules.items()) if name.startswith(rooms)]


def _bound(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Functions and classes by the names that lead to them, and constants: of containers, a copy."""
    for name, value in vars(module).items():
        if isinstance(value, (FunctionType, type)):
            yield name, value
        elif _CONSTANT.fullmatch(name):
            yield name, value.copy() if type(value) in _CONTAINERS else value


def _same(before: Any, now: Any) -> bool:
    if type(before) in _CONTAINERS:
        return type(before) is type(now) and bool(before == now)
    return before is now


def _unlike_its_file(module: ModuleType) -> Iterator[str]:
    path = getattr(module, "__file__", None)
    if path is None or not path.endswith(".py"):
        return
    # Not by the module's own loader: pytest's rewrites what it loads.
    code = importlib.machinery.SourceFileLoader(module.__name__, path).get_code(module.__name__)
    if code is not None:
        yield from _unlike(code, vars(module), "")


def _unlike(code: CodeType, namespace: Any, prefix: str) -> Iterator[str]:
    """The functions that the code of a module or class defines and that are not what stands at their names."""
    written: dict[str, list[CodeType]] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.startswith("<"):
            written.setdefault(constant.co_name, []).append(constant)
    for name, codes in written.items():
        value = namespace.get(_mangled(name, prefix))
        if isinstance(value, type):
            yield from _unlike(codes[-1], vars(value), f"{prefix}{name}.")
        elif not any(map(_is_one_of(codes), _codes(value))):
            yield f"{prefix}{name}"


def _mangled(name: str, prefix: str) -> str:
    of = prefix.rstrip(".").rpartition(".")[2].lstrip("_")
    return f"_{of}{name}" if prefix and name.startswith("__") and not name.endswith("__") else name


def _is_one_of(codes: list[CodeType]) -> Any:
    def check(live: CodeType) -> bool:
        return any(live == code or _rewritten(live, code) for code in codes)

    return check


def _rewritten(live: CodeType, code: CodeType) -> bool:
    """Whether pytest may have rewritten a function's `assert`: then place and names are compared, not instructions."""
    asserts = any(map(_raises_assertion, _all(code)))
    return asserts and (live.co_firstlineno, live.co_name) == (code.co_firstlineno, code.co_name)


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all(constant)


def _raises_assertion(code: CodeType) -> bool:
    import dis

    steps = dis.get_instructions(code)
    return any(step.opname == "LOAD_ASSERTION_ERROR" or step.argval is AssertionError for step in steps)


def _codes(value: Any) -> Iterator[CodeType]:
    """That of whatever a decorator made of a function."""
    for _ in range(10):
        if isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                yield from _codes(part)
            return
        if isinstance(value, functools.cached_property):
            value = value.func
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        elif isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        else:
            break
    if isinstance(value, FunctionType):
        yield value.__code__
        return
    if dataclasses.is_dataclass(value):  # a record that holds it, such as a metric
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
        yield from (part.__code__ for part in parts if isinstance(part, FunctionType))
