"""Questions that were drawn together, categories, and keys that are wrong: in every figure, table and test."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats

from pytest_engram import report
from pytest_engram.report import comparison, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.log import Log
from pytest_engram.report.screen import render
from pytest_engram.review import compare
from pytest_engram.runs import schema
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome

ROLES = {"loom": "experiment", "tide": "control", "bm25": "anchor", "dense": "anchor"}
GROUPS = ("adversarial", "open-domain", "temporal")
POOLED = {"all but adversarial": ["open-domain", "temporal"]}
SUITE: dict[str, Any] = {
    "kind": "pilot",
    "metrics": ["recall@5", "judged"],
    "n": 120,
    "official": True,
    "cluster": "conversation",
    "pooled": POOLED,
    "key_errors": {"answers": 99, "citations": 57, "questions": 1540, "ceiling": 0.9357, "source": "an audit"},
}


def manifest(**changes: Any) -> dict[str, Any]:
    return {
        "k": 10,
        "seeds": [1],
        "encoder": {"name": "tiny", "hash": "0"},
        "reader": {"name": "openai:reader"},
        "suites": {"talks": {**SUITE, **changes}},
        "methods": {name: {"label": name.title(), "role": role} for name, role in ROLES.items()},
        "named": ["loom"],
        "complete": True,
    }


def talks(clusters: int = 8, n: int = 120, **shares: float) -> list[Outcome]:
    """Answers whose chance depends on the conversation, each method's in its own way; every twelfth key is wrong."""
    found = []
    for method in ROLES:
        draw = random.Random(method)
        lean = [draw.gauss(0, 0.15) for _ in range(clusters)]
        for number in range(n):
            at = number % clusters
            right = float(draw.random() < min(max(shares.get(method, 0.5) + lean[at], 0), 1))
            found.append(
                Outcome(
                    suite="talks",
                    question_id=f"q{number:03d}",
                    method=method,
                    seed=1,
                    k=10,
                    ids=["a", "b"],
                    metrics={"recall@5": right / (1 + number % 2), "judged": right},
                    status="ok",
                    item=f"q{number:03d}[{method}]",
                    haystack=400,
                    reader="openai:reader",
                    cluster=f"talk {at}",
                    # One category is in three conversations alone.
                    group=GROUPS[1] if at < 3 and number % 3 == 1 else GROUPS[number % 3 and 2],
                    disputed="the date is wrong" if number % 12 == 5 else None,
                    ceiling=number % 9 != 0,
                    hit=right == 1,
                )
            )
    return found


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return talks()


@pytest.fixture(scope="module")
def results(outcomes: list[Outcome]) -> dict[str, Any]:
    return aggregate(outcomes, manifest())


def row(
    results: dict[str, Any], method: str, metric: str, group: str | None = None, without: str | None = None
) -> dict[str, Any]:
    wanted = (method, metric, group, without)
    (found,) = (r for r in results["rows"] if (r["method"], r["metric"], r["group"], r["without"]) == wanted)
    return found


def values(outcomes: list[Outcome], method: str, metric: str) -> dict[str, float]:
    return {o.question_id: float(o.metrics[metric] or 0) for o in outcomes if o.method == method}


def by_hand(pairs: list[tuple[float, str]]) -> tuple[float, float]:
    """Wilson's interval for the effective number of questions, from statsmodels' error and scipy's t."""
    data, clusters = np.array([v for v, _ in pairs]), np.array([c for _, c in pairs])
    fit = sm.OLS(data, np.ones(len(data))).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique(clusters, return_inverse=True)[1]}
    )
    error, share = max(float(fit.bse[0]), scipy_stats.sem(data)), data.mean()
    t, alone = scipy_stats.t.ppf(0.975, len(set(clusters)) - 1), share * (1 - share) / error**2
    middle, half = share + t**2 / (2 * alone), t * np.sqrt(share * (1 - share) / alone + t**2 / (4 * alone**2))
    return (middle - half) / (1 + t**2 / alone), (middle + half) / (1 + t**2 / alone)


class TestClusters:
    @pytest.mark.parametrize("metric", ["recall@5", "judged"])
    def test_an_interval_goes_by_conversation(self, outcomes: Any, results: Any, metric: str) -> None:
        found = row(results, "loom", metric)
        pairs = [(float(o.metrics[metric] or 0), str(o.cluster)) for o in outcomes if o.method == "loom"]
        assert (found["low"], found["high"]) == pytest.approx(by_hand(pairs))
        assert (found["interval"], found["cluster"], found["clusters"]) == ("cluster t", "conversation", 8)
        assert (found["n"], found["reader"]) == (120, "openai:reader" if metric == "judged" else None)

    def test_a_paired_test_flips_conversations_and_agrees_with_its_interval(self, outcomes: Any, results: Any) -> None:
        assert len(results["paired"]) == 10
        for found in results["paired"]:
            ours, theirs = (values(outcomes, found[who], found["metric"]) for who in ("method", "baseline"))
            sums = [sum(ours[q] - theirs[q] for q in ours if int(q[1:]) % 8 == cluster) for cluster in range(8)]
            flips = [
                abs(sum(s * v for s, v in zip(f, sums, strict=True))) for f in itertools.product([1, -1], repeat=8)
            ]
            assert found["p"] == pytest.approx(np.mean(np.array(flips) >= abs(sum(sums)) - 1e-9))
            assert (found["p"] < 0.05) is not (found["low"] <= 0 <= found["high"])
            assert (found["test"], found["cluster"], found["clusters"]) == ("sign flips", "conversation", 8)
            assert found["n"] == 120  # all questions, the disputed ones among them

    def test_power_is_for_the_spread_between_conversations_that_was_seen(self, outcomes: Any, results: Any) -> None:
        (found,) = (p for p in results["power"] if p["metric"] == "judged")
        sizes = []
        for pair in (p for p in results["paired"] if p["metric"] == "judged"):
            ours, theirs = (values(outcomes, pair[who], "judged") for who in ("method", "baseline"))
            differences = np.array([ours[q] - theirs[q] for q in ours])
            groups = np.array([int(q[1:]) % 8 for q in ours])
            fit = sm.OLS(differences, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": groups})
            sizes.append((scipy_stats.t.ppf(0.975, 7) + scipy_stats.t.ppf(0.8, 7)) * fit.bse[0])
        assert found["smallest_difference"] == pytest.approx(max(sizes))
        assert (found["cluster"], found["clusters"], found["n"]) == ("conversation", 8, 120)

    def test_the_ceiling_too(self, outcomes: Any, results: Any) -> None:
        found = next(c for c in results["ceilings"] if c["of"] == "entry")
        pairs = [(float(o.ceiling or 0), str(o.cluster)) for o in outcomes if o.method == "loom"]
        assert (found["low"], found["high"]) == pytest.approx(by_hand(pairs))
        assert (found["n"], found["clusters"]) == (120, 8)

    def test_two_questions_of_one_conversation_make_a_suite_clustered_and_none_do_not(self, outcomes: Any) -> None:
        alone = [replace(o, cluster=o.question_id) for o in outcomes]
        found = aggregate(alone, manifest())
        assert {(r["interval"], r["cluster"], r["clusters"]) for r in found["rows"] if r["metric"] == "judged"} == {
            ("wilson", None, None)
        }
        assert {p["test"] for p in found["paired"]} == {"mcnemar", "paired bootstrap"}
        two = [replace(o, cluster="q000") if o.question_id == "q001" else o for o in alone]
        found = aggregate(two, manifest(cluster=None))
        assert {(r["cluster"], r["clusters"]) for r in found["rows"] if r["group"] is r["without"] is None} == {
            ("cluster", 119)
        }

    def test_one_conversation_alone_gives_a_value_and_the_reason_why_it_has_no_interval(self, tmp_path: Path) -> None:
        outcomes = talks(clusters=1, n=30)
        found = aggregate(outcomes, manifest(n=30))
        cell = row(found, "loom", "judged")
        assert cell["value"] == pytest.approx(np.mean(list(values(outcomes, "loom", "judged").values())))
        assert (cell["low"], cell["interval"], cell["clusters"], cell["status"]) == (None, None, 1, "ok")
        assert cell["reason"] == "no interval: all of these questions are of one conversation"
        assert all((p["low"], p["high"], p["p"]) == (-1, 1, 1) for p in found["paired"])
        assert all(p["smallest_difference"] is None for p in found["paired"])
        assert len(report.write(tmp_path, outcomes, manifest(n=30))) == len(report.FILES)
        assert "no interval: all of these questions are of one conversation" in tables.to_markdown(found)

    def test_a_single_question_is_of_one_conversation_too(self) -> None:
        outcomes = talks(clusters=1, n=1)
        found = aggregate(outcomes, manifest(n=1))
        for metric in SUITE["metrics"]:
            cell = row(found, "loom", metric)
            assert (cell["low"], cell["high"], cell["interval"]) == (None, None, None)
            assert (cell["cluster"], cell["clusters"], cell["status"]) == ("conversation", 1, "ok")
            assert cell["reason"] == "no interval: all of these questions are of one conversation"
        assert all((p["low"], p["high"], p["p"]) == (-1, 1, 1) for p in found["paired"])
        (ceiling,) = (c for c in found["ceilings"] if c["of"] == "entry")
        assert (ceiling["low"], ceiling["high"], ceiling["interval"]) == (None, None, None)

    def test_a_single_question_of_a_suite_without_clusters_has_an_interval(self) -> None:
        cell = row(aggregate(talks(clusters=1, n=1), manifest(n=1, cluster=None)), "loom", "judged")
        assert (cell["interval"], cell["clusters"], cell["reason"]) == ("wilson", None, "")

    def test_a_category_of_a_single_question_has_none_where_every_conversation_has_one(self) -> None:
        found = aggregate([replace(o, cluster=o.question_id) for o in talks(n=6)], manifest(n=6))
        alone = [r for r in found["rows"] if r["n"] == 1]
        assert alone
        assert {(r["low"], r["clusters"]) for r in alone} == {(None, 1)}
        assert all("no interval: all of these questions are of one conversation" in r["reason"] for r in alone)

    def test_conversations_are_counted_where_something_was_measured(self, outcomes: Any) -> None:
        gone = {"talk 6", "talk 7"}
        stopped = [replace(o, status="not run", metrics={}, reason="x") if o.cluster in gone else o for o in outcomes]
        found = aggregate(stopped, manifest())
        assert (found["suites"][0]["cluster"], found["suites"][0]["clusters"]) == ("conversation", 6)
        assert "by conversation (6)" in found["suites"][0]["caption"]

    def test_where_so_few_conversations_find_nothing_the_table_says_so(self) -> None:
        found = aggregate(talks(clusters=6), manifest())
        said = "With 6 conversations no p is below 0.031, and none of 6 tests is significant once adjusted"
        assert said in tables.to_markdown(found)
        assert "no p is below" not in tables.to_markdown(aggregate(talks(clusters=20), manifest()))

    def test_several_seeds_have_their_range(self, outcomes: Any) -> None:
        twice = outcomes + [replace(o, seed=2) for o in outcomes if o.method == "tide"]
        found = aggregate(twice, manifest())
        cell = row(found, "tide", "judged")
        assert (cell["interval"], cell["cluster"], cell["clusters"]) == ("range", None, None)
        assert {p["test"] for p in found["paired"]} == {"sign flips"}


class TestQuestionsOfNoKnownCategory:
    """A question that the copy of the data lacks: no category, no cluster, and not run."""

    WHY = "the copy does not have this question"

    @pytest.fixture
    def lacking(self) -> dict[str, Any]:
        found = talks()
        for one in found:
            if one.question_id == "q007":
                one.status, one.reason, one.metrics = "not run", self.WHY, {}
                one.group = one.cluster = one.disputed = one.ceiling = None
        return aggregate(found, manifest())

    def test_it_may_be_of_any_so_that_no_category_has_a_figure(self, lacking: Any) -> None:
        assert lacking["suites"][0]["groups"] == [*GROUPS, *POOLED]
        assert len(lacking["rows"]) == 2 * 4 * 5 * 2
        for found in lacking["rows"]:
            assert (found["value"], found["status"], found["n"]) == (None, "not run", 0)
            assert found["reason"].endswith(f" items run: {self.WHY}")
        sizes = {group: sum(o.group == group for o in talks() if o.method == "loom") for group in GROUPS}
        of_it = next(o.group for o in talks() if o.question_id == "q007")
        for group, size in sizes.items():
            ran = size - (group == of_it)
            assert row(lacking, "loom", "judged", group)["reason"] == f"{ran} of {ran + 1} items run: {self.WHY}"

    def test_it_is_no_conversation(self, lacking: Any) -> None:
        assert lacking["suites"][0]["clusters"] == 8
        assert "by conversation (8)" in lacking["suites"][0]["caption"]


class TestCategories:
    def test_a_row_for_each_category_and_pool_after_the_overall_ones(self, results: Any) -> None:
        overall = [r for r in results["rows"] if r["group"] is None and r["without"] is None]
        assert results["rows"][: len(overall)] == overall
        assert [(r["metric"], r["method"]) for r in overall] == list(itertools.product(SUITE["metrics"], ROLES))
        assert results["suites"][0]["groups"] == [*GROUPS, *POOLED]
        assert len(results["rows"]) == len(overall) * 5 * 2

    @pytest.mark.parametrize("group", [*GROUPS, *POOLED])
    def test_its_figure_is_that_of_its_questions(self, outcomes: Any, results: Any, group: str) -> None:
        of = POOLED.get(group, [group])
        pairs = [
            (float(o.metrics["judged"] or 0), str(o.cluster)) for o in outcomes if o.method == "tide" and o.group in of
        ]
        found = row(results, "tide", "judged", group)
        assert found["n"] == len(pairs)
        assert found["value"] == pytest.approx(np.mean([v for v, _ in pairs]))
        assert (found["low"], found["high"]) == pytest.approx(by_hand(pairs))
        assert found["clusters"] == len({c for _, c in pairs})

    def test_there_is_no_test_by_category(self, results: Any) -> None:
        assert not any("group" in p for p in results["paired"])
        assert "Holm: over the 6 tests of the named methods; categories are not tested." in tables.to_markdown(results)

    def test_a_category_without_an_error_has_its_number_though_another_has_none(self, outcomes: Any) -> None:
        broken = [
            replace(o, metrics={**o.metrics, "judged": None}, missing={"judged": "no judge"})
            if o.group == "adversarial"
            else o
            for o in outcomes
        ]
        found = aggregate(broken, manifest())
        assert row(found, "loom", "judged", "adversarial")["status"] == "not run"
        assert row(found, "loom", "judged")["status"] == "not run"
        assert row(found, "loom", "judged", "temporal")["value"] is not None
        assert row(found, "loom", "judged", "all but adversarial")["status"] == "ok"

    def test_a_category_of_a_suite_that_was_asked_in_part_is_partial(self, outcomes: Any) -> None:
        found = row(aggregate(outcomes, manifest(n=300)), "loom", "judged", "temporal")
        assert (found["status"], found["reason"]) == ("partial", "partial: 120 of 300 questions were asked")


class TestDisputed:
    def test_every_row_stands_twice(self, outcomes: Any, results: Any) -> None:
        for group in (None, "temporal", "all but adversarial"):
            of = POOLED.get(str(group), [group] if group else GROUPS)
            mine = [o for o in outcomes if o.method == "loom" and o.group in of]
            kept = [float(o.metrics["recall@5"] or 0) for o in mine if not o.disputed]
            found = row(results, "loom", "recall@5", group, "disputed")
            assert (found["n"], found["value"]) == (len(kept), pytest.approx(np.mean(kept)))
            assert row(results, "loom", "recall@5", group)["n"] == len(mine)
        assert results["suites"][0]["disputed"] == 10

    def test_the_ceiling_of_the_answer_key(self, results: Any) -> None:
        (found,) = (c for c in results["ceilings"] if c["of"] == "answer key")
        assert (found["value"], found["n"], found["low"], found["interval"]) == (0.9357, 1540, None, None)

    def test_where_nothing_is_disputed_nothing_stands_twice(self, outcomes: Any) -> None:
        found = aggregate([replace(o, disputed=None) for o in outcomes], manifest(key_errors=None))
        assert {r["without"] for r in found["rows"]} == {None}
        assert {c["of"] for c in found["ceilings"]} == {"entry"}
        assert "without the" not in tables.to_markdown(found)


class TestShown:
    def test_markdown_says_by_what_and_how_many(self, results: Any) -> None:
        text = tables.to_markdown(results)
        assert "intervals and tests by conversation (8)." in text
        assert "Square brackets: 95% interval by conversation (8)" in text
        assert "sign flips by conversation" in text
        assert "Wilson" not in text.partition("## Suite talks")[2]
        assert "(n = 120 in 8 conversations)" in text
        assert "without the 10 wrong keys" in text
        assert "99 of 1540 answers are wrong, and the evidence of 57 questions (an audit)" in text
        assert "all but adversarial: open-domain, temporal." in text
        assert "Fewer conversations: open-domain 3" in text

    def test_a_table_by_category_for_each_metric(self, results: Any) -> None:
        lines = tables.to_markdown(results).splitlines()
        (at,) = (n for n, line in enumerate(lines) if line.startswith("judged") and line.endswith(", by category."))
        cells = [cell.strip() for cell in lines[at + 2].strip("|").split("|")]
        sizes = {
            g: (row(results, "loom", "judged", g)["n"], row(results, "loom", "judged", g, "disputed")["n"])
            for g in (None, *GROUPS, *POOLED)
        }
        assert cells == ["method", *(f"{g or 'all'}, n = {a} / {b}" for g, (a, b) in sizes.items())]
        assert len(list(itertools.takewhile(str.strip, lines[at + 4 :]))) == 2 * len(ROLES)

    def test_csv_and_json_hold_every_row(self, results: Any) -> None:
        found = [
            r
            for r in csv.DictReader(io.StringIO(tables.to_csv(results)))
            if r["table"] == "rows" and r["statistic"] == "value"
        ]
        assert len(found) == len(results["rows"])
        assert {(r["cluster"], r["clusters"]) for r in found if not r["group"]} == {("conversation", "8")}
        assert {r["group"] for r in found} == {"", *GROUPS, *POOLED}
        assert {r["without"] for r in found} == {"", "disputed"}
        assert json.loads(tables.to_json(results)) == json.loads(json.dumps(results))

    def test_tex_terminal_page_and_plots(self, outcomes: Any, results: Any, tmp_path: Path) -> None:
        report.write(tmp_path, outcomes, manifest())
        assert "without the 10 wrong keys" in (tmp_path / "results.tex").read_text()
        page = (tmp_path / "results.html").read_text()
        for told in (
            "talks: intervals and tests by conversation (8).",
            "talks, judged by category",
            "without the 10 wrong keys",
            "with 80% power a paired test finds a difference of",
            "(n = 120 in 8 conversations)",
            "Right answers alone are given 0.936 by it.",
        ):
            assert told in page
        assert "n = 120 in 8 conversations" in (tmp_path / "intervals.svg").read_text()
        screen = render(results, 100, colour=False)
        assert "talks: intervals and tests by conversation (8)." in screen
        assert "talks, recall@5 by category" in screen
        assert "talks, judged by category" not in screen
        assert "10 of its questions have a wrong key" in screen
        one = [replace(o, disputed="the date is wrong" if o.question_id == "q005" else None) for o in outcomes]
        assert "1 of its questions has a wrong key; the report has every figure without it, too." in render(
            aggregate(one, manifest()), 200, colour=False
        )
        assert max(map(len, screen.splitlines())) <= 100

    def test_a_verdict_names_the_test_and_the_conversations(self, outcomes: Any) -> None:
        found = aggregate(outcomes, {**manifest(source="factconsolidation"), "named": ["loom"]})
        text = next(v["text"] for v in found["verdicts"] if "Tide" in v["name"])
        assert "sign flips by conversation p" in text
        assert "n = 120 in 8 conversations" in text

    def test_the_reader_is_told_where_answers_are_measured(self, results: Any) -> None:
        assert "reader openai:reader" in results["suites"][0]["caption"]


class TestCompared:
    def test_two_runs_are_compared_by_conversation(self, outcomes: Any) -> None:
        better = [replace(o, metrics=dict.fromkeys(o.metrics, 1.0)) if o.method == "loom" else o for o in outcomes]
        runs = [Run(Path(name), found, manifest(), {}) for name, found in (("a", better), ("b", outcomes))]
        found = compare.compare(*runs, [("loom", "loom")])
        (judged,) = (r for r in found["rows"] if r["metric"] == "judged")
        assert (judged["test"], judged["cluster"], judged["clusters"]) == ("sign flips", "conversation", 8)
        assert judged["p"] == pytest.approx(2 / 2**8)  # every conversation got worse
        assert [r["metric"] for r in compare.worse(found)] == ["recall@5"]  # the first metric decides
        assert "Intervals and tests: sign flips by conversation (8)." in comparison.to_markdown(found)


class TestLog:
    def test_recall_and_f1_are_shares_even_where_all_are_0_or_1(self, outcomes: Any) -> None:
        ones = [replace(o, metrics={"recall@5": 1.0, "f1": 0.0, "recall_any@5": 1.0, "judged": 1.0}) for o in outcomes]
        log = Log(ones, manifest())
        assert [log.binary("talks", m) for m in ("recall@5", "f1", "recall_any@5", "judged")] == [
            False,
            False,
            True,
            True,
        ]

    def test_a_suite_of_the_manifest_may_tell_of_its_clusters_pools_and_key(self) -> None:
        schema.check_manifest(manifest())
        for wrong in (
            {"cluster": 3},
            {"pooled": ["a"]},
            {"key_errors": {"ceiling": 1.5}},
            {"key_errors": {"answers": -1}},
        ):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                schema.check_manifest(manifest(**wrong))
