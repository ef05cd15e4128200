"""Reader and judge of a run, which the process that judges asks beside the run: what they are given, what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_engram import reading
from pytest_engram.basics.privacy import public
from pytest_engram.judging.judge import VERDICT, asked, judge, reads
from pytest_engram.judging.judges import Bench, Case, Verdict, known_answers
from pytest_engram.judging.judges import described as judge_described
from pytest_engram.judging.judges import lines as judge_lines
from pytest_engram.plugin import returned, vault
from pytest_engram.plugin.baselines import Baselines
from pytest_engram.plugin.parts import Parts
from pytest_engram.reading.desk import ANSWER, unread
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

WAITING = "the run ended before its judge did"
_PAID = ("tokens_in", "tokens_out", "cost", "cached")  # of an answer, in the fields of its line


class Answers:
    """Reader and judge.

    Args:
        parts: of the run.
        verdict: the judge; None: nobody judges.
        desk: the reader at work; None: nobody answers.
    """

    def __init__(self, parts: Parts, verdict: Verdict | None, desk: reading.Desk | None) -> None:
        self._parts = parts
        self._verdict = verdict
        self._interrupted = False
        self._paid: dict[vault.Item, dict[str, Any]] = {}  # what answers took that were withheld from the log
        self._secrets.desk = desk
        if verdict is not None:
            self._secrets.bench = Bench(verdict)

    @property
    def _secrets(self) -> vault.Vault:
        return vault.of(self._parts.config)  # held by nothing that a method could be led to

    # Asking

    def read(self, line: Outcome) -> None:
        """Have the reader answer, where a metric is of an answer and none was given elsewhere."""
        if self._secrets.desk is None or not unread(line):
            return
        key = self._secrets.keys[line.suite]
        gold = key.gold(line.question_id)
        if not reads(key, gold, self._parts.metrics):
            return
        suite, question = self._parts.asked[line.suite, line.question_id]
        entries = returned.entries(line, self._parts.memories.haystack(suite, question.haystack).plain)
        self._secrets.desk.read(line, reading.Asked(line.query, entries, key.prompts, gold.prompt))

    def again(self, logged: Outcome) -> Outcome:
        """A line of the log of a run that is continued, to be judged anew; without an answer, it is to be read anew.

        Where a model was paid and what it said is no answer, that stands: asked again, it would be paid again.
        """
        line = asked(logged)
        desk = self._secrets.desk
        if desk is not None and line.reader == desk.spec.label and line.answer is None:
            paid = {name: line.fields[name] for name in _PAID if name in line.fields}
            if ANSWER not in line.missing or not paid:
                self._paid[line.suite, line.item, line.method, line.seed] = paid
                line.reader, line.fields = None, {n: v for n, v in line.fields.items() if n not in _PAID}
                line.missing.pop(ANSWER, None)
        if self._verdict is not None and line.fields.get("judge") == self._verdict.label:
            self._ask_known(line.suite)
        return line

    def as_paid(self, line: Outcome) -> Outcome:
        """The line; where its answer was paid for before the run was continued, with what it took then."""
        paid = self._paid.pop((line.suite, line.item, line.method, line.seed), None)
        if paid and line.fields.get("cached"):
            line.fields = {**line.fields, **paid}
        return line

    def ready(self) -> Iterator[Outcome]:
        """The lines that the reader has answered meanwhile."""
        yield from self._secrets.desk.ready() if self._secrets.desk is not None else ()

    def bring(self, key: vault.Item, outcome: Outcome) -> None:
        """Have the judge say whether the answer in a judged line is right, where a metric needs it."""
        if self._verdict is None or outcome.answer is None:
            return
        if "judged" not in outcome.metrics or "verdicts" in outcome.fields:  # those came with a recorded answer
            return
        outcome.missing["judged"] = WAITING
        if self._interrupted:
            return
        assert self._secrets.bench is not None
        self._ask_known(outcome.suite)
        self._secrets.bench.ask(key, self._case(outcome.suite, outcome.question_id, str(outcome.answer)))

    def _case(self, suite: str, question_id: str, answer: str) -> Case:
        key = self._secrets.keys[suite]
        gold = key.gold(question_id)
        query = self._parts.asked[suite, question_id][1].query
        return Case(query, gold.answers, answer, gold.fields, question_id, suite, key.prompts, gold.prompt)

    def _ask_known(self, suite: str) -> None:
        """Ask the judge about answers that are known to be wrong or right, before it judges any other of the suite."""
        assert self._secrets.bench is not None
        assert self._verdict is not None
        if suite in self._secrets.known:
            return
        questions = next(found.questions for found in self._parts.suites() if found.name == suite)
        texts = {question.id: question.query for question in questions}
        self._secrets.known[suite] = known_answers(self._verdict, self._secrets.keys[suite], texts)
        for one in self._secrets.known[suite]:
            if not one.verdicts:
                one.reason = WAITING
                self._secrets.bench.ask(one, self._case(suite, one.question_id, one.answer))

    # Waiting for what they say

    def wait(self, session: pytest.Session, keep: Callable[[Outcome], Outcome]) -> str | None:
        """Wait for reader and judge; not where the run was interrupted: what is not there then says so.

        Args:
            session: of pytest.
            keep: judges a line again, with its answer, and puts it down.

        Returns:
            What a person is told where the waiting itself was interrupted.
        """
        if session.exitstatus == pytest.ExitCode.INTERRUPTED:
            self._interrupted = True
            for line in self.ready():
                keep(line)
            return None
        try:
            self._take_answers(keep)
            self._take_verdicts()
            self._answer_baselines()
        except KeyboardInterrupt:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            told = "interrupted while questions were answered and judged; what was not says so"
            return f"{told}, and the same command with --engram-resume asks for the rest alone"
        return None

    def _take_answers(self, keep: Callable[[Outcome], Outcome]) -> None:
        """Wait for the reader, and judge its lines again with its answers."""
        from pytest_engram.basics.progress import progress

        for line in self.ready():
            keep(line)
        desk = self._secrets.desk
        if desk is None or not len(desk):
            return
        took = reading.totals(self._secrets.outcomes.values())
        label = f"Answering with {desk.spec.label}"
        with progress(label, len(desk), "answer", file=self._stream(), patience=2.0) as bar:
            for line in desk.rest():
                took.add(keep(line))
                bar.advance(1, took.spent())

    def _take_verdicts(self) -> None:
        """Wait for the judge, and judge its lines again with its verdicts."""
        from pytest_engram.basics.progress import progress

        bench = self._secrets.bench
        if bench is None or self._verdict is None or not len(bench):
            return
        label = f"Judging with {self._verdict.label}"
        with progress(label, len(bench), "answer", file=self._stream(), patience=2.0) as bar:
            for key, verdicts, reason in bench.results():
                bar.advance()
                if isinstance(key, KnownAnswer):
                    key.verdicts, key.reason = list(verdicts), public(reason)
                    continue
                line = asked(self._secrets.outcomes[key])
                line.missing.pop(VERDICT, None)
                if verdicts:
                    line.fields |= {"verdicts": list(verdicts), "judge": self._verdict.label}
                else:
                    line.missing[VERDICT] = public(reason)
                self._secrets.outcomes[key] = judge(self._secrets.keys[line.suite], line, self._parts.metrics)

    def _answer_baselines(self) -> None:
        """Have the reader answer where no memory has a part in it."""
        options = self._parts.options
        beside = Baselines(options.answer_baselines, self._secrets, self._parts.asked, self._parts.metrics, options.k)
        beside.answer(self._verdict, self._case, self._stream() if options.answer_baselines else None)

    def _stream(self) -> Any:
        """What pytest writes to, at the beginning of a line."""
        if terminal := self._parts.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.ensure_newline()
            return terminal._tw._file
        return None  # under `-p no:terminal`

    # What is told of them

    def describe_judge(self) -> dict[str, Any] | None:
        """The judge, for the manifest."""
        if self._verdict is None:
            return None
        keys = {name: key for name, key in self._secrets.keys.items() if "judged" in key.metrics}
        return judge_described(self._parts.options.judge, self._verdict, keys)

    def lines(self) -> Iterator[str]:
        """What answers and verdicts took, and why there is none to some questions."""
        lines = (*self._secrets.outcomes.values(), *self._secrets.baselines.values())
        if self._secrets.desk is not None:
            took = reading.totals(lines)
            yield from reading.lines(self._secrets.desk.spec, took, self._secrets.desk.notes())
        if self._verdict is not None:
            known = [one for those in self._secrets.known.values() for one in those]
            answered = [line for line in lines if line.answer is not None]
            unjudged = Counter(line.missing["judged"] for line in answered if "judged" in line.missing)
            unjudged.update(one.reason for one in known if not one.verdicts)
            judged = sum("judge" in line.fields for line in answered)
            yield from judge_lines(self._verdict, judged, sum(bool(one.verdicts) for one in known), unjudged)
