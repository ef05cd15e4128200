"""A verdict says what the test beside it says: by the adjusted p that is shown, once for each pair of methods."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import runs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, norm
from statsmodels.stats.multitest import multipletests

from pytest_engram.report import page, tables
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.pairs import paired
from pytest_engram.report.screen import render as terminal
from pytest_engram.runs.outcome import Outcome

ROLES = {
    "loom": "experiment",
    "loom-recency": "ablation",
    "loom-distinct": "ablation",
    "tide": "control",
    "bm25": "anchor",
    "dense": "anchor",
}
LABELS = {"bm25": "BM25"}
UNDECIDED = "undecided (returned both sides at every level)"
CLAIMS, COMPARISONS = "Claims stated before the run", "Comparisons of this run"


def answers(method: str, right: int, n: int = 36, suite: str = "tiny", first: int = 0) -> list[Outcome]:
    """`right` answers, from question `first` on; all others are misses."""
    return [runs.outcome(f"q{q:03d}", float(first <= q < first + right), method, suite) for q in range(n)]


def results(outcomes: list[Outcome], named: list[str], source: str = "mine", **suite: Any) -> dict[str, Any]:
    """Of a run by hand, with the roles that the shipped methods have."""
    found = runs.by_hand(outcomes, named=named).manifest
    for name, info in found["methods"].items():
        info |= {"role": ROLES.get(name, "experiment"), "label": LABELS.get(name, info["label"])}
    for info in found["suites"].values():
        info |= {"source": source, **suite}
    return aggregate(outcomes, found)


def verdict(found: dict[str, Any], part: str) -> dict[str, Any]:
    (one,) = (v for v in found["verdicts"] if part in v["name"])
    return one  # type: ignore[no-any-return]


def pair(found: dict[str, Any], method: str, baseline: str) -> dict[str, Any]:
    (row,) = (r for r in found["paired"] if (r["method"], r["baseline"]) == (method, baseline))
    return row  # type: ignore[no-any-return]


def findable(n: int, level: float) -> float:
    """The difference that McNemar's exact test at this level finds in 80 of 100 runs, if all pairs point one way."""
    needed = next(m for m in range(1, n + 1) if binomtest(m, m).pvalue <= level)
    return float(brentq(lambda d: binom.sf(needed - 1, n, d) - 0.8, 0, 1))


class TestByTheAdjustedP:
    def test_an_interval_above_zero_does_not_overrule_the_test_beside_it(self) -> None:
        log = answers("mine", 15) + answers("bm25", 10) + answers("dense", 15)
        found = results(log, ["mine"])
        row = pair(found, "mine", "bm25")
        assert row["low"] > 0
        assert row["p"] == 0.0625  # 2 * 0.5^5
        assert row["p_holm"] == 0.125
        told = verdict(found, "beats BM25")
        assert (told["answer"], told["holds"]) == ("can't tell", None)
        assert "exact McNemar p = 0.062, Holm p = 0.125 over the 2 tests of tiny" in told["text"]

    def test_what_could_have_been_found_is_told_at_the_level_of_the_adjusted_test(self) -> None:
        log = answers("mine", 16) + answers("bm25", 10) + answers("dense", 16)
        found = results(log, ["mine"])
        assert pair(found, "mine", "bm25")["p"] == 0.03125  # taken by itself it would be significant
        told = verdict(found, "beats BM25")
        assert told["answer"] == "can't tell"
        assert (
            f"the smallest difference that it finds with 80% power is {findable(36, 0.05 / 2):.3f}, "
            "where more questions differ than the 6 of 36 here, and all point one way." in told["text"]
        )
        assert findable(36, 0.05 / 2) > found["power"][0]["smallest_difference"]  # of a test that stands alone

    def test_what_other_tests_have_spent_counts_no_more(self) -> None:
        # Holm: once the comparison with Dense is significant, the one with BM25 is tested at 0.05 itself.
        log = answers("mine", 20) + answers("bm25", 14) + answers("dense", 0)
        assert verdict(results(log, ["mine"]), "beats BM25")["answer"] == "yes"
        log = answers("mine", 20) + answers("bm25", 15) + answers("dense", 0)
        told = verdict(results(log, ["mine"]), "beats BM25")
        assert told["answer"] == "can't tell"
        # 15 questions differ from Dense, 5 from BM25: that is more than were needed, but not many enough to be found.
        assert f"is {findable(36, 0.05):.3f}, where more questions differ than the 5 of 36 here" in told["text"]

    def test_worse_by_the_adjusted_p_is_no(self) -> None:
        log = answers("mine", 0) + answers("bm25", 12) + answers("dense", 0)
        assert verdict(results(log, ["mine"]), "beats BM25")["answer"] == "no"

    def test_where_nothing_could_be_significant_that_is_told(self) -> None:
        log = [o for m, right in (("mine", 4), ("bm25", 0)) for o in answers(m, right, n=4)]
        told = verdict(results(log, ["mine"]), "beats BM25")
        assert told["answer"] == "can't tell"
        assert "Holm p = 0.125, the only test of tiny" in told["text"]
        assert "with n = 4 no difference could be" in told["text"]

    def test_a_paired_bootstrap_too(self) -> None:
        values = {"mine": (0.6, 0.4, 0.9, 0.2), "bm25": (0.5, 0.45, 0.6, 0.25), "dense": (0.6, 0.4, 0.9, 0.2)}
        log = [
            runs.outcome(f"q{q:03d}", values[m][q % 4], m, metrics={"ndcg_any@10": values[m][q % 4]})
            for m in values
            for q in range(12)
        ]
        found = results(log, ["mine"], metrics=["ndcg_any@10"])
        row = pair(found, "mine", "bm25")
        assert row["test"] == "paired bootstrap"
        assert row["p_holm"] > 0.05
        told = verdict(found, "beats BM25")
        z = norm.ppf(1 - 0.05 / 2 / 2) + norm.ppf(0.8)
        differences = [values["mine"][q % 4] - values["bm25"][q % 4] for q in range(12)]
        mean = sum(differences) / 12
        sd = (sum((d - mean) ** 2 for d in differences) / 11) ** 0.5
        assert f"is {z * sd / 12**0.5:.3f}." in told["text"]

    def test_methods_that_never_differ_can_not_be_told_apart(self) -> None:
        log = [runs.outcome(f"q{q}", 0.5, m, metrics={"ndcg_any@10": 0.5}) for m in ("mine", "bm25") for q in range(9)]
        told = verdict(results(log, ["mine"], metrics=["ndcg_any@10"]), "beats BM25")
        assert told["answer"] == "can't tell"
        assert "is 0.000" not in told["text"]
        assert "all 9 differences are equal" in told["text"]

    def test_a_claim_about_one_suite_follows_that_suites_table(self) -> None:
        log = [o for m, right in (("loom", 10), ("tide", 16), ("bm25", 10), ("dense", 10)) for o in answers(m, right)]
        found = results(log, ["loom"], "factconsolidation")
        row = pair(found, "loom", "tide")
        assert row["high"] < 0
        assert row["p"] == 0.03125
        assert row["p_holm"] == pytest.approx(0.09375)  # three tests: loom against both anchors and tide
        assert pair(found, "tide", "bm25")["p_holm"] is None
        told = verdict(found, "does not beat Tide")
        assert told["answer"] == "can't tell"
        assert "Holm p = 0.094 over the 3 tests of tiny" in told["text"]
        assert f"is {findable(36, 0.05 / 3):.3f}, where more questions differ than the 6 of 36 here" in told["text"]

    def test_several_suites_are_not_pooled(self) -> None:
        """Six to nothing over both suites would be p = 0.031; three to nothing on each is nothing."""
        log = [
            o
            for suite in ("a", "b")
            for m, right in (("loom", 10), ("tide", 13))
            for o in answers(m, right, suite=suite)
        ]
        told = verdict(results(log, ["loom"], "factconsolidation"), "does not beat Tide")
        assert told["answer"] == "can't tell"
        assert told["text"].count("exact McNemar p = 0.250, Holm p = 0.250, the only test of ") == 2

    def test_worse_on_one_suite_and_on_none_better_is_an_answer(self) -> None:
        log = [o for m, right in (("loom", 10), ("tide", 10)) for o in answers(m, right, suite="a")]
        log += [o for m, right in (("loom", 10), ("tide", 20)) for o in answers(m, right, suite="b")]
        told = verdict(results(log, ["loom"], "factconsolidation"), "does not beat Tide")
        assert told["answer"] == "yes"

    def test_losing_to_its_own_recency_takes_the_adjusted_p_too(self) -> None:
        log = [o for m, right in (("loom", 10), ("tide", 10), ("loom-recency", 16)) for o in answers(m, right)]
        told = verdict(results(log, ["loom"], "factconsolidation"), "does not lose to")
        assert told["answer"] == "can't tell"
        assert "the date decides" not in told["text"]

    def test_what_stands_beside_a_verdict_names_the_p_of_its_table(self) -> None:
        log = [o for m, right in (("loom", 10), ("tide", 16), ("bm25", 10)) for o in answers(m, right)]
        told = verdict(results(log, ["loom"], "demo_fc"), "does not beat Tide")
        assert told["answer"] == "not run"
        assert "Holm p = 0.062 over the 2 tests of tiny" in told["text"]

    @given(better=st.integers(0, 25), worse=st.integers(0, 25), dense=st.integers(0, 60))
    @settings(max_examples=40, deadline=None)
    def test_no_answer_is_against_the_table(self, better: int, worse: int, dense: int) -> None:
        log = answers("mine", better, 60) + answers("bm25", worse, 60, first=30) + answers("dense", dense, 60)
        found = results(log, ["mine"])
        for name, baseline in (("beats BM25", "bm25"), ("beats Dense", "dense")):
            row = pair(found, "mine", baseline)
            side = "yes" if row["difference"] > 0 else "no"
            assert verdict(found, name)["answer"] == (side if row["p_holm"] < 0.05 else "can't tell")


@pytest.fixture(scope="module")
def both() -> dict[str, Any]:
    """A method of the user's own and Loom, in one run."""
    log = [o for m, right in (("mine", 9), ("loom", 1), ("tide", 20), ("bm25", 5)) for o in answers(m, right)]
    return results(log, ["mine", "loom"], "factconsolidation")


class TestWhoClaimedIt:
    def test_only_the_registered_experiment_claimed_something(self, both: Any) -> None:
        claimed = {v["name"]: v["claimed"] for v in both["verdicts"]}
        assert claimed == {
            "Loom does not beat Tide on FactConsolidation at equal k": True,
            "Mine beats Tide on FactConsolidation at equal k": False,
            "Mine beats BM25 on tiny": False,
        }

    def test_a_method_named_like_it_claimed_nothing(self) -> None:
        log = [o for m, right in (("loom-mine", 9), ("tide", 2)) for o in answers(m, right)]
        found = results(log, ["loom-mine"], "factconsolidation")
        assert [(v["name"], v["claimed"]) for v in found["verdicts"]] == [
            ("Loom-Mine beats Tide on FactConsolidation at equal k", False)
        ]

    def parts(self, text: str) -> tuple[str, str]:
        claims, comparisons = text.index(CLAIMS), text.index(COMPARISONS)
        assert claims < comparisons
        return text[claims:comparisons], text[comparisons:]

    @pytest.mark.parametrize(
        "form",
        [
            tables.to_markdown,
            tables.to_latex,
            lambda found: terminal(found, 200, False),
            lambda found: re.sub(r"<[^>]+>", "", page.render(found, [], {})),
        ],
        ids=["markdown", "latex", "terminal", "page"],
    )
    def test_each_stands_under_its_heading(self, both: Any, form: Any) -> None:
        claims, comparisons = self.parts(form(both))
        assert "Loom does not beat Tide" in claims
        assert "Mine beats" not in claims
        assert "Mine beats Tide" in comparisons
        assert "Loom does not beat" not in comparisons

    def test_there_is_no_heading_without_anything_under_it(self) -> None:
        log = answers("mine", 9) + answers("bm25", 4)
        own = results(log, ["mine"])
        loom = results(answers("loom", 9) + answers("tide", 4), ["loom"], "factconsolidation")
        for found, told, absent in ((own, COMPARISONS, CLAIMS), (loom, CLAIMS, COMPARISONS)):
            shown = [
                tables.to_markdown(found),
                tables.to_latex(found),
                terminal(found, 80, False),
                page.render(found, [], {}),
            ]
            assert all(told in text and absent not in text for text in shown)


def both_sides(*_: int) -> str:
    return "both"


def swept(method: str, winner: Any) -> list[Outcome]:
    """Two cases at a web of 0 and 1, with up to two backers."""
    return [
        runs.outcome(
            f"c{case}-w{web}-b{backers}",
            None,
            method,
            "gradual_override",
            metrics={"correct": None},
            family="gradual_override",
            case=f"c{case}",
            web=web,
            backers=backers,
            winner=winner(web, backers),
        )
        for case in range(2)
        for web in range(2)
        for backers in range(3)
    ]


class TestFlipPointsOfARetriever:
    def of(self, winner: Any) -> dict[str, Any]:
        log = swept("mine", winner) + swept("dense", both_sides)
        return results(log, ["mine"], kind="micro", family="gradual_override", metrics=["correct"])

    def test_verdict_and_tables_say_the_same(self) -> None:
        found = self.of(both_sides)
        told = verdict(found, "needs backing to flip")
        assert (told["answer"], told["holds"]) == ("can't tell", None)
        assert UNDECIDED in told["text"]
        assert "> 2" not in told["text"]
        for text in (tables.to_markdown(found), terminal(found, 200, False), page.render(found, [], {})):
            assert f"Mine; Dense: {UNDECIDED}." in text

    @pytest.mark.parametrize(
        ("winner", "told"),
        [
            (lambda *_: "neither", "undecided (returned neither side at any level)"),
            (lambda web, _: ("both", "neither")[web], "undecided (returned both sides or neither at every level)"),
        ],
    )
    def test_it_is_told_what_came_back(self, winner: Any, told: str) -> None:
        found = self.of(winner)
        assert told in verdict(found, "needs backing to flip")["text"]
        assert f"Mine: {told}" in tables.to_markdown(found)

    def test_who_decides_is_not_undecided(self) -> None:
        found = self.of(lambda web, backers: "update" if backers >= web else "belief")
        assert "undecided" not in verdict(found, "needs backing to flip")["text"]
        assert f"\nDense: {UNDECIDED}." in tables.to_markdown(found)


class TestOncePerPair:
    @pytest.mark.parametrize(
        ("named", "told"), [(["bm25", "dense"], ("bm25", "dense")), (["dense", "bm25"], ("dense", "bm25"))]
    )
    def test_two_anchors_are_compared_once_the_first_named_minus_the_other(
        self, named: list[str], told: tuple[str, str]
    ) -> None:
        found = results(answers("bm25", 16) + answers("dense", 10), named)
        assert [(r["method"], r["baseline"]) for r in found["paired"]] == [told]
        (row,) = found["paired"]
        assert row["p_holm"] == row["p"] == 0.03125
        assert row["difference"] == pytest.approx((6 if told[0] == "bm25" else -6) / 36)

    def test_a_method_stays_on_the_left_of_an_anchor_that_was_named_before_it(self) -> None:
        found = results(answers("bm25", 3) + answers("mine", 5), ["bm25", "mine"])
        assert [(r["method"], r["baseline"]) for r in found["paired"]] == [("mine", "bm25")]

    @given(
        named=st.lists(st.sampled_from([*ROLES, "mine", "mine-recency", "tide-recency"]), unique=True),
        roles=st.lists(st.sampled_from(["experiment", "ablation", "control", "anchor"]), min_size=9, max_size=9),
        shipped=st.booleans(),
    )
    @settings(max_examples=60, deadline=None)
    def test_no_pair_stands_twice_whatever_is_named(self, named: list[str], roles: list[str], shipped: bool) -> None:
        from pytest_engram.report.log import Log

        every = [*ROLES, "mine", "mine-recency", "tide-recency"]
        log = [o for at, method in enumerate(every) for o in answers(method, at, 10)]
        log += [o for at, method in enumerate(every) for o in answers(method, 9 - at, 10, "other")]
        facts = runs.by_hand(log, named=named).manifest
        for name, role in zip(every, roles, strict=True):
            facts["methods"][name]["role"] = ROLES.get(name, "experiment") if shipped else role
        rows = paired(Log(log, facts))
        pairs = Counter((r["suite"], r["metric"], frozenset((r["method"], r["baseline"]))) for r in rows)
        assert set(pairs.values()) <= {1}
        for suite in ("tiny", "other"):
            every_test = [r for r in rows if r["suite"] == suite]
            about = set(named or every)
            family = [r for r in every_test if about & {r["method"], r["baseline"]}]
            assert [r["p_holm"] for r in every_test if r not in family] == [None] * (len(every_test) - len(family))
            adjusted = multipletests([r["p"] for r in family], method="holm")[1] if family else []
            assert [r["p_holm"] for r in family] == pytest.approx(list(adjusted))
