"""Of a long run the screen has how far it has come; of a short one, and with -v, what pytest shows."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from runs import pytest_in

CONFTEST = """
from pytest_engram import method


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        if "Person7 " in query:
            raise RuntimeError("the line is dead")
        return [entry.id for entry in self.entries[:k]]


@method()
def first():
    return First
"""
LEVELS = 12  # three webs by four numbers of backers
MANY, FEW = 90, 5


def asked(to: Path, people: int, *options: str) -> CompletedProcess[str]:
    """A run of `people` x `LEVELS` items; those of one person fail."""
    (to / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    suite = {
        "engram": "micro",
        "name": "many",
        "rule": "majority-support",
        "sweep": {"web": [0, 1, 2], "backers": [0, 1, 2, 3]},
        "cases": [
            {
                "name": "move",
                "slots": [{"who": f"Person{number}"} for number in range(people)],
                "belief": "{who} lives in Lisbon.",
                "web": ["{who} has a landlord in Lisbon.", "{who} has a doctor in Lisbon."],
                "update": "{who} lives in Porto.",
                "backers": ["{who} votes in Porto.", "{who} parks in Porto.", "{who} has a gym in Porto."],
                "query": "Where does {who} live?",
            }
        ],
    }
    (to / "many.yaml").write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    done: CompletedProcess[str] = pytest_in(to, "many.yaml", "--engram-method=first", "--engram-no-controls", *options)
    return done


@pytest.mark.parametrize("workers", ["0", "2"])
def test_many_items_are_told_in_lines_and_none_in_a_letter(workers: str, tmp_path: Path) -> None:
    done = asked(tmp_path, MANY, "-n", workers)
    before = done.stdout.partition("=== ")[2].partition("= FAILURES =")[0]
    assert f"Asking: {MANY * LEVELS} items" in before, done.stdout + done.stderr
    assert re.search(rf"Asking: {MANY * LEVELS} items in .*; .*\b{LEVELS} failed", before)
    assert not re.search(r"^[.mFnu]{5,}", before, re.MULTILINE)
    assert len(before.splitlines()) < 30
    # What pytest counts is what it counted.
    assert re.search(rf"\b{LEVELS} failed\b", done.stdout.splitlines()[-1])
    counted = sum(map(int, re.findall(r"(\d+) (?:failed|hit|miss|unscored|passed)", done.stdout.splitlines()[-1])))
    assert counted == MANY * LEVELS
    assert done.returncode == 1


@pytest.mark.parametrize(("people", "options"), [(FEW, ()), (MANY, ("-v",))])
def test_few_items_and_verbose_runs_are_shown_as_pytest_shows_them(
    people: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    done = asked(tmp_path, people, *options)
    assert "Asking:" not in done.stdout
    shown = r"move-\S*\[first\] (MISS|HIT|UNSCORED)" if options else r"\[100%\]"
    assert re.search(shown, done.stdout), done.stdout


def test_an_interrupted_run_says_how_far_it_came(tmp_path: Path) -> None:
    done = asked(tmp_path, MANY, "-x")
    assert re.search(rf"Asking: stopped after \d+ of {MANY * LEVELS}", done.stdout), done.stdout
