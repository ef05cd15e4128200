"""How a memory is called: awaited where it is `async`, tried again where it raises and the user wants that."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pytest_engram.asking.watch import theirs

FIRST_PAUSE = 0.5  # seconds before the first repetition; doubled each time
LONGEST_PAUSE = 30.0


class Calls:
    """Calls of one process. One event loop serves all, so that a client may keep its connections between calls.

    Args:
        retries: how often a call that raises is tried again.
        pause: waits so many seconds.
    """

    def __init__(self, retries: int = 0, pause: Callable[[float], None] = time.sleep) -> None:
        self._retries = retries
        self._pause = pause
        self._loop: asyncio.Runner | None = None
        self.repeated = 0  # calls that were tried again, so far
        self.seconds = 0.0  # that the last call took, without those that it repeats

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the call gives, awaited.

        Raises:
            Exception: whatever it raises at its last try.
        """
        __tracebackhide__ = True
        for tried in range(self._retries + 1):
            started = time.perf_counter()
            try:
                given = self._once(function, *arguments)
                self.seconds = time.perf_counter() - started
                return given
            except Exception:
                if tried == self._retries:
                    raise
            self.repeated += 1
            self._pause(min(FIRST_PAUSE * 2**tried, LONGEST_PAUSE))
        raise AssertionError("unreachable")

    def _once(self, function: Callable[..., Any], *arguments: Any) -> Any:
        __tracebackhide__ = True
        given = theirs(function, *arguments)
        if not inspect.isawaitable(given):
            return given
        if self._loop is None:
            self._loop = asyncio.Runner()
        return theirs(self._loop.run, _awaited(given))

    def close(self) -> None:
        """End the event loop."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None


async def _awaited(given: Awaitable[Any]) -> Any:
    return await given
