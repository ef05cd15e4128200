"""What methods cost, and what stands beside a figure, against numpy and a hand's calculation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import runs

from pytest_engram import report
from pytest_engram.report import tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.page import render
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome

TOKENIZER = {"name": "WordPiece of all-MiniLM-L6-v2", "sha256": "0" * 64}
ENCODER = {"name": "bge", "hash": "0", "dimensions": 8, "query_prefix": "Represent: ", "note": ""}
SECONDS = [0.001, 0.002, 0.003, 0.010, 0.050]


def lines(method: str = "loom", suite: str = "tiny", **more: Any) -> list[Outcome]:
    return [
        runs.outcome(f"q{i}", float(i % 2), method, suite, seconds=seconds, tokens=100 + i, **more)
        for i, seconds in enumerate(SECONDS)
    ]


def results_of(outcomes: list[Outcome], query_seconds: float | None = None, **more: Any) -> dict[str, Any]:
    encoder = ENCODER if query_seconds is None else ENCODER | {"query_seconds": query_seconds}
    return aggregate(outcomes, runs.manifest(outcomes, tokenizer=TOKENIZER, encoder=encoder, **more))


def cost(results: dict[str, Any], method: str = "loom") -> dict[str, Any]:
    (found,) = (row for row in results["costs"] if row["method"] == method)
    return found


def row(results: dict[str, Any], method: str = "loom") -> dict[str, Any]:
    (found,) = (r for r in results["rows"] if r["method"] == method)
    return found


class TestCosts:
    def test_search_is_told_by_the_percentiles_of_its_seconds(self) -> None:
        found = cost(results_of(lines()))
        assert found["search_p50"] == pytest.approx(np.percentile(SECONDS, 50))
        assert found["search_p95"] == pytest.approx(np.percentile(SECONDS, 95))
        assert found["query_encoding"] == 0.0

    def test_what_embedding_a_query_takes_is_added_where_the_bench_gave_it_from_its_store(self) -> None:
        found = cost(results_of(lines(encodings=1), query_seconds=0.02))
        assert found["search_p50"] == pytest.approx(0.003 + 0.02)
        assert found["search_p95"] == pytest.approx(np.percentile(SECONDS, 95) + 0.02)
        assert found["query_encoding"] == 0.02
        mixed = [*lines(encodings=1)[:2], *lines()[2:]]
        expected = np.percentile([0.021, 0.022, 0.003, 0.010, 0.050], [50, 95])
        found = cost(results_of(mixed, query_seconds=0.02))
        assert (found["search_p50"], found["search_p95"]) == pytest.approx(tuple(expected))

    def test_where_that_is_not_known_the_row_says_so_and_so_do_the_tables(self) -> None:
        results = results_of(lines(encodings=1))
        assert cost(results)["query_encoding"] is None
        assert cost(results)["search_p50"] == pytest.approx(0.003)
        for text in (tables.to_markdown(results), tables.to_latex(results), terminal(results, 100, False)):
            assert "without embedding the query: not measured" in text
        assert "without embedding the query: not measured" in render(results, lines(encodings=1), {})

    def test_writing_is_told_per_thousand_entries(self) -> None:
        outcomes = lines()
        outcomes[0].wrote = {"entries": 500, "seconds": 2.0, "bytes": 1000}
        outcomes[3].wrote = {"entries": 1500, "seconds": 4.0, "bytes": 3000, "found": True}
        found = cost(results_of(outcomes))
        assert (found["entries"], found["write_seconds"], found["bytes"]) == (2000, pytest.approx(3.0), 4000)
        assert cost(results_of(lines()))["write_seconds"] is None
        assert cost(results_of(lines()))["bytes"] is None

    def test_tokens_are_a_mean_and_usage_errors_and_retries_are_sums(self) -> None:
        outcomes = lines(usage={"tokens": 10.0, "usd": 0.1}, retries=2)
        outcomes.append(runs.outcome("q9", None, status="error", reason="boom", ids=[], retries=3))
        found = cost(results_of(outcomes))
        assert found["tokens_returned"] == pytest.approx(102.0)  # of 100 to 104
        assert found["usage"] == {"tokens": 50.0, "usd": 0.5}
        assert (found["errors"], found["retries"], found["n"]) == (1, 13, 5)

    def test_a_log_that_tells_of_no_costs_has_none(self) -> None:
        outcomes = [runs.outcome("q0", 1.0, seconds=0.1)]
        results = aggregate(outcomes, runs.manifest(outcomes))
        assert results["costs"] == []
        assert "Costs" not in tables.to_markdown(results)
        assert "Costs" not in terminal(results, 100, False)
        assert 'id="costs"' not in render(results, outcomes, {})

    def test_a_recorded_method_that_tells_no_time_has_none(self) -> None:
        outcomes = lines()
        for outcome in outcomes:
            outcome.seconds = None
        found = cost(results_of(outcomes))
        assert (found["search_p50"], found["search_p95"], found["tokens_returned"]) == (None, None, 102.0)

    def test_equal_logs_give_equal_files(self, tmp_path: Any) -> None:
        outcomes = lines() + lines("dense", encodings=1)
        manifest = runs.manifest(outcomes, tokenizer=TOKENIZER, encoder=ENCODER | {"query_seconds": 0.02})
        for name, order in (("one", outcomes), ("two", outcomes[::-1])):
            report.write(tmp_path / name, order, manifest)
        for name in report.FILES:
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name

    def test_every_table_shows_them_in_units_that_it_names(self) -> None:
        outcomes = lines(usage={"usd": 0.25}) + lines("dense", encodings=1)
        outcomes[0].wrote = {"entries": 500, "seconds": 2.0, "bytes": 1_000_000}
        results = results_of(outcomes, query_seconds=0.02)
        text = tables.to_markdown(results)
        table = text[text.index("## Costs") :]
        assert "WordPiece of all-MiniLM-L6-v2" in table
        (loom,) = (line for line in table.splitlines() if line.startswith("| Loom"))
        cells = [cell.strip() for cell in loom.strip("|").split("|")]
        # method, suite, tokens, p50 and p95 in ms, writing per 1,000 entries, size per 1,000 entries, what it used
        assert cells == ["Loom", "tiny", "102", "3.0", "42", "4.00 s", "2.0 MB", "1.25 usd", "–"]
        (dense,) = (line for line in table.splitlines() if line.startswith("| Dense"))
        assert "23 (1)" in dense
        assert "bge (2)" in dense
        assert "1. with 20 ms for embedding the query\n2. queries behind 'Represent: '" in table
        screen = terminal(results, 100, False)
        assert "102 tokens, 3.0 ms" in screen[screen.index("Costs") :]
        csv = [line.split(",") for line in tables.to_csv(results).splitlines()]
        (tokens,) = (line for line in csv if line[0] == "costs" and "loom" in line and "tokens_returned" in line)
        assert tokens[-5] == "102.0"


class TestEncoders:
    def test_a_method_s_own_encoder_is_named_before_the_run_s(self) -> None:
        outcomes = lines("loom", encodings=1) + lines("mine", encodings=1) + lines("bm25")
        manifest = runs.manifest(outcomes, tokenizer=TOKENIZER, encoder=ENCODER)
        manifest["methods"]["mine"]["encoder"] = "text-embedding-3"
        found = {m["method"]: m["encoder"] for m in aggregate(outcomes, manifest)["methods"]}
        assert found == {"loom": "bge, queries behind 'Represent: '", "mine": "text-embedding-3", "bm25": None}

    def test_an_encoder_without_a_query_prefix_is_named_alone(self) -> None:
        outcomes = lines(encodings=1)
        manifest = runs.manifest(outcomes, encoder=ENCODER | {"query_prefix": ""})
        assert aggregate(outcomes, manifest)["methods"][0]["encoder"] == "bge"


class TestCaptions:
    def test_a_budget_stands_beside_k_with_the_tokenizer(self) -> None:
        told = "k = 10 and at most 200 tokens (WordPiece of all-MiniLM-L6-v2)"
        results = results_of(lines(), budget=200)
        assert told in results["suites"][0]["caption"]
        for text in (tables.to_markdown(results), tables.to_latex(results)):
            assert told in text
        assert told in " ".join(terminal(results, 100, False).split())
        assert "200 tokens" in render(results, lines(), {})
        assert "at most" not in tables.to_markdown(results_of(lines()))


class TestMarks:
    def test_nothing_returned_is_counted(self) -> None:
        outcomes = lines()
        outcomes[1].ids, outcomes[2].ids = [], []
        results = results_of(outcomes)
        assert row(results)["marks"] == ["returned nothing for 2 of 5 questions"]
        assert row(results_of(lines()))["marks"] == []
        text = tables.to_markdown(results)
        assert "0.400 [0.118, 0.769] (1)" in text  # Wilson of 2 in 5
        assert "\n1. returned nothing for 2 of 5 questions\n" in text
        assert "(1) returned nothing for 2 of 5 questions" in terminal(results, 100, False)
        assert "returned nothing for 2 of 5 questions" in render(results, outcomes, {})

    def test_what_stands_behind_k_is_told_of_a_rewriting_memory(self) -> None:
        outcomes = lines(longest=10)
        for number, outcome in enumerate(outcomes):
            outcome.recalled = [
                {"text": "x" * 10, "sources": ["1"]},
                {"text": "x" * 11, "sources": [str(i) for i in range(11 if number else 3)]},
                {"id": "7"},
            ]
            outcome.ids = [str(i) for i in range(10 + number)]
        assert row(results_of(outcomes))["marks"] == [
            "entries behind k: 12.0 (mean)",  # of 10 to 14
            "5 texts are longer than the haystack's longest entry",
            "4 results have more than k sources",
        ]

    def test_one_is_no_many(self) -> None:
        outcomes = lines()
        outcomes[0].recalled = [{"text": "long", "sources": [str(i) for i in range(11)]}]
        outcomes[0].longest = 3
        assert row(results_of(outcomes))["marks"][1:] == [
            "1 text is longer than the haystack's longest entry",
            "1 result has more than k sources",
        ]

    def test_a_micro_test_that_searches_nothing_has_no_such_mark(self) -> None:
        outcomes = [
            runs.outcome(f"q{i}", 1.0, ids=[], metrics={"correct": 1.0}, family="density", case=f"c{i}", tokens=0)
            for i in range(3)
        ]
        manifest = runs.manifest(outcomes)
        manifest["suites"]["tiny"] |= {"kind": "micro", "family": "density"}
        assert row(aggregate(outcomes, manifest))["marks"] == []


class TestPlot:
    def points(self, results: dict[str, Any]) -> str:
        from pytest_engram.report import scatter

        return scatter.costs(results)

    def test_one_labelled_point_a_method_in_each_panel(self) -> None:
        import xml.etree.ElementTree as ElementTree

        outcomes = lines() + lines("dense", encodings=1) + lines("bm25") + lines("no & more")
        svg = self.points(results_of(outcomes, query_seconds=0.02))
        root = ElementTree.fromstring(svg)
        texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
        for label in ("Loom", "Dense", "Bm25", "No & More"):
            assert texts.count(label) == 2
        assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 8
        assert any("tokens returned" in text for text in texts)
        assert any("milliseconds" in text for text in texts)

    def test_a_suite_without_costs_or_quality_has_no_panel(self) -> None:
        outcomes = [runs.outcome("q0", 1.0)]
        assert "<circle" not in self.points(aggregate(outcomes, runs.manifest(outcomes)))

    def test_it_is_drawn_without_a_plotting_library(self) -> None:
        import subprocess
        import sys

        results = results_of(lines())
        code = (
            "import json, sys; from pytest_engram.report import scatter\n"
            "scatter.costs(json.load(sys.stdin)); print('matplotlib' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(results), capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "False"
