"""Settings for Loom and Tide on any encoder, from development data and each method's own test of a conflict."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pytest_engram.development import devdata, settings, thresholds
from pytest_engram.development.settings import Settings
from pytest_engram.memory import Bench
from pytest_engram.methods import loom_reading, tide_reading

if TYPE_CHECKING:
    from pytest_engram.development.thresholds import Embed, May


def settings_for(bench: Bench) -> Settings:
    """The calibrated settings for the bench's encoder; an unknown encoder's thresholds are computed, and kept."""
    known = settings.known()
    if bench.encoder.hash in known:
        return known[bench.encoder.hash]
    first = next(iter(known.values()))
    found = bench.cached(
        f"thresholds by F1, facts that name the same agree, seed {devdata.SEED}",
        devdata.texts(),
        lambda: {name: np.array(point) for name, point in best_thresholds(bench.embed)[0].items()},
    )
    return Settings(first.depth, first.neighbours, first.sided, **{name: float(array) for name, array in found.items()})


def best_thresholds(embed: Embed) -> tuple[dict[str, float], dict[str, list[float]]]:
    """The thresholds by name, and F1 at each point of the grid by name."""
    return thresholds.best_thresholds(embed, conflict_tests())


def conflict_tests(by_names: bool = True) -> dict[str, May]:
    """Each method's own test of a conflict between two texts, similarity aside, by the name of its threshold."""
    read_loom, read_tide = cache(loom_reading.read), cache(tide_reading.read)

    def loom_may(one: str, other: str) -> bool:
        a, b = read_loom(one), read_loom(other)
        apart = loom_reading.differ(a, b) if by_names else a.content != b.content
        return bool(apart and loom_reading.same_subject(a.subject, b.subject))

    def tide_may(one: str, other: str) -> bool:
        a, b = read_tide(one), read_tide(other)
        apart = tide_reading.differ(a, b) if by_names else a.words != b.words
        return bool(apart and a.name == b.name)

    return {"similarity": loom_may, "tide": tide_may}
