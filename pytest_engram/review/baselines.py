"""Whether the baselines of answers in a run's folder are those that the rule makes, and score as they did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_engram.basics.registry import Registry
from pytest_engram.encoding.tokens import Tokens
from pytest_engram.judging import METRICS
from pytest_engram.judging.baselines import NAMES, Unknown, counter, given, judged, left_out, told
from pytest_engram.judging.judge import asked
from pytest_engram.runs.outcome import READ, Outcome
from pytest_engram.runs.withheld import WITHHELD
from pytest_engram.suites.base import Key, Suite


def differing(lines: Sequence[Outcome], suite: Suite, key: Key) -> tuple[list[str], int]:
    """What is not as it should be, a line each; and how many lines of the suite were looked at.

    Metrics of third parties, and of answers that are withheld from the folder, are not computed again.
    """
    metrics: Registry[Any] = Registry("metric", METRICS)
    questions = {question.id: question for question in suite.questions}
    count = counter(Tokens())
    problems: list[str] = []
    mine = [line for line in lines if line.suite == suite.name]
    for line in mine:
        question = questions.get(line.question_id)
        if question is None or line.method not in NAMES:
            problems.append(f"{line.item}: no such question or baseline")
            continue
        entries = suite.haystack(question.haystack)
        try:
            shown = given(line.method, entries, key.gold(question.id), question.id, count)
        except Unknown as why:
            should = left_out(key, asked(line), metrics, str(why))
        else:
            should = judged(key, asked(line), metrics)
            if line.ids != told(shown, entries):
                problems.append(f"{line.item}: was given {len(line.ids)} entries, should be {len(shown)} by the rule")
        known = [name for name in line.metrics if name in READ and WITHHELD not in line.fields]
        problems += [
            f"{line.item}: {name} is {line.metrics[name]}, should be {should.metrics.get(name)}"
            for name in known
            if line.metrics[name] != should.metrics.get(name)
        ]
        if should.left_out != line.left_out:
            problems.append(f"{line.item}: left out because of {line.left_out}, should be {should.left_out}")
    return problems, len(mine)
