"""A comparison of two runs for people: on a terminal, as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_engram.report.document import TESTS, TITLES, Block, Grid, Heading, Items, Text
from pytest_engram.report.wording import difference, number, p_value, plain_lines

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
            yield _grid(suite, rows, len(comparison["rows"]))
        lists = [item for row in rows for item in _questions(row)]
        if lists:
            yield Items(lists)
        if skipped:
            yield Items(
                [(f"{_title(row['metric'])}, {row['label']}", f"not compared: {row['reason']}") for row in skipped]
            )


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
        grid.rows.append([row["label"], _title(row["metric"]), str(row["n"]), *means, *counts])
    holm = f" Holm: over the {tests} tests of this comparison." if tests > 1 else ""
    tested = {_title(row["metric"]): TESTS[row["test"]] for row in rows}
    how = ", ".join(f"{metric} by the {test} test" for metric, test in tested.items())
    grid.below = [f"Square brackets: 95% interval of the difference, by the bootstrap. p: {how}.{holm}"]
    return grid


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
        else:
            page.table(block, keep=2)
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
