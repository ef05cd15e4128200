"""`engram export`: what others read of a run says what the run says, and holds no text that a licence keeps back."""

from __future__ import annotations

import csv
import json
import math
import random
import shutil
from pathlib import Path
from statistics import mean
from typing import Any

import ir_measures
import pyarrow.parquet
import pytest
import runs
from click.testing import CliRunner, Result
from ir_measures import R, Success, nDCG

from pytest_engram.cli.commands import main
from pytest_engram.runs import folder as runfolder

WORDS = ["amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "hazel", "ivory", "jade", "kelp", "lotus"]

NEWEST = """\
from pytest_engram import method


class Newest:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[::-1][:k]]


@method(label="Newest")
def newest():
    return Newest
"""


def engram(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with own data in two haystacks, with grades and categories, on which `bm25` and a second memory ran."""
    folder = tmp_path_factory.mktemp("project")
    draw = random.Random(3)
    entries = [
        {"id": f"e {i}" if i == 7 else f"e{i}", "text": " ".join(draw.choices(WORDS, k=6)), "haystack": f"talk{i % 2}"}
        for i in range(80)
    ]
    questions = []
    for i in range(24):
        there = [entry["id"] for entry in entries if entry["haystack"] == f"talk{i % 2}"]
        gold = {id_: draw.choice([1, 2]) for id_ in draw.sample(there, draw.randint(1, 4))}
        query = next(str(entry["text"]) for entry in entries if entry["id"] == next(iter(gold)))
        questions.append({"id": f"q{i}", "query": query, "gold": gold, "haystack": f"talk{i % 2}"})
        questions[-1] |= {"group": "even" if i % 4 < 2 else "odd"}
        if i % 3 == 0:
            questions[-1] |= {"answers": [query.split()[0]]}
    questions.append({"id": "silent", "query": "Who?", "answers": ["secret-answer"], "haystack": "talk0"})
    for name, rows in (("entries", entries), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suites = folder / "suites"
    suites.mkdir()
    for name in ("entries.jsonl", "questions.jsonl"):
        shutil.move(folder / name, suites / name)
    (suites / "talks.yaml").write_text(
        "engram: pilot\nname: talks\nsource: own\nentries: entries.jsonl\nquestions: questions.jsonl\n"
        "metrics: [recall@10, ndcg@10, recall_any@5, recall_all@5, answer@10, subem]\ncluster: talk\nlicence: CC0\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nengram_cases = suites\n")
    (folder / "conftest.py").write_text(NEWEST)
    done = runs.pytest_in(folder, "--engram-method=bm25,newest", "--engram-no-controls", "-n", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def results(made: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / "reports/latest/results.json").read_text())
    return found


def exported(made: Path, to: Path, style: str, *more: str | Path) -> Result:
    return engram("export", made / "reports/latest", "--to", to, "-f", style, "--cases", made / "suites", *more)


def value(results: dict[str, Any], method: str, metric: str, group: str | None = None) -> float:
    (row,) = (
        r
        for r in results["rows"]
        if (r["method"], r["metric"], r["group"]) == (method, metric, group) and not r["without"]
    )
    found: float = row["value"]
    return found


class TestCategories:
    """Own categories stand in every table, as a benchmark's do."""

    def test_each_has_figures_of_its_own(self, made: Path, results: dict[str, Any]) -> None:
        (suite,) = results["suites"]
        assert suite["groups"] == ["even", "odd"]
        log = [json.loads(line) for line in (made / "reports/latest/items.jsonl").read_text().splitlines()]
        for group in ("even", "odd"):
            for metric in ("recall@10", "recall_any@5", "subem"):
                of = [line for line in log if line["method"] == "bm25" and line.get("group") == group]
                values = [line["metrics"][metric] for line in of if line["metrics"].get(metric) is not None]
                assert values
                assert value(results, "bm25", metric, group) == pytest.approx(mean(values))

    def test_they_are_in_the_tables_that_people_read(self, made: Path) -> None:
        for name in ("results.md", "results.tex", "results.html"):
            text = (made / "reports/latest" / name).read_text()
            assert "even, n" in text.replace("$", ""), name
        with (made / "reports/latest/results.csv").open() as file:
            groups = {row["group"] for row in csv.DictReader(file) if row["table"] == "rows"}
        assert groups == {"", "even", "odd"}


class TestTrec:
    def read(self, folder: Path, method: str) -> tuple[list[Any], list[Any]]:
        qrels = list(ir_measures.read_trec_qrels(str(folder / "talks/qrels.txt")))
        return qrels, list(ir_measures.read_trec_run(str(folder / f"talks/{method}.trec")))

    @pytest.mark.parametrize("method", ["bm25", "newest"])
    def test_ir_measures_gives_our_figures(
        self, made: Path, results: dict[str, Any], tmp_path: Path, method: str
    ) -> None:
        """NDCG with grades and recall as shares: the same means from the files alone."""
        assert exported(made, tmp_path / "out", "trec").exit_code == 0
        qrels, run = self.read(tmp_path / "out", method)
        theirs = ir_measures.calc_aggregate([R @ 10, nDCG @ 10, Success @ 5], qrels, run)
        assert theirs[R @ 10] == pytest.approx(value(results, method, "recall@10"), abs=1e-12)
        assert theirs[nDCG @ 10] == pytest.approx(value(results, method, "ndcg@10"), abs=1e-12)
        assert theirs[Success @ 5] == pytest.approx(value(results, method, "recall_any@5"), abs=1e-12)
        assert theirs[R @ 10] > 0

    def test_the_lines(self, made: Path, tmp_path: Path) -> None:
        exported(made, tmp_path / "out", "trec")
        first = (tmp_path / "out/talks/newest.trec").read_text().splitlines()[:10]
        question, _, _, rank, score, tag = zip(*(line.split(" ") for line in first), strict=True)
        assert set(question) == {"q0"}
        assert rank == tuple(map(str, range(1, 11)))
        assert score == tuple(map(str, range(9, -1, -1)))
        assert set(tag) == {"newest"}
        qrels = (tmp_path / "out/talks/qrels.txt").read_text()
        assert {line.split(" ")[0] for line in qrels.splitlines()} == {f"q{i}" for i in range(24)}  # not the silent one
        # White space would be the next column.
        ids = {line.split(" ")[2] for name in ("bm25.trec", "qrels.txt") for line in self.lines(tmp_path, name)}
        assert "e%207" in ids
        assert all(len(line.split(" ")) == 4 for line in qrels.splitlines())

    def lines(self, folder: Path, name: str) -> list[str]:
        return (folder / f"out/talks/{name}").read_text().splitlines()

    def test_what_contains_an_answer_is_what_is_judged_of_facts(self, tmp_path: Path) -> None:
        run = runs.run(tmp_path)
        assert engram("export", run, "--to", tmp_path / "out", "-f", "trec").exit_code == 0
        qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "out/demo_fc/qrels.txt")))
        ranked = list(ir_measures.read_trec_run(str(tmp_path / "out/demo_fc/bm25.trec")))
        (row,) = (
            row
            for row in json.loads((run / "results.json").read_text())["rows"]
            if row["metric"] == "answer@10" and row["group"] is None
        )
        assert ir_measures.calc_aggregate([Success @ 10], qrels, ranked)[Success @ 10] == pytest.approx(row["value"])

    def test_without_the_suite_there_are_no_judgements(self, made: Path, tmp_path: Path) -> None:
        done = engram("export", made / "reports/latest", "--to", tmp_path / "out", "-f", "trec")
        assert "note: talks: no qrels.txt: talks.yaml is not here; give its place with --cases" in done.output
        assert {path.name for path in (tmp_path / "out/talks").iterdir()} == {"bm25.trec", "newest.trec"}

    def test_judgements_of_other_data_are_not_the_run_s(self, made: Path, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(made / "suites", tmp_path / "suites"))
        runs.edit(copy / "questions.jsonl", '"group": "odd"', '"group": "add"')
        done = engram("export", made / "reports/latest", "--to", tmp_path / "out", "-f", "trec", "--cases", copy)
        assert "note: talks: no qrels.txt: data_sha256 of talks is not that of the run" in done.output

    def test_seeds_errors_and_texts_of_its_own(self, tmp_path: Path) -> None:
        outcomes = [
            runs.outcome("q1", 1.0, seed=1),
            runs.outcome("q1", 1.0, seed=2, recalled=[{"text": "x", "sources": ["1", "2"]}]),
            runs.outcome("q2", None, seed=2, status="error", ids=[]),
        ]
        runfolder.write(tmp_path / "run", outcomes, runs.manifest(outcomes), {})
        done = engram("export", tmp_path / "run", "--to", tmp_path / "out", "-f", "trec")
        assert (tmp_path / "out/tiny/loom.seed1.trec").read_text() == "q1 Q0 1 1 9 loom\nq1 Q0 2 2 8 loom\n"
        assert (tmp_path / "out/tiny/loom.seed2.trec").read_text() == "q1 Q0 1 1 9 loom\nq1 Q0 2 2 8 loom\n"
        assert "loom.seed2.trec lacks 1 of 2 questions" in done.output
        assert "loom.seed2.trec has the entries behind the memory's own texts" in done.output


class TestHuggingFace:
    def test_datasets_loads_it(self, made: Path, results: dict[str, Any], tmp_path: Path) -> None:
        from datasets import load_dataset

        assert exported(made, tmp_path / "out", "hf").exit_code == 0
        cache = str(tmp_path / "cache")
        items = load_dataset(str(tmp_path / "out"), split="test", cache_dir=cache)
        assert len(items) == 2 * 25
        of = [row for row in items if row["method"] == "bm25" and row["recall@10"] is not None]
        assert mean(row["recall@10"] for row in of) == pytest.approx(value(results, "bm25", "recall@10"))
        (row,) = (row for row in items if (row["question_id"], row["method"]) == ("q3", "newest"))
        log = [json.loads(line) for line in (made / "reports/latest/items.jsonl").read_text().splitlines()]
        (line,) = (line for line in log if (line["question_id"], line["method"]) == ("q3", "newest"))
        assert (row["ids"], row["query"], row["gold"]) == (line["ids"], line["query"], line["gold"])
        figures = load_dataset(str(tmp_path / "out"), "figures", split="test", cache_dir=cache)
        assert [row["value"] for row in figures] == [row["value"] for row in results["rows"]]
        paired = load_dataset(str(tmp_path / "out"), "paired", split="test", cache_dir=cache)
        assert [row["p"] for row in paired] == [row["p"] for row in results["paired"]]

    def test_the_card_says_what_it_is(self, made: Path, tmp_path: Path) -> None:
        exported(made, tmp_path / "out", "hf")
        card = (tmp_path / "out/README.md").read_text()
        assert card.startswith("---\n")
        assert "- talks: 25 questions; source own; licence CC0" in card
        assert (tmp_path / "out/manifest.json").read_bytes() == (made / "reports/latest/manifest.json").read_bytes()

    def test_without_the_suite_file_texts_stay_out(self, made: Path, tmp_path: Path) -> None:
        done = engram("export", made / "reports/latest", "--to", tmp_path / "out", "-f", "hf")
        assert "note: talks: without questions, answers and texts: its suite file is not here" in done.output
        table = pyarrow.parquet.read_table(tmp_path / "out/data/items.parquet").to_pylist()
        assert {row["query"] for row in table} == {""}
        content = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
        assert b"secret-answer" not in content

    @pytest.mark.parametrize("style", ["hf", "csv"])
    def test_a_licence_that_forbids_it_is_kept(self, made: Path, tmp_path: Path, style: str) -> None:
        copy = Path(shutil.copytree(made / "suites", tmp_path / "suites"))
        with (copy / "talks.yaml").open("a") as file:
            file.write("shareable: false\n")
        done = engram("export", made / "reports/latest", "--to", tmp_path / "out", "-f", style, "--cases", copy)
        assert "its licence does not let everybody pass its texts on" in done.output
        content = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
        assert b"secret-answer" not in content
        assert b"Who?" not in content

    def test_half_a_character_and_columns_without_a_value(self, tmp_path: Path) -> None:
        outcomes = [runs.outcome("q1", None, query="half \ud800", gold=["\ud83d"], suite="demo_fc", status="error")]
        runfolder.write(tmp_path / "run", outcomes, runs.manifest(outcomes), {})
        assert engram("export", tmp_path / "run", "--to", tmp_path / "out", "-f", "hf").exit_code == 0
        (row,) = pyarrow.parquet.read_table(tmp_path / "out/data/items.parquet").to_pylist()
        assert (row["query"], row["gold"], row["answer@10"]) == ("half \\ud800", ["\\ud83d"], None)


class TestCsv:
    def test_the_tables(self, made: Path, results: dict[str, Any], tmp_path: Path) -> None:
        assert exported(made, tmp_path / "out", "csv").exit_code == 0
        tables = {}
        for path in (tmp_path / "out").iterdir():
            with path.open(newline="") as file:
                tables[path.name] = list(csv.DictReader(file))
        assert tables.keys() == {"figures.csv", "paired.csv", "items.csv"}
        told = [float(row["value"]) if row["value"] else None for row in tables["figures.csv"]]
        assert told == [row["value"] for row in results["rows"]]
        assert [row["group"] for row in tables["figures.csv"]] == [row["group"] or "" for row in results["rows"]]
        told = [float(row["difference"]) if row["difference"] else None for row in tables["paired.csv"]]
        assert told == [row["difference"] for row in results["paired"]]
        values = [float(row["ndcg@10"]) for row in tables["items.csv"] if row["method"] == "bm25" and row["ndcg@10"]]
        assert math.isclose(mean(values), value(results, "bm25", "ndcg@10"))

    def test_a_packed_run_is_the_same(self, made: Path, tmp_path: Path) -> None:
        exported(made, tmp_path / "plain", "csv")
        copy = Path(shutil.copytree(made / "reports/latest", tmp_path / "run"))
        engram("pack", copy)
        engram("export", copy, "--to", tmp_path / "out", "-f", "csv", "--cases", made / "suites")
        for path in (tmp_path / "plain").iterdir():
            assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_a_folder_with_something_in_it_is_left_alone(made: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    done = exported(made, tmp_path, "hf")
    assert (done.exit_code, "is not an empty folder; name another one, or remove it" in done.output) == (2, True)
    assert (tmp_path / "README.md").read_text() == "mine"
