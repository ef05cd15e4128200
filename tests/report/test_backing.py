"""Verdicts on what backs a side: yes, no, can't tell and not run, by tests that scipy and statsmodels did again."""

from __future__ import annotations

from typing import Any

import backed
import pytest
import runs
from backed import by_cluster
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from pytest_engram.report import tables
from pytest_engram.runs.outcome import Outcome

RELATIONS = 12
OFFICIAL, MICRO = "on official contradictions", "in micro-tests"
NOTHING = "On neither: the embeddings add nothing here."


def answered(method: str, right: float, kind: str = "named", suite: str | None = None, each: int = 4) -> list[Outcome]:
    """`each` questions of twelve relations; the same share of each relation's is right."""
    suite = suite or {"named": "backed_fc", "implied": "backed_fc_implied"}[kind]
    return [
        backed.line(
            method,
            f"{relation}-{at}",
            "update" if at < right * each else "belief",
            backed="newer",
            b=3,
            relation=f"r{relation}",
            kind=kind,
            suite=suite,
        )
        for relation in range(RELATIONS)
        for at in range(each)
    ]


def levels(method: str, right: float, family: str, each: int = 4) -> list[Outcome]:
    """The same of a micro-test, whose templates are the clusters."""
    return [
        runs.outcome(
            f"t{template}-{at}",
            None,
            method,
            family,
            metrics={"correct": float(at < right * each)},
            family=family,
            case=f"t{template}",
            web=1,
            backers=at,
            winner="update" if at < right * each else "belief",
            expected="update",
            cluster=f"t{template}",
        )
        for template in range(RELATIONS)
        for at in range(each)
    ]


def found(outcomes: list[Outcome], part: str, named: tuple[str, ...] = ("loom",), **suites: Any) -> dict[str, Any]:
    verdicts = backed.results(outcomes, named, **suites)["verdicts"]
    (one,) = (v for v in verdicts if part in v["name"])
    return one  # type: ignore[no-any-return]


def both(loom: float, count: float, implied: float) -> dict[str, Any]:
    log = answered("loom", loom) + answered("count", count)
    log += answered("loom", implied, "implied") + answered("count", 0, "implied")
    return found(log, OFFICIAL)


class TestSided:
    @pytest.mark.parametrize(("sided", "loom", "answer"), [(1, 0.5, "yes"), (0.5, 1, "no"), (0.5, 0.5, "can't tell")])
    def test_the_variant_is_better_worse_or_nobody_knows(self, sided: float, loom: float, answer: str) -> None:
        told = found(answered("loom-sided", sided) + answered("loom", loom), "beats Loom where")
        assert (told["answer"], told["claimed"]) == (answer, False)
        # Twelve relations that all differ alike: of 2 ** 12 flips of signs two are as extreme.
        if sided != loom:
            assert 2 / 2**12 < 0.001
            assert "sign flips by relation p < 0.001" in told["text"]
        assert f"correct {sided:.3f} against {loom:.3f}" in told["text"]

    def test_without_backed_contradictions_it_is_not_run(self) -> None:
        log = levels("loom-sided", 1, "reworded") + levels("loom", 1, "reworded")
        assert found(log, "beats Loom where")["answer"] == "not run"


class TestEmbeddings:
    def test_more_than_count_and_more_than_chance_is_yes(self) -> None:
        told = both(1, 0.5, 1)
        assert (told["answer"], told["holds"], told["claimed"]) == ("yes", True, False)
        assert told["name"] == (
            "Embeddings add something on official contradictions: Loom beats Count on named backers, and chance on "
            "implied ones"
        )
        assert told["text"].startswith(
            "On both. Named backers (yes): Loom minus Count: backed_fc correct 1.000 against"
        )
        assert "against a chance of 0.500" in told["text"]

    def test_neither_is_no_and_says_that_they_add_nothing(self) -> None:
        told = both(0.5, 0.5, 0.5)
        assert (told["answer"], told["holds"]) == ("no", False)
        assert told["text"].startswith(f"{NOTHING} Named backers (can't tell)")

    def test_worse_on_both_says_so_too(self) -> None:
        told = both(0, 1, 0)
        assert told["answer"] == "no"
        assert told["text"].startswith(f"{NOTHING} Named backers (no)")
        assert "Implied backers (no)" in told["text"]

    @pytest.mark.parametrize(
        ("shares", "answer", "which"),
        [
            ((1, 0.5, 0.5), "can't tell", "named"),
            ((1, 0.5, 0), "no", "named"),
            ((0.5, 0.5, 1), "can't tell", "implied"),
            ((0, 1, 1), "no", "implied"),
        ],
    )
    def test_of_one_alone_it_says_which(self, shares: tuple[float, float, float], answer: str, which: str) -> None:
        told = both(*shares)
        assert told["answer"] == answer
        assert told["text"].startswith(f"On {which} backers only. ")
        assert "add nothing" not in told["text"]

    @pytest.mark.parametrize(
        ("right", "answer"), [(18, None), (26, None), (30, None), (36, True), (40, True), (6, False)]
    )
    def test_chance_is_beaten_where_the_interval_lies_above_it(self, right: int, answer: bool | None) -> None:
        log = answered("loom", 1) + answered("count", 0)
        implied = answered("loom", 0, "implied")
        won = [at * 7 % 48 < right for at in range(48)]
        for outcome, is_right in zip(implied, won, strict=True):
            outcome.metrics["correct"] = outcome.metrics["followed"] = float(is_right)
        low, high = by_cluster([float(w) for w in won], [str(o.cluster) for o in implied])
        assert {None: low < 0.5 < high, True: low > 0.5, False: high < 0.5}[answer]
        told = found(log + implied, OFFICIAL)
        assert told["holds"] is answer
        assert f"{right / 48:.3f} [{low:.3f}, {high:.3f}], n = 48 in 12 relations" in told["text"]

    def test_with_one_kind_asked_nothing_is_said_of_the_other(self) -> None:
        told = found(answered("loom", 1) + answered("count", 0), OFFICIAL)
        assert (told["answer"], told["holds"]) == ("can't tell", None)
        assert "Implied backers: not run." in told["text"]

    def test_not_run(self) -> None:
        log = [runs.outcome(f"q{q}", 1.0, method) for q in range(8) for method in ("loom", "count")]
        told = found(log, OFFICIAL)
        assert (told["answer"], told["holds"]) == ("not run", None)
        log = answered("loom", 1) + answered("count", 0)
        for outcome in log:
            outcome.status, outcome.reason, outcome.metrics = "not run", "no data here", {}
        told = found(log, OFFICIAL)
        assert (told["answer"], told["text"]) == ("not run", "no data here.")

    def test_without_count_there_is_none(self) -> None:
        verdicts = backed.results(answered("loom", 1))["verdicts"]
        assert not [v for v in verdicts if "Embeddings" in v["name"]]

    def test_micro_tests_have_their_own(self) -> None:
        log = answered("loom", 1) + answered("count", 0.5)
        log += answered("loom", 1, "implied") + answered("count", 0, "implied")
        assert not [v for v in backed.results(log)["verdicts"] if MICRO in v["name"]]
        for family, count in (("gradual_override", 0.5), ("gradual_implied", 0)):
            log += levels("loom", 0.5, family) + levels("count", count, family)
        kinds = {
            name: {"kind": "micro", "family": name, "cluster": "template"}
            for name in ("gradual_override", "gradual_implied")
        }
        assert found(log, OFFICIAL, **kinds)["answer"] == "yes"
        told = found(log, MICRO, **kinds)
        assert "suggestive, not evidence" in told["name"]
        assert told["answer"] == "no"
        assert told["text"].startswith(NOTHING)
        assert "gradual_implied correct 0.500" in told["text"]
        assert "said again" not in told["text"]

    def test_the_p_is_that_of_the_table_over_the_tests_of_the_named_method(self) -> None:
        log = answered("loom", 1) + answered("count", 0.5) + answered("tide", 0.5)
        results = backed.results(log)
        rows = [row for row in results["paired"] if row["suite"] == "backed_fc"]
        about = [row for row in rows if "loom" in (row["method"], row["baseline"])]
        assert {(r["method"], r["baseline"], r["metric"]) for r in about} == {
            ("loom", "tide", "correct"),
            ("loom", "tide", "followed"),
            ("loom", "count", "correct"),
        }
        adjusted = multipletests([row["p"] for row in about], method="holm")[1]
        assert [row["p_holm"] for row in about] == pytest.approx(list(adjusted))
        (row,) = (row for row in about if row["baseline"] == "count")
        assert row["p"] == pytest.approx(2 / 2**RELATIONS)  # all twelve relations point one way
        told = found(log, OFFICIAL)
        assert f"Holm p = {row['p_holm']:.3f} over the 3 tests of backed_fc" in told["text"]


def official(method: str, right: int, n: int = 200, suite: str = "fc_sh_6k", first: int = 0) -> list[Outcome]:
    return [
        runs.outcome(f"q{q}", None, method, suite, metrics={"resolved@10": float(first <= q < first + right)})
        for q in range(n)
    ]


def landing(log: list[Outcome], named: tuple[str, ...] = ("loom",)) -> dict[str, Any]:
    about = {name: {"source": "factconsolidation"} for name in {o.suite for o in log} if name.startswith("fc_")}
    micro = {name: {"kind": "micro", "family": name} for name in {o.suite for o in log} if name.startswith("gradual")}
    log = log + official("loom", 50, suite=next(iter(about or {"tiny": 0})))
    return found(log, "lands on Tide", named, **about, **micro)


class TestLandsOnTide:
    def test_every_interval_within_the_margin_is_yes(self) -> None:
        told = landing(official("loom-recency", 150) + official("tide", 150))
        assert (told["answer"], told["claimed"]) == ("yes", True)
        assert told["name"] == "Loom, recency lands on Tide"
        assert "within ±0.050 on every suite" in told["text"]
        assert told["text"].endswith("It does on all.")

    def test_a_suite_that_was_not_measured_leaves_it_open(self) -> None:
        log = official("loom", 50) + official("loom-recency", 150) + official("tide", 150)
        about = {name: {"source": "factconsolidation"} for name in ("fc_sh_6k", "fc_mh_6k")}
        told = found(log, "lands on Tide", ("loom",), **about)
        assert (told["answer"], told["holds"]) == ("can't tell", None)
        assert told["text"].endswith("It does on all that were measured; fc_mh_6k was not.")

    def test_a_significant_difference_is_no(self) -> None:
        told = landing(official("loom-recency", 150) + official("tide", 130))
        assert (told["answer"], told["holds"]) == ("no", False)
        assert told["text"].endswith("More than chance apart on fc_sh_6k.")

    def test_neither_is_can_not_tell(self) -> None:
        told = landing(official("loom-recency", 15, 20) + official("tide", 14, 20))
        assert (told["answer"], told["holds"]) == ("can't tell", None)
        assert told["text"].endswith("It does on 0 of 1; on none are they more than chance apart.")

    def test_one_suite_without_it_is_enough_to_leave_it_open(self) -> None:
        log = official("loom-recency", 150) + official("tide", 150)
        log += official("loom-recency", 15, 20, "fc_mh_6k") + official("tide", 15, 20, "fc_mh_6k")
        told = landing(log)
        assert told["answer"] == "can't tell"
        assert "It does on 1 of 2" in told["text"]

    def test_p_is_adjusted_over_the_tests_of_the_verdict(self) -> None:
        # Six to nothing on one suite is p = 0.031 by itself, and 0.062 of two tests.
        log = official("loom-recency", 36, 60) + official("tide", 30, 60)
        log += official("loom-recency", 30, 60, "fc_mh_6k") + official("tide", 30, 60, "fc_mh_6k")
        alone = binomtest(6, 6).pvalue
        adjusted = multipletests([alone, 1.0], method="holm")[1][0]
        told = landing(log)
        assert told["answer"] == "can't tell"
        assert f"p = {alone:.3f}, Holm p = {adjusted:.3f} over the 2 tests of this verdict" in told["text"]
        assert landing(log[:120])["answer"] == "no"

    def test_of_a_named_method_it_is_the_p_of_the_table(self) -> None:
        log = official("loom-recency", 36, 60) + official("tide", 30, 60)
        told = landing(log, ("loom", "tide"))
        assert "of this verdict" not in told["text"]
        assert "tests of fc_sh_6k" in told["text"]

    def test_gradual_override_is_part_of_it_and_its_test_is_in_the_tables(self) -> None:
        log = official("loom-recency", 150) + official("tide", 150)
        log += levels("loom-recency", 1, "gradual_override") + levels("tide", 0.5, "gradual_override")
        told = landing(log)
        assert told["answer"] == "no"
        assert told["text"].endswith("More than chance apart on gradual_override.")
        about = {"gradual_override": {"kind": "micro", "family": "gradual_override", "cluster": "template"}}
        results = backed.results(log, ("loom-recency", "tide"), **about)
        (row,) = (r for r in results["paired"] if r["suite"] == "gradual_override")
        assert (row["method"], row["baseline"], row["difference"]) == ("loom-recency", "tide", 0.5)
        text = tables.to_markdown(results)
        part = text[text.index("### Micro-test gradual_override") :]
        assert "| Loom, recency | Tide      | correct  | +0.500" in part

    def test_not_run(self) -> None:
        log = [runs.outcome(f"q{q}", 1.0, m) for q in range(8) for m in ("loom", "loom-recency", "tide")]
        told = found(log, "lands on Tide")
        assert (told["answer"], told["holds"]) == ("not run", None)

    def test_without_either_there_is_none(self) -> None:
        for method in ("loom-recency", "tide"):
            verdicts = backed.results(official("loom", 5) + official(method, 5))["verdicts"]
            assert not [v for v in verdicts if "lands on" in v["name"]]


def repeated(method: str, kept: dict[int, float], **more: Any) -> list[Outcome]:
    """Older sides with three backers, and how often they are kept alone by the number of the other's repetitions."""
    return [
        backed.line(
            method,
            f"{relation}-{at}-m{m}",
            "belief" if at < share * 10 else "both",
            backed="older",
            b=3,
            m=m,
            relation=f"r{relation}",
            **more,
        )
        for m, share in kept.items()
        for relation in range(RELATIONS)
        for at in range(10)
    ]


POISON = "below 0.500 on backed_fc"


class TestPoisoned:
    def test_the_smallest_number_that_overturns_more_than_half(self) -> None:
        log = repeated("loom", {0: 0.9, 1: 0.7, 3: 0.3, 5: 0.1}) + repeated("tide", dict.fromkeys((0, 1, 3, 5), 0))
        log += repeated("loom-distinct", {0: 0.8, 1: 0.8, 3: 0.7, 5: 0.6})
        told = found(log, POISON)
        assert (told["answer"], told["holds"], told["claimed"]) == ("3", None, False)
        low, high = by_cluster(([1.0] * 9 + [0.0]) * RELATIONS, [f"r{r}" for r in range(RELATIONS) for _ in range(10)])
        assert f"0.900 [{low:.3f}, {high:.3f}] at 0, 0.700 [" in told["text"]
        assert "0.100 [" in told["text"]
        assert told["text"].endswith("Of the other methods: Loom, distinct more than 5; Tide 0.")

    def test_never(self) -> None:
        assert found(repeated("loom", {0: 1, 1: 1, 3: 0.9, 5: 0.8}), POISON)["answer"] == "more than 5"

    def test_already_without_any(self) -> None:
        assert found(repeated("loom", {0: 0.2, 1: 0.1}), POISON)["answer"] == "0"

    def test_where_the_interval_lies_on_both_sides_that_is_told(self) -> None:
        told = found(repeated("loom", {0: 0.9, 1: 0.4, 3: 0}), POISON)
        assert told["answer"] == "1"
        assert "(the interval at 1 lies on both sides of 0.500)" in told["text"]
        assert "both sides" not in found(repeated("loom", {0: 0.9, 1: 0.1}), POISON)["text"]

    def test_not_run(self) -> None:
        log = repeated("loom", {0: 0.9, 1: 0.4})
        log[3].status, log[3].reason = "violation", "11 ids returned, k is 10"
        told = found(log, POISON)
        assert told["answer"] == "not run"
        assert "11 ids returned" in told["text"]
        told = found(repeated("loom", {0: 0.9}), POISON)
        assert (told["answer"], told["text"]) == ("not run", "no repetitions were asked.")

    def test_implied_backers_and_other_suites_have_none(self) -> None:
        implied = repeated("loom", {0: 0.9, 1: 0.4}, kind="implied", suite="backed_fc_implied")
        for log in (implied, official("loom", 5)):
            assert not [v for v in backed.results(log)["verdicts"] if "Repetitions" in v["name"]]
