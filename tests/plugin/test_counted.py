"""What the terminal reporter keeps of an item: enough for what pytest prints, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runs import pytest_in

CONFTEST = """
import pytest
from pytest_engram import method


class First:
    def __init__(self, bench): self.entries = []
    def write(self, entries): self.entries += entries
    def search(self, query, k):
        print("searched for", query)
        if "Ann" in query:
            raise RuntimeError("the line is dead")
        return [entry.id for entry in self.entries[:k]]


@method(label="First")
def first():
    return First


@pytest.fixture(autouse=True)
def at_the_end(request):
    yield
    print("torn down:", request.node.name)


def pytest_terminal_summary(terminalreporter):
    for category, reports in terminalreporter.stats.items():
        for report in reports:
            kept = sum(len(getattr(report, name)) for name in ("keywords", "user_properties", "sections"))
            print("KEPT", category or "-", report.when, report.nodeid.rpartition("::")[2], bool(kept))
"""
SUITE = """
engram: micro
name: few
rule: majority-support
sweep: {web: [0, 1], backers: [0, 1]}
cases:
  - name: move
    slots: [{who: Ann}, {who: Bob}]
    belief: "{who} lives in Lisbon."
    web: ["{who} has a landlord in Lisbon."]
    update: "{who} lives in Porto."
    backers: ["{who} votes in Porto."]
    query: "Where does {who} live?"
"""
OWN = "def test_of_ones_own():\n    print('a test of my own')\n"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_passed_is_counted_and_what_failed_is_kept(workers: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "few.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "test_own.py").write_text(OWN, encoding="utf-8")
    options: tuple[str, ...] = (
        "--engram-method=first",
        "--engram-no-controls",
        "-n",
        workers,
        "--durations=0",
        "-vv",
        "-s",
    )
    options = options if workers == "0" else options[:-1]
    done = pytest_in(tmp_path, "few.yaml", "test_own.py", *options)
    kept = re.findall(r"KEPT (\S+) (\S+) (\S+) (\w+)", done.stdout)
    assert {(when, name) for _, when, name, _ in kept} >= {
        (when, f"move-{who}-web{web}-backers{backers}[first]")
        for when in ("setup", "call", "teardown")
        for who in ("ann", "bob")
        for web in (0, 1)
        for backers in (0, 1)
    }, done.stdout + done.stderr
    for category, when, name, whole in kept:
        if "bob" in name:
            assert whole == "False", (category, when, name)
        elif "ann" in name and when == "call":
            assert (category, whole) == ("failed", "True")
        elif name == "test_of_ones_own":
            assert whole == "True"
    assert re.search(r"\b4 failed\b", done.stdout.splitlines()[-1])
    # Times of all three phases, as pytest shows them.
    for when in ("setup", "call", "teardown"):
        assert re.search(rf"s {when} +few.yaml::move-bob-web1-backers1\[first\]", done.stdout)
    if workers == "2":  # what was printed when a failed item was torn down stands at its failure; here all is captured
        assert "torn down: move-ann-web0-backers0[first]" in done.stdout
        assert "torn down: move-bob-web0-backers0[first]" not in done.stdout


WATCH = """
import os, tracemalloc, pytest
seen, ITEMS, BEFORE = 0, {items}, {before}


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    global seen
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    seen += 1
    if seen == 3 * BEFORE:
        tracemalloc.start()
    if seen == 3 * ITEMS:
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        print("AN ITEM TAKES", size // (ITEMS - BEFORE))
"""


def test_an_item_of_a_run_with_workers_takes_little_of_the_controller_s_memory(tmp_path: Path) -> None:
    """Reports, outcome, names and places, all that any plugin keeps: it was 10 KB when each was kept as it came."""
    people, before = 150, 100
    first = CONFTEST.replace('if "Ann" in query', 'if "Nobody" in query').partition("@pytest.fixture")[0]
    (tmp_path / "conftest.py").write_text(first + WATCH.format(items=4 * people, before=before), encoding="utf-8")
    slots = "[" + ", ".join(f"{{who: Person{number}}}" for number in range(people)) + "]"
    (tmp_path / "few.yaml").write_text(SUITE.replace("[{who: Ann}, {who: Bob}]", slots), encoding="utf-8")
    done = pytest_in(tmp_path, "few.yaml", "--engram-method=first", "--engram-no-controls", "-n", "2", "-s")
    told = re.search(r"AN ITEM TAKES (\d+)", done.stdout)
    assert told, done.stdout + done.stderr
    assert int(told[1]) < 4500


def test_a_worker_keeps_nothing_of_what_it_has_told(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        CONFTEST
        + """

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        import gc
        from pytest_engram.plugin.items import PROPERTY, QuestionItem
        gc.unfreeze()
        gc.collect()
        reports = sum(isinstance(value, pytest.TestReport) for value in gc.get_objects())
        items = [item for item in session.items if isinstance(item, QuestionItem)]
        held = sum(item.outcome is not None or PROPERTY in dict(item.user_properties) for item in items)
        with open("held.txt", "w") as file:
            file.write(f"{len(items)} {reports} {held}")
""",
        encoding="utf-8",
    )
    (tmp_path / "few.yaml").write_text(SUITE.replace("Ann", "Cid"), encoding="utf-8")  # a failure keeps its frames
    pytest_in(tmp_path, "few.yaml", "--engram-method=first", "--engram-no-controls", "-n", "1")
    items, reports, held = map(int, (tmp_path / "held.txt").read_text(encoding="utf-8").split())
    assert items == 8
    assert reports <= 3  # of the item that came last
    assert held <= 1  # of what was asked again
