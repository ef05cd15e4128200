"""`frontier.svg`: how often a backed update is followed, against how often one is resisted; a panel a suite.

Drawn by hand, as `pytest_engram.report.scatter` is. A method has a colour and a sign of its own, so that it is told by
either; ablations are thin lines, so that a dozen methods can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_engram.report.drawing import DARK_INK, DARK_PAPER, Box, label, safe, sheet
from pytest_engram.report.plots import INK, PAPER, ROLE_COLOURS
from pytest_engram.report.wording import plain

Row = dict[str, Any]

_SIDE, _PAD, _LEFT, _TOP, _GAP, _FOOT = 400, 16, 56, 62, 64, 44  # pixels: of a panel, in it, and around it
_ACROSS = 2  # panels in a line
_KEY = 80  # pixels of the key below all panels
_NEAR, _SHARED = 16, 3  # pixels within which ends share a label, and how many do that are not in one place
# Okabe and Ito's colours, which nobody takes for each other; anchors stand back in grey.
_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_SIGNS = (0, 4, 3, -4, -3, 5)  # corners of a sign: none is a circle; below zero, on its point
_KINDS = {"named": "backers name the value", "implied": "backers imply the value"}


class Look(NamedTuple):
    """Of a method, in every panel."""

    label: str
    colour: str
    corners: int
    full: bool


class Spot(NamedTuple):
    """A point in a panel, in pixels, and what it is of."""

    x: float
    y: float
    row: Row


def frontier(results: Row) -> str:
    """SVG; "" where no suite of the run has a frontier."""
    suites: dict[str, list[Row]] = {}
    for row in results["frontier"]:
        suites.setdefault(row["suite"], []).append(row)
    if not suites:
        return ""
    looks = _looks(results["methods"])
    parts: list[str] = [f"<style>{_STYLE}</style>"]
    for at, (suite, rows) in enumerate(suites.items()):
        down, along = divmod(at, _ACROSS)
        left, top = _LEFT + along * (_SIDE + _GAP), _TOP + down * (_TOP + _SIDE + _FOOT)
        parts.append(f'<g transform="translate({left} {top})">')
        parts += _panel(suite, rows, looks)
        parts.append("</g>")
    lines = math.ceil(len(suites) / _ACROSS)
    width = _LEFT + min(len(suites), _ACROSS) * (_SIDE + _GAP)
    height = lines * (_TOP + _SIDE + _FOOT)
    parts += _key(height)
    return sheet(width, height + _KEY, parts)


def _looks(methods: Sequence[Row]) -> dict[str, Look]:
    """By method. Who is named, or is no ablation, is drawn in full."""
    found: dict[str, Look] = {}
    own = 0
    for method in methods:
        full = method["named"] or method["role"] != "ablation"
        short = plain(method["label"])
        short = short if len(short) <= 24 else f"{short[:23]}…"
        corners = _SIGNS[sum(look.full for look in found.values()) % len(_SIGNS)]
        colour = ROLE_COLOURS["ablation" if not full else "anchor"]
        if full and method["role"] != "anchor":
            colour = _COLOURS[own % len(_COLOURS)]
            own += 1
        found[method["method"]] = Look(short, colour, corners, full)
    return found


def _panel(suite: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Iterator[str]:
    kind = next((_KINDS.get(row["kind"], row["kind"]) for row in rows if row["kind"]), "")
    drawn = next((f"intervals by {row['cluster']} ({row['clusters']})" for row in rows if row["cluster"]), "")
    yield f'<text x="{-_LEFT + 12}" y="-40" class="title">{safe(suite)}</text>'
    yield f'<text x="{-_LEFT + 12}" y="-22" class="name">{safe(", ".join(filter(None, (kind, drawn))))}</text>'
    yield from _axes()
    spots = {
        method: {axis: _spots(rows, method, axis) for axis in ("b", "m")}
        for method in dict.fromkeys(row["method"] for row in rows)
    }
    taken = [
        box for method, curves in spots.items() for curve in curves.values() for box in _covered(looks[method], curve)
    ]
    # Those that are drawn in full lie on top, and their labels find the better places.
    for method in sorted(spots, key=lambda name: looks[name].full):
        yield from _curves(looks[method], spots[method])
    labels: dict[tuple[float, float], list[Look]] = {}
    for method in sorted(spots, key=lambda name: not looks[name].full):
        ends = spots[method]["b"][-1:] or spots[method]["m"][-1:]
        for end in ends:
            here = (end.x, end.y)
            near = (at for at, named in labels.items() if math.dist(at, here) < (_NEAR if len(named) < _SHARED else 1))
            labels.setdefault(next(near, here), []).append(looks[method])
    for (x, y), named in labels.items():
        told = ", ".join(look.label for look in named)
        yield from label(told, x, y, taken, (_SIDE, _SIDE))


def _covered(look: Look, curve: Sequence[Spot]) -> list[Box]:
    """What labels should leave free: the points and, of a method that is drawn in full, the lines between them."""
    found: list[Box] = [(s.x - 5, s.y - 5, s.x + 5, s.y + 5) for s in curve]
    for a, b in pairwise(curve) if look.full else ():
        steps = int(math.dist((a.x, a.y), (b.x, b.y)) / 12)
        for x, y in ((a.x + (b.x - a.x) * i / steps, a.y + (b.y - a.y) * i / steps) for i in range(1, steps)):
            found.append((x - 3, y - 3, x + 3, y + 3))
    return found


def _place(share: float) -> float:
    return _PAD + share * (_SIDE - 2 * _PAD)


def _spots(rows: Sequence[Row], method: str, axis: str) -> list[Spot]:
    mine = [row for row in rows if (row["method"], row["axis"]) == (method, axis)]
    known = [row for row in mine if row["followed"] is not None and row["resisted"] is not None]
    return [Spot(_place(row["followed"]), _SIDE - _place(row["resisted"]), row) for row in known]


def _axes() -> Iterator[str]:
    for tick, shown in ((0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1, "1")):
        at = _place(tick)
        yield f'<path d="M{at:.1f} 0V{_SIDE}M0 {_SIDE - at:.1f}H{_SIDE}" class="grid"/>'
        yield f'<text x="{at:.1f}" y="{_SIDE + 15}" text-anchor="middle" class="tick">{shown}</text>'
        yield f'<text x="-7" y="{_SIDE - at + 3.5:.1f}" text-anchor="end" class="tick">{shown}</text>'
    yield f'<path d="M0 0V{_SIDE}H{_SIDE}" class="axis" fill="none"/>'
    middle = _SIDE / 2
    yield (
        f'<text x="{middle:g}" y="{_SIDE + 33}" text-anchor="middle" class="name">'
        "followed: the newer side alone came back, where it is backed</text>"
    )
    yield (
        f'<text transform="translate(-38 {middle:g}) rotate(-90)" text-anchor="middle" class="name">'
        "resisted: the older side alone came back, where it is backed</text>"
    )
    low, high = _place(0), _place(1)
    yield f'<path d="M{low:.1f} {low:.1f}L{high:.1f} {high:.1f}" class="chance"/>'
    yield (
        f'<text transform="translate({_place(0.66):g} {_place(0.66):g}) rotate(45)" y="-5" text-anchor="middle" '
        'class="chances">chance</text>'
    )
    yield f'<text x="{_SIDE - 6}" y="-6" text-anchor="end" class="name">a good memory ↗</text>'


def _curves(look: Look, spots: Mapping[str, Sequence[Spot]]) -> Iterator[str]:
    width = 1.9 if look.full else 0.9
    for axis, found in spots.items():
        points = "L".join(f"{spot.x:.1f} {spot.y:.1f}" for spot in found)
        dashes = ' stroke-dasharray="4 3"' if axis == "m" else ""
        if len(found) > 1:
            yield f'<path d="M{points}" stroke="{look.colour}" stroke-width="{width}" fill="none"{dashes}/>'
    ends = [spot for found in spots.values() for spot in found[-1:]]
    if not look.full:
        for spot in ends:
            yield f'<path d="{_sign(0, spot, 2.0)}" fill="{look.colour}"/>'
        return
    for spot in ends:
        yield from _cross(look, spot)
    for axis, found in spots.items():
        for at, spot in enumerate(found):
            if axis == "m" and spot.row["count"] == 0:
                continue  # the same as that of three backers
            size = 5.0 if at == len(found) - 1 else 3.2
            empty = spot.row["count"] == 0
            fill = 'class="paper"' if empty else f'fill="{look.colour}"'
            yield f'<path d="{_sign(look.corners, spot, size)}" {fill} stroke="{look.colour}" stroke-width="1.4"/>'


def _cross(look: Look, spot: Spot) -> Iterator[str]:
    """The 95% intervals of a point, along both axes."""
    followed = [_place(spot.row[f"followed_{end}"] or 0.0) for end in ("low", "high")]
    resisted = [_SIDE - _place(spot.row[f"resisted_{end}"] or 0.0) for end in ("low", "high")]
    arms = []
    if spot.row["followed_low"] is not None:
        arms.append(f"M{followed[0]:.1f} {spot.y:.1f}H{followed[1]:.1f}")
    if spot.row["resisted_low"] is not None:
        arms.append(f"M{spot.x:.1f} {resisted[0]:.1f}V{resisted[1]:.1f}")
    if arms:
        yield f'<path d="{"".join(arms)}" stroke="{look.colour}" class="bar"/>'


def _sign(corners: int, spot: Spot, size: float) -> str:
    """A circle (no corners) or a polygon, as an SVG path."""
    if corners == 0:
        x = spot.x - size
        return f"M{x:.1f} {spot.y:.1f}a{size} {size} 0 1 0 {2 * size} 0a{size} {size} 0 1 0 {-2 * size} 0z"
    count = abs(corners)
    first = -math.pi / 2 + (math.pi / count if corners in (4, -3) else 0)
    size *= 1.3 if count < 5 else 1.15
    turns = [first + 2 * math.pi * turn / count for turn in range(count)]
    return "M" + "L".join(f"{spot.x + size * math.cos(a):.1f} {spot.y + size * math.sin(a):.1f}" for a in turns) + "z"


def _key(top: float) -> Iterator[str]:
    """How to read all of it, below the panels."""
    line = 'stroke-width="1.9" class="keyline" fill="none"'
    yield f'<g transform="translate(12 {top + 12})">'
    yield f'<path d="M0 -3.5H30" {line}/><text x="38" y="0" class="tick">1, 3, 5 facts back one side (b)</text>'
    yield f'<path d="M236 -3.5H266" {line} stroke-dasharray="4 3"/>'
    yield '<text x="274" y="0" class="tick">3 back it, and the other is said again 1, 3, 5 times (m)</text>'
    yield '<circle cx="15" cy="15" r="3.2" class="keydot"/>'
    yield '<text x="38" y="18.5" class="tick">nothing is backed (b = 0): the zero of the scale</text>'
    yield '<path d="M306 15H330M318 8V22" class="keyline bar" fill="none"/>'
    yield '<text x="338" y="18.5" class="tick">95% interval, at the ends (b = 5, m = 5)</text>'
    yield '<path d="M0 34.5H30" class="chance"/>'
    yield '<text x="38" y="38" class="tick">chance: always newer, always older, and whoever goes by the value</text>'
    yield "</g>"


_STYLE = (
    f".chance{{stroke:{INK};stroke-width:1;stroke-dasharray:1 3;opacity:.7}}.chances{{font-size:10px;opacity:.7}}"
    f".keyline{{stroke:{INK}}}.keydot{{stroke:{INK};stroke-width:1.4;fill:none}}"
    f".label,.chances{{paint-order:stroke;stroke:{PAPER};stroke-width:3px;stroke-linejoin:round}}"
    f"@media (prefers-color-scheme: dark){{.chance,.keyline,.keydot{{stroke:{DARK_INK}}}"
    f".label,.chances{{stroke:{DARK_PAPER}}}}}"
)
