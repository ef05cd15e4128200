"""The controller's record of a run: each outcome judged as it comes, the log while it grows, the report at the end."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram import reading, report
from pytest_engram.asking.memories import Memories
from pytest_engram.asking.runner import blank
from pytest_engram.basics.privacy import public
from pytest_engram.judging.judge import VERDICT, asked, judge, reads
from pytest_engram.judging.judges import Bench, Case, Verdict, known_answers
from pytest_engram.judging.judges import described as judge_described
from pytest_engram.judging.judges import lines as judge_lines
from pytest_engram.memory import Method
from pytest_engram.plugin import gates, returned, vault
from pytest_engram.plugin.again import Compared
from pytest_engram.plugin.baselines import Baselines, described
from pytest_engram.plugin.items import PROPERTY, properties
from pytest_engram.plugin.methods import Methods
from pytest_engram.plugin.options import Options
from pytest_engram.reading.desk import unread
from pytest_engram.report.wording import plain_lines
from pytest_engram.review.described import describe
from pytest_engram.runs import folder as runfolder
from pytest_engram.runs import log as runlog
from pytest_engram.runs import manifest
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import WITHHELD, unquoting, withhold, withhold_known
from pytest_engram.suites.base import Question, Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.tokens import Tokens
    from pytest_engram.runs.folder import Run

EXCERPT = 300  # characters of an entry that a report shows
WAITING = "the run ended before its judge did"


class Recorder:
    """A pytest plugin of its own, registered for the run: it sees every report, from every worker.

    What it knows of gold is in the vault. It is handed what it needs of the session:

    Args:
        config: pytest's.
        options: this plugin's.
        methods: of the run.
        memories: whose haystacks have the entries that a report shows.
        suites: gives the suites of the run.
        metrics: by name without depth.
        encoder: gives that of the run, when it has ended; None: nothing was embedded.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        methods: Methods,
        memories: Memories,
        suites: Callable[[], list[Suite]],
        metrics: Mapping[str, Any],
        encoder: Callable[[], dict[str, Any] | None],
    ) -> None:
        self._config = config
        self._options = options
        self._methods = methods
        self._memories = memories
        self._suites = suites
        self._metrics = metrics
        self._encoder = encoder
        self.folder: Path = options.report
        self.results: dict[str, Any] | None = None
        self.failures: list[str] = []
        self.unwritten: str | None = None  # why the report folder can't be written
        self.broken_collection = False
        self.started = time.time()
        self._earlier: Run | None = None
        self._verdict: Verdict | None = None
        self._told: dict[str, list[tuple[str, object]]] = {}  # an item's properties, until it is torn down
        self._log: Any = None
        self._interrupted = False
        self.compared = Compared(1)
        self.changed: set[str] = set()  # code that judges and is not what its files say, in any process
        self._died: Counter[vault.Item] = Counter()  # how often an item took its worker with it
        self._queries: dict[str, dict[str, str]] = {}  # of a suite's questions, by id

    def begin(self, earlier: Run | None, verdict: Verdict | None, desk: reading.Desk | None, workers: int = 1) -> None:
        """Take the run that this one must not be worse than, judge and reader, and how many processes ask."""
        self._earlier, self._verdict = earlier, verdict
        self.compared = Compared(workers)
        vault.of(self._config).desk = desk
        if verdict is not None:
            vault.of(self._config).bench = Bench(verdict)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that something could not be collected."""
        self.broken_collection |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Judge an item's outcome as soon as it arrives, and put it down: a killed run keeps what it had.

        In place of what was recalled, the report then has the result and each metric, for the terminal and JUnit XML.
        """
        others = [(name, value) for name, value in report.user_properties if name != PROPERTY]
        if len(others) == len(report.user_properties):
            return
        if report.when != "teardown" and not (report.when == "setup" and report.passed):
            for name, value in report.user_properties:
                if name == PROPERTY:
                    line = value if isinstance(value, Outcome) else Outcome.from_record(json.loads(str(value)))
                    # In another process than the one that died, the item does not know; the plugin does.
                    line.reruns = max(line.reruns, int(getattr(report, "rerun", 0)), self._died[_key(line)])
                    self._told[report.nodeid] = properties(self.add(line))
                    self.compared.remember(line, report)
        told = self._told.pop if report.when == "teardown" else self._told.get
        report.user_properties = [*others, *told(report.nodeid, [])]

    def compare(self) -> None:
        """Fail each item that was answered otherwise when it was asked again: a violation, in the log and in pytest."""
        secrets = vault.of(self._config)
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        for first, told in self.compared.broken(secrets.outcomes):
            kept = {name: getattr(first, name) for name in ("haystack", "wrote", "usage", "retries", "reruns")}
            suite, question = self._asked[first.suite, first.question_id]
            line = blank(suite, question, first.method, first.seed, first.k, first.item)
            self._keep(replace(line, status="violation", reason=told, **kept))
            self.compared.fail(first, told, terminal, self._config.hook.pytest_runtest_logreport)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker died over an item: that is the item's error."""
        outcome = self._of_nodeid(crashitem)
        if outcome is not None:
            outcome.status, outcome.reason = "error", " ".join(str(report.longrepr).split())
            outcome.reruns = self._died[_key(outcome)]
            self._died[_key(outcome)] += 1
            self.add(outcome)

    def add(self, line: Outcome) -> Outcome:
        """Have a line read, judge and keep it.

        Of an item that several workers ran, the first counts; of one that was run again, the last. But a rule that was
        broken stays broken.
        """
        secrets = vault.of(self._config)
        self._put_down_writing(line)
        before = secrets.outcomes.get(_key(line))
        if before is not None and line.reruns <= before.reruns:
            return before
        if before is not None and before.status == "violation":
            before.reruns = line.reruns
            return before
        self._take_answered()
        self._read(line)
        return self._keep(line)

    def _keep(self, line: Outcome) -> Outcome:
        """Judge a line, also one that was judged before it had its answer, and put it down."""
        secrets = vault.of(self._config)
        key = _key(line)
        before = secrets.outcomes.get(key)
        if before is not None and (before.status == "violation" or before.reruns > line.reruns):
            return before  # what this is an answer to counts no more
        outcome = judge(secrets.keys[line.suite], line, self._metrics)
        if outcome.reason or outcome.missing:
            outcome.reason = public(outcome.reason)
            outcome.missing = {name: public(why) for name, why in outcome.missing.items()}
        if self._to_be_judged(outcome):
            outcome.missing["judged"] = WAITING
            if not self._interrupted:
                self._bring(key, outcome)
        secrets.outcomes[key] = outcome
        self._write(outcome)
        return outcome

    def _read(self, line: Outcome) -> None:
        """Have the reader answer, where a metric is of an answer and none was given elsewhere."""
        secrets = vault.of(self._config)
        if secrets.desk is None or not unread(line):
            return
        key = secrets.keys[line.suite]
        gold = key.gold(line.question_id)
        if not reads(key, gold, self._metrics):
            return
        suite, question = self._asked[line.suite, line.question_id]
        entries = returned.entries(line, self._memories.haystack(suite, question.haystack).plain)
        secrets.desk.read(line, reading.Asked(line.query, entries, key.prompts, gold.prompt))

    def _take_answered(self) -> None:
        """What the reader has answered meanwhile."""
        desk = vault.of(self._config).desk
        for line in desk.ready() if desk is not None else ():
            self._keep(line)

    def _put_down_writing(self, line: Outcome) -> None:
        """What writing a shared memory took stands at the first of its items, whichever worker asked it."""
        method = self._shared.get(line.method)
        if method is None:
            return
        suite, question = self._asked[line.suite, line.question_id]
        haystack = self._memories.haystack(suite, question.haystack)
        told = self._memories.written.get(self._memories.namespace(method, line.seed, haystack))
        if told is not None and (wrote := told.pop("wrote", None)):
            line.wrote = {**wrote, **line.wrote}
            for name, used in told.get("usage", {}).items():
                line.usage[name] = line.usage.get(name, 0.0) + used

    @cached_property
    def _shared(self) -> dict[str, Method]:
        return {method.name: method for method in self._methods.selected if method.shared}

    @cached_property
    def _asked(self) -> dict[tuple[str, str], tuple[Suite, Question]]:
        return {
            (suite.name, question.id): (suite, question) for suite in self._suites() for question in suite.questions
        }

    def _to_be_judged(self, outcome: Outcome) -> bool:
        if self._verdict is None or outcome.answer is None:
            return False
        return "judged" in outcome.metrics and "verdicts" not in outcome.fields  # those came with a recorded answer

    def _bring(self, key: vault.Item, outcome: Outcome) -> None:
        secrets = vault.of(self._config)
        assert secrets.bench is not None
        self._ask_known(outcome.suite)
        secrets.bench.ask(key, self._case(outcome.suite, outcome.question_id, str(outcome.answer)))

    def _case(self, suite: str, question_id: str, answer: str) -> Case:
        key = vault.of(self._config).keys[suite]
        gold = key.gold(question_id)
        query = self._texts_of(suite)[question_id]
        return Case(query, gold.answers, answer, gold.fields, question_id, suite, key.prompts, gold.prompt)

    def _texts_of(self, suite: str) -> dict[str, str]:
        if suite not in self._queries:
            questions = next(found.questions for found in self._suites() if found.name == suite)
            self._queries[suite] = {question.id: question.query for question in questions}
        return self._queries[suite]

    def _ask_known(self, suite: str) -> None:
        """Ask the judge about answers that are known to be wrong or right, before it judges any other of the suite."""
        secrets = vault.of(self._config)
        assert secrets.bench is not None
        assert self._verdict is not None
        if suite in secrets.known:
            return
        secrets.known[suite] = known_answers(self._verdict, secrets.keys[suite], self._texts_of(suite))
        for one in secrets.known[suite]:
            if not one.verdicts:
                one.reason = WAITING
                secrets.bench.ask(one, self._case(suite, one.question_id, one.answer))

    def wait(self, session: pytest.Session) -> None:
        """Wait for reader and judge; not where the run was interrupted: what is not there then says so."""
        if session.exitstatus == pytest.ExitCode.INTERRUPTED:
            self._interrupted = True
            self._take_answered()
            return
        try:
            self._take_answers()
            self._take_verdicts()
            self._answer_baselines()
        except KeyboardInterrupt:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            told = "interrupted while questions were answered and judged; what was not says so"
            self.failures.append(f"{told}, and the next run asks for the rest alone")

    def _take_answers(self) -> None:
        """Wait for the reader, and judge its lines again with its answers."""
        from pytest_engram.basics.progress import progress

        self._take_answered()
        secrets = vault.of(self._config)
        if secrets.desk is None or not len(secrets.desk):
            return
        took = reading.totals(secrets.outcomes.values())
        label = f"Answering with {secrets.desk.spec.label}"
        with progress(label, len(secrets.desk), "answer", file=self._stream(), patience=2.0) as bar:
            for line in secrets.desk.rest():
                took.add(self._keep(line))
                bar.advance(1, took.spent())

    def _answer_baselines(self) -> None:
        """Have the reader answer where no memory has a part in it."""
        names, secrets = self._options.answer_baselines, vault.of(self._config)
        beside = Baselines(names, secrets, self._asked, self._metrics, self._options.k)
        beside.answer(self._verdict, self._case, self._stream() if names else None)

    def _stream(self) -> Any:
        """What pytest writes to, at the beginning of a line."""
        if terminal := self._config.pluginmanager.get_plugin("terminalreporter"):
            terminal.ensure_newline()
            return terminal._tw._file
        return None  # under `-p no:terminal`

    def _take_verdicts(self) -> None:
        """Wait for the judge, and judge its lines again with its verdicts."""
        from pytest_engram.basics.progress import progress

        secrets = vault.of(self._config)
        if secrets.bench is None or self._verdict is None or not len(secrets.bench):
            return
        label = f"Judging with {self._verdict.label}"
        with progress(label, len(secrets.bench), "answer", file=self._stream(), patience=2.0) as bar:
            for key, verdicts, reason in secrets.bench.results():
                bar.advance()
                if isinstance(key, KnownAnswer):
                    key.verdicts, key.reason = list(verdicts), public(reason)
                    continue
                line = asked(secrets.outcomes[key])
                line.missing.pop(VERDICT, None)
                if verdicts:
                    line.fields |= {"verdicts": list(verdicts), "judge": self._verdict.label}
                else:
                    line.missing[VERDICT] = public(reason)
                secrets.outcomes[key] = judge(secrets.keys[line.suite], line, self._metrics)

    def _write(self, outcome: Outcome) -> None:
        if self.unwritten is not None:
            return
        try:
            if self._log is None:
                self._begin_log()
            line = withhold(outcome) if self._withheld(outcome.suite) else outcome
            self._log.write(line.to_line() + "\n")
            self._log.flush()
        except OSError as error:
            self.unwritten = self._cannot_write(error)

    def _cannot_write(self, error: OSError) -> str:
        where = error.filename2 or error.filename or self.folder
        return f"--engram-report: {where} can't be written ({error.strerror}); name a folder that can"

    def _begin_log(self) -> None:
        # Only now: a run that finds nothing to do must not destroy the report of the one before.
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in (*runfolder.SOURCES, *report.FRONTIER, *report.FILES):
            (self.folder / name).unlink(missing_ok=True)
        self._log = open(self.folder / runfolder.LOG, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115

    def _of_nodeid(self, nodeid: str) -> Outcome | None:
        path, _, name = nodeid.partition("::")
        match = re.fullmatch(r"(?P<question>.*)\[(?P<method>.*?)(?:-s(?P<seed>\d+))?\]", name)
        if match is None:
            return None
        for suite in self._suites():
            if suite.path.as_posix().endswith(path.removeprefix("../")):
                for question in suite.questions:
                    if question.name == match["question"]:
                        seed = self._methods.first_seed + int(match["seed"] or 0)
                        return blank(suite, question, match["method"], seed, self._options.k, name)
        return None

    def finish(self, session: pytest.Session) -> None:
        """Write the log in its canonical order, the manifest, and every table, plot and page."""
        from pytest_engram.report.aggregate import aggregate

        if self.broken_collection and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.INTERRUPTED  # with workers, pytest-xdist makes it 1
        found = vault.of(self._config).outcomes
        if not found:
            return
        self.close()
        suites = [suite.name for suite in self._suites()]
        outcomes = list(runlog.canonical(found.values(), suites))
        self._count(outcomes)
        facts = self._manifest(outcomes)
        known = [one for those in vault.of(self._config).known.values() for one in those]
        facts |= self._told_of_baselines()
        outcomes, known = self._without_texts(outcomes, known)
        beside = list(runlog.canonical(vault.of(self._config).baselines.values(), suites))
        beside, _ = self._without_texts(beside, ())
        try:
            decided = gates.decided(self._options.floors, self._earlier, self._methods.named(), outcomes, facts)
            facts |= {"gates": decided} if decided else {}
            self.results = report.write_run(self.folder, outcomes, facts, self._texts(outcomes), known, beside)
            self.unwritten = None
        except OSError as error:
            # What was measured is shown at least.
            self.results = aggregate(outcomes, facts, known, beside)
            self.unwritten = self._cannot_write(error)
        except KeyboardInterrupt:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            shown = _shown(self.folder, self._config.invocation_params.dir)
            self.failures = [f"interrupted while the report was written; `engram report {shown}` writes it"]
            return
        self.failures += gates.failures(decided)
        self.failures += _changed(sorted(self.changed))
        self.failures += _unfailed(outcomes) if session.exitstatus == pytest.ExitCode.OK else []
        gates.to_junit(self._config.pluginmanager, decided)
        if self.unwritten is not None:
            self.failures.append(self.unwritten)
        if self.failures and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _told_of_baselines(self) -> dict[str, Any]:
        """What the manifest has of them, where they were asked for."""
        names = self._options.answer_baselines
        return {"answer_baselines": described(names)} if names else {}

    def _without_texts(
        self, outcomes: Sequence[Outcome], known: Sequence[KnownAnswer]
    ) -> tuple[list[Outcome], list[KnownAnswer]]:
        """What may be passed on: nothing of a text whose licence does not let everybody."""
        lines = [withhold(line) if self._withheld(line.suite) else line for line in outcomes]
        return lines, [withhold_known(one) if self._withheld(one.suite) else one for one in known]

    def _withheld(self, suite: str) -> bool:
        """Whether nothing of a suite's texts may be written: not even into the log of a run that is killed."""
        return self._options.withhold and not vault.of(self._config).keys[suite].shareable

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        """Put down how many tokens came back, and how long entries are where a memory has texts of its own."""
        if self._tokens.describe() is not None:
            returned.count(outcomes, self._suites(), self._tokens)

    @cached_property
    def _tokens(self) -> Tokens:
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.encoding.tokens import Tokens

        return Tokens(cache_dir() / "tokens")

    def _floor(self, suite: Suite) -> dict[str, Any]:
        """What knowing nothing would get, and what nobody can exceed, where that is known."""
        from pytest_engram.judging.chance import floors
        from pytest_engram.judging.limits import ceilings, constant
        from pytest_engram.judging.strategies import strategies

        key = vault.of(self._config).keys[suite.name]
        found = {"floor": dict(floors(suite, key, self._options.k)), "strategies": strategies(suite, key)}
        found["ceiling"] = dict(ceilings(suite, key, self._options.k))
        if (same := constant(suite, key)) is not None:
            found["constant"] = {"answer": same[0], "metrics": dict(same[1])}
        return {name: values for name, values in found.items() if values}

    def _cut(self, outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
        """By suite whose entries were embedded: how many of the different ones the encoder cuts, and of how many."""
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.encoding.encoders import EncoderSpec
        from pytest_engram.encoding.window import Window

        used = {outcome.suite for outcome in outcomes if outcome.encodings}
        told = self._encoder()
        if told is None or not used:
            return {}
        given = {field.name: told[field.name] for field in fields(EncoderSpec)}
        window = Window(EncoderSpec(**given), cache_dir() / "tokens")
        found = {s.name: window.cut(s.texts()[0], s.name) for s in self._suites() if s.name in used}
        return {name: counts for name, counts in found.items() if counts is not None}

    def _manifest(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        keys = vault.of(self._config).keys
        methods = self._methods.selected
        suites = {suite.name: describe(keys[suite.name]) | self._floor(suite) for suite in self._suites()}
        for name, (cut, of) in self._cut(outcomes).items():
            suites[name]["cut"] = {"entries": cut, "of": of}
        items = sum(len(self._methods.seeds(method)) for method in methods)
        desk = vault.of(self._config).desk
        answers = [*outcomes, *vault.of(self._config).baselines.values()]
        took = reading.totals(unquoting(line) if self._withheld(line.suite) else line for line in answers)
        answered = {**desk.describe(), "totals": asdict(took)} if desk is not None else None
        return manifest.of(
            k=self._options.k,
            budget=self._options.budget,
            tokenizer=self._tokens.describe(),
            methods={method.name: _described(method) for method in methods},
            named=self._methods.named(),
            seeds=[seed for method in methods for seed in self._methods.seeds(method)],
            suites=suites,
            planned=items * sum(suite["n"] for suite in suites.values()),
            ran=len(outcomes),
            encoder=self._encoder(),
            reader=answered,
            judge=self._judge_described(),
            root=self._config.rootpath,
            admission=_admission(outcomes),
            again=self.compared.describe(len(outcomes)),
            changed=sorted(self.changed),
            seconds=time.time() - self.started,
        )

    def _judge_described(self) -> dict[str, Any] | None:
        if self._verdict is None:
            return None
        keys = {name: key for name, key in vault.of(self._config).keys.items() if "judged" in key.metrics}
        return judge_described(self._options.judge, self._verdict, keys)

    def _judge_lines(self) -> list[str]:
        """What its verdicts took, and why there is none on some answers."""
        if self._verdict is None:
            return []
        secrets = vault.of(self._config)
        known = [one for those in secrets.known.values() for one in those]
        lines = (*secrets.outcomes.values(), *secrets.baselines.values())
        answered = [line for line in lines if line.answer is not None]
        unjudged = Counter(line.missing["judged"] for line in answered if "judged" in line.missing)
        unjudged.update(one.reason for one in known if not one.verdicts)
        judged = sum("judge" in line.fields for line in answered)
        return judge_lines(self._verdict, judged, sum(bool(one.verdicts) for one in known), unjudged)

    def _texts(self, outcomes: Sequence[Outcome]) -> dict[str, dict[str, str]]:
        """Excerpts of all entries that some method returned or dropped, for the page: suite, haystack/id, text."""
        found: dict[str, dict[str, str]] = {}
        by_name = {suite.name: suite for suite in self._suites()}
        haystacks = {s.name: {q.id: q.haystack for q in s.questions} for s in by_name.values()}
        for outcome in outcomes:
            wanted = [*outcome.ids, *(str(d["id"]) for d in outcome.dropped)]
            suite = by_name.get(outcome.suite)
            if suite is None or not wanted or suite.not_run or WITHHELD in outcome.fields:
                continue
            key = haystacks[outcome.suite][outcome.question_id]
            texts = found.setdefault(outcome.suite, {})
            shared = len(set(haystacks[outcome.suite].values())) == 1
            for id_ in wanted:
                at = id_ if shared else f"{outcome.question_id}/{id_}"
                if at not in texts:
                    text = " ".join(self._memories.haystack(suite, key).plain[id_].text.split())
                    texts[at] = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
        return found

    def summarise(self, terminal: pytest.TerminalReporter) -> None:
        """Print the tables, what failed the run, and where the page is."""
        if self.results is None:
            self._tell_failures(terminal)
            return
        width = shutil.get_terminal_size().columns
        terminal.section("engram", "=")
        terminal.line(report.terminal(self.results, width, colour=terminal.hasmarkup).rstrip())
        secrets = vault.of(self._config)
        if secrets.desk is not None:
            took = reading.totals([*secrets.outcomes.values(), *secrets.baselines.values()])
            for line in reading.lines(secrets.desk.spec, took, secrets.desk.notes()):
                terminal.line(plain_lines(line))  # it may quote a server
        for line in self._judge_lines():
            terminal.line(plain_lines(line))
        self._tell_failures(terminal)
        if self.unwritten is not None:
            return
        page = self.folder / "results.html"
        terminal.line("")
        terminal.line(f"page: {_shown(page, self._config.invocation_params.dir)}")

    def _tell_failures(self, terminal: pytest.TerminalReporter) -> None:
        for failure in self.failures:
            terminal.line(plain_lines(failure), red=True, bold=True)

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            with suppress(OSError):  # of a full disk is told elsewhere
                self._log.close()


def _described(method: Method) -> dict[str, Any]:
    packages = {name: manifest.version_of(name) for name in method.packages}
    return method.describe() | ({"packages": packages} if packages else {})


def _admission(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """By method: how many memories were asked for an entry that they were given, and how many gave it back."""
    found: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        if "found" in outcome.wrote:
            counts = found.setdefault(outcome.method, {"memories": 0, "found": 0})
            counts["memories"] += 1
            counts["found"] += bool(outcome.wrote["found"])
    return found


def _key(line: Outcome) -> vault.Item:
    return line.suite, line.item, line.method, line.seed


def _changed(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [f"the code that judges was changed as the run went on: {shown}; its numbers are worth nothing"]


def _unfailed(outcomes: Sequence[Outcome]) -> list[str]:
    """A line where a rule was broken and pytest says that all is well: it passed later, or was expected to fail."""
    broken = [outcome for outcome in outcomes if outcome.status == "violation"]
    if not broken:
        return []
    methods = ", ".join(dict.fromkeys(outcome.method for outcome in broken))
    items = f"{len(broken)} item{'s' if len(broken) > 1 else ''} broke a rule ({methods})"
    return [f"{items}: a violation fails the run, whatever was run again or expected to fail"]


def _shown(path: Path, here: Path) -> str:
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
