"""`costs.svg`: quality against what was returned, and against the time that it took; one point a method.

Times differ from run to run, so that a plot of them can't be kept from the run before. It is drawn by hand: importing a
plotting library takes longer than all the rest of a small run's report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pytest_engram.report.document import TITLES
from pytest_engram.report.drawing import label, safe, sheet
from pytest_engram.report.log import whole
from pytest_engram.report.plots import ROLE_COLOURS
from pytest_engram.report.wording import plain

Row = dict[str, Any]

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _FOOT = 330, 210, 52, 46, 46, 44  # pixels: of a panel, and of what is around it
_REMARK = "up and to the left is better; bars: 95% interval, or range over seeds"


class Point(NamedTuple):
    """A method in a panel."""

    x: float
    y: float
    low: float
    high: float
    label: str
    colour: str
    sound: bool


class Axis(NamedTuple):
    """From values to pixels, along one side of a panel."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    logarithmic: bool = False

    def at(self, value: float, length: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        return ((math.log(value) if self.logarithmic else value) - low) / (high - low) * length


def costs(results: Row) -> str:
    """SVG: a row of two panels for each pilot suite, by its first metric."""
    rows = [found for suite in results["suites"] if (found := _suite(results, suite)) is not None]
    if not rows:
        return sheet(
            520, 60, ['<text x="260" y="34" text-anchor="middle">No costs of a pilot suite in this run.</text>']
        )
    parts: list[str] = []
    top = 0.0
    for title, panels in rows:
        parts.append(f'<text x="12" y="{top + 24:g}" class="title">{safe(title)}</text>')
        for at, (points, axis, name) in enumerate(panels):
            left = _LEFT + at * (_WIDTH + _GAP)
            parts.append(f'<g transform="translate({left} {top + _TOP:g})">')
            parts += _panel(points, axis, name, first=at == 0)
            parts.append("</g>")
        top += _TOP + _HEIGHT + _FOOT
    return sheet(_LEFT + 2 * _WIDTH + _GAP + 14, top + 4, parts)


def _suite(results: Row, suite: Row) -> tuple[str, list[tuple[list[Point], Axis, str]]] | None:
    if suite["kind"] != "pilot" or not suite["metrics"]:
        return None
    metric = suite["metrics"][0]
    figures = {
        row["method"]: row
        for row in results["rows"]
        if row["suite"] == suite["suite"] and row["metric"] == metric and row["value"] is not None and whole(row)
    }
    costs = [row for row in results["costs"] if row["suite"] == suite["suite"] and row["method"] in figures]
    tokens = [_point(figures[row["method"]], row["tokens_returned"]) for row in costs if row["tokens_returned"]]
    times = [
        _point(figures[row["method"]], 1000 * row["search_p50"], row["query_encoding"] is None)
        for row in costs
        if row["search_p50"]
    ]
    panels = []
    if tokens:
        panels.append((tokens, _linear([p.x for p in tokens]), "tokens returned a question"))
    if times:
        panels.append((times, _logarithmic([p.x for p in times]), "median search, milliseconds"))
    return (f"{suite['suite']}  {TITLES.get(metric, metric)}", panels) if panels else None


def _point(row: Row, x: float, lacking: bool = False) -> Point:
    label = plain(row["label"])
    label = label if len(label) <= 24 else f"{label[:23]}…"
    label += ", without embedding the query" * lacking
    colour = ROLE_COLOURS.get(row["role"], ROLE_COLOURS["anchor"])
    low, high = (row["value"], row["value"]) if row["low"] is None else (row["low"], row["high"])
    return Point(x, row["value"], low, high, label, colour, row["status"] == "ok")


def _linear(values: Sequence[float]) -> Axis:
    # Labels need room; and a difference of one in a hundred must look like one.
    low, high = min(values), max(values)
    room = max(high - low, high / 3)
    low, high = max(low - 0.25 * room, 0.0), high + 0.45 * room
    step = _step((high - low) / 5)
    first = math.ceil(low / step)
    ticks = [first * step + step * i for i in range(int((high - first * step) / step) + 1)]
    return Axis(low, high, [(tick, f"{tick:,g}") for tick in ticks])


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.999)


def _logarithmic(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    room = math.log(high / low)
    low, high = low * math.exp(-0.25 * max(room, 1.5)), high * math.exp(0.45 * max(room, 1.5))
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [10.0**power * digit for power in powers for digit in (1, 2, 5)]
    ticks = [tick for tick in fine if low <= tick <= high]
    if len(ticks) > 7:
        ticks = [tick for tick in ticks if round(math.log10(tick), 6).is_integer()]
    return Axis(low, high, [(tick, f"{tick:,.10g}") for tick in ticks], logarithmic=True)


def _quality(points: Sequence[Point]) -> Axis:
    low, high = min(p.low for p in points), max(p.high for p in points)
    step = 0.1 if high - low < 0.55 else 0.2
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    count = round((high - low) / step)
    ticks = [round(low + step * i, 10) for i in range(count + 1)]
    return Axis(low, max(high, low + step), [(tick, f"{tick:.1f}") for tick in ticks])


def _panel(points: Sequence[Point], axis: Axis, name: str, *, first: bool) -> Iterator[str]:
    quality = _quality(points)
    for tick, shown in quality.ticks:
        y = _HEIGHT - quality.at(tick, _HEIGHT)
        yield f'<path d="M0 {y:.1f}H{_WIDTH}" class="grid"/>'
        yield f'<text x="-7" y="{y + 3.5:.1f}" text-anchor="end" class="tick">{shown}</text>'
    for tick, shown in axis.ticks:
        x = axis.at(tick, _WIDTH)
        yield f'<path d="M{x:.1f} {_HEIGHT}v4" class="axis"/>'
        yield f'<text x="{x:.1f}" y="{_HEIGHT + 16}" text-anchor="middle" class="tick">{shown}</text>'
    yield f'<path d="M0 {_HEIGHT}H{_WIDTH}" class="axis"/>'
    yield f'<text x="{_WIDTH / 2:g}" y="{_HEIGHT + 33}" text-anchor="middle" class="name">{name}</text>'
    if first:
        yield f'<text x="-40" y="-10" class="name">{_REMARK}</text>'
    dots = [(axis.at(p.x, _WIDTH), _HEIGHT - quality.at(p.y, _HEIGHT)) for p in points]
    for point, (x, _) in zip(points, dots, strict=True):
        low, high = (_HEIGHT - quality.at(bound, _HEIGHT) for bound in (point.low, point.high))
        yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{point.colour}" class="bar"/>'
    taken: list[tuple[float, float, float, float]] = [(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
    for point, (x, y) in zip(points, dots, strict=True):
        fill = f'fill="{point.colour}"' if point.sound else 'class="paper"'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {fill} stroke="{point.colour}" stroke-width="1.2"/>'
        yield from label(point.label, x, y, taken, (_WIDTH, _HEIGHT))
