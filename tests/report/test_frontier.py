"""The frontier, against shares that were counted by hand, and intervals that statsmodels and scipy give."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import backed
import pytest
import runs
from backed import by_cluster, line

from pytest_engram import report
from pytest_engram.report import frontier_plot, tables
from pytest_engram.report.frontier_table import HOW, TITLE
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome


def named_by_hand(method: str = "loom", **more: Any) -> list[Outcome]:
    """Eight levels whose winners stand here, to be counted."""
    of = {
        # b = 0: of four, two updates, one belief, one both.
        (None, 0, 0): [("update", "sport"), ("update", "faith"), ("belief", "sport"), ("both", "faith")],
        # b = 3, the newer backed: three of four; the older backed: one of two.
        ("newer", 3, 0): [("update", "sport"), ("update", "sport"), ("update", "faith"), ("both", "faith")],
        ("older", 3, 0): [("belief", "sport"), ("neither", "faith")],
        # The other side is repeated three times: one of two, and none of two.
        ("newer", 3, 3): [("update", "sport"), ("belief", "faith")],
        ("older", 3, 3): [("update", "sport"), ("both", "faith")],
    }
    return [
        line(method, f"q-{side}-{b}-{m}-{at}", winner, backed=side, b=b, m=m, relation=relation, **more)
        for (side, b, m), winners in of.items()
        for at, (winner, relation) in enumerate(winners)
    ]


def point(results: dict[str, Any], axis: str, count: int, method: str = "loom") -> dict[str, Any]:
    (found,) = (r for r in results["frontier"] if (r["axis"], r["count"], r["method"]) == (axis, count, method))
    return found


class TestShares:
    def test_each_point_is_what_was_counted(self) -> None:
        found = backed.results(named_by_hand())
        told = [(r["axis"], r["count"], r["followed"], r["resisted"]) for r in found["frontier"]]
        assert told == [("b", 0, 0.5, 0.25), ("b", 3, 0.75, 0.5), ("m", 0, 0.75, 0.5), ("m", 3, 0.5, 0.0)]
        sizes = [(r["followed_n"], r["resisted_n"]) for r in found["frontier"]]
        assert sizes == [(4, 4), (4, 2), (4, 2), (2, 2)]
        first = found["frontier"][0]
        assert (first["suite"], first["kind"], first["method"], first["label"]) == (
            "backed_fc",
            "named",
            "loom",
            "Loom",
        )
        assert (first["role"], first["cluster"], first["clusters"]) == ("experiment", "relation", 2)
        assert {row["status"] for row in found["frontier"]} == {"ok"}

    def test_intervals_go_by_relation(self) -> None:
        relations = ["a"] * 4 + ["b"] * 3 + ["c"] * 5 + ["d"] * 4
        winners = ["update"] * 3 + ["both"] + ["update", "belief", "update"] + ["belief"] * 4 + ["update"] * 5
        log = [
            line("loom", f"q{at}", winner, backed="newer", b=5, relation=relation)
            for at, (winner, relation) in enumerate(zip(winners, relations, strict=True))
        ]
        row = point(backed.results(log), "b", 5)
        values = [float(winner == "update") for winner in winners]
        assert row["followed"] == 10 / 16
        assert (row["followed_low"], row["followed_high"]) == pytest.approx(by_cluster(values, relations))
        assert (row["resisted"], row["resisted_low"], row["resisted_n"]) == (None, None, 0)
        assert row["clusters"] == 4

    def test_one_relation_tells_no_spread(self) -> None:
        log = [line("loom", f"q{at}", "update", backed="newer", b=5) for at in range(3)]
        row = point(backed.results(log), "b", 5)
        assert (row["followed"], row["followed_low"], row["followed_high"], row["clusters"]) == (1.0, None, None, 1)

    def test_of_several_seeds_the_mean_counts(self) -> None:
        # By question 1/2, 1 and 0: the mean is a half.
        winners = {1: ["update", "update", "both"], 2: ["belief", "update", "both"]}
        log = [
            line("loom", f"q{at}", winner, backed="newer", b=5, relation=f"r{at}", seed=seed)
            for seed, found in winners.items()
            for at, winner in enumerate(found)
        ]
        row = point(backed.results(log), "b", 5)
        assert (row["followed"], row["followed_n"]) == (0.5, 3)
        assert row["followed_low"] < 0.5 < row["followed_high"]

    def test_both_kinds_of_speakers_are_in_a_point(self) -> None:
        log = named_by_hand()
        for outcome in log[::2]:
            outcome.fields["speakers"] = "many" if outcome.fields["m"] else None
        assert backed.results(log)["frontier"] == backed.results(named_by_hand())["frontier"]

    def test_other_suites_have_none(self) -> None:
        assert backed.results(named_by_hand(), backed_fc={"frontier": False})["frontier"] == []

    def test_a_suite_that_was_not_run_has_none(self) -> None:
        log = [line("loom", "q", "both", backed="newer", b=3, status="not run", reason="no data here")]
        assert backed.results(log)["frontier"] == []

    def test_a_method_without_figures_says_why(self) -> None:
        log = named_by_hand() + named_by_hand("mine")
        log[-1].status, log[-1].reason = "violation", "11 ids returned, k is 10"
        found = backed.results(log)
        row = point(found, "b", 3, "mine")
        assert (row["status"], row["followed"], row["followed_n"]) == ("violation", None, 0)
        assert "11 ids returned" in row["reason"]
        assert point(found, "b", 3)["followed"] == 0.75
        assert "violation (1)" in tables.to_markdown(found)


def winner(backed_side: str | None, b: int, m: int, at: int) -> str:
    """A method that follows what is backed by more, mostly."""
    if b == 0:
        return ("update", "belief", "both")[at % 3]
    right = {"newer": "update", "older": "belief"}[backed_side or ""]
    wrong = {"update": "belief", "belief": "update"}[right]
    return right if at % 6 < b - m / 2 + 1 else wrong


@pytest.fixture(scope="module")
def log() -> list[Outcome]:
    made = [o for method in ("loom", "loom-distinct", "tide") for o in backed.swept(method, winner)]
    made += backed.swept("dense", lambda *_: "both") + backed.swept("bm25", lambda *_: "both")
    return made + backed.swept("loom", winner, kind="implied", suite="backed_fc_implied")


@pytest.fixture(scope="module")
def results(log: list[Outcome]) -> dict[str, Any]:
    return backed.results(log)


class TestTables:
    def test_the_picture_opens_the_report_and_its_numbers_stand_below(self, results: Any) -> None:
        text = tables.to_markdown(results)
        headings = re.findall(r"^## (.*)", text, re.MULTILINE)
        assert headings[0] == TITLE
        first = text[text.index(f"## {TITLE}") : text.index(f"## {headings[1]}")]
        assert "](frontier.svg)" in first.split("|")[0]
        for told in ("neither follows nor resists", "line of chance", "the zero of the scale"):
            assert told in HOW
        lines = [line for line in first.splitlines() if line.startswith("| method")]
        assert len(lines) == 4  # by b and by m, of two suites
        assert [re.sub(r"\s+", " ", line) for line in lines[:2]] == [
            "| method | followed, b = 0 | followed, b = 1 | followed, b = 3 | followed, b = 5 "
            "| resisted, b = 0 | resisted, b = 1 | resisted, b = 3 | resisted, b = 5 |",
            "| method | followed, m = 0 | followed, m = 1 | followed, m = 3 | followed, m = 5 "
            "| resisted, m = 0 | resisted, m = 1 | resisted, m = 3 | resisted, m = 5 |",
        ]
        row = point({"frontier": [r for r in results["frontier"] if r["suite"] == "backed_fc"]}, "b", 5)
        assert f"{row['followed']:.3f} [{row['followed_low']:.3f}, {row['followed_high']:.3f}]" in first
        assert "95% interval by relation (6). n: followed 48, 24, 24, 24; resisted 48, 24, 24, 24." in first
        assert "The backers imply the value" in first

    def test_latex_has_the_numbers_without_the_picture(self, results: Any) -> None:
        text = tables.to_latex(results)
        assert "followed, m = 5" in text
        assert "frontier.svg" not in text

    def test_csv_has_a_line_a_number(self, results: Any) -> None:
        lines = [row for row in csv.DictReader(io.StringIO(tables.to_csv(results))) if row["table"] == "frontier"]
        assert len(lines) == 8 * len(results["frontier"])
        row = next(r for r in results["frontier"] if (r["axis"], r["count"]) == ("m", 3))
        (told,) = (
            line
            for line in lines
            if (line["suite"], line["method"], line["of"], line["statistic"])
            == ("backed_fc", "loom", "m = 3", "resisted")
        )
        assert (float(told["number"]), told["group"], told["cluster"]) == (row["resisted"], "named", "relation")

    def test_the_terminal_has_two_columns_a_suite(self, results: Any) -> None:
        shown = terminal(results, 100, False)
        part = shown[shown.index("backed_fc: what is followed") :].split("\n\n")[0]
        rows = {row["metric"]: row for row in results["rows"] if (row["suite"], row["method"]) == ("backed_fc", "loom")}
        assert part.splitlines()[1].split() == ["method", "followed", "resisted"]
        assert f"{rows['followed']['value']:.3f}" in part.splitlines()[2]
        assert max(map(len, terminal(results, 60, False).splitlines())) <= 60

    def test_the_page_opens_with_it(self, results: Any, log: list[Outcome]) -> None:
        html = render(results, log, {"frontier": frontier_plot.frontier(results)})
        assert re.findall(r'<section id="(\w+)"', html)[:2] == ["frontier", "run"]
        assert html.count("<h1") == 1
        first = html[html.index('<section id="frontier"') : html.index('<section id="run"')]
        assert (
            first.index("<h1")
            < first.index("<img")
            < first.index("neither follows nor resists")
            < first.index("<table")
        )
        assert len(re.findall("<table", first)) == 4


class TestPlot:
    def texts(self, svg: str) -> list[str]:
        return ["".join(e.itertext()).strip() for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("}text")]

    def test_the_same_bytes_for_the_same_results(self, results: Any, log: list[Outcome]) -> None:
        again = backed.aggregate(log[::-1], backed.manifest(log))
        assert frontier_plot.frontier(again) == frontier_plot.frontier(results)

    def test_a_panel_a_suite_with_what_is_needed_to_read_it(self, results: Any) -> None:
        found = self.texts(frontier_plot.frontier(results))
        for told in ("backed_fc", "backed_fc_implied", "chance", "a good memory ↗"):
            assert told in found
        assert "backers name the value, intervals by relation (6)" in found
        assert "prefers-color-scheme: dark" in frontier_plot.frontier(results)

    def test_points_stand_where_their_shares_are(self) -> None:
        """A method at (1, 0) with all: at the right end and at the bottom of what is 16 pixels inside of 400."""
        log = backed.swept("tide", lambda *_: "update")
        svg = frontier_plot.frontier(backed.results(log, ("tide",)))
        (end,) = set(re.findall(r'd="M(\S+) (\S+)a5\.0 ', svg))
        assert (float(end[0]) + 5, float(end[1])) == (400 - 16, 400 - 16)

    def test_methods_at_one_place_share_a_label_and_ablations_are_thin(self, results: Any) -> None:
        svg = frontier_plot.frontier(results)
        assert "BM25, Dense" in self.texts(svg)
        thin = re.findall(r'stroke="(#\w+)" stroke-width="0.9"', svg)
        assert len(thin) == 2  # one ablation: by b and by m, in one suite

    def test_a_named_ablation_is_drawn_in_full(self, log: list[Outcome]) -> None:
        svg = frontier_plot.frontier(backed.results(log, ("loom", "loom-distinct")))
        assert 'stroke-width="0.9"' not in svg

    def test_colours_and_signs_differ(self, log: list[Outcome]) -> None:
        looks = frontier_plot._looks(backed.results(log)["methods"])
        full = [look for look in looks.values() if look.full]
        assert len({(look.colour, look.corners) for look in full}) == len(full) == 4

    def test_names_are_text(self, log: list[Outcome]) -> None:
        facts = backed.manifest(log)
        facts["methods"]["loom"]["label"] = "<script>&\x1b[31m"
        results = backed.aggregate(log, facts)
        svg = frontier_plot.frontier(results)
        assert "<script" not in svg
        assert any("<script>& [31m" in text for text in self.texts(svg))


class TestFiles:
    def test_the_picture_is_a_file_where_there_is_a_frontier(self, log: list[Outcome], tmp_path: Path) -> None:
        facts = backed.manifest(log)
        written = report.write(tmp_path, log, facts, only=["svg", "md"])
        assert [path.name for path in written][:2] == ["frontier.svg", "results.md"]
        assert written[0].read_text(encoding="utf-8") == frontier_plot.frontier(backed.aggregate(log, facts))

    def test_and_neither_file_nor_heading_where_there_is_none(self, log: list[Outcome], tmp_path: Path) -> None:
        facts = backed.manifest(log, backed_fc={"frontier": False}, backed_fc_implied={"frontier": False})
        written = report.write(tmp_path, log, facts)
        assert [path.name for path in written] == list(report.FILES)
        for name in ("results.md", "results.tex", "results.html"):
            assert TITLE not in (tmp_path / name).read_text(encoding="utf-8")
        assert "followed and what is resisted" not in terminal(backed.aggregate(log, facts), 100, False)


class TestMicroTestsThatTellNothing:
    """In the module of the tables, a family whose every method has one value is a sentence."""

    def made(self, last: float, suites: tuple[str, ...] = ("never_neither", "sites")) -> str:
        log = [
            runs.outcome(
                f"{case}",
                None,
                method,
                suite,
                metrics={"correct": last if (method, suite, case) == ("tide", "sites", 1) else 1.0},
                family=suite,
                case=f"c{case}",
                winner="update" if method == "loom" else "belief",
            )
            for suite in suites
            for method in ("loom", "tide")
            for case in range(2)
        ]
        return tables.to_markdown(backed.results(log, **{suite: {"kind": "micro"} for suite in suites}))

    def test_they_are_one_sentence(self) -> None:
        text = self.made(1)
        told = "never_neither (2 cases), sites (2 cases): every method 1.000; they tell no method apart."
        assert told in text
        assert "### Micro-test" not in text

    def test_one_that_differs_has_its_table(self) -> None:
        text = self.made(0)
        assert "never_neither (2 cases): every method 1.000; it tells no method apart." in text
        assert "### Micro-test sites" in text
        assert "### Micro-test never_neither" not in text
