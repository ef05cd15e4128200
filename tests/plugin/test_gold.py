"""No worker loads gold, and nothing that an item or a fixture is given leads to it, in any process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_engram.suites.fingerprints import fingerprint

CASE = """\
engram: micro
name: stated_cases
construction: canary-construction
rule: stated
cases:
  - name: mara
    belief: Mara lives in Lisbon.
    web: [Mara rents a flat in Lisbon.]
    update: Mara lives in Porto.
    query: Where does Mara live?
    sweep: {web: [0, 1]}
    winner: belief
"""

# What is searched for is put together only when it is searched for, so that the search does not find itself.
CONFTEST = '''
import gc
import sys
import types

import pytest

from pytest_engram import method

WORD = "-yranac"[::-1]


class First:
    def __init__(self, bench):
        self.entries = []

    def write(self, entries):
        self.entries += entries

    def search(self, query, k):
        return [entry.id for entry in self.entries[:k]]


def holds(value):
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return isinstance(value, str) and WORD in value and value != WORD


def everything():
    """All objects of the process, as far as the garbage collector and what it tracks lead."""
    gc.unfreeze()
    return gc.get_objects()


def reachable(root):
    """What attributes, items and closures lead to from an object, but for what stands in modules."""
    seen, todo = set(), [root]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, (types.ModuleType, str, bytes, int, float, complex, type(None))):
            if holds(value):
                yield value
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += value
        if isinstance(value, types.FunctionType):
            todo += [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
            todo += value.__defaults__ or ()
        if isinstance(value, types.MethodType):
            todo += [value.__self__, value.__func__]
        todo += getattr(value, "__dict__", {}).values()
        for cls in type(value).__mro__:
            for slot in getattr(cls, "__slots__", ()):
                if isinstance(slot, str) and hasattr(value, slot):
                    todo.append(getattr(value, slot))


def kinds(values):
    # Names, not classes: the modules of the classes need not be loaded here.
    gold = {"Gold", "Key", "FactKey", "SessionKey", "CaseKey", "Level", "Sides", "Vault", "FactRow", "Evidence"}
    return sorted({type(value).__name__ for value in values} & gold)


@method(label="Spy", controls=[], embeds=False)
def spy(request):
    class Spy(First):
        def search(self, query, k):
            found = list(reachable(request))
            # The walk is worth something: it came by the things that once led to gold.
            assert {"EngramSession", "Suite", "Question", "Entry"} <= {type(value).__name__ for value in found}
            texts = sorted({value for value in found if holds(value)})
            assert not texts and not kinds(found), (texts, kinds(found))
            if hasattr(request.config, "workerinput"):
                objects = everything()
                texts = sorted({part for value in objects for part in gc.get_referents(value) if holds(part)})
                judging = sorted(name for name in sys.modules if name.startswith("pytest_engram.judging"))
                opened = open("/proc/self/maps").read()
                assert not texts and not kinds(objects) and not judging, (texts, kinds(objects), judging)
                assert "gold.arrow" not in opened
            return super().search(query, k)

    return Spy
'''


def facts(folder: Path) -> None:
    """A row of FactConsolidation's form whose answers stand nowhere else, and its suite."""
    names = ["Ann", "Bob", "Cid", "Dan"]
    lines = ["Facts:", *(f"{i}. {name} likes colour {i}." for i, name in enumerate(names * 6))]
    row = {
        "context": "\n".join(lines),
        "questions": [f"What does {name} like?" for name in names],
        "answers": [[f"canary-answer-{name}"] for name in names],
        "metadata": {"source": "factconsolidation_spy"},
    }
    data = folder / "data" / "memoryagentbench"
    data.mkdir(parents=True)
    (data / "Conflict_Resolution.json").write_text(json.dumps([row]))
    suite = {
        "engram": "pilot",
        "name": "spied_facts",
        "source": "factconsolidation",
        "rows": "factconsolidation_spy",
        "metrics": ["answer@10", "subem"],
        "questions": [
            {"id": f"factconsolidation_spy_no{i}", "text": fingerprint(text)} for i, text in enumerate(row["questions"])
        ],
    }
    (folder / "facts.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


def sessions(folder: Path) -> None:
    """A file of LongMemEval's form whose answers and evidence ids stand nowhere else, and its suite."""
    ids = [f"answer_canary-session_{i}" if i == 3 else f"chat_{i}" for i in range(20)]
    question = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Where do I swim?",
        "answer": "canary-lake",
        "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_session_ids": ids,
        "haystack_dates": [f"2023/05/{1 + i:02d} (Mon) 10:00" for i in range(20)],
        "haystack_sessions": [
            [{"role": "user", "content": f"I talk about thing {i}.", **({"has_answer": True} if i == 3 else {})}]
            for i in range(20)
        ],
    }
    data = folder / "data" / "longmemeval"
    data.mkdir(parents=True)
    (data / "longmemeval_s_cleaned.json").write_text(json.dumps([question]))
    suite = {
        "engram": "pilot",
        "name": "spied_sessions",
        "source": "longmemeval",
        "metrics": ["recall_any@5"],
        "questions": [{"id": "q1"}],
    }
    (folder / "sessions.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))


@pytest.mark.parametrize("workers", ["0", "1", "2"])
def test_a_memory_and_its_fixture_reach_no_gold(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    pytester.makeconftest(CONFTEST)
    facts(pytester.path)
    sessions(pytester.path)
    (pytester.path / "cases.yaml").write_text(CASE)
    files = ["facts.yaml", "sessions.yaml", "cases.yaml"]
    run = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "--engram-method=spy", "--engram-data=data", "-n", workers, *files
    )
    assert run.ret == 0, run.stdout.str()
    lines = (pytester.path / "reports/latest/items.jsonl").read_text().splitlines()
    log: list[dict[str, Any]] = [json.loads(line) for line in lines]
    # It was all there for the judge.
    assert {line["gold"][0] for line in log if line["suite"] == "spied_facts"} == {
        f"canary-answer-{name}" for name in ("Ann", "Bob", "Cid", "Dan")
    }
    (session,) = (line for line in log if line["suite"] == "spied_sessions")
    assert (session["gold"], session["metrics"]) == (["canary-lake"], {"recall_any@5": 1.0})
    assert {line["expected"] for line in log if line["suite"] == "stated_cases"} == {"belief"}


def test_what_a_worker_is_handed_holds_no_gold(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CACHE", str(pytester.path / "cache"))
    pytester.makeconftest(CONFTEST)
    facts(pytester.path)
    (pytester.path / "cases.yaml").write_text(CASE)
    run = pytester.runpytest_subprocess(
        "--engram-method=spy", "--engram-data=data", "-n", "1", "facts.yaml", "cases.yaml"
    )
    assert run.ret == 0, run.stdout.str()
    handed = "".join(path.read_text() for path in (pytester.path / "cache" / "asked").glob("*.json"))
    assert "Ann likes colour 0." in handed
    assert "Mara lives in Porto." in handed
    for secret in ("canary", "belief", "expected", "winner", "answers"):
        assert secret not in handed
