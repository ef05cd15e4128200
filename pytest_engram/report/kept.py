"""Plots are kept: a run whose figures are those of an earlier one shows the plot that was drawn for them.

Importing matplotlib and drawing take longer than all the rest of a small run's report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import cache_dir

PLOTS = 32  # that are kept; the oldest go
_SHOWN = ("suites", "rows", "curves")  # of the results: all that `plots` looks at
_DRAWN_BY = ("plots.py", "captions.py", "wording.py")


def drawn_once(name: str, results: Mapping[str, Any], draw: Callable[[], str]) -> str:
    """What `draw` gives, from an earlier run where one drew the same figures.

    Args:
        name: of the plot.
        results: as `pytest_engram.report.aggregate` makes them.
        draw: makes the plot; depends on nothing but the results, this package's code and matplotlib's version.

    Returns:
        SVG. Where nothing can be kept, or what was kept is damaged, it is drawn each time.
    """
    key = hashlib.sha256(f"{name} {version('matplotlib')}\n".encode())
    for file in _DRAWN_BY:
        key.update(Path(__file__).with_name(file).read_bytes())
    key.update(json.dumps([results[part] for part in _SHOWN]).encode())
    folder = cache_dir() / "plots"
    path = folder / f"{key.hexdigest()[:40]}.kept"
    with suppress(OSError):
        digest, _, kept = path.read_bytes().partition(b"\n")
        if digest.decode("ascii", "replace") == hashlib.sha256(kept).hexdigest():
            return kept.decode()
        sealed.damaged(path)
    svg = draw()
    with suppress(OSError, ValueError):
        content = svg.encode()
        sealed.placed(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-PLOTS]:
            old.unlink(missing_ok=True)
    return svg
