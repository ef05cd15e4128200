"""Judged figures beside their judge: rates, corrections and their absence, in numbers and in every table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pytest
import runs
from runs import outcome

from pytest_engram import report
from pytest_engram import statistics as stats
from pytest_engram.report.aggregate import aggregate
from pytest_engram.report.document import document
from pytest_engram.report.tables import to_csv, to_latex, to_markdown
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

JUDGE = {"name": "openai:m", "label": "m", "runs": 1, "prompts": {"tiny": {"label": "official prompt"}}}
COUNTS = {"another": (1, 40), "vague": (25, 40), "reworded": (38, 40)}  # accepted, of


def lines(verdicts: Sequence[Sequence[bool]], **more: Any) -> list[Outcome]:
    """One a question, as the judge of the run left it."""
    fields = more.pop("fields", [{}] * len(verdicts))
    return [
        outcome(
            f"q{at:03d}",
            None,
            metrics={"judged": sum(given) / len(given)},
            answer="a",
            reader="R",
            fields={"verdicts": list(given), "judge": "m", **fields[at]},
            **more,
        )
        for at, given in enumerate(verdicts)
    ]


def known(counts: dict[str, tuple[int, int]] = COUNTS, **more: Any) -> list[KnownAnswer]:
    return [
        KnownAnswer("tiny", f"k{at}", kind, "right" if kind == "reworded" else "wrong", "a", [at < accepted], **more)
        for kind, (accepted, n) in counts.items()
        for at in range(n)
    ]


SEVENTY = lines([[True]] * 70 + [[False]] * 30)


def results(found: Sequence[Outcome], those: Sequence[KnownAnswer] = (), **more: Any) -> dict[str, Any]:
    return aggregate(found, runs.manifest(found, **({"judge": JUDGE} | more)), those)


def row(told: dict[str, Any], **wanted: Any) -> dict[str, Any]:
    wanted = {"metric": "judged", "group": None, "without": None} | wanted
    (found,) = [r for r in told["rows"] if all(r[name] == value for name, value in wanted.items())]
    return found


def test_the_judge_s_errors_by_kind_with_intervals() -> None:
    judges = results(SEVENTY, known())["judges"]
    assert [j["kind"] for j in judges] == ["all", "another", "vague", "reworded"]
    every, another, vague, reworded = judges
    assert (every["wrong_accepted"], every["n"]) == (26 / 80, 80)
    assert (every["right_rejected"], every["right_n"]) == (pytest.approx(2 / 40), 40)
    assert (vague["wrong_accepted"], vague["low"], vague["high"]) == (25 / 40, *stats.wilson(25, 40))
    assert (another["wrong_accepted"], another["n"], another["right_rejected"], another["right_n"]) == (
        1 / 40,
        40,
        None,
        0,
    )
    assert (reworded["right_low"], reworded["right_high"]) == pytest.approx(stats.wilson(2, 40))
    assert reworded["wrong_accepted"] is None
    assert {(j["judge"], j["suite"], j["prompt"], j["status"]) for j in judges} == {
        ("m", "tiny", "official prompt", "ok")
    }


def test_the_accuracy_corrected_for_both_rates_stands_beside_the_raw_one() -> None:
    found = row(results(SEVENTY, known()))
    assert (found["value"], found["unit"], found["judge"]) == (0.7, "%", "m")
    # (0.7 - 26/80) / (38/40 - 26/80)
    assert found["corrected"] == pytest.approx((0.7 - 0.325) / (0.95 - 0.325))
    assert found["corrected_low"] < found["corrected"] < found["corrected_high"]
    assert (found["correction"], found["correction_reason"], found["marks"]) == ("rogan-gladen", "", [])
    assert found["spread"] is None


def test_a_judge_no_better_than_chance_corrects_nothing_and_says_so() -> None:
    found = row(results(SEVENTY, known({"vague": (40, 40), "reworded": (40, 40)})))
    assert (found["corrected"], found["correction"]) == (None, None)
    assert found["correction_reason"].startswith("the judge is no better than chance: it accepts 100.0% of answers")
    assert found["marks"] == []  # it was judged


def test_without_right_ones_there_are_rates_and_no_correction() -> None:
    told = results(SEVENTY, known({"vague": (25, 40)}))
    assert row(told)["correction_reason"] == "not corrected: the judge was asked about no answer known to be right"
    assert row(told)["marks"] == []
    assert told["judges"][0]["wrong_accepted"] == 25 / 40


@pytest.mark.parametrize(
    ("found", "those", "mark"),
    [
        (SEVENTY, [], "judge not judged: it was asked about no answer that is known to be wrong or right"),
        (
            SEVENTY,
            known({"reworded": (4, 4)}),
            "judge not judged: it was asked about no answer that is known to be wrong",
        ),
        (
            SEVENTY,
            [KnownAnswer("tiny", "k", "vague", "wrong", "a", [], "it was away")],
            "judge not judged: it was away",
        ),
        (
            [outcome("q", None, metrics={"judged": 1.0}, reader="recorded", fields={"verdicts": [True]})],
            known(),
            "judge not judged: its verdicts came with the answers, and with none on known ones",
        ),
    ],
)
def test_no_judged_number_without_its_judge(found: Sequence[Outcome], those: Sequence[KnownAnswer], mark: str) -> None:
    told = results(found, those)
    assert row(told)["marks"] == [mark]
    assert row(told)["corrected"] is None
    assert mark in to_markdown(told)


def test_some_that_the_judge_did_not_judge_are_counted() -> None:
    away = [KnownAnswer("tiny", f"a{at}", "vague", "wrong", "b", [], "it was away") for at in range(3)]
    vague = results(SEVENTY, [*known(), *away])["judges"][2]
    assert (vague["kind"], vague["n"], vague["status"]) == ("vague", 40, "partial")
    assert vague["reason"] == "3 of 43 known answers not judged: it was away"


def test_several_runs_of_a_judge_have_a_spread() -> None:
    found = lines([[True, True, False]] * 6 + [[False, True, False]] * 4)
    told = row(results(found, known()))
    assert told["value"] == pytest.approx((6 * 2 / 3 + 4 / 3) / 10)
    assert told["spread"] == [0.0, 1.0]  # single runs: 6, 10 and 0 of 10
    uneven = lines([[True, True], [True]])
    assert row(results(uneven, known()))["spread"] is None


def test_people_s_verdicts_on_some_stand_in_the_correction_s_place() -> None:
    fields = [{"human": at % 2 == 0} if at < 40 else {} for at in range(100)]
    found = row(results(lines([[True]] * 70 + [[False]] * 30, fields=fields), known()))
    expected = stats.ppi_mean([1.0] * 30 + [0.0] * 30, [1.0] * 40, [1.0, 0.0] * 20)
    assert found["correction"] == "ppi"
    assert (found["corrected"], found["corrected_low"], found["corrected_high"]) == pytest.approx(tuple(expected))
    one = [{"human": True}] + [{}] * 99
    found = row(results(lines([[True]] * 70 + [[False]] * 30, fields=one), known()))
    assert (found["correction"], found["correction_reason"]) == (
        "rogan-gladen",
        "people judged fewer than two answers",
    )


def test_by_conversation_all_of_it_goes_by_conversation() -> None:
    found = lines([[at % 5 != 0 or at < 40] for at in range(100)])
    for at, line in enumerate(found):
        line.cluster, line.group = f"c{at // 10}", "easy" if at < 50 else "hard"
    those = known()
    for at, one in enumerate(those):
        one.cluster = f"c{at % 10}"
    told = results(found, those)
    whole, easy = row(told), row(told, group="easy")
    plain = stats.rogan_gladen(
        stats.Verdicts([line.metrics["judged"] or 0.0 for line in found]),
        *(stats.Verdicts([one.accepted for one in those if one.truth == truth]) for truth in ("right", "wrong")),
    )
    assert whole["corrected"] == pytest.approx(plain.value)
    assert whole["corrected_high"] - whole["corrected_low"] > plain.high - plain.low
    assert easy["corrected"] == pytest.approx(min(1.0, (easy["value"] - 0.325) / 0.625))
    accepted = [one.accepted for one in those if one.kind == "vague"]
    clusters = [one.cluster for one in those if one.kind == "vague"]
    vague = next(j for j in told["judges"] if j["kind"] == "vague")
    assert (vague["low"], vague["high"]) == stats.cluster_interval(accepted, clusters)


@pytest.mark.parametrize("truths", [("wrong", "right"), ("wrong",), ("right",)])
def test_known_answers_of_one_conversation_have_rates_and_no_interval(truths: tuple[str, ...]) -> None:
    found = lines([[at % 3 != 0] for at in range(100)])
    for at, line in enumerate(found):
        line.cluster = f"c{at // 10}"
    those = known()
    for at, one in enumerate(those):
        one.cluster = "c0" if one.truth in truths else f"c{at % 10}"
    suites = {"tiny": {"kind": "pilot", "metrics": ["judged"], "n": 100, "cluster": "conversation"}}
    told = results(found, those, suites=suites)
    every = told["judges"][0]
    assert (every["wrong_accepted"], every["right_rejected"]) == (26 / 80, pytest.approx(2 / 40))
    assert (every["low"] is None, every["high"] is None) == ("wrong" in truths,) * 2
    assert (every["right_low"] is None, every["right_high"] is None) == ("right" in truths,) * 2
    assert every["status"] == "ok"
    assert every["reason"] == "; ".join(
        f"no interval: all answers known to be {truth} are of one conversation" for truth in truths
    )
    assert every["reason"] in to_markdown(told)
    whole = row(told)
    assert (whole["corrected"], whole["correction"]) == (None, None)
    assert whole["correction_reason"] == (f"not corrected: all answers known to be {truths[0]} are of one conversation")


def test_the_official_means_leave_out_a_category_and_the_figure_stands() -> None:
    left_out = [
        outcome(f"z{at}", None, metrics={}, left_out={"judged": "category 5 is not judged"}, status=status, reason="x")
        for at, status in enumerate(["ok", "not run", "ok"])
    ]
    found = row(results([*SEVENTY, *left_out], known()))
    assert (found["value"], found["n"], found["status"]) == (0.7, 100, "ok")
    suites = {"tiny": {"kind": "pilot", "metrics": ["judged"], "n": 3}}
    alone = row(results(left_out, known(), suites=suites))
    assert (alone["value"], alone["status"]) == (None, "not run")
    assert alone["reason"] == "every question is left out: category 5 is not judged"


def test_excluded_questions_count_for_metrics_of_answers_alone() -> None:
    """LongMemEval's abstentions: left out of recall, judged all the same."""
    found = [outcome(f"q{at}", None, metrics={"recall_any@5": 1.0, "judged": 1.0}) for at in range(3)]
    found.append(outcome("q3", None, metrics={"judged": 0.0}, excluded="abstention"))
    told = results(found)
    assert (row(told, metric="recall_any@5")["value"], row(told, metric="recall_any@5")["n"]) == (1.0, 3)
    assert (row(told)["value"], row(told)["n"]) == (0.75, 4)


def test_every_table_has_it(tmp_path: Any) -> None:
    told = results(SEVENTY, known())
    titles = [block.title for block in document(told) if hasattr(block, "title")]
    assert "tiny, judge m" in titles
    assert "judge m, official prompt" in told["suites"][0]["caption"]
    written = {path.name: path.read_text() for path in report.write(tmp_path, SEVENTY, told["manifest"], known=known())}
    screen = report.terminal(told, 100, colour=False)
    for text in (to_markdown(told), to_latex(told), written["results.html"], screen):
        assert "60.0 [" in text  # corrected
        assert "62.5 [" in text  # vague ones accepted
        assert "5.0 [" in text  # right ones refused
    numbers = {
        (line["table"], line["of"], line["statistic"]): line["number"]
        for line in csv.DictReader(io.StringIO(to_csv(told)))
    }
    assert float(numbers["rows", "", "corrected"]) == pytest.approx(0.6)
    assert float(numbers["judges", "vague", "wrong_accepted"]) == 0.625
    assert written["results.csv"] == to_csv(told)


def test_an_old_manifest_that_names_its_judge_is_read() -> None:
    told = results(SEVENTY, judge="strict")
    assert "judge strict" in told["suites"][0]["caption"]
    assert row(told)["marks"] == ["judge not judged: it was asked about no answer that is known to be wrong or right"]
