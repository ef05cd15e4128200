"""The end of a run: what it was, the report on it, what failed it, and what a person is told."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram import reading, report
from pytest_engram.memory import Method
from pytest_engram.plugin import gates, returned, vault
from pytest_engram.plugin.answers import Answers
from pytest_engram.plugin.baselines import described
from pytest_engram.plugin.parts import Parts
from pytest_engram.plugin.recorder import Recorder
from pytest_engram.report.wording import plain_lines
from pytest_engram.review.described import describe
from pytest_engram.runs import log as runlog
from pytest_engram.runs import manifest
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome
from pytest_engram.runs.withheld import WITHHELD, unquoting, withhold, withhold_known
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.tokens import Tokens
    from pytest_engram.runs.folder import Run

EXCERPT = 300  # characters of an entry that a report shows


class Ending:
    """Of one run.

    Args:
        parts: of it.
        recorder: that has its lines.
        answers: its reader and its judge.
        earlier: the run that it must not be worse than, if any.
    """

    def __init__(self, parts: Parts, recorder: Recorder, answers: Answers, earlier: Run | None) -> None:
        self._parts = parts
        self._recorder = recorder
        self._answers = answers
        self._earlier = earlier
        self._results: dict[str, Any] | None = None

    def finish(self, session: pytest.Session) -> None:
        """Write the log in its canonical order, the manifest, and every table, plot and page."""
        from pytest_engram.report.aggregate import aggregate

        config, recorder = self._parts.config, self._recorder
        if recorder.broken_collection and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.INTERRUPTED  # with workers, pytest-xdist makes it 1
        found = vault.of(config).outcomes
        if not found:
            return
        recorder.close()
        suites = [suite.name for suite in self._parts.suites()]
        outcomes = list(runlog.canonical(found.values(), suites))
        self._count(outcomes)
        facts = self._manifest(outcomes)
        facts |= self._continued(facts) | self._told_of_baselines()
        known = [one for those in vault.of(config).known.values() for one in those]
        outcomes, known = self._without_texts(outcomes, known)
        beside, _ = self._without_texts(list(runlog.canonical(vault.of(config).baselines.values(), suites)), ())
        try:
            named = self._parts.methods.named()
            decided = gates.decided(self._parts.options.floors, self._earlier, named, outcomes, facts)
            facts |= {"gates": decided} if decided else {}
            self._results = report.write_run(recorder.folder, outcomes, facts, self._texts(outcomes), known, beside)
            recorder.unwritten = None
        except OSError as error:
            # What was measured is shown at least.
            self._results = aggregate(outcomes, facts, known, beside)
            recorder.unwritten = recorder.cannot_write(error)
        except KeyboardInterrupt:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            shown = self._shown(recorder.folder)
            recorder.failures = [f"interrupted while the report was written; `engram report {shown}` writes it"]
            return
        recorder.failures += gates.failures(decided)
        recorder.failures += _changed(sorted(recorder.changed))
        recorder.failures += _unfailed(outcomes) if session.exitstatus == pytest.ExitCode.OK else []
        if session.exitstatus == pytest.ExitCode.INTERRUPTED and not (recorder.broken_collection or recorder.failures):
            recorder.failures.append("interrupted; the same command with --engram-resume asks for the rest alone")
        gates.to_junit(config.pluginmanager, decided)
        if recorder.unwritten is not None:
            recorder.failures.append(recorder.unwritten)
        if recorder.failures and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _told_of_baselines(self) -> dict[str, Any]:
        """What the manifest has of them, where they were asked for."""
        names = self._parts.options.answer_baselines
        return {"answer_baselines": described(names)} if names else {}

    def _without_texts(
        self, outcomes: Sequence[Outcome], known: Sequence[KnownAnswer]
    ) -> tuple[list[Outcome], list[KnownAnswer]]:
        """What may be passed on: nothing of a text whose licence does not let everybody."""
        withheld = self._parts.withheld
        lines = [withhold(line) if withheld(line.suite) else line for line in outcomes]
        return lines, [withhold_known(one) if withheld(one.suite) else one for one in known]

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        """Put down how many tokens came back, and how long entries are where a memory has texts of its own."""
        if self._tokens.describe() is not None:
            returned.count(outcomes, self._parts.suites(), self._tokens)

    @cached_property
    def _tokens(self) -> Tokens:
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.encoding.tokens import Tokens

        return Tokens(cache_dir() / "tokens")

    # What the run was

    def _manifest(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        keys = vault.of(self._parts.config).keys
        chosen, options = self._parts.methods, self._parts.options
        methods = chosen.selected
        suites = {suite.name: describe(keys[suite.name]) | self._floor(suite) for suite in self._parts.suites()}
        for name, (cut, of) in self._cut(outcomes).items():
            suites[name]["cut"] = {"entries": cut, "of": of}
        items = sum(len(chosen.seeds(method)) for method in methods)
        desk = vault.of(self._parts.config).desk
        lines = [*outcomes, *vault.of(self._parts.config).baselines.values()]
        took = reading.totals(unquoting(line) if self._parts.withheld(line.suite) else line for line in lines)
        answered = {**desk.describe(), "totals": asdict(took)} if desk is not None else None
        return manifest.of(
            k=options.k,
            budget=options.budget,
            tokenizer=self._tokens.describe(),
            methods={method.name: _described(method) for method in methods},
            named=chosen.named(),
            seeds=[seed for method in methods for seed in chosen.seeds(method)],
            suites=suites,
            planned=items * sum(suite["n"] for suite in suites.values()),
            ran=len(outcomes),
            encoder=self._parts.encoder(),
            reader=answered,
            judge=self._answers.describe_judge(),
            root=self._parts.config.rootpath,
            admission=_admission(outcomes),
            again=self._recorder.compared.describe(len(outcomes)),
            changed=sorted(self._recorder.changed),
            seconds=self._recorder.seconds,
        )

    def _continued(self, now: Mapping[str, Any]) -> dict[str, Any]:
        """Whose log it is, and how often the run was continued; where nothing was asked, what was told of it before.

        Args:
            now: the manifest of this part.
        """
        secrets = vault.of(self._parts.config)
        begun, whole = secrets.begun, secrets.whole or {}
        assert begun is not None
        told: dict[str, Any] = {"run_sha256": begun.sha256}
        if begun.resumed:
            told["resumed"] = {"times": begun.resumed, "kept": begun.kept}
        told |= {name: whole[name] for name in ("asked_again", "judge", "reader") if name in whole}
        # Baselines of answers may be new to a run that was complete: what they took comes to what it took then.
        if told.get("reader"):
            told["reader"] = told["reader"] | {"totals": now["reader"]["totals"]}  # over all lines, the kept ones too
        if told.get("judge") and "totals" in told["judge"]:
            told["judge"] = told["judge"] | {"totals": _paid(told["judge"]["totals"], now["judge"]["totals"])}
        return told

    def _floor(self, suite: Suite) -> dict[str, Any]:
        """What knowing nothing would get, and what nobody can exceed, where that is known."""
        from pytest_engram.judging.chance import floors
        from pytest_engram.judging.limits import ceilings, constant
        from pytest_engram.judging.strategies import strategies

        key, k = vault.of(self._parts.config).keys[suite.name], self._parts.options.k
        found = {"floor": dict(floors(suite, key, k)), "strategies": strategies(suite, key)}
        found["ceiling"] = dict(ceilings(suite, key, k))
        if (same := constant(suite, key)) is not None:
            found["constant"] = {"answer": same[0], "metrics": dict(same[1])}
        return {name: values for name, values in found.items() if values}

    def _cut(self, outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
        """By suite whose entries were embedded: how many of the different ones the encoder cuts, and of how many."""
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.encoding.encoders import EncoderSpec
        from pytest_engram.encoding.window import Window

        used = {outcome.suite for outcome in outcomes if outcome.encodings}
        told = self._parts.encoder()
        if told is None or not used:
            return {}
        given = {field.name: told[field.name] for field in fields(EncoderSpec)}
        window = Window(EncoderSpec(**given), cache_dir() / "tokens")
        found = {s.name: window.cut(s.texts()[0], s.name) for s in self._parts.suites() if s.name in used}
        return {name: counts for name, counts in found.items() if counts is not None}

    def _texts(self, outcomes: Sequence[Outcome]) -> dict[str, dict[str, str]]:
        """Excerpts of all entries that some method returned or dropped, for the page: suite, haystack/id, text."""
        found: dict[str, dict[str, str]] = {}
        by_name = {suite.name: suite for suite in self._parts.suites()}
        haystacks = {s.name: {q.id: q.haystack for q in s.questions} for s in by_name.values()}
        shared = {name: len(set(found_in.values())) == 1 for name, found_in in haystacks.items()}
        for outcome in outcomes:
            wanted = [*outcome.ids, *(str(d["id"]) for d in outcome.dropped)]
            suite = by_name.get(outcome.suite)
            if suite is None or not wanted or suite.not_run or WITHHELD in outcome.fields:
                continue
            key = haystacks[outcome.suite][outcome.question_id]
            texts = found.setdefault(outcome.suite, {})
            for id_ in wanted:
                at = id_ if shared[outcome.suite] else f"{outcome.question_id}/{id_}"
                if at not in texts:
                    text = " ".join(self._parts.memories.haystack(suite, key).plain[id_].text.split())
                    texts[at] = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
        return found

    # What a person is told

    def summarise(self, terminal: pytest.TerminalReporter) -> None:
        """Print the tables, what failed the run, and where the page is."""
        if self._results is None:
            self._tell_failures(terminal)
            return
        width = shutil.get_terminal_size().columns
        terminal.section("engram", "=")
        terminal.line(report.terminal(self._results, width, colour=terminal.hasmarkup).rstrip())
        for line in self._answers.lines():
            terminal.line(plain_lines(line))  # it may quote a server
        self._tell_failures(terminal)
        if self._recorder.unwritten is not None:
            return
        terminal.line("")
        terminal.line(f"page: {self._shown(self._recorder.folder / 'results.html')}")

    def _tell_failures(self, terminal: pytest.TerminalReporter) -> None:
        for failure in self._recorder.failures:
            terminal.line(plain_lines(failure), red=True, bold=True)

    def _shown(self, path: Path) -> str:
        here = self._parts.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _described(method: Method) -> dict[str, Any]:
    packages = {name: manifest.version_of(name) for name in method.packages}
    return method.describe() | ({"packages": packages} if packages else {})


def _paid(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Totals of a judge and what it was asked since; what came from the store was paid for before, and is not added."""
    found = dict(before)
    for name in ("asked", "tokens_in", "tokens_out", "cost"):
        parts = before[name], now[name]
        found[name] = None if None in parts else sum(parts)  # one of unknown cost leaves the sum unknown
    return found


def _admission(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """By method: how many memories were asked for an entry that they were given, and how many gave it back."""
    found: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        if "found" in outcome.wrote:
            counts = found.setdefault(outcome.method, {"memories": 0, "found": 0})
            counts["memories"] += 1
            counts["found"] += bool(outcome.wrote["found"])
    return found


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
