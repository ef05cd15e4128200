"""Every number against scipy, statsmodels or a hand's calculation; every file against itself, written again."""

from __future__ import annotations

import io
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from scipy.stats import binomtest, kendalltau
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from pytest_engram import report
from pytest_engram.report import tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs import log as runlog
from pytest_engram.runs.outcome import Outcome

METHODS = {
    "loom": {"label": "Loom", "role": "experiment", "stochastic": False},
    "loom-recency": {"label": "Loom, recency", "role": "ablation", "stochastic": False},
    "loom-sampled": {"label": "Loom, sampled", "role": "ablation", "stochastic": True},
    "tide": {"label": "Tide", "role": "control", "stochastic": False},
    "bm25": {"label": "BM25", "role": "anchor", "stochastic": False},
    "dense": {"label": "Dense", "role": "anchor", "stochastic": False},
}
SHARE = {"loom": 0.3, "loom-recency": 0.55, "loom-sampled": 0.3, "tide": 0.6, "bm25": 0.25, "dense": 0.4}
SUITE: dict[str, Any] = {
    "kind": "pilot",
    "source": "factconsolidation",
    "metrics": ["answer@10"],
    "n": 60,
    "official": True,
}


def manifest(**suites: dict[str, Any]) -> dict[str, Any]:
    return {
        "engram": "0.1.0",
        "k": 10,
        "seeds": [1, 2, 3],
        "encoder": {"name": "tiny-encoder", "hash": "0", "dimensions": 8, "note": "stands in for bge-small-en-v1.5"},
        "reader": None,
        "suites": suites,
        "methods": METHODS,
        "named": ["loom"],
        "complete": True,
    }


def outcome(suite: str, question: str, method: str, seed: int = 1, **fields: Any) -> Outcome:
    given: dict[str, Any] = {
        "k": 10,
        "ids": [f"e{i}" for i in range(10)],
        "metrics": {},
        "status": "ok",
        "item": f"{question}[{method}]",
        "haystack": 455,
    }
    return Outcome(suite=suite, question_id=question, method=method, seed=seed, **given | fields)


def pilot(suite: str = "fc_mh_6k", n: int = 60, **shares: float) -> list[Outcome]:
    """Answers by a coin of each method's own weight; `loom-sampled` has three seeds."""
    found = []
    for method, share in {**SHARE, **shares}.items():
        draw = random.Random(f"{suite} {method}")
        for number in range(n):
            for seed in (1, 2, 3) if method == "loom-sampled" else (1,):
                metrics = {"answer@10": float(draw.random() < share)}
                lost = draw.random() < 0.1 if method == "tide" else None
                found.append(
                    outcome(suite, f"q{number:03d}", method, seed, metrics=metrics, ceiling=number != 7, lost=lost)
                )
    return found


def levels(suite: str = "gradual_override", cases: int = 6, **flip_points: Any) -> list[Outcome]:
    """Cases at web 0 to 3 and backers 0 to 4. A flip point is a function of web and case; None: never.

    Six cases are of one template.
    """
    found = []
    for method, point in flip_points.items():
        for case in range(cases):
            for web in range(4):
                at = point(web, case)
                for backers in range(5):
                    winner = "both" if at == "both" else "belief" if at is None or backers < at else "update"
                    expected = None if web == backers else "belief" if web > backers else "update"
                    found.append(
                        outcome(
                            suite,
                            f"c{case}-w{web}-b{backers}",
                            method.replace("_", "-"),
                            family=suite,
                            case=f"c{case}",
                            web=web,
                            backers=backers,
                            winner=winner,
                            expected=expected,
                            metrics={} if expected is None else {"correct": float(winner == expected)},
                            fields={"axis": "backers"},
                            cluster=f"t{case // 6}" if cases > 6 else None,
                        )
                    )
    return found


def always(point: Any) -> Any:
    return lambda *_: point


MICRO: dict[str, Any] = {
    "kind": "micro",
    "family": "gradual_override",
    "metrics": ["correct"],
    "n": 120,
    "rule": {"name": "majority-support", "text": "the side that more facts back"},
    "construction": "six people, one relation",
    "registered": "registered before this run",
}


def row(results: dict[str, Any], method: str, metric: str = "answer@10", suite: str = "fc_mh_6k") -> dict[str, Any]:
    (found,) = (r for r in results["rows"] if (r["method"], r["suite"], r["metric"]) == (method, suite, metric))
    return found


def hits(outcomes: list[Outcome], method: str, metric: str = "answer@10") -> list[float]:
    return [float(o.metrics[metric] or 0) for o in outcomes if o.method == method and metric in o.metrics]


@pytest.fixture(scope="module")
def whole() -> tuple[list[Outcome], dict[str, Any]]:
    outcomes = pilot() + levels(
        loom=lambda web, case: min(web + case % 2, 4),
        loom_recency=always(0),
        tide=always(0),
        dense=always("both"),
        bm25=always("both"),
    )
    not_run = {**SUITE, "source": "longmemeval", "metrics": ["recall_any@5", "ndcg_any@10"], "not_run": "no data here"}
    return outcomes, manifest(fc_mh_6k=SUITE, lme_s=not_run, gradual_override=MICRO)


@pytest.fixture(scope="module")
def results(whole: tuple[list[Outcome], dict[str, Any]]) -> dict[str, Any]:
    return aggregate(*whole)


class TestRows:
    def test_a_proportion_has_a_wilson_interval(self, whole: Any, results: Any) -> None:
        values = hits(whole[0], "tide")
        found = row(results, "tide")
        low, high = proportion_confint(sum(values), len(values), method="wilson")
        assert found["value"] == pytest.approx(mean(values))
        assert (found["low"], found["high"]) == pytest.approx((low, high))
        assert (found["n"], found["interval"], found["status"], found["reason"]) == (60, "wilson", "ok", "")

    def test_a_stochastic_method_has_the_mean_and_range_of_its_seeds(self, whole: Any, results: Any) -> None:
        by_seed = [
            mean(float(o.metrics["answer@10"] or 0) for o in whole[0] if o.method == "loom-sampled" and o.seed == seed)
            for seed in (1, 2, 3)
        ]
        found = row(results, "loom-sampled")
        assert found["value"] == pytest.approx(mean(by_seed))
        assert (found["low"], found["high"]) == pytest.approx((min(by_seed), max(by_seed)))
        assert (found["interval"], found["n"], found["seeds"]) == ("range", 60, 3)

    def test_one_seed_has_no_range(self) -> None:
        outcomes = [o for o in pilot() if o.method != "loom-sampled" or o.seed == 1]
        assert row(aggregate(outcomes, manifest(fc_mh_6k=SUITE)), "loom-sampled")["interval"] == "wilson"

    def test_ndcg_has_a_bootstrap_interval_even_where_all_of_it_is_0_or_1(self) -> None:
        values = [1.0] * 30 + [0.0] * 10
        outcomes = [outcome("s", f"q{i:02d}", "loom", metrics={"ndcg_any@10": value}) for i, value in enumerate(values)]
        suite = {**SUITE, "metrics": ["ndcg_any@10"], "n": 40}
        found = row(aggregate(outcomes, manifest(s=suite)), "loom", "ndcg_any@10", "s")
        means = np.random.default_rng(5).choice(values, (20_000, 40)).mean(axis=1)
        assert (found["low"], found["high"]) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.02)
        assert found["interval"] == "bootstrap"

    def test_every_cell_with_a_value_has_an_interval(self, results: Any) -> None:
        for found in results["rows"]:
            assert (found["value"] is None) == (found["low"] is None) == (found["high"] is None)
            assert (found["value"] is None) == (found["status"] in ("not run", "violation", "error"))
            assert bool(found["reason"]) == (found["status"] != "ok")

    def test_what_the_official_rules_leave_out_counts_nowhere(self) -> None:
        outcomes = pilot(n=10)
        outcomes = [replace(o, metrics={}, excluded="no gold") if o.question_id < "q004" else o for o in outcomes]
        found = row(aggregate(outcomes, manifest(fc_mh_6k={**SUITE, "n": 10})), "tide")
        assert (found["n"], found["status"]) == (6, "ok")

    def test_how_often_a_method_differs_from_dense(self) -> None:
        same, reversed_ = ["a", "b"], ["b", "a"]
        log = [outcome("fc_mh_6k", f"q{n}", "dense", ids=same, metrics={"answer@10": 1.0}) for n in range(4)]
        log += [
            outcome("fc_mh_6k", f"q{n}", "tide", ids=reversed_ if n < 3 else same, metrics={"answer@10": 1.0})
            for n in range(4)
        ]
        log += [  # seed 1 differs on all four questions, seed 2 on none
            outcome("fc_mh_6k", f"q{n}", "loom-sampled", seed, ids=reversed_ if seed == 1 else same, metrics={})
            for n in range(4)
            for seed in (1, 2)
        ]
        differs = {r["method"]: r["differs"] for r in aggregate(log, manifest(fc_mh_6k=SUITE))["rows"]}
        assert differs["tide"] == 3
        assert differs["loom-sampled"] == 2
        assert differs["dense"] is None
        assert differs["bm25"] is None

    def test_lost_effective_k_and_ceiling(self, whole: Any, results: Any) -> None:
        assert row(results, "tide")["lost"] == sum(o.lost is True for o in whole[0] if o.method == "tide")
        assert row(results, "dense")["lost"] is None
        short = [replace(o, ids=o.ids[:4]) if o.question_id < "q030" else o for o in pilot()]
        assert row(aggregate(short, manifest(fc_mh_6k=SUITE)), "tide")["effective_k"] == 7
        (ceiling,) = results["ceilings"]
        low, high = proportion_confint(59, 60, method="wilson")
        assert (ceiling["value"], ceiling["low"], ceiling["high"]) == pytest.approx((59 / 60, low, high))


class TestNoNumber:
    def test_data_that_cannot_be_had(self, results: Any) -> None:
        found = row(results, "loom", "ndcg_any@10", "lme_s")
        assert (found["status"], found["reason"], found["value"]) == ("not run", "no data here", None)

    def test_a_suite_that_was_no_part_of_the_run(self, results: Any) -> None:
        cells = results["experiment"]["rows"][0]["cells"]
        assert [cell["status"] for cell in cells] == ["not run", "not run", "ok", "not run", "not run"]
        assert cells[3]["reason"] == "the suite fc_sh_262k was no part of this run"

    def test_a_part_that_was_answered_is_never_a_number(self) -> None:
        outcomes = [
            outcome(
                "s",
                f"q{i:03d}",
                "loom",
                metrics={"subem": 1.0 if i < 57 else None},
                missing={} if i < 57 else {"subem": "the endpoint is down"},
            )
            for i in range(100)
        ]
        found = row(aggregate(outcomes, manifest(s={**SUITE, "metrics": ["subem"], "n": 100})), "loom", "subem", "s")
        assert (found["value"], found["status"]) == (None, "not run")
        assert found["reason"] == "57 of 100 answered: the endpoint is down"

    def test_one_violation_takes_the_number_away(self) -> None:
        outcomes = pilot()
        outcomes[3] = replace(outcomes[3], status="violation", reason="loom: equal k: 11 ids", metrics={})
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE))
        found = row(results, "loom")
        assert (found["status"], found["value"]) == ("violation", None)
        assert found["reason"] == "1 of 60 items; the first: loom: equal k: 11 ids"
        assert not [p for p in results["paired"] if "loom" in (p["method"], p["baseline"])]
        assert results["verdicts"][0]["answer"] == "not run"

    def test_an_error_too(self) -> None:
        outcomes = [replace(o, status="error", reason="boom") if o.method == "tide" else o for o in pilot()]
        found = row(aggregate(outcomes, manifest(fc_mh_6k=SUITE)), "tide")
        assert (found["status"], found["reason"]) == ("error", "60 of 60 items; the first: boom")

    def test_k_that_covers_the_haystack_is_marked(self) -> None:
        results = aggregate([replace(o, haystack=8) for o in pilot()], manifest(fc_mh_6k=SUITE))
        found = row(results, "dense")
        assert found["status"] == "covers"
        assert "k covers the haystack: measures nothing" in found["reason"]
        assert results["verdicts"][0]["holds"] is None
        assert "covers (" in tables.to_markdown(results)

    def test_a_selection_is_marked(self) -> None:
        results = aggregate(pilot(n=12), manifest(fc_mh_6k={**SUITE, "n": 100}))
        found = row(results, "dense")
        assert (found["status"], found["reason"]) == ("partial", "partial: 12 of 100 questions were asked")
        assert {p["status"] for p in results["paired"]} == {"partial"}

    def test_a_seed_that_was_cut_short_is_marked(self) -> None:
        outcomes = [o for o in pilot() if not (o.method == "loom-sampled" and o.seed == 3 and o.question_id > "q009")]
        found = row(aggregate(outcomes, manifest(fc_mh_6k=SUITE)), "loom-sampled")
        assert (found["status"], found["n"]) == ("partial", 10)

    def test_nothing_at_all(self, tmp_path: Path) -> None:
        assert len(report.write(tmp_path, [], manifest())) == len(report.FILES)
        assert "Results" in (tmp_path / "results.md").read_text()


class TestPairs:
    def test_mcnemar_difference_and_holm(self, whole: Any, results: Any) -> None:
        rows = [r for r in results["paired"] if r["suite"] == "fc_mh_6k"]
        for found in rows:
            if "loom-sampled" in (found["method"], found["baseline"]):
                continue
            a, b = (np.array(hits(whole[0], found[who])) for who in ("method", "baseline"))
            table = [[sum((a == x) & (b == y)) for y in (1, 0)] for x in (1, 0)]
            assert found["p"] == pytest.approx(mcnemar(table, exact=True).pvalue)
            assert found["difference"] == pytest.approx(a.mean() - b.mean())
            assert found["low"] <= found["difference"] <= found["high"]
            assert (found["better"], found["worse"]) == (table[0][1], table[1][0])
            assert found["test"] == "mcnemar"
        # Nobody asked about the others: how two controls differ is no test of this run.
        family = [r for r in rows if "loom" in (r["method"], r["baseline"])]
        adjusted = multipletests([r["p"] for r in family], method="holm")[1]
        assert [r["p_holm"] for r in family] == pytest.approx(list(adjusted))
        assert [r["p_holm"] for r in rows if r not in family] == [None] * (len(rows) - 4)

    def test_who_is_compared_with_whom(self, results: Any) -> None:
        pairs = {(r["method"], r["baseline"]) for r in results["paired"] if r["suite"] == "fc_mh_6k"}
        ours = ("loom", "loom-recency", "loom-sampled", "tide")
        anchors = {(method, baseline) for method in ours for baseline in ("bm25", "dense")}
        assert pairs == anchors | {("loom", "tide"), ("loom", "loom-recency")}

    def test_several_seeds_are_compared_by_their_mean(self, whole: Any, results: Any) -> None:
        (found,) = (r for r in results["paired"] if (r["method"], r["baseline"]) == ("loom-sampled", "dense"))
        assert found["test"] == "paired bootstrap"
        difference = mean(hits(whole[0], "loom-sampled")) - mean(hits(whole[0], "dense"))
        assert found["difference"] == pytest.approx(difference)

    def test_only_the_same_questions_are_compared(self) -> None:
        outcomes = [o for o in pilot() if o.method != "dense" or o.question_id < "q020"]
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE))
        assert {r["n"] for r in results["paired"] if r["baseline"] == "dense"} == {20}

    def test_what_could_have_been_found_would_have_been_significant(self, results: Any) -> None:
        (found,) = (p for p in results["power"] if p["suite"] == "fc_mh_6k")
        # At this true difference, six or more discordant pairs, all one way, come up in 80 of 100 runs.
        needed = next(m for m in range(1, 20) if binomtest(m, m).pvalue <= 0.05)
        draws = np.random.default_rng(3).binomial(found["n"], found["smallest_difference"], 200_000)
        assert found["smallest_difference"] >= 0.1
        if found["smallest_difference"] < 0.14:
            assert (draws >= needed).mean() == pytest.approx(0.8, abs=0.05)


class TestFloors:
    def test_what_chance_gets_stands_beside_the_ceiling(self) -> None:
        found = aggregate(pilot(), manifest(fc_mh_6k={**SUITE, "floor": {"answer@10": 0.0577}}))
        assert found["floors"] == [
            {"suite": "fc_mh_6k", "metric": "answer@10", "k": 10, "answer": None, "value": 0.0577}
        ]
        line = next(line for line in tables.to_markdown(found).splitlines() if "random entries" in line)
        assert line.startswith("| 10 random entries (floor)")
        assert "| 0.058 " in line


class TestFlips:
    def test_flip_points_summary_and_trend(self, results: Any) -> None:
        mine = [f for f in results["flips"] if f["method"] == "loom"]
        assert {(f["web"], f["case"]): f["flip_point"] for f in mine} == {
            (web, f"c{case}"): min(web + case % 2, 4) for web in range(4) for case in range(6)
        }
        (at_two,) = (s for s in results["flip_summary"] if s["method"] == "loom" and s["web"] == 2)
        assert (at_two["median"], at_two["low"], at_two["high"], at_two["held"], at_two["n"]) == (2.5, 2, 3, 0, 6)
        (trend,) = (t for t in results["flip_trend"] if t["method"] == "loom")
        tau = kendalltau([f["web"] for f in mine], [f["flip_point"] for f in mine]).statistic
        assert trend["tau"] == pytest.approx(tau)
        assert trend["low"] < tau < trend["high"]

    def test_never_and_back_again(self) -> None:
        outcomes = levels(loom=lambda _, case: None if case < 4 else 1)
        back = next(o for o in outcomes if (o.case, o.web, o.backers) == ("c5", 3, 3))
        back.winner = "belief"
        results = aggregate(outcomes, manifest(gradual_override=MICRO))
        assert [f["case"] for f in results["flips"] if not f["monotone"]] == ["c5"]
        (summary,) = (s for s in results["flip_summary"] if s["web"] == 3)
        assert (summary["held"], summary["median"], summary["low"], summary["high"]) == (4, None, 1, None)
        (trend,) = results["flip_trend"]
        assert (trend["flips_back"], trend["loses_both"]) == (1, 0)
        assert "> 4 (1 to > 4)" in tables.to_markdown(results)

    def test_curves_are_shares_of_cases(self, results: Any) -> None:
        (found,) = (c for c in results["curves"] if (c["method"], c["web"], c["backers"]) == ("loom", 2, 2))
        low, high = proportion_confint(3, 6, method="wilson")
        assert (found["share"], found["low"], found["high"]) == pytest.approx((0.5, low, high))

    def test_families_count_scored_levels_only(self, whole: Any, results: Any) -> None:
        (found,) = (f for f in results["families"] if f["method"] == "loom")
        scored = [o for o in whole[0] if o.method == "loom" and o.expected]
        assert (found["cases"], found["levels"], found["scored"]) == (6, 120, len(scored))
        right = sum(o.winner == o.expected for o in scored)
        low, high = proportion_confint(right, len(scored), method="wilson")
        assert (found["correct"]["value"], found["correct"]["low"], found["correct"]["high"]) == pytest.approx(
            (right / len(scored), low, high)
        )
        assert found["decided"]["value"] == 1

    def test_who_resolves_nothing_is_undecided_throughout(self, results: Any) -> None:
        (found,) = (f for f in results["families"] if f["method"] == "dense")
        assert (found["decided"]["value"], found["correct"]["value"]) == (0, 0)
        line = next(s for s in tables.to_markdown(results).splitlines() if s.startswith("| Dense") and "undecided" in s)
        assert line.count("undecided") == 4

    def test_the_false_conflict_rate(self) -> None:
        outcomes = [
            outcome(
                "keep_both",
                f"c{i}",
                "loom",
                family="keep_both",
                case=f"c{i}",
                web=0,
                backers=0,
                winner="both" if i else "update",
                expected="both",
                metrics={"correct": float(i > 0)},
            )
            for i in range(10)
        ]
        results = aggregate(outcomes, manifest(keep_both={**MICRO, "family": "keep_both", "n": 10}))
        (found,) = (f for f in results["families"] if f["method"] == "loom")
        low, high = proportion_confint(1, 10, method="wilson")
        conflicts = found["false_conflicts"]
        assert (conflicts["value"], conflicts["low"], conflicts["high"]) == pytest.approx((0.1, low, high))
        assert found["decided"] is None


class TestVerdicts:
    def verdict(self, results: dict[str, Any], part: str) -> dict[str, Any]:
        (found,) = (v for v in results["verdicts"] if part in v["name"])
        return found

    def test_losing_to_tide_was_expected(self, results: Any) -> None:
        found = self.verdict(results, "does not beat Tide")
        assert (found["holds"], found["answer"]) == (True, "yes")
        assert "To be expected only if the micro-test is graded" in found["text"]  # which six cases can't tell
        assert "n = 60" in found["text"]

    def test_beating_tide_refutes_the_claim(self) -> None:
        results = aggregate(pilot(loom=0.95, tide=0.2), manifest(fc_mh_6k=SUITE))
        assert self.verdict(results, "does not beat Tide")["answer"] == "no"

    def test_an_interval_over_the_line_tells_nothing(self) -> None:
        results = aggregate(pilot(loom=0.5, tide=0.5, **{"loom-recency": 0.5}), manifest(fc_mh_6k=SUITE))
        (tide,) = (r for r in results["paired"] if (r["method"], r["baseline"]) == ("loom", "tide"))
        assert tide["low"] < 0 < tide["high"]
        assert self.verdict(results, "does not beat Tide")["answer"] == "can't tell"
        assert self.verdict(results, "does not lose to")["answer"] == "can't tell"

    def test_each_suite_is_told_of_by_itself(self) -> None:
        results = aggregate(pilot() + pilot("fc_sh_6k"), manifest(fc_mh_6k=SUITE, fc_sh_6k=SUITE))
        found = self.verdict(results, "does not beat Tide")
        assert found["answer"] == "yes"
        for suite in ("fc_mh_6k", "fc_sh_6k"):
            (test,) = (
                r for r in results["paired"] if (r["suite"], r["method"], r["baseline"]) == (suite, "loom", "tide")
            )
            assert test["p_holm"] < 0.05
            told = f"{suite} answer@10 {row(results, 'loom', suite=suite)['value']:.3f} against"
            assert told in found["text"]
            assert f"{test['difference']:+.3f}".replace("-", "−") in found["text"]
        assert found["text"].count("n = 60") == 2

    def test_suites_that_disagree_have_no_one_answer(self) -> None:
        outcomes = pilot(loom=0.1, tide=0.9) + pilot("fc_sh_6k", loom=0.9, tide=0.1)
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE, fc_sh_6k=SUITE))
        assert self.verdict(results, "does not beat Tide")["answer"] == "can't tell"

    def test_what_is_resolved_decides_where_it_was_measured(self) -> None:
        outcomes = pilot(loom=0.9, tide=0.9)
        for o in outcomes:
            o.metrics["resolved@10"] = float(o.method == "tide")
        results = aggregate(outcomes, manifest(fc_mh_6k={**SUITE, "metrics": ["answer@10", "resolved@10"]}))
        found = self.verdict(results, "does not beat Tide")
        assert found["answer"] == "yes"
        assert "fc_mh_6k resolved@10 0.000 against 1.000" in found["text"]

    def test_losing_to_its_own_recency_means_a_date(self) -> None:
        outcomes = pilot(loom=0.2) + levels(loom=always(1), loom_recency=always(0))
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE, gradual_override=MICRO))
        found = self.verdict(results, "does not lose to Loom, recency")
        assert (found["holds"], found["answer"]) == (False, "no")
        assert "the date decides" in found["text"]
        assert "suggestive, not evidence" in found["text"]

    def test_losing_by_the_raw_p_alone_means_nothing(self) -> None:
        graded = levels(loom=lambda web, case: min(web + case % 2, 4), loom_recency=always(0))
        outcomes = pilot(**{"loom-recency": 0.52}) + graded
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE, gradual_override=MICRO))
        rows = {(r["method"], r["baseline"], r["suite"]): r for r in results["paired"]}
        row = rows["loom", "loom-recency", "fc_mh_6k"]
        assert row["high"] < 0
        assert row["p"] < 0.05 < row["p_holm"]
        found = self.verdict(results, "does not lose to Loom, recency")
        assert (found["holds"], found["answer"]) == (None, "can't tell")
        assert "suggestive, not evidence" in found["text"]

    def test_flip_points_that_rise(self, results: Any) -> None:
        found = self.verdict(results, "needs backing to flip")
        assert found["holds"] is None  # none of 18 is not rarely, where the 18 are three levels of six cases
        assert "The amount (can't tell)" in found["text"]
        assert "the trend (yes)" in found["text"]
        assert "0.5, 1.5, 2.5, 3.5" in found["text"]
        assert "Tide flips on the first newer fact in 24 of 24" in found["text"]

    def test_the_same_flip_point_whatever_the_support(self) -> None:
        results = aggregate(levels(loom=always(2)), manifest(gradual_override=MICRO))
        found = self.verdict(results, "needs backing to flip")
        assert found["holds"] is False
        assert "the same whatever backs the belief" in found["text"]

    def test_flip_points_without_a_trend(self) -> None:
        results = aggregate(levels(loom=lambda web, case: (web * 5 + case * 3) % 4), manifest(gradual_override=MICRO))
        (trend,) = (t for t in results["flip_trend"] if t["method"] == "loom")
        assert trend["low"] < 0 < trend["high"]
        assert self.verdict(results, "needs backing to flip")["answer"] == "can't tell"

    def test_both_halves_hold_over_many_templates(self) -> None:
        outcomes = pilot() + levels(cases=60, loom=lambda web, case: min(web + case % 2, 4))
        results = aggregate(outcomes, manifest(fc_mh_6k=SUITE, gradual_override={**MICRO, "cluster": "template"}))
        found = self.verdict(results, "needs backing to flip")
        assert (found["holds"], found["answer"]) == (True, "yes")
        assert "in 0.000 [0.000, 0.028] of 180" in found["text"]  # t² / (n + t²), of 9 degrees of freedom
        assert "n = 240 pairs of case and web size in 10 templates" in found["text"]
        assert "As expected" in self.verdict(results, "does not beat Tide")["text"]

    def test_a_trend_alone_is_half_of_it(self) -> None:
        """Flips rise with the web, and at small webs nothing is needed."""
        outcomes = levels(cases=60, loom=lambda web, case: max(0, web - 1 - case % 2))
        found = self.verdict(aggregate(outcomes, manifest(gradual_override=MICRO)), "needs backing to flip")
        assert found["holds"] is False
        assert "The amount (no)" in found["text"]
        assert "the trend (yes)" in found["text"]

    def test_cases_without_a_conflict_are_counted_and_left_out(self) -> None:
        """Six cases in which both sides came back at every level: nobody saw a conflict in them."""
        seen = levels(cases=18, loom=lambda web, _: web)
        unseen = [
            replace(o, case=f"u{o.case}", question_id=f"u{o.question_id}", item=f"u{o.item}", winner="both")
            for o in levels(loom=always(0))
        ]
        alone, found = (aggregate(o, manifest(gradual_override=MICRO)) for o in (seen, seen + unseen))
        assert [f["state"] for f in found["flips"]].count("no conflict seen") == 24
        (trend,) = found["flip_trend"]
        assert (trend["seen"], trend["cases"]) == (18, 24)
        assert trend["tau"] == alone["flip_trend"][0]["tau"]
        assert [s["median"] for s in found["flip_summary"]] == [0, 1, 2, 3]
        assert {(c["n"], c["share"]) for c in found["curves"] if c["web"] == 3} == {(18, 0), (18, 1)}
        assert "Conflict seen in 18 of 24 cases" in self.verdict(found, "needs backing to flip")["text"]
        assert "| 18 of 24 cases" in tables.to_markdown(found)

    def test_generated_data_decides_nothing(self) -> None:
        demo = {**SUITE, "source": "demo_fc"}
        missing = {**SUITE, "not_run": "the benchmark can't be had here"}
        results = aggregate(pilot("demo_fc"), manifest(demo_fc=demo, fc_mh_6k=missing))
        found = self.verdict(results, "does not beat Tide")
        assert (found["holds"], found["answer"]) == (None, "not run")
        assert "can't be had" in found["text"]
        assert "decides nothing here" in found["text"]

    def test_a_method_of_the_users_own(self) -> None:
        outcomes = [replace(o, method="mine") if o.method == "loom" else o for o in pilot(loom=0.95)]
        facts = manifest(fc_mh_6k=SUITE)
        facts["methods"] = {"dense": METHODS["dense"], "tide": METHODS["tide"], "mine": {"label": "Mine"}}
        facts["named"] = ["mine"]
        results = aggregate(outcomes, facts)
        assert results["methods"][0]["method"] == "mine"
        assert results["experiment"]["rows"][0]["label"] == "Mine"
        assert {v["name"]: v["answer"] for v in results["verdicts"]} == {
            "Mine beats Tide on FactConsolidation at equal k": "yes",
            "Mine beats bm25 on fc_mh_6k": "yes",  # the manifest tells no label of it
            "Mine beats Dense on fc_mh_6k": "yes",
        }


class TestFiles:
    def test_written_again_from_the_log_alone(self, whole: Any, tmp_path: Path) -> None:
        outcomes, facts = whole
        first = report.write(tmp_path / "a", outcomes, facts)
        assert [path.name for path in first] == list(report.FILES)
        shuffled = random.Random(2).sample(outcomes, len(outcomes))
        runlog.write(tmp_path / "items.jsonl", shuffled)
        read = json.loads(json.dumps(facts))
        report.write(tmp_path / "b", runlog.read(tmp_path / "items.jsonl"), read)
        for path in first:
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name

    def test_only_what_is_asked_for(self, whole: Any, tmp_path: Path) -> None:
        assert [p.name for p in report.write(tmp_path, *whole, only=["md", "results.csv"])] == [
            "results.md",
            "results.csv",
        ]

    def test_json_is_exact_and_strict(self, results: Any) -> None:
        def refuse(constant: str) -> None:
            raise AssertionError(constant)

        assert json.loads(tables.to_json(results), parse_constant=refuse) == results

    def test_csv_is_tidy(self, results: Any) -> None:
        frame = pd.read_csv(io.StringIO(tables.to_csv(results)))
        values = frame[(frame.table == "rows") & (frame.statistic == "value") & (frame.suite == "fc_mh_6k")]
        found = dict(zip(values.method, values.number, strict=True))
        assert found == {r["method"]: r["value"] for r in results["rows"] if r["suite"] == "fc_mh_6k"}
        assert pd.api.types.is_numeric_dtype(frame.number)
        missing = frame[(frame.suite == "lme_s") & (frame.statistic == "value")]
        assert set(missing.status) == {"not run"}
        assert missing.number.isna().all()

    def test_markdown_opens_with_the_table_of_the_experiment(self, results: Any) -> None:
        html = MarkdownIt("commonmark").enable("table").render(tables.to_markdown(results))
        assert re.findall(r"<h2>(.*?)</h2>", html)[0] == "The experiment"
        first = html[html.index("<table>") : html.index("</table>")]
        labels = [re.sub(r" \(\d+\)$", "", text) for text in re.findall(r"<tr>\s*<td[^>]*>(.*?)</td>", first)]
        assert labels == [
            "Loom",
            "Loom, recency",
            "Loom, sampled",
            "Tide",
            "BM25 (ours)",
            "Dense (ours)",
            "BM25",
            "Text-Embed-3-Small",
            "HippoRAG-v2",
            "GPT-5-mini, 400K, full context",
        ]
        for printed in ("48.0", "28.0", "54.0", "78.0", "3.0", "5.0"):
            assert f"{printed} copied" in first
        assert "arXiv:2507.05257" in html
        assert "tiny-encoder (stands in for bge-small-en-v1.5)" in html

    def test_own_suites_alone_have_no_table_of_the_experiment(self) -> None:
        own = [replace(o, suite="mine") for o in pilot()]
        results = aggregate(own, manifest(mine=SUITE))
        assert len(results["experiment"]["columns"]) == 5  # it stays in the JSON
        for text in (tables.to_markdown(results), tables.to_latex(results), terminal(results, 200, False)):
            assert "mine" in text
            for absent in ("The experiment", "LongMemEval", "copied", "fc\\_", "fc_"):
                assert absent not in text

    def test_every_not_run_has_its_reason_below(self, results: Any) -> None:
        text = tables.to_markdown(results)
        table = text[text.index("## The experiment") : text.index("## Verdicts")]
        for number in set(re.findall(r"not run \((\d+)\)", table)):
            assert re.search(rf"^{number}\. \S", table, re.MULTILINE)

    def test_cases_say_what_they_are(self, results: Any) -> None:
        text = tables.to_markdown(results)
        part = text[text.index("### Micro-test gradual_override") :]
        for told in ("suggestive, not evidence", "6 cases", "majority-support: the side that more facts back"):
            assert told in part.split("|")[0]
        assert "six people, one relation" in part
        assert "registered before this run" in part

    @pytest.mark.parametrize(
        "label", ["a|b_c*d*", "<script>alert(1)</script>", "50% & $x$ #1 \\o/ {y}~^", "[*] 記憶\nnew"]
    )
    def test_names_are_text_everywhere(self, whole: Any, label: str) -> None:
        outcomes, facts = whole
        facts = {**facts, "methods": {**METHODS, "loom": {**METHODS["loom"], "label": label}}}
        results = aggregate(outcomes, facts)
        html = MarkdownIt("commonmark").enable("table").render(tables.to_markdown(results))
        assert "<script" not in html
        shown = " ".join(label.split())
        cells = ElementTree.fromstring(f"<x>{html[html.index('<table>') : html.index('</table>')]}</table></x>")
        assert shown in {"".join(cell.itertext()).strip() for cell in cells.iter("td")}
        assert {len(list(line)) for line in cells.iter("tr")} == {6}
        latex = tables.to_latex(results)
        bare = re.sub(r"\\[\\{}&%$#_]|^%.*$", "", latex, flags=re.MULTILINE)
        assert bare.count("{") == bare.count("}")
        assert not re.search(r"[#_]|(?<!\\)%(?!$)", bare.replace("%\n", "\n"))
        assert not re.search(r"\\\\\s*[\[*]", latex)
        assert latex.count("\\begin{") == latex.count("\\end{")

    def test_plots_are_svg_with_text_and_every_method(self, whole: Any, tmp_path: Path) -> None:
        label = "$x_1$ <&> 記憶"
        outcomes, facts = whole
        facts = {**facts, "methods": {**METHODS, "loom": {**METHODS["loom"], "label": label}}}
        for path in report.write(tmp_path, outcomes, facts, only=["intervals.svg", "flip_points.svg"]):
            texts = {"".join(e.itertext()).strip() for e in ElementTree.parse(path).iter() if e.tag.endswith("}text")}
            assert {label, "Tide", "Dense"} <= texts
            assert any("suggestive, not evidence" in text for text in texts)
            assert "<dc:date>" not in path.read_text()

    def test_a_plot_is_drawn_once_for_the_same_figures(
        self, results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pytest_engram.report.kept import drawn_once

        monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
        assert drawn_once("intervals", results, lambda: "one") == "one"
        assert drawn_once("intervals", results, lambda: "two") == "one"
        assert drawn_once("flip_points", results, lambda: "two") == "two"
        other = {**results, "rows": results["rows"][1:]}
        assert drawn_once("intervals", other, lambda: "three") == "three"
        monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path / "plots" / "no.svg" / "folder"))
        (tmp_path / "plots" / "no.svg").touch()
        assert drawn_once("intervals", results, lambda: "four") == "four"  # nothing can be kept here

    def test_few_plots_are_kept(self, results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from pytest_engram.report import kept

        monkeypatch.setenv("ENGRAM_CACHE", str(tmp_path))
        for number in range(kept.PLOTS + 3):
            kept.drawn_once(str(number), results, lambda: "x")
        assert len(list((tmp_path / "plots").iterdir())) == kept.PLOTS

    def test_plots_leave_the_users_style_alone(self, results: Any) -> None:
        import matplotlib

        from pytest_engram.report import plots

        before = dict(matplotlib.rcParams)
        with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
            loud = plots.intervals(results)
        assert loud == plots.intervals(results)
        assert dict(matplotlib.rcParams) == before


class TestTerminal:
    @pytest.mark.parametrize("width", [24, 40, 80, 120, 200])
    def test_fits_any_width(self, results: Any, width: int) -> None:
        shown = terminal(results, width, colour=False)
        assert max(map(len, shown.splitlines())) <= width
        assert "\x1b" not in shown
        assert "no data here" in " ".join(shown.split())

    def test_wide_characters_take_two_columns(self, whole: Any) -> None:
        outcomes, facts = whole
        facts = {**facts, "methods": {**METHODS, "loom": {**METHODS["loom"], "label": "記憶" * 30}}}
        for line in terminal(aggregate(outcomes, facts), 60, colour=False).splitlines():
            assert sum(2 if "一" <= c <= "鿿" else 1 for c in line) <= 60

    def test_colours_only_when_asked(self, results: Any) -> None:
        assert "\x1b[32myes\x1b[0m" in terminal(results, 80, colour=True)
        plain = re.sub(r"\x1b\[\d+m", "", terminal(results, 80, colour=True))
        assert plain == terminal(results, 80, colour=False)

    def test_the_first_screen(self, results: Any) -> None:
        shown = terminal(results, 120, colour=False)
        found = row(results, "loom")
        assert f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]" in shown
        assert "Loom minus" in shown
        assert "Verdicts" in shown
        assert "not run: lme_s: no data here" in shown

    def test_escape_sequences_of_names_stay_out(self, whole: Any) -> None:
        outcomes, facts = whole
        facts = {**facts, "methods": {**METHODS, "loom": {**METHODS["loom"], "label": "\x1b[31mred"}}}
        assert "\x1b" not in terminal(aggregate(outcomes, facts), 100, colour=False)


def test_twelve_hundred_items_take_well_under_a_second_without_plots(tmp_path: Path) -> None:
    from time import process_time

    outcomes = pilot(n=100) + pilot("fc_sh_6k", n=100)
    facts = manifest(fc_mh_6k={**SUITE, "n": 100}, fc_sh_6k={**SUITE, "n": 100})
    aggregate(pilot(n=10), facts)  # imports are not measured
    started = process_time()
    report.write(tmp_path, outcomes, facts, only=["json", "md", "csv", "tex"])
    assert process_time() - started < 2  # about 0.4 s; room for a slow machine
