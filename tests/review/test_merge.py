"""Parts of a run become the run; parts of different runs don't."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import runs
from hypothesis import given
from hypothesis import strategies as st

from pytest_engram import report
from pytest_engram.review import merge
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs.folder import Run
from pytest_engram.runs.outcome import Outcome

WHOLE = [runs.outcome(f"q{i}", float(i % 2), method) for i in range(6) for method in ("dense", "loom")]


def part(outcomes: list[Outcome], folder: str = "part", **more: Any) -> Run:
    whole = runs.manifest(WHOLE) | {"ran": len(outcomes), "complete": False}
    return Run(Path(folder), outcomes, whole | more, {"tiny": {"1": "one"}} if outcomes else {})


@given(st.lists(st.integers(0, 2), min_size=len(WHOLE), max_size=len(WHOLE)), st.permutations(range(3)))
def test_any_split_in_any_order_gives_the_whole_run(places: list[int], order: list[int]) -> None:
    parts = [part([o for o, place in zip(WHOLE, places, strict=True) if place == n]) for n in order]
    merged = merge.merge(parts)
    assert merged.outcomes == WHOLE
    assert (merged.missing, merged.doubled) == ([], [])
    assert (merged.manifest["ran"], merged.manifest["planned"], merged.manifest["complete"]) == (12, 12, True)
    assert merged.manifest["duration_s"] == 3.0
    assert len(merged.manifest["parts"]) == 3


def test_missing_items_are_named() -> None:
    merged = merge.merge([part(WHOLE[:3]), part(WHOLE[4:6])])
    assert merged.manifest["complete"] is False
    assert merged.missing[0] == "tiny::q1[loom]"
    # q3 to q5 were asked by no part, and the suite's file is nowhere: they can only be counted.
    assert merged.missing[1:] == ["tiny: 6 items of 3 questions that no part asked"]


def test_missing_items_of_a_suite_whose_file_is_here_have_names() -> None:
    some = [runs.outcome("demo_fc_no0", 1.0, suite="demo_fc", item="q000[loom]")]
    manifest = runs.manifest(some)
    manifest["suites"]["demo_fc"]["n"] = 80
    merged = merge.merge([Run(Path("part"), some, manifest, {})])
    assert len(merged.missing) == 79
    assert merged.missing[0] == "demo_fc::q001[loom]"


def test_an_item_in_two_parts_with_one_outcome_is_kept_once() -> None:
    slower = replace(WHOLE[0], seconds=3.0)
    merged = merge.merge([part(WHOLE), part([slower])])
    assert merged.outcomes == WHOLE
    assert merged.doubled == ["tiny::q0[dense]"]


def test_an_item_with_two_outcomes_is_refused() -> None:
    with pytest.raises(merge.Refused, match=r"tiny::q0\[dense\] has two different outcomes, in one and two"):
        merge.merge([part(WHOLE, "one"), part([replace(WHOLE[0], ids=["3"])], "two")])


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("engram", "0.2.0", '`engram` differs: "0.1.0" there, "0.2.0" here'),
        ("k", 5, "`k` differs: 10 there, 5 here"),
        ("seeds", [1], r"`seeds` differs: \[0\] 20261008 there, 1 here"),
        ("methods", {}, "`methods` differs: dense"),
        ("reader", {"name": "newest"}, "`reader` differs"),
        ("git", {"commit": "abc"}, 'the commit differs: null there, "abc" here'),
    ],
)
def test_parts_of_different_runs_are_refused(field: str, value: Any, told: str) -> None:
    with pytest.raises(merge.Refused, match=f"two is no part of the run that one is of: {told}"):
        merge.merge([part(WHOLE[:6], "one"), part(WHOLE[6:], "two", **{field: value})])


def test_another_encoder_is_refused_but_a_part_that_needed_none_is_not() -> None:
    one, two = ({"name": name, "hash": name} for name in ("bge", "minilm"))
    with pytest.raises(merge.Refused, match="the encoder differs: name"):
        merge.merge([part(WHOLE[:6], encoder=one), part(WHOLE[6:], encoder=two)])
    assert merge.merge([part(WHOLE[:6]), part(WHOLE[6:], encoder=one)]).manifest["encoder"] == one


def test_other_suites_or_data_are_refused_and_another_place_of_the_same_data_is_not() -> None:
    first, second = part(WHOLE[:6]), part(WHOLE[6:])
    second.manifest["suites"]["tiny"]["origin"] = "the hub"
    assert merge.merge([first, second]).manifest["complete"]
    second.manifest["suites"]["tiny"]["context_sha256"] = "0"
    with pytest.raises(merge.Refused, match="suite tiny differs: context_sha256"):
        merge.merge([first, second])


def test_parts_may_be_whole_suites() -> None:
    other = [runs.outcome("q0", 1.0, method, suite="other") for method in ("dense", "loom")]
    merged = merge.merge([part(WHOLE), Run(Path("part"), other, runs.manifest(other), {})])
    assert list(merged.manifest["suites"]) == ["tiny", "other"]
    assert (merged.manifest["planned"], merged.manifest["complete"]) == (14, True)
    assert merged.outcomes == WHOLE + other


def test_machine_time_and_the_versions_of_other_packages_may_differ() -> None:
    other = {"machine": {"cores": 64}, "created": "2026-12-01", "duration_s": 9.0, "versions": {"python": "3.13"}}
    merged = merge.merge([part(WHOLE[:6]), part(WHOLE[6:], **other)])
    assert [found["machine"] for found in merged.manifest["parts"]] == [None, {"cores": 64}]


def test_a_part_whose_log_was_edited_is_refused(tmp_path: Path) -> None:
    folder = runs.run(tmp_path)
    runs.edit(folder / "items.jsonl", '"answer@10": 0.0', '"answer@10": 1.0')
    with pytest.raises(merge.Refused, match="changed after the run"):
        merge.merge([runfolder.read(folder)])


def test_pytest_split_s_groups_merge_into_the_run_that_was_not_split(tmp_path: Path) -> None:
    pytest.importorskip("pytest_split", reason="pytest-split is not installed")
    project = runs.project(tmp_path)
    for group in ("1", "2"):
        done = runs.pytest_in(
            project,
            "--engram-method=bm25",
            "--engram-no-controls",
            "--engram-reader=newest",
            "--splits=2",
            f"--group={group}",
            f"--engram-report=parts/{group}",
        )
        assert done.returncode == 0, done.stdout + done.stderr
    merged = merge.merge([runfolder.read(project / "parts" / group) for group in ("2", "1")])
    report.write_run(tmp_path / "merged", merged.outcomes, merged.manifest, merged.texts)
    whole = project / "reports" / "latest"

    def timeless(folder: Path) -> list[Any]:
        lines = [json.loads(line) | {"seconds": 0} for line in (folder / "items.jsonl").read_text().splitlines()]
        # Each part fills a memory of its own.
        return [{name: value for name, value in line.items() if name != "wrote"} for line in lines]

    def untimed(folder: Path) -> Path:
        """The same run as if nothing had taken any time, which no two runs have alike."""
        found = runfolder.read(folder)
        outcomes = [replace(outcome, seconds=0.0, wrote={}) for outcome in found.outcomes]
        report.write(tmp_path / f"untimed-{folder.name}", outcomes, found.manifest, texts=found.texts)
        return tmp_path / f"untimed-{folder.name}"

    assert timeless(tmp_path / "merged") == timeless(whole)
    one, other = untimed(tmp_path / "merged"), untimed(whole)
    for name in ("results.md", "results.csv", "results.tex", "intervals.svg", "costs.svg"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def failed(outcome: Outcome, status: Any = "error", reason: str = "RateLimit: 429") -> Outcome:
    return replace(outcome, status=status, reason=reason, metrics={"answer@10": None}, ids=[], hit=None)


@pytest.mark.parametrize("status", ["error", "not run"])
@pytest.mark.parametrize("order", [1, -1])
def test_an_outcome_replaces_what_could_not_be_measured(status: str, order: int) -> None:
    first = [failed(WHOLE[0], status), *WHOLE[1:]]
    second = [WHOLE[0], failed(WHOLE[1], status)]
    merged = merge.merge([part(first, "one"), part(second, "two")][::order])
    assert merged.outcomes == WHOLE
    assert merged.doubled == []
    assert sorted(merged.mended) == ["tiny::q0[dense]", "tiny::q0[loom]"]


def test_a_violation_is_an_outcome_and_two_errors_are_none() -> None:
    broke = failed(WHOLE[0], "violation", "equal k: 11 ids")
    with pytest.raises(merge.Refused, match="two different outcomes"):
        merge.merge([part(WHOLE), part([broke])])
    assert merge.merge([part([failed(WHOLE[0])]), part([broke])]).outcomes == [broke]
    first, second = failed(WHOLE[0]), failed(WHOLE[0], reason="RateLimit: again")
    assert merge.merge([part([first]), part([second])]).outcomes == [first]
    assert merge.merge([part([failed(WHOLE[0], "not run")]), part([second])]).outcomes == [second]


def test_what_it_took_may_differ_between_two_runs_of_an_item() -> None:
    costly = replace(WHOLE[0], wrote={"entries": 5, "seconds": 2.0}, usage={"usd": 0.1}, retries=1, encodings=1)
    assert merge.merge([part(WHOLE), part([costly])]).outcomes == WHOLE


def test_an_outcome_of_other_tokens_is_another_one() -> None:
    with pytest.raises(merge.Refused, match="two different outcomes"):
        merge.merge([part([replace(WHOLE[0], tokens=20)]), part([replace(WHOLE[0], tokens=21)])])
