"""Benchmarks for agent memory, run as pytest tests."""

from pytest_engram.memory import Bench, Entry, Memory, method

__all__ = ["Bench", "Entry", "Memory", "method"]
