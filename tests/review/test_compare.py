"""Two runs, question by question: counts and p values by hand and from scipy, and when there is no comparison."""

from __future__ import annotations

import json
from typing import Any

import pytest
import runs
from scipy.stats import binomtest

from pytest_engram.report import comparison
from pytest_engram.review import compare
from pytest_engram.runs.folder import Run


def asked(values: dict[str, float | None], folder: str = "run", method: str = "loom", **more: Any) -> Run:
    return runs.by_hand([runs.outcome(q, value, method) for q, value in values.items()], folder, **more)


BEFORE = {f"q{i}": float(i < 6) for i in range(20)}
AFTER = BEFORE | {"q0": 0.0, "q7": 1.0, "q8": 1.0, "q9": 1.0}  # one worse, three better


def test_better_and_worse_questions_are_named_and_tested_by_mcnemar() -> None:
    (row,) = compare.compare(asked(BEFORE), asked(AFTER))["rows"]
    assert (row["better_ids"], row["worse_ids"]) == (["q7", "q8", "q9"], ["q0"])
    assert (row["n"], row["earlier"], row["later"]) == (20, 6 / 20, 8 / 20)
    assert row["difference"] == pytest.approx(2 / 20)
    assert row["test"] == "mcnemar"
    assert row["p"] == pytest.approx(binomtest(3, 4).pvalue)
    assert row["p_holm"] == row["p"]  # one test


def test_a_metric_that_is_not_0_or_1_is_tested_by_the_paired_bootstrap() -> None:
    def ndcg(values: list[float]) -> Run:
        return runs.by_hand([runs.outcome(f"q{i}", None, metrics={"ndcg_any@10": v}) for i, v in enumerate(values)])

    (row,) = compare.compare(ndcg([0.1, 0.2, 0.3, 0.4]), ndcg([0.2, 0.3, 0.4, 0.4]))["rows"]
    assert row["test"] == "paired bootstrap"
    assert row["difference"] == pytest.approx(0.3 / 4)
    assert row["p"] >= 2**-2  # three questions differ: no test finds more in them


def test_only_questions_that_both_runs_measured_are_paired() -> None:
    (row,) = compare.compare(asked({"q1": 1.0, "q2": 0.0, "q3": 1.0}), asked({"q2": 1.0, "q3": 1.0, "q4": 0.0}))["rows"]
    assert (row["n"], row["only_earlier"], row["only_later"]) == (2, 1, 1)
    assert row["better_ids"] == ["q2"]


def test_several_seeds_count_as_their_mean_a_question() -> None:
    def dice(*values: tuple[float, float]) -> Run:
        outcomes = [
            runs.outcome(f"q{i}", value, seed=runs.SEED + seed, item=f"q{i}[loom-s{seed}]")
            for i, both in enumerate(values)
            for seed, value in enumerate(both)
        ]
        return runs.by_hand(outcomes)

    (row,) = compare.compare(dice((1.0, 0.0), (1.0, 1.0)), dice((1.0, 1.0), (1.0, 1.0)))["rows"]
    assert (row["test"], row["earlier"], row["later"]) == ("paired bootstrap", 0.75, 1.0)


def test_one_method_may_be_compared_with_another() -> None:
    (row,) = compare.compare(asked(BEFORE, method="dense"), asked(AFTER), [("dense", "loom")])["rows"]
    assert (row["earlier_method"], row["method"], row["label"]) == ("dense", "loom", "Dense → Loom")
    assert row["better"] == 3


def test_p_values_are_adjusted_over_the_tests_that_decide() -> None:
    def two(values: dict[str, float], *named: str) -> Run:
        log = [runs.outcome(q, v, method) for method in ("loom", "tide") for q, v in values.items()]
        return runs.by_hand(log, named=list(named))

    rows = compare.compare(two(BEFORE, "loom", "tide"), two(AFTER, "loom", "tide"))["rows"]
    assert [row["p_holm"] for row in rows] == [min(1.0, 2 * row["p"]) for row in rows]
    # Of a run about one method, the others are there to compare with: what did not change must not hide what did.
    loom, tide = compare.compare(two(BEFORE), two(AFTER, "loom"))["rows"]
    assert (loom["p_holm"], tide["p_holm"]) == (loom["p"], None)
    # A pair that was asked for decides, whatever the run was about.
    (tide,) = compare.compare(two(BEFORE), two(AFTER, "loom"), [("tide", "tide")])["rows"]
    assert tide["p_holm"] == tide["p"]


def test_a_second_metric_decides_nothing() -> None:
    def two(values: dict[str, float]) -> Run:
        log = [runs.outcome(q, v, metrics={"answer@10": v, "answer@5": v}) for q, v in values.items()]
        return runs.by_hand(log, metrics=["answer@10", "answer@5"])

    first, second = compare.compare(two(BEFORE), two(AFTER))["rows"]
    assert (first["p_holm"], second["p_holm"]) == (first["p"], None)


BGE = {"name": "bge", "hash": "a" * 64}


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ({"k": 10}, {"k": 5}, r"k differs \(10, 5\)"),
        (
            {"encoder": BGE},
            {"encoder": BGE | {"hash": "b" * 64}},
            r"the encoder differs \(bge aaaaaaaa, bge bbbbbbbb\)",
        ),
    ],
)
def test_another_k_or_encoder_is_refused(ours: dict[str, Any], theirs: dict[str, Any], told: str) -> None:
    earlier, later = asked(BEFORE, **ours), asked(AFTER, **theirs)
    with pytest.raises(compare.Incomparable, match=told):
        compare.compare(earlier, later)
    found = compare.compare(earlier, later, anyway=True)
    assert len(found["differs"]) == 1
    assert found["rows"]
    assert "though they are not alike" in comparison.to_markdown(found)


@pytest.mark.parametrize(
    ("field", "told"),
    [("context_sha256", "tiny: data differs"), ("data_sha256", "tiny: data differs"), ("sha256", "tiny: suite file")],
)
def test_other_data_is_refused(field: str, told: str) -> None:
    earlier, later = asked(BEFORE), asked(AFTER)
    earlier.manifest["suites"]["tiny"][field] = "1" * 64
    later.manifest["suites"]["tiny"][field] = "2" * 64
    with pytest.raises(compare.Incomparable, match=told):
        compare.compare(earlier, later)


def test_a_changed_rule_is_named() -> None:
    earlier, later = asked(BEFORE), asked(AFTER)
    earlier.manifest["suites"]["tiny"]["hashes"] = {"case file": "1", "rule code": "2"}
    later.manifest["suites"]["tiny"]["hashes"] = {"case file": "1", "rule code": "3"}
    with pytest.raises(compare.Incomparable, match="tiny: rule code differs"):
        compare.compare(earlier, later)


def test_a_run_that_never_embedded_may_be_compared_with_one_that_did() -> None:
    assert compare.compare(asked(BEFORE), asked(AFTER, encoder=BGE))["rows"]


def test_runs_without_a_common_method_or_suite_are_refused() -> None:
    with pytest.raises(compare.Incomparable, match="no method is in both: dense against loom; name two"):
        compare.compare(asked(BEFORE, method="dense"), asked(AFTER))
    with pytest.raises(compare.Incomparable, match="no method 'tide' in the later run; there: loom"):
        compare.compare(asked(BEFORE), asked(AFTER), [("loom", "tide")])
    other = runs.by_hand([runs.outcome("q1", 1.0, suite="other")])
    with pytest.raises(compare.Incomparable, match="no suite is in both"):
        compare.compare(other, asked(AFTER))


def test_where_there_is_no_number_the_reason_stands() -> None:
    broken = runs.by_hand([runs.outcome("q0", None, status="error", reason="the store is on fire")])
    found = compare.compare(asked(BEFORE), broken)
    assert found["rows"] == []
    (skipped,) = found["skipped"]
    assert "the store is on fire" in skipped["reason"]
    assert skipped["lost"] is True


def test_significantly_worse() -> None:
    earlier = {f"q{i}": 1.0 for i in range(10)}
    five, six = ({q: float(int(q[1:]) >= worse) for q in earlier} for worse in (5, 6))
    # Exact McNemar: 2 * 0.5^5 = 0.0625, 2 * 0.5^6 = 0.03125.
    assert list(compare.worse(compare.compare(asked(earlier), asked(five)))) == []
    (row,) = compare.worse(compare.compare(asked(earlier), asked(six)))
    assert row["p"] == pytest.approx(0.03125)


# What people read


def test_every_format_names_the_questions_and_json_is_json() -> None:
    found = compare.compare(asked(BEFORE, "old"), asked(AFTER, "new"))
    for text in (comparison.to_terminal(found, 100, False), comparison.to_markdown(found), comparison.to_html(found)):
        assert "q7, q8, q9" in text
        assert "new compared with old" in text
    json.dumps(found, allow_nan=False)


def test_the_terminal_s_lines_are_no_wider_than_the_terminal() -> None:
    found = compare.compare(asked(BEFORE), asked(AFTER))
    for width in (40, 80):
        assert max(map(len, comparison.to_terminal(found, width, False).splitlines())) <= width


def test_markup_in_names_is_text() -> None:
    evil = "<script>alert(1)</script>"
    run = runs.by_hand([runs.outcome(f"q{i}{evil}", float(i), suite=evil) for i in range(2)])
    run.manifest["methods"]["loom"]["label"] = evil
    html = comparison.to_html(compare.compare(run, run))
    assert evil not in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in comparison.to_markdown(compare.compare(run, run))


def test_folders_of_one_name_are_told_apart() -> None:
    found = compare.compare(asked(BEFORE, "a/latest"), asked(AFTER, "b/latest"))
    assert [run["name"] for run in found["runs"]] == ["a/latest", "b/latest"]
