"""What plots drawn by hand are made of: a sheet of SVG for paper of either colour, and labels where there is room."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pytest_engram.report.plots import INK, PAPER
from pytest_engram.report.wording import plain

Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom, in pixels

DARK_INK, DARK_PAPER = "#e6edf3", "#0d1117"
_SIGN = 5.7  # pixels of a character of a label, at 10.5 pixels
# Where a label may stand: from the point, to the right or to the left; the nearest that is free is taken.
_PLACES = [(side, shift) for shift in (0, -12, 12, -24, 24, -36, 36, -48, 48, -60, 60) for side in (1, -1)]


def label(text: str, x: float, y: float, taken: list[Box], size: tuple[float, float]) -> Iterator[str]:
    """A label where it covers nothing, with a line to its point where it is not beside it.

    Args:
        text: of the label.
        x: of its point, in pixels of the panel.
        y: the same, downwards.
        taken: what no label may cover; this one is added.
        size: width and height of the panel.
    """
    width = _SIGN * len(text)

    def box(side: int, shift: int) -> Box:
        start = x + 8 if side > 0 else x - 8 - width
        return start, y + shift - 6, start + width, y + shift + 6

    def cost(place: tuple[int, int]) -> float:
        left, top, right, bottom = box(*place)
        outside = max(0.0, -left) + max(0.0, right - size[0] - 12) + max(0.0, -top) + max(0.0, bottom - size[1])
        over = sum(
            max(0.0, min(right, x1) - max(left, x0)) * max(0.0, min(bottom, y1) - max(top, y0))
            for x0, y0, x1, y1 in taken
        )
        return 20 * outside + over

    side, shift = min(_PLACES, key=cost)  # of several alike, the first, which is the nearest
    taken.append(box(side, shift))
    start = x + 8 * side
    if shift:
        yield f'<path d="M{x:.1f} {y:.1f}L{start - 1.5 * side:.1f} {y + shift:.1f}" class="leader"/>'
    anchor = "start" if side > 0 else "end"
    yield f'<text x="{start:.1f}" y="{y + shift + 3.6:.1f}" text-anchor="{anchor}" class="label">{safe(text)}</text>'


def safe(text: str) -> str:
    """Text that SVG shows as it is."""
    return html.escape(plain(text), quote=False)


def sheet(width: float, height: float, parts: Sequence[str]) -> str:
    """An SVG file of these parts, on paper that is white, or dark where the reader's is."""
    style = (
        f"text{{fill:{INK};font:11px 'DejaVu Sans',Verdana,sans-serif}}"
        ".title{font-weight:bold;font-size:13px}.label{font-size:10.5px}.tick{font-size:10px}"
        ".name{font-size:10.5px;opacity:.8}"
        f".grid{{stroke:{INK};opacity:.12;stroke-width:.8}}.axis{{stroke:{INK};stroke-width:.8}}"
        f".leader{{stroke:{INK};opacity:.45;stroke-width:.7;fill:none}}.bar{{opacity:.4;stroke-width:1.4}}"
        f".paper{{fill:{PAPER}}}"
        f"@media (prefers-color-scheme: dark){{text{{fill:{DARK_INK}}}.grid,.axis,.leader{{stroke:{DARK_INK}}}"
        f".paper{{fill:{DARK_PAPER}}}}}"
    )
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    paper = f'<rect width="{width:g}" height="{height:g}" class="paper"/>'
    body = "\n".join([f"<style>{style}</style>", paper, *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{body}\n</svg>\n'
