"""Benchmarks for agent memory, run as pytest tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_engram.memory import Bench, Entry, Memory, Recalled, method
else:

    def __getattr__(name: str) -> Any:
        # Only now: what they need imports pytest, which the command line's help does not.
        if name in __all__:
            from pytest_engram import memory

            return getattr(memory, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Bench", "Entry", "Memory", "Recalled", "method"]
