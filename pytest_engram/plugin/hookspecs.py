"""Hooks by which a conftest or an installed plugin adds what a run can use. The shipped ones come the same way.

Each gives a mapping from the name that is asked for to the thing, or to where it is, as `package.module` or
`package.module:name`: then it is imported when it is first needed. Two things of one name are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_engram.judging.judges import Judge
    from pytest_engram.judging.named import Measure, Metric
    from pytest_engram.reading import ReaderMaker
    from pytest_engram.suites.base import Source


def pytest_engram_sources() -> Mapping[str, Source | str]:  # type: ignore[empty-body]
    """Data sources, by the name that a suite file gives as `source:`."""


def pytest_engram_readers() -> Mapping[str, ReaderMaker | str]:  # type: ignore[empty-body]
    """Who answers from what was recalled, by the name that `--engram-reader` takes."""


def pytest_engram_judges() -> Mapping[str, Judge | str]:  # type: ignore[empty-body]
    """Who says whether an answer is right, by the name that `--engram-judge` takes."""


def pytest_engram_metrics() -> Mapping[str, Metric | Measure | str]:  # type: ignore[empty-body]
    """Metrics, by their name without the depth: `recall_any` measures `recall_any@5`."""
