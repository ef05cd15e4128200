"""A comparison of two runs for people: on a terminal, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_engram.report.blocks import Block, Grid, Heading, Items, Text, drop_empty
from pytest_engram.report.document import TITLES
from pytest_engram.report.wording import (
    NONE,
    by_cluster,
    difference,
    milliseconds,
    number,
    p_value,
    plain_lines,
    seconds,
    tested,
    with_encoding,
)

Row = Mapping[str, Any]


def blocks(comparison: Row) -> Iterator[Block]:
    """Headings, tables and lists, in the order in which they are read."""
    earlier, later = comparison["runs"]
    yield Heading(f"{later['name']} compared with {earlier['name']}", 1)
    yield Text(f"Earlier: {_run(earlier)} Later: {_run(later)}")
    if comparison["differs"]:
        yield Text(f"Compared anyway, though they are not alike: {'; '.join(comparison['differs'])}.")
    for suite in comparison["suites"]:
        rows = [row for row in comparison["rows"] if row["suite"] == suite]
        skipped = [row for row in comparison["skipped"] if row["suite"] == suite]
        yield Heading(f"Suite {suite}")
        if rows:
            yield _grid(suite, rows, sum(row["p_holm"] is not None for row in comparison["rows"]))
        lists = [item for row in rows for item in _questions(row)]
        if lists:
            yield Items(lists)
        if skipped:
            yield Items(
                [(f"{_title(row['metric'])}, {row['label']}", f"not compared: {row['reason']}") for row in skipped]
            )
    if comparison["costs"]:
        yield Heading("Costs")
        yield _costs(comparison["costs"])


def _run(run: Row) -> str:
    made = f" ({run['created']})" if run["created"] else ""
    encoder = f"encoder {run['encoder']}" if run["encoder"] else "no encoder"
    return f"{run['name']}{made}, k = {run['k']}, {encoder}{', incomplete' * (run['complete'] is False)}."


def _title(metric: str) -> str:
    return TITLES.get(metric, metric)


def _grid(suite: str, rows: list[Row], tests: int) -> Grid:
    headers = ["method", "metric", "n", "earlier", "later", "difference", "p", "p (Holm)", "better", "worse"]
    grid = Grid(suite, "The same questions, later minus earlier.", headers)
    for row in rows:
        counts = [p_value(row["p"]), p_value(row["p_holm"]), str(row["better"]), str(row["worse"])]
        means = [number(row["earlier"]), number(row["later"]), difference(row)]
        if row["status"] != "ok":
            means[-1] += f" {row['status']} {grid.mark(row['reason'])}"
        grid.rows.append([row["label"], _title(row["metric"]), str(row["n"]), *means, *counts])
    over = f"over the {tests} tests that decide" if tests > 1 else "the only test that decides"
    holm = f" Holm: {over}: the methods that this is about, on the first metric of each suite."
    drawn = {(row["cluster"], row["clusters"]) for row in rows if row["cluster"]}
    if drawn:
        by = ", ".join(by_cluster(*one) for one in sorted(drawn))
        grid.below = [f"Square brackets: 95% interval of the difference. Intervals and tests: sign flips {by}.{holm}"]
        return grid
    tests_of = {_title(row["metric"]): tested(row) for row in rows}
    how = ", ".join(f"{metric} by the {test} test" for metric, test in tests_of.items())
    kinds = {"mcnemar": "Newcombe's", "paired bootstrap": "the bootstrap's"}
    intervals = " or ".join(dict.fromkeys(kinds[row["test"]] for row in rows))
    grid.below = [f"Square brackets: 95% interval of the difference, {intervals}. p: {how}.{holm}"]
    return grid


def _costs(rows: list[Row]) -> Grid:
    names = ("tokens returned", "search p50, ms", "writing", "errors")
    headers = ["method", "suite", *(f"{name}, {which}" for name in names for which in ("earlier", "later"))]
    grid = Grid("Costs", "What both runs took.", headers)
    for row in rows:
        both = [row["earlier"], row["later"]]
        cells = [_count(run, "tokens_returned", ",.0f") for run in both]
        cells += [_search(grid, run) for run in both]
        cells += [NONE if run is None else seconds(run["write_seconds"]) for run in both]
        cells += [NONE if run is None or not run["errors"] else str(run["errors"]) for run in both]
        grid.rows.append([row["label"], row["suite"], *cells])
    drop_empty(grid)
    grid.below = [
        "Tokens: mean a question. Writing: per 1,000 entries. Times are those of each run's own machine. Quality alone "
        "decides whether a run is worse."
    ]
    return grid


def _count(run: Row | None, name: str, style: str) -> str:
    return NONE if run is None or run[name] is None else format(run[name], style)


def _search(grid: Grid, run: Row | None) -> str:
    if run is None or run["search_p50"] is None:
        return NONE
    note = with_encoding(run)
    return milliseconds(run["search_p50"]) + ("" if note is None else f" {grid.mark(note)}")


def _questions(row: Row) -> Iterator[tuple[str, str]]:
    about = f"{row['label']}, {_title(row['metric'])}"
    for what in ("better", "worse"):
        if row[f"{what}_ids"]:
            yield f"{about}, {what} ({row[what]})", ", ".join(row[f"{what}_ids"])
    if not row["better"] and not row["worse"]:
        ids = f"the returned ids differ in {row['changed']}" if row["changed"] else "the returned ids are the same"
        yield about, f"equal on all {row['n']} questions; {ids}"
    for count, which in ((row["only_earlier"], "earlier"), (row["only_later"], "later")):
        if count:
            yield about, f"{count} questions were measured in the {which} run alone, and are left out"


def to_terminal(comparison: Row, width: int, colour: bool) -> str:
    """For a terminal of `width` columns."""
    from pytest_engram.report.screen import NARROW, Page

    page = Page(max(width, NARROW), colour)
    for block in blocks(comparison):
        if isinstance(block, Heading):
            page.heading(block.text)
        elif isinstance(block, Text):
            page.text(block.text)
        elif isinstance(block, Items):
            page.lines.append("")
            for head, text in block.items:
                page.text(f"{head}: {text}", indent="  ")
        elif isinstance(block, Grid):
            page.table(block, keep=2)
            page.reasons(block)
            for line in block.below:
                page.text(line, "dim")
    return "\n".join(page.lines).strip("\n") + "\n"


def to_markdown(comparison: Row) -> str:
    """For a pull request."""
    from pytest_engram.report.tables import markdown

    return markdown(blocks(comparison))


def to_html(comparison: Row) -> str:
    """One file that needs no network."""
    from markupsafe import Markup

    from pytest_engram.report.page import HERE, templates

    environment = templates()
    environment.filters["kind"] = lambda block: type(block).__name__
    css = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    title = f"{comparison['runs'][1]['name']} compared with {comparison['runs'][0]['name']}"
    template = environment.get_template("comparison.html.j2")
    html = template.render(blocks=list(blocks(comparison)), title=title, css=css)
    return plain_lines(html.rstrip("\n")) + "\n"
