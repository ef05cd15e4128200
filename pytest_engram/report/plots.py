"""`intervals.svg` and `flip_points.svg`: the same bytes for the same results, and readable on dark paper too."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_engram.report.captions import SUGGESTIVE
from pytest_engram.report.log import whole
from pytest_engram.report.wording import drawn, estimate, flag, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row: TypeAlias = dict[str, Any]
_Group: TypeAlias = tuple[str, str, list[Row]]  # title, remark, rows

INK, PAPER = "#24292f", "#ffffff"
# One colour a method by its role, so that the experiment stands out and the anchors stand back.
ROLE_COLOURS = {"experiment": "#d1495b", "ablation": "#e39774", "control": "#2e86ab", "anchor": "#6c7a89"}
_DARK = {INK: "#e6edf3", PAPER: "#0d1117"}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, read aloud
    "svg.hashsalt": "pytest-engram",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the layout is the same everywhere
    "font.size": 9,
    "text.parse_math": False,  # a name may hold dollar signs
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": PAPER,
}
_LINE, _GAP = 0.17, 0.42  # inches: a line of the forest plot; the head of a group
_WEBS = ("#8e4bb3", "#4c6fd1", "#2a8fa8", "#22a884", "#7dbb3c", "#d9a400")  # in the order of viridis; for any paper


def intervals(results: Row) -> str:
    """A forest plot: every metric of every suite, every method, with its interval.

    Metrics that aren't fractions are left to the tables.
    """
    groups = [group for group in _groups(results) if group[2]]
    if not groups:
        return _drawn(_nothing("No metric was measured in this run."))
    columns = _halves(groups)
    height = max(sum(map(_height, column)) for column in columns)

    def draw() -> Figure:
        from matplotlib.figure import Figure

        margin, full = 0.4, height + 0.5
        figure = Figure(figsize=(5.6 * len(columns), full))
        for at, column in enumerate(columns):
            width = 1 / len(columns)
            box = ((at + 0.30) * width, margin / full, 0.42 * width, height / full)
            _forest(figure.add_axes(box), column, height)
        return figure

    return _drawn(draw)


def _groups(results: Row) -> Iterator[_Group]:
    for suite in results["suites"]:
        for metric in suite["metrics"]:
            rows = [
                row
                for row in results["rows"]
                if whole(row) and (row["suite"], row["metric"]) == (suite["suite"], metric) and row["value"] is not None
                if not row["sides"]  # what decides nothing has no number to rank by
            ]
            if all(0 <= bound <= 1 for row in rows for bound in (row["value"], *_bounds(row))):
                shown = "SubEM" if metric == "subem" else metric
                note = f", {SUGGESTIVE}" if suite["kind"] == "micro" else ""
                largest = max(rows, key=lambda row: (row["n"], row["clusters"] or 0), default={"n": 0, "cluster": None})
                yield f"{suite['suite']}  {shown}", f"n = {drawn(largest)}{note}", rows


def _bounds(row: Row) -> tuple[float, float]:
    """Of its interval; of a value that has none, that value."""
    return (row["value"], row["value"]) if row["low"] is None else (row["low"], row["high"])


def _halves(groups: Sequence[_Group]) -> list[Sequence[_Group]]:
    """Two columns of about the same height; one where there is one group."""
    total, so_far = sum(map(_height, groups)), 0.0
    for at, group in enumerate(groups):
        so_far += _height(group)
        if at + 1 < len(groups) and so_far + _height(groups[at + 1]) / 2 > total / 2:
            return [groups[: at + 1], groups[at + 1 :]]
    return [groups]


def _height(group: _Group) -> float:
    return _GAP + _LINE * len(group[2])


def _forest(axes: Axes, groups: Sequence[_Group], height: float) -> None:
    from matplotlib.collections import LineCollection

    axes.set_xlim(0, 1)
    axes.set_ylim(-height, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=3, width=0.6)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    axes.grid(axis="x", color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)
    at_label, at_value = axes.get_yaxis_transform(), axes.get_yaxis_transform()
    # One collection of all bars and one of all dots: an artist a row would take as long as all the rest of the report.
    bars: list[list[tuple[float, float]]] = []
    dots: list[tuple[float, float]] = []
    colours: list[str] = []
    faces: list[str] = []
    top = 0.0
    for title, note, rows in groups:
        axes.text(
            -0.02, top - 0.28, plain(title), transform=at_label, ha="left", va="baseline", weight="bold", clip_on=False
        )
        axes.text(1.63, top - 0.28, plain(note), transform=at_label, ha="right", va="baseline", size=7, alpha=0.75)
        for line, row in enumerate(rows):
            y = top - _GAP - _LINE * (line + 0.35)
            colour = ROLE_COLOURS.get(row["role"], ROLE_COLOURS["anchor"])
            told = f"{estimate(row)} {flag(row)}".rstrip()
            low, high = _bounds(row)
            bars.append([(low, y), (high, y)])
            dots.append((row["value"], y))
            colours.append(colour)
            faces.append(colour if row["status"] == "ok" else PAPER)  # hollow: not a number to rely on
            axes.text(-0.03, y, _short(row["label"]), transform=at_label, ha="right", va="center", size=8)
            axes.text(1.04, y, told, transform=at_value, ha="left", va="center", size=7, alpha=0.85)
        top -= _GAP + _LINE * len(rows)
    axes.add_collection(LineCollection(bars, colors=colours, linewidths=1.6, capstyle="butt"), autolim=False)
    values, heights = [value for value, _ in dots], [y for _, y in dots]
    axes.scatter(values, heights, s=4.5**2, c=faces, edgecolors=colours, linewidths=1.0, clip_on=False, zorder=2.5)


def flip_points(results: Row) -> str:
    """Share of cases flipped against backers: one curve a web size, one panel a method, one row of panels a suite."""
    suites = [
        suite["suite"]
        for suite in results["suites"]
        if len({row["backers"] for row in results["curves"] if row["suite"] == suite["suite"]}) > 3
    ]
    # The headline stands first.
    suites.sort(
        key=lambda name: next(s["family"] for s in results["suites"] if s["suite"] == name) != "gradual_override"
    )
    if not suites:
        return _drawn(_nothing("No micro-test with a sweep of backers was run."))
    return _drawn(lambda: _curves(results, suites))


def _curves(results: Row, suites: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    methods = {suite: _methods_of(results, suite) for suite in suites}
    across = min(4, max(map(len, methods.values())))
    lines = {suite: math.ceil(len(names) / across) for suite, names in methods.items()}
    panel, head = 1.75, 0.62
    height = sum(panel * lines[suite] + head for suite in suites) + 0.15
    figure = Figure(figsize=(max(2.35 * across + 0.6, 5.2), height))
    top = height
    for suite in suites:
        rows = [row for row in results["curves"] if row["suite"] == suite]
        webs = sorted({row["web"] for row in rows})
        told = {row["method"]: row for row in results["flip_trend"] if row["suite"] == suite}
        figure.text(0.012, (top - 0.24) / height, plain(suite), weight="bold", size=11, va="center")
        remark = f"of the cases in which a conflict was seen (over each panel), where the update wins; {SUGGESTIVE}"
        figure.text(0.012, (top - 0.45) / height, remark, size=8, alpha=0.8, va="center")
        grid = figure.add_gridspec(
            lines[suite],
            across,
            left=0.55 / figure.get_figwidth(),
            right=1 - 0.12 / figure.get_figwidth(),
            top=(top - head - 0.22) / height,
            bottom=(top - head - panel * lines[suite] + 0.42) / height,
            hspace=0.62,
            wspace=0.12,
        )
        for at, method in enumerate(methods[suite]):
            axes = figure.add_subplot(grid[divmod(at, across)])
            _panel(axes, [row for row in rows if row["method"] == method], webs)
            axes.set_xticks(sorted({row["backers"] for row in rows}))
            axes.set_title(_short(str(told[method]["label"]), 22), size=9, loc="left", pad=7)
            seen = f"{told[method]['seen']} of {told[method]['cases']}"
            axes.set_title(seen, size=8, loc="right", pad=7, alpha=0.75)
            axes.tick_params(labelleft=at % across == 0)
            if at + across >= len(methods[suite]):
                axes.set_xlabel(f"{rows[0]['axis']} of the update", size=8)
        _legend(figure, webs, (0.99, (top - 0.08) / height))
        top -= panel * lines[suite] + head
    return figure


def _methods_of(results: Row, suite: str) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in results["flip_summary"] if row["suite"] == suite))


def _panel(axes: Axes, rows: Sequence[Row], webs: Sequence[int]) -> None:
    for web in webs:
        line = [row for row in rows if row["web"] == web]
        colour = _WEBS[webs.index(web) * (len(_WEBS) - 1) // max(len(webs) - 1, 1)]
        # Curves that lie on each other are told apart by the size of their marks.
        size = 5.5 - 3.2 * webs.index(web) / max(len(webs) - 1, 1)
        x, y = [row["backers"] for row in line], [row["share"] for row in line]
        axes.plot(x, y, "o-", color=colour, linewidth=1.4, markersize=size, clip_on=False)
    if not rows:
        axes.text(0.5, 0.5, "undecided throughout", transform=axes.transAxes, ha="center", size=8, alpha=0.75)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
    axes.grid(color=INK, alpha=0.12, linewidth=0.6)
    axes.tick_params(labelsize=8, length=2, width=0.6)


def _legend(figure: Figure, webs: Sequence[int], anchor: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    colours = [_WEBS[at * (len(_WEBS) - 1) // max(len(webs) - 1, 1)] for at in range(len(webs))]
    handles = [Line2D([], [], color=colour, linewidth=2.4) for colour in colours]
    figure.legend(
        handles,
        [str(web) for web in webs],
        title="facts that back the belief",
        loc="upper right",
        bbox_to_anchor=anchor,
        ncols=len(webs),
        fontsize=8,
        title_fontsize=8,
        frameon=False,
        handlelength=1.1,
        columnspacing=0.9,
        borderpad=0,
    )


def _short(text: str, length: int = 24) -> str:
    text = plain(text)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _nothing(message: str) -> Any:
    def draw() -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.2, 0.8))
        figure.text(0.5, 0.5, message, ha="center", va="center")
        return figure

    return draw


def _drawn(draw: Any) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # whatever the user's own style is
        matplotlib.rcParams.update(_STYLE)
        # The reader's fonts show what DejaVu has no glyph for.
        warnings.filterwarnings("ignore", message=r".*[Gg]lyph.*", category=UserWarning)
        figure = draw()
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(file, metadata={"Date": None, "Creator": None})
    return _on_dark_paper(file.getvalue())


def _on_dark_paper(svg: str) -> str:
    """Add the colours for a dark page. Programs that know no such rules show it on white."""
    rules = "".join(
        f'[style*="{name}: {light}"]{{{name}:{dark}!important}}'
        for light, dark in _DARK.items()
        for name in ("fill", "stroke")
    )
    # Text without a colour of its own is black.
    rules += f'text:not([style*="fill"]){{fill:{_DARK[INK]}}}'
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", lambda found: found[1] + style, svg, count=1)
