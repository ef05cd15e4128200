"""`results.html`: the whole run on one page, in one file that needs no network and no server."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from markupsafe import Markup

from pytest_engram.report import (
    baselines,
    bounds,
    captions,
    document,
    embedded,
    frontier_table,
    gated,
    questions,
    wording,
)
from pytest_engram.report.log import whole
from pytest_engram.report.pairs import significant
from pytest_engram.report.verdicts import grouped
from pytest_engram.runs.outcome import Outcome

HERE = Path(__file__).parent
LIMIT = 9_000_000  # bytes of data, compressed, and plots; the page stays under 10 MB
EXCERPTS = (600, 300, 150, 80, 0)  # characters of an entry, tried until the page is small enough


def render(
    results: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    svgs: Mapping[str, str],
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The page.

    Args:
        results: as `pytest_engram.report.aggregate` makes them.
        outcomes: the run log.
        svgs: `frontier`, `intervals`, `flip_points` and `costs`; what is absent or empty is left out.
        texts: suite, entry (`QUESTION/ENTRY` where each question has a haystack of its own), text. Without it, entries
            are shown by their ids.

    Returns:
        HTML, the same for the same arguments to the last byte.
    """
    manifest = results["manifest"]
    environment = templates()
    environment.filters.update(
        number=wording.number,
        flag=wording.flag,
        spread=spread,
        signed=wording.signed,
        findable=wording.findable,
        p=wording.p_value,
        few=wording.count,
        flip_points=wording.flip_points,
        all_undecided=wording.all_undecided,
        always=wording.always,
        count="{:,}".format,
        duration=duration,
        flat=flat,
        registered=captions.registered,
        svg_uri=svg_uri,
    )
    texts = texts or {}
    data = questions.pack(outcomes, results["suites"], results["methods"], texts, k=manifest["k"])
    packed = embedded.packed(data)
    room = LIMIT - len(packed) - sum(len(svg_uri(svg)) for svg in svgs.values())
    beginnings, excerpt = "", 0
    for excerpt in EXCERPTS if texts else (0,):
        beginnings = embedded.packed(questions.excerpts(data, texts, excerpt))
        if len(beginnings) < room:
            break
    folded, told = document.telling_nothing(results)
    micros = [suite for suite in results["suites"] if suite["kind"] == "micro" and suite["suite"] not in folded]
    page = environment.get_template("page.html.j2").render(
        results=results,
        manifest=manifest,
        svgs=svgs,
        pilots=[suite for suite in results["suites"] if suite["kind"] == "pilot"],
        micros=micros,
        telling_nothing=told,
        tables=_suite_tables(results),
        frontier=list(frontier_table.grids(results)),
        who_wins=frontier_table,
        anchors=_anchors(results["paired"]),
        figures=_micro_figures(results),
        clustered=document.clustered(results),
        gates=list(gated.gates(results)),
        floors={suite["suite"]: list(bounds.floors(results, suite["suite"])) for suite in results["suites"]},
        answers={suite["suite"]: list(baselines.grids(results, suite["suite"])) for suite in results["suites"]},
        categories={suite["suite"]: list(document.categories(results, suite)) for suite in results["suites"]},
        states={suite["suite"]: list(document.states(results, suite["suite"])) for suite in results["suites"]},
        judges={suite["suite"]: list(document.judges(results, suite["suite"])) for suite in results["suites"]},
        wrong_keys={suite["suite"]: document.key_errors(results, suite) for suite in results["suites"]},
        without=document.without,
        Notes=Notes,
        costs=document.costs(results) if results["costs"] else None,
        texts=bool(texts),
        excerpt=excerpt,
        counts=_counts(data),
        verdicts=list(grouped(results["verdicts"])),
        experiment=results["experiment"] if captions.of_the_experiment(results) else None,
        css=_asset("page.css"),
        js=_asset("page.js"),
        data=packed,
        beginnings=beginnings,
        packed_type=embedded.TYPE,
    )
    return wording.plain_lines(page)


def templates() -> jinja2.Environment:
    """The templates of this folder: everything from data is escaped, and a name that is missing is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        bytecode_cache=_COMPILED,
    )


class _Compiled(jinja2.BytecodeCache):
    """What was compiled in this process. It is not kept on the disk: no cache holds anything that can run."""

    def __init__(self) -> None:
        self._codes: dict[str, tuple[str, Any]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give what was compiled of the same source."""
        checksum, code = self._codes.get(bucket.key, ("", None))
        bucket.code = code if checksum == bucket.checksum else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Remember what was compiled."""
        self._codes[bucket.key] = bucket.checksum, bucket.code


_COMPILED = _Compiled()


class Notes:
    """The footnotes of one table: each reason once, numbered in the order in which the table meets them."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> int:
        """The number of a reason, from 1."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1


def _asset(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))


def spread(cell: Mapping[str, Any], unit: str = "") -> str:
    """What stands beside a value: `[low, high]`, or `(low to high)` for the range of seeds' means."""
    if cell.get("interval") == "range":
        return f"({wording.number(cell['low'], unit)} to {wording.number(cell['high'], unit)})"
    return wording.interval(cell, unit)


def duration(seconds: float | None) -> str:
    """Seconds for a person."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def flat(value: Any) -> list[tuple[str, str]]:
    """A nested mapping as lines: dotted name, value."""
    if isinstance(value, list):
        return [("", ", ".join(text for part in value for _, text in flat(part)) or "–")]
    if not isinstance(value, Mapping):
        return [("", "–" if value is None else str(value).lower() if isinstance(value, bool) else str(value))]
    lines = []
    for key, part in value.items():
        lines += [(f"{key}.{name}" if name else str(key), text) for name, text in flat(part)]
    return lines


def svg_uri(svg: str) -> str:
    """An address that holds the image itself: its ids can't meet those of the page, and it can't run scripts."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _counts(data: Mapping[str, Any]) -> dict[str, int]:
    """Questions that were asked of any method, by the kind of their suite, and those that were not run."""
    counts = {"pilot": 0, "micro": 0, "not_run": 0}
    for suite, *_, outcomes in data["questions"]:
        asked = any(questions.STATES[outcome[2]] != "not run" for outcome in outcomes)
        counts[data["suites"][suite][1] if asked else "not_run"] += 1
    return counts


def _suite_tables(results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Suite, then `metrics` and one line a method with its cells, from the rows; `again`: without disputed keys."""
    tables: dict[str, dict[str, Any]] = {}
    for row in results["rows"]:
        if row["group"] is not None:
            continue
        table = tables.setdefault(row["suite"], {"metrics": [], "lines": {}})
        if row["metric"] not in table["metrics"]:
            table["metrics"].append(row["metric"])
        about = {"label": row["label"], "role": row["role"], "cells": {}, "again": {}}
        line = table["lines"].setdefault(row["method"], about)
        line["cells" if whole(row) else "again"][row["metric"]] = row
    return tables


def _anchors(paired: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Baseline by baseline: methods as columns; suite and metric as lines; each cell a comparison and its bar."""
    anchors: dict[str, dict[str, Any]] = {}
    for pair in paired:
        anchor = anchors.setdefault(
            pair["baseline"], {"name": pair["baseline"], "label": pair["baseline_label"], "methods": {}, "lines": {}}
        )
        anchor["methods"][pair["method"]] = pair["label"]
        line = anchor["lines"].setdefault((pair["suite"], pair["metric"]), {})
        line[pair["method"]] = {**pair, "bar": _bar(pair)}
    return list(anchors.values())


def _bar(pair: Mapping[str, Any], reach: float = 0.6) -> dict[str, str] | None:
    """Left, width and middle of a paired interval in per cent of a bar that spans -`reach` to +`reach`."""
    if pair["difference"] is None or pair["low"] is None or pair["high"] is None:
        return None

    def place(value: float) -> float:
        return 50 + 50 * max(-1.0, min(1.0, value / reach))

    low, high = place(pair["low"]), place(pair["high"])
    return {
        "left": f"{low:.2f}",
        "width": f"{max(high - low, 0.5):.2f}",
        "middle": f"{place(pair['difference']):.2f}",
        "side": ("over" if pair["difference"] > 0 else "under") if significant(pair) else "spans",
    }


def _micro_figures(results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Suite, then its families' lines, and flip points by method and web size."""
    figures: dict[str, dict[str, Any]] = {}

    def figure(suite: str) -> dict[str, Any]:
        return figures.setdefault(
            suite, {"families": [], "webs": [], "axis": "backers", "flips": {}, "trend": {}, "undecided": []}
        )

    for line in results["families"]:
        figure(line["suite"])["families"].append(line)
    for flip in results["flip_summary"]:
        found = figure(flip["suite"])
        found["axis"] = flip.get("axis", "backers")
        found["undecided"].append(flip)
        if flip["web"] not in found["webs"]:
            found["webs"].append(flip["web"])
        found["flips"].setdefault((flip["method"], flip["label"]), {})[flip["web"]] = flip
    for trend in results["flip_trend"]:
        figure(trend["suite"])["trend"][trend["method"]] = trend
    for found in figures.values():
        found["webs"].sort(key=lambda web: (web is None, web))
    return figures
