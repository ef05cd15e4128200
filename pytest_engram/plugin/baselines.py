"""The reader's answers to what no memory chose, asked when all methods are answered: the money is theirs first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_engram.asking.runner import blank
from pytest_engram.basics.privacy import public
from pytest_engram.encoding.tokens import Tokens
from pytest_engram.judging.baselines import NAMES, SEED, Unknown, counter, given, judged, left_out, told
from pytest_engram.judging.judge import VERDICT, asked, reads
from pytest_engram.judging.judges import Bench, Case, Verdict
from pytest_engram.plugin.vault import Baseline, Vault
from pytest_engram.reading.base import Asked
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Question, Suite

WAITING = "the run ended before its judge did"


class Baselines:
    """Of one run.

    Args:
        names: which of `judging.baselines.NAMES`, in the order in which they are asked.
        secrets: what the run knows of gold, and its reader. Their lines are put there.
        questions: each question with its suite, by the names of both.
        metrics: of the run, by name without depth.
        k: of the run beside which they stand.
    """

    def __init__(
        self,
        names: Sequence[str],
        secrets: Vault,
        questions: Mapping[tuple[str, str], tuple[Suite, Question]],
        metrics: Mapping[str, Any],
        k: int,
    ) -> None:
        self._names = names
        self._secrets = secrets
        self._questions = questions
        self._metrics = metrics
        self._k = k

    def answer(self, verdict: Verdict | None, case: Callable[[str, str, str], Case], stream: Any) -> None:
        """Have all of them answered, and their answers judged.

        Args:
            verdict: the judge; None: nobody judges.
            case: what it is asked about the answer of a suite's question.
            stream: where progress is shown, if anywhere.
        """
        from pytest_engram.basics.progress import progress

        desk = self._secrets.desk
        if desk is None or not self._names:
            return
        for line in self._ask():
            self._keep(line)
        label = f"Answering baselines with {desk.spec.label}"
        with progress(label, len(desk), "answer", file=stream, patience=2.0) as bar:
            for line in desk.rest():
                self._keep(line)
                bar.advance()
        if verdict is not None:
            self._judge(verdict, case, stream)

    def _ask(self) -> Iterator[Outcome]:
        """The lines of every question that some method was asked, baseline by baseline; most of them wait."""
        there = dict.fromkeys((o.suite, o.question_id) for o in self._secrets.outcomes.values() if o.status == "ok")
        count = counter(Tokens())
        assert self._secrets.desk is not None
        for name in self._names:
            for place in there:
                suite, question = self._questions[place]
                key = self._secrets.keys[suite.name]
                gold = key.gold(question.id)
                if not reads(key, gold, self._metrics):
                    continue
                line = blank(suite, question, name, SEED, self._k, f"{question.name}[{name}]")
                entries = suite.haystack(question.haystack)
                try:
                    shown = given(name, entries, gold, question.id, count)
                except Unknown as why:
                    found = left_out(key, line, self._metrics, str(why))
                    self._secrets.baselines[_place(found)] = found
                    continue
                line.tokens = None if count is None else count([entry.text for entry in shown])
                line.ids = told(shown, entries)
                self._secrets.desk.read(line, Asked(question.query, shown, key.prompts, gold.prompt))
                yield line

    def _keep(self, line: Outcome) -> Outcome:
        found = judged(self._secrets.keys[line.suite], line, self._metrics)
        found.missing = {name: public(why) for name, why in found.missing.items()}
        self._secrets.baselines[_place(found)] = found
        return found

    def _judge(self, verdict: Verdict, case: Callable[[str, str, str], Case], stream: Any) -> None:
        from pytest_engram.basics.progress import progress

        bench = Bench(verdict)
        try:
            for place, line in self._secrets.baselines.items():
                if "judged" in line.metrics and line.answer is not None:
                    line.missing["judged"] = WAITING
                    bench.ask(place, case(line.suite, line.question_id, line.answer))
            label = f"Judging baselines with {verdict.label}"
            with progress(label, len(bench), "answer", file=stream, patience=2.0) as bar:
                for place, verdicts, reason in bench.results():
                    bar.advance()
                    line = asked(self._secrets.baselines[place])
                    line.missing.pop(VERDICT, None)
                    if verdicts:
                        line.fields |= {"verdicts": list(verdicts), "judge": verdict.label}
                    else:
                        line.missing[VERDICT] = public(reason)
                    self._keep(line)
        finally:
            bench.close()


def _place(line: Outcome) -> Baseline:
    return line.suite, line.question_id, line.method


def described(names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Those of a run, for its manifest: what each is called, and what sets it apart from a method."""
    return {name: dict(NAMES[name]) for name in names}
