"""From a run's log and manifest to everything that people read: the same bytes, however often it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.basics.collecting import no_collecting
from pytest_engram.runs import folder as runfolder

if TYPE_CHECKING:
    from pytest_engram.runs.known import KnownAnswer
    from pytest_engram.runs.outcome import Outcome

FILES = (
    "results.json",
    "results.md",
    "results.csv",
    "results.tex",
    "intervals.svg",
    "flip_points.svg",
    "costs.svg",
    "results.html",
)
FRONTIER = ("frontier.svg",)  # written as well, before all others, where a suite of the run has a frontier


def write_run(
    folder: Path,
    outcomes: Sequence[Outcome],
    manifest: Mapping[str, Any],
    texts: Mapping[str, Mapping[str, str]],
    known: Sequence[KnownAnswer] = (),
    baselines: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """Write the whole folder of a run: log, manifest and excerpts, and all that is computed from them.

    Returns:
        The results, as `aggregate` makes them.
    """
    from pytest_engram.report.aggregate import aggregate

    whole = runfolder.write(folder, outcomes, manifest, texts, known, baselines)
    results = aggregate(outcomes, whole, known, baselines)
    write(folder, outcomes, whole, results=results, texts=texts)
    return results


def write(
    folder: Path,
    outcomes: Sequence[Outcome],
    manifest: Mapping[str, Any],
    only: Collection[str] | None = None,
    results: dict[str, Any] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
    known: Sequence[KnownAnswer] = (),
    baselines: Sequence[Outcome] = (),
) -> list[Path]:
    """Write tables, plots and page.

    Args:
        folder: where to; made where it is missing.
        outcomes: the run log, in any order.
        manifest: of the same run.
        only: names out of `FILES` and `FRONTIER`, or their endings ("md"); default: all.
        results: what `aggregate` made of the same log, where it is at hand.
        texts: excerpts of entries, for the page: suite, entry (`QUESTION/ENTRY` where each question has a haystack of
            its own), text.
        known: what the judge was asked about to judge it.
        baselines: what the reader answered where no memory had a part in it.

    Returns:
        The paths written: `FRONTIER` where there is one, then in the order of `FILES`.
    """
    from pytest_engram.report.aggregate import aggregate

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with no_collecting():
        results = aggregate(outcomes, manifest, known, baselines) if results is None else results
        for name, content in _contents(results, outcomes, texts).items():
            if only is None or name in only or Path(name).suffix.lstrip(".") in only:
                path = folder / name
                # A lone surrogate of some text is written as JSON writes it: a file is UTF-8 whatever it holds.
                path.write_bytes(content().encode("utf-8", "backslashreplace"))
                written.append(path)
    return written


def _contents(
    results: dict[str, Any], outcomes: Sequence[Outcome], texts: Mapping[str, Mapping[str, str]] | None
) -> dict[str, Callable[[], str]]:
    from functools import cache

    from pytest_engram.report import frontier_plot, plots, scatter, tables
    from pytest_engram.report.kept import drawn_once

    @cache
    def intervals() -> str:
        return drawn_once("intervals", results, lambda: plots.intervals(results))

    @cache
    def flip_points() -> str:
        return drawn_once("flip_points", results, lambda: plots.flip_points(results))

    @cache
    def frontier() -> str:
        return frontier_plot.frontier(results)

    @cache
    def costs() -> str:
        return scatter.costs(results)

    def page() -> str:
        from pytest_engram.report.log import in_order
        from pytest_engram.report.page import render

        svgs = {"frontier": frontier(), "intervals": intervals(), "flip_points": flip_points(), "costs": costs()}
        return render(results, in_order(outcomes, results), svgs, texts)

    makers: tuple[Callable[[], str], ...] = (
        lambda: tables.to_json(results),
        lambda: tables.to_markdown(results),
        lambda: tables.to_csv(results),
        lambda: tables.to_latex(results),
        intervals,
        flip_points,
        costs,
        page,
    )
    first = dict.fromkeys(FRONTIER, frontier) if results["frontier"] else {}
    return first | dict(zip(FILES, makers, strict=True))


def terminal(results: dict[str, Any], width: int, colour: bool) -> str:
    """The results for a terminal of `width` columns; see `pytest_engram.report.screen`."""
    from pytest_engram.report.screen import render

    return render(results, width, colour)
