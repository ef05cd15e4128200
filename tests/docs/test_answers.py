"""What `docs/answers.md` shows is what its script finds in recorded answers; its lines, commands and claims hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from benchmarks import same_answers
from benchmarks.readme import filled
from pytest_engram.asking import recorded as methods
from pytest_engram.cli.commands import main
from pytest_engram.judging import known
from pytest_engram.judging import recorded as judges
from pytest_engram.suites import downloads
from pytest_engram.suites.base import Gold, Key

PAGE = same_answers.PAGE.read_text(encoding="utf-8")
BLOCKS = {m[1]: m[2] for m in re.finditer(r"<!-- reference: ([\w-]+) -->\n(.*?)<!-- /reference -->", PAGE, re.DOTALL)}
PROSE = re.sub(r"<!-- reference: .*?<!-- /reference -->", "", PAGE, flags=re.DOTALL)
COMMANDS = [
    command
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command in block.replace("\\\n", "").removeprefix("$ ").split("\n$ ")
]
NUMBER = re.compile(r"([−+]?[\d.,]+)(?: \[([−+]?[\d.]+), ([−+]?[\d.]+)\])?")
SYSTEMS = ("full context, gpt-4.1-mini, step by step", "full context, gpt-4o-mini, short")
WRONG = ("wrong on purpose, vague", "wrong on purpose, specific")
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}


def table(block: str) -> dict[str, dict[str, list[float]]]:
    """Value and bounds of each cell, by row and column, of what the page has; a repeated header counts on."""
    lines = [line.strip("|").split("|") for line in BLOCKS[block].splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line] for line in lines]
    found: dict[str, dict[str, list[float]]] = {}
    for first, *cells in rows:
        label = f"{[*found][-1]} {first}" if first.startswith("…") else first
        found[label] = {}
        for name, cell in zip(header[1:], cells, strict=True):
            if numbers := NUMBER.fullmatch(cell):
                name = name if name not in found[label] else f"{name} (again)"
                found[label][name] = [float(n.replace(",", "").replace("−", "-")) for n in numbers.groups() if n]
    return found


def test_the_blocks_are_what_the_script_finds(shared_data: Path) -> None:
    found = same_answers.blocks(shared_data)
    assert set(found) == set(BLOCKS)
    assert all(found.values())
    assert filled(PAGE, found) == PAGE


def test_the_figures_are_the_published_ones() -> None:
    measures = table("measures")
    published = dict(zip((*SYSTEMS, *WRONG), (92.62, 74.29, 62.81, 10.61), strict=True))
    assert {label: cells["judged right, %"][0] for label, cells in measures.items()} == published
    f1 = dict(zip((*SYSTEMS, *WRONG), (0.203, 0.522, 0.148, 0.183), strict=True))
    assert {label: cells["F1"][0] for label, cells in measures.items()} == f1
    assert "93.57%" in BLOCKS["ceiling"]


def test_the_figures_by_category_are_those_in_the_files(shared_data: Path) -> None:
    shown = table("judged-by-category")
    for label, name in zip(SYSTEMS, (same_answers.ONE, same_answers.OTHER), strict=True):
        path = shared_data / same_answers.RECORDED / f"{same_answers.ANSWERS[name].file}.json"
        told = json.loads(path.read_text(encoding="utf-8"))["metadata"]["category_accuracies"]
        for number, category in CATEGORIES.items():
            ((column, cell),) = [(k, v) for k, v in shown[label].items() if k.startswith(category)]
            assert cell[0] == round(100 * told[number]["mean"], 2)
            assert f"n = {told[number]['total']} / " in column


def test_what_the_page_says_of_the_figures_is_so() -> None:
    measures = table("measures")
    one, other = (measures[label] for label in SYSTEMS)
    assert one["judged right, %"][1] > other["judged right, %"][2]
    assert one["F1"][2] < other["F1"][1]
    assert {row["p"][0] for row in table("pairs").values()} == {round(2 / 2**10, 3)} == {0.002}
    # F1 hardly tells gpt-4.1-mini's answers from the specific wrong ones: each figure lies in the other's interval.
    wrong = measures[WRONG[1]]["F1"]
    assert wrong[1] < one["F1"][0] < wrong[2]
    judged = table("judged-by-category")
    more = {
        column.split(",")[0] for column, cell in judged[WRONG[0]].items() if cell[0] > judged[SYSTEMS[1]][column][0]
    }
    assert more == {"temporal", "open-domain"}
    # Right answers alone score the ceiling; the best figure stands under it.
    ceiling, best, apart = (float(n) for n in re.findall(r"(\d+\.\d+)(?:%| points)", BLOCKS["ceiling"])[:3])
    assert best == one["judged right, %"][0]
    assert ceiling - best == pytest.approx(apart, abs=0.011)


def test_the_illustration_is_rogan_and_gladen_s_estimate() -> None:
    """(p + specificity - 1) / (sensitivity + specificity - 1), with sensitivity 1, by hand from the first table."""
    p = {label: cells["judged right, %"][0] / 100 for label, cells in table("measures").items()}
    shown = table("correction")
    for label in SYSTEMS:
        for column, wrong in zip([*shown[label]][1:], reversed(WRONG), strict=True):
            value, low, high = shown[label][column]
            assert value == pytest.approx(100 * (p[label] - p[wrong]) / (1 - p[wrong]), abs=0.05)
            assert low < value < high
    apart = [cell[0] for cell in shown["difference, % points"].values()]
    for column, difference in zip(shown[SYSTEMS[0]], apart, strict=True):
        assert difference == pytest.approx(shown[SYSTEMS[0]][column][0] - shown[SYSTEMS[1]][column][0], abs=0.11)
    assert apart == sorted(apart)


def test_no_figure_of_the_answers_stands_in_the_prose() -> None:
    figures = {number for block in BLOCKS.values() for number in re.findall(r"\d+\.\d+", block)}
    told = set(re.findall(r"\d+\.\d+", PROSE.replace("gpt-4.1-mini", "")))
    assert told & figures == {"0.002"}  # the smallest p of ten conversations, whatever was found


def test_one_answer_with_two_sets_of_verdicts_is_no_judge_s() -> None:
    line = {"question_id": "q", "answer": "x", "verdicts": [True]}
    other = {**line, "answer": "y"}
    assert same_answers.judge_lines({"one": [line, other], "other": [line]}) == [line, other]
    with pytest.raises(SystemExit, match="an answer to q has two sets of verdicts"):
        same_answers.judge_lines({"one": [line], "other": [{**line, "verdicts": [False]}]})


def test_the_lines_of_the_page_are_a_judge(tmp_path: Path) -> None:
    lines = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "verdicts.jsonl").write_text(lines, encoding="utf-8")
    judge = judges.resolve(str(tmp_path / "verdicts.jsonl"))
    golds = {"locomo_0_qa0": Gold(("x",)), "locomo_0_qa1": Gold(("x",))}
    found = judge.known(Key("locomo_full", tmp_path, ["judged"], golds), dict.fromkeys(golds, "Where?"))
    assert [(one.kind, one.truth, one.verdicts) for one in found] == [
        ("vague", "wrong", [True]),
        ("reworded", "right", [True]),
    ]


def test_people_s_verdicts_stand_where_the_page_says() -> None:
    line = {"question_id": "locomo_0_qa0", "answer": "At the lake.", "human": True}
    assert methods.parse(json.dumps(line).encode(), "answers.jsonl").lines[0].human is True


def test_the_kinds_of_known_answers_are_those_that_are_made() -> None:
    shown = re.findall(r"^\| `(\w+)` \| .* \| (refuse|accept) it \|$", PAGE, re.MULTILINE)
    assert shown == [(kind, {"wrong": "refuse", "right": "accept"}[truth]) for kind, truth in known.KINDS]
    assert f"at most {known.EACH} of a kind" in " ".join(PAGE.split())
    assert str(known.SEED) in PAGE


def test_every_command_and_option_exists(pytester: pytest.Pytester) -> None:
    spoken = [*COMMANDS, *re.findall(r"`((?:engram|python -m) [^`]+)`", PAGE)]
    fetched = [command.split()[2:] for command in spoken if command.startswith("engram fetch ")]
    assert {name for names in fetched for name in names} == {
        f"{benchmark}{part}" for benchmark in ("locomo", "longmemeval") for part in ("", "-prompts")
    } | {"locomo-audit"}
    assert {name for names in fetched for name in names} <= set(downloads.groups())
    assert isinstance(main, click.Group)
    assert "fetch" in main.commands
    assert "python -m benchmarks.same_answers" in spoken
    told = pytester.runpytest("--help").stdout.str()
    options = set(re.findall(r"--engram-[a-z-]+", PAGE))
    assert options <= set(re.findall(r"--engram-[a-z-]+", told))
    assert len(options) >= 8


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """What the page has people set, in place of what is set here."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ENGRAM_")):
            monkeypatch.delenv(name)
    (export,) = [command.split()[1:] for command in COMMANDS if command.startswith("export ")]
    given = dict(pair.split("=") for pair in export)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


def test_the_environment_that_the_page_sets_is_read(environment: Mapping[str, Any]) -> None:
    from pytest_engram.reading.connection import Connection

    assert set(environment) == {"OPENAI_API_KEY", "ENGRAM_READER_PRICE", "ENGRAM_JUDGE_PRICE"}
    for role in ("reader", "judge"):
        connection = Connection.of_environment(role)
        assert connection.price == (0.15, 0.6)
        assert connection.key


def test_every_link_leads_somewhere() -> None:
    for page, others in ((PAGE, ["recorded.md"]), (_page("recorded.md"), ["answers.md"])):
        links = [target for target in re.findall(r"\]\(([^)\s]+)\)", page) if "://" not in target]
        for target in links:
            name, _, anchor = target.partition("#")
            headings = re.findall(r"^#+ (.*)$", _page(name), re.MULTILINE)
            assert not anchor or anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}
        assert {link.partition("#")[0] for link in links} >= set(others)


def _page(name: str) -> str:
    return (same_answers.PAGE.parent / name).read_text(encoding="utf-8")
