"""Notes which files with answers a method opens: a tripwire, and no wall.

Python tells an audit hook of every file that it opens. Where such a file holds answers and the opener was called by a
method, the method's questions are violations from then on. What a library opens in C, what was read before the run
began, and who forges Python's stack, is not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from pytest_engram import memory

# What of an event's arguments is a path, or a command that may have one.
_PATHS = {
    "open": (0,),
    "os.link": (0, 1),
    "os.rename": (0, 1),
    "os.symlink": (0, 1),
    "sqlite3.connect": (0,),
    "subprocess.Popen": (0, 1),
    "os.system": (0,),
    "os.exec": (0, 1),
    "os.posix_spawn": (0, 1),
}
_COMMANDS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}
_CODE = (".py", ".pyc", ".so", ".pyd")  # a module that a method imports is no benchmark, wherever it lies


class Watch:
    """Of one process.

    Args:
        places: folders and files that hold answers, and how a message names each.
        open_to_all: folders within those that do not: a memory's own, say.
    """

    def __init__(self, places: Mapping[Path, str] | Mapping[str, str], open_to_all: Iterable[Path] = ()) -> None:
        self.places = {os.path.realpath(path): told for path, told in places.items()}
        self._open = tuple(os.path.realpath(path) + os.sep for path in open_to_all)
        self.whose = ""  # the method at work
        self.opened: dict[str, str] = {}  # by method, the first such file, as a message names it

    def begin(self) -> None:
        """Be told of what is opened in this process, until `end`."""
        _install()
        _set(self)

    def end(self) -> None:
        """Be told no more."""
        if _active is self:
            _set(None)

    def problem(self, method: str, question: str) -> str | None:
        """The violation's sentence where a method has opened what it may not, else None."""
        told = self.opened.get(method)
        if told is None:
            return None
        return (
            f"{method} on {question}: reads the answers: while it was at work it opened {told}, which holds answers; a "
            "memory gets all that it may know by write() and its bench"
        )

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that holds answers, where a method opens it."""
        for at in _PATHS[event]:
            given = arguments[at] if at < len(arguments) else None
            for path in _texts(given):
                told = self._named_in(path) if event in _COMMANDS else self._told(path)
                if told is not None and self.whose and _by_a_method(sys._getframe(2)):
                    self.opened.setdefault(self.whose, told)

    def _told(self, path: str) -> str | None:
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # no path at all
            return None
        if real.endswith(_CODE) or real.startswith(self._open):
            return None
        for place, told in self.places.items():
            if real == place:
                return told
            if real.startswith(place + os.sep):
                return f"{real[len(place) + 1 :]} in {told}"
        return None

    def _named_in(self, command: str) -> str | None:
        words = command.split() if any(place in command for place in self.places) else ()
        return next((told for word in words if (told := self._told(word.strip("'\"")))), None)


def theirs(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call what a method gave: what is opened below this call is the method's doing."""
    __tracebackhide__ = True
    return function(*arguments, **named)


def _by_a_method(frame: FrameType | None) -> bool:
    """Whether a method's call led here, and not through its bench, which may read what it is asked for."""
    within = False
    while frame is not None:
        if frame.f_code is theirs.__code__:
            return True
        if frame.f_code.co_filename == _BENCH:
            return False
        within = within or frame.f_code.co_filename.startswith(_OURS)
        frame = frame.f_back
    # A thread of its own: ours, of a reader or a judge, or one that a method started.
    import threading

    return threading.current_thread() is not threading.main_thread() and not within


def _texts(given: object) -> list[str]:
    if isinstance(given, (str, bytes, os.PathLike)):
        try:
            return [os.fsdecode(given)]
        except (TypeError, ValueError):
            return []
    if isinstance(given, (list, tuple)):
        return [text for one in given for text in _texts(one)]
    return []  # a number: a file that was opened before


_BENCH = memory.__file__
_OURS = os.path.dirname(memory.__file__) + os.sep
_active: Watch | None = None
_installed = False


def _set(watch: Watch | None) -> None:
    global _active
    _active = watch


def _install() -> None:
    """Once in a process: a hook can't be taken out again, and does nothing where nobody watches."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _active is not None and event in _PATHS:
        _active.look(event, arguments)
