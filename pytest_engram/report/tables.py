"""Results as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from tabulate import LATEX_ESCAPE_RULES, tabulate

from pytest_engram.report.blocks import Block, Grid, Heading, Items, Plot, Text
from pytest_engram.report.document import document
from pytest_engram.report.wording import always, plain

Row = dict[str, Any]

# What Markdown would read as markup, and no more, so that the source stays readable.
_INLINE = re.compile(r"[\\`*|~$]|(?<!\w)_|_(?!\w)|\](?=[(\[:])")
_START = re.compile(r"^(?=[#>+=-])|(?<=^\d)(?=[.)])")
_HTML = re.compile(r"<(?=[\w/!?])|&(?=[\w#])")
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")  # how a cell begins that spreadsheets would run
_AFTER_ROW = re.compile(r"(\\\\\n )(?=[\[*])")  # LaTeX would read it as an argument of the line's end
_LATEX_TYPE = {"−": "$-$", "–": "--", "≠": "$\\neq$"}
_LATEX_HEADINGS = {1: "section*", 2: "subsection*", 3: "subsubsection*"}

_TIDY = ("table", "suite", "family", "method", "label", "baseline", "metric", "case", "seed", "web", "backers")
_PART = ("group", "without", "of", "cluster", "clusters")  # which questions, of a ceiling what sets it, drawn how
_NUMBERS = {  # table: what of each of its rows is a number
    "rows": ("value", "low", "high", "n", "effective_k", "lost", "differs"),
    "costs": (
        "tokens_returned",
        "search_p50",
        "search_p95",
        "query_encoding",
        "write_seconds",
        "entries",
        "bytes",
        "errors",
        "retries",
    ),
    "gates": ("threshold", "value", "difference", "low", "high", "p", "p_holm", "n", "passed"),
    "states": ("new", "old", "both", "neither", "n"),
    "frontier": (
        "followed",
        "followed_low",
        "followed_high",
        "followed_n",
        "resisted",
        "resisted_low",
        "resisted_high",
        "resisted_n",
    ),
    "floors": ("value",),
    "answer_baselines": ("value", "low", "high", "n", "tokens"),
    "strategies": ("value",),
    "ceilings": ("value", "low", "high", "n"),
    "paired": ("difference", "low", "high", "p", "p_holm", "better", "worse", "smallest_difference", "first_step", "n"),
    "flips": ("flip_point", "monotone"),
    "flip_summary": ("median", "low", "high", "held", "unseen", "most", "n"),
    "flip_trend": (
        "tau",
        "low",
        "high",
        "p",
        "seen",
        "cases",
        "unbacked",
        "unbacked_low",
        "unbacked_high",
        "flips_back",
        "loses_both",
        "n",
    ),
    "curves": ("share", "low", "high", "flipped", "n"),
    "published": ("value",),
    "judges": ("wrong_accepted", "low", "high", "n", "right_rejected", "right_low", "right_high", "right_n"),
}
_OF = {"judges": "kind", "states": "hop", "strategies": "strategy"}  # what stands in the column `of`
_CORRECTED = ("corrected", "corrected_low", "corrected_high")  # of a row that a judge's verdicts are behind


def to_json(results: Row) -> str:
    """All of it, every float exact."""
    return indented(results) + "\n"


def indented(value: Any, depth: int = 0) -> str:
    """As `json.dumps` with `indent=1` gives it, several times as fast: Python's fast encoder knows no `indent`.

    What holds no further lists and objects is left to the fast one, with its line's beginning in each separator.
    """
    if not isinstance(value, (dict, list)) or not value:
        return _encoder(0)(value)
    if not any(isinstance(part, (dict, list)) for part in (value.values() if isinstance(value, dict) else value)):
        inner = _encoder(depth + 1)(value)
        return f"{inner[0]}\n{' ' * (depth + 1)}{inner[1:-1]}\n{' ' * depth}{inner[-1]}"
    if isinstance(value, dict):
        parts = [f"{_encoder(0)(str(name))}: {indented(part, depth + 1)}" for name, part in value.items()]
    else:
        parts = [indented(part, depth + 1) for part in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    between = ",\n" + " " * (depth + 1)
    return f"{start}\n{' ' * (depth + 1)}{between.join(parts)}\n{' ' * depth}{end}"


@cache
def _encoder(depth: int) -> Callable[[Any], str]:
    between = ",\n" + " " * depth
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(between, ": ")).encode


def to_csv(results: Row) -> str:
    """Tidy: one number a row, with what it is in `statistic`. A number that there is none of is empty."""
    file = io.StringIO()
    writer = _Writer(file)
    writer.writerow([*_TIDY, *_PART, "statistic", "number", "interval", "test", "status", "reason"])
    for table, statistics in _NUMBERS.items():
        for row in results[table]:
            own = {"table": table, "label": row.get("label", row.get("system", row.get("judge", "")))}
            own |= {"of": row[_OF[table]]} if table in _OF else {}
            if table == "frontier":
                own |= {"group": row["kind"] or "", "of": f"{row['axis']} = {row['count']}"}
            what = [own.get(name, row.get(name, "")) for name in (*_TIDY, *_PART)]
            status = row.get("status") or {"published": "copied"}.get(table, "ok")
            status = always(row["sides"]) if table == "rows" and row["sides"] else status
            rest = [row.get("interval") or "", row.get("test", ""), status, row.get("reason") or row.get("source", "")]
            for name in statistics:
                value = row[name]
                writer.writerow([*what, name, int(value) if isinstance(value, bool) else value, *rest])
            if "corrected" in row:
                numbers = {name: row[name] for name in _CORRECTED}
                numbers |= dict(zip(("spread_low", "spread_high"), row["spread"] or (None, None), strict=True))
                rest = [row["correction"] or "", *rest[1:-1], row["correction_reason"]]
                for name, value in numbers.items():
                    writer.writerow([*what, name, value, *rest])
    return file.getvalue()


class _Writer:
    """Rows of CSV whose texts steer nothing. Numbers stay as they are."""

    def __init__(self, file: io.StringIO) -> None:
        self._rows = csv.writer(file, lineterminator="\n")
        self._escaped = cache(escape_csv)  # the same few thousand texts stand in all rows

    def writerow(self, cells: Sequence[Any]) -> None:
        self._rows.writerow([self._escaped(cell) if isinstance(cell, str) else cell for cell in cells])


def escape_csv(text: str) -> str:
    """A text that a spreadsheet shows as it is: on one line, and behind an apostrophe where it would be a formula.

    Source: OWASP, CSV Injection. Tab and CR, which begin a formula as well, are no characters of `plain`.
    """
    text = plain(text)
    return f"'{text}" if _FORMULA.match(text) else text


def to_markdown(results: Row) -> str:
    """For a README."""
    return markdown(document(results))


def markdown(blocks: Iterable[Block]) -> str:
    """Headings, paragraphs and tables as Markdown."""
    return "\n".join(part for block in blocks for part in _markdown(block)).rstrip("\n") + "\n"


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {escape_markdown(block.text)}\n"
    elif isinstance(block, Text):
        yield f"{_paragraph(block.text)}\n"
    elif isinstance(block, Plot):
        yield f"![{escape_markdown(block.alt)}]({block.file})\n"
    elif isinstance(block, Items):
        yield from (f"- **{escape_markdown(head)}** {escape_markdown(text)}" for head, text in block.items)
        yield ""
    else:
        yield f"{_paragraph(block.caption)}\n"
        yield _tabulate(block, "pipe", escape_markdown) + "\n"
        yield from (f"{number}. {_paragraph(reason)}" for number, reason in enumerate(block.reasons, 1))
        yield from [""] * bool(block.reasons)
        yield from (f"{_paragraph(line)}\n" for line in block.below)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, on one line."""
    return _HTML.sub(lambda found: html.escape(found[0]), _INLINE.sub(r"\\\g<0>", plain(text)))


def _paragraph(text: str) -> str:
    return _START.sub(r"\\", escape_markdown(text))


def to_latex(results: Row) -> str:
    r"""For a paper, to be read with `\input`."""
    head = "% \\usepackage{booktabs,graphicx}; set with LuaLaTeX or XeLaTeX where names are not Latin.\n"
    return head + "\n".join(part for block in document(results) for part in _latex(block)) + "\n"


def _latex(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"\\{_LATEX_HEADINGS[block.level]}{{{escape_latex(block.text)}}}\n"
    elif isinstance(block, Text):
        yield f"{escape_latex(block.text)}\n"
    elif isinstance(block, Plot):
        return  # LaTeX reads no SVG
    elif isinstance(block, Items):
        items = [f"  \\item \\textbf{{{escape_latex(head)}}} {escape_latex(text)}" for head, text in block.items]
        yield "\n".join(["\\begin{itemize}", *items, "\\end{itemize}\n"])
    else:
        yield _latex_table(block)


def _latex_table(grid: Grid) -> str:
    tabular = _AFTER_ROW.sub(r"\1{}", _typeset(_tabulate(grid, "latex_booktabs", plain)))
    notes = [f"({number}) {reason}." for number, reason in enumerate((r.rstrip(".") for r in grid.reasons), 1)]
    below = escape_latex(" ".join([*grid.below, *notes]))
    return "\n".join(
        [
            "\\begin{table}[htbp]",
            "\\centering",
            f"\\caption{{{escape_latex(f'{grid.title}. {grid.caption}')}}}",
            # A table that is wider than the line is made smaller; no other is changed.
            "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
            tabular + "}",
            f"\\par\\smallskip\\footnotesize {below}",
            "\\end{table}\n",
        ]
    )


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return _typeset("".join(LATEX_ESCAPE_RULES.get(character, character) for character in plain(text)))


def _typeset(text: str) -> str:
    for character, code in _LATEX_TYPE.items():
        text = text.replace(character, code)
    return text


def _tabulate(grid: Grid, style: str, escape: Any) -> str:
    rows: Sequence[Sequence[str]] = [[escape(cell) for cell in row] for row in grid.rows]
    headers = [escape(header) for header in grid.headers]
    return tabulate(rows, headers, tablefmt=style, disable_numparse=True, colalign=None if rows else ())
