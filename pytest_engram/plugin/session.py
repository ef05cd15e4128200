"""One pytest run's state: which methods, which suites, what was prepared, and the memories that are in use."""

from __future__ import annotations

import gc
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.asking import rules
from pytest_engram.memory import Bench, Entry, Memory, MemoryFactory, Method
from pytest_engram.plugin.options import SEED, Options, argument_paths
from pytest_engram.runs.log import Outcome
from pytest_engram.suites.base import Question, Score, Suite
from pytest_engram.suites.files import SUFFIXES, is_suite, walk

if TYPE_CHECKING:
    from pytest_engram.asking.preparation import Prepared
    from pytest_engram.encoding.encoders import EmbeddingStore
    from pytest_engram.plugin.recorder import Recorder
    from pytest_engram.reading import Reader, ReaderSpec
    from pytest_engram.runs.folder import Run

CASES = "pytest_engram.cases"
SHIPPED = ("bm25", "dense", "tide", "loom")  # modules of pytest_engram.methods
ANCHORS = ("dense", "bm25")
_KEPT = 64  # haystacks, and memories, that a process holds at a time


@dataclass(frozen=True, slots=True)
class Haystack:
    """Entries, and the same by id."""

    entries: Sequence[Entry]
    by_id: dict[str, Entry]


class EngramSession:
    """What the hooks call. One in every process: the controller's prepares and records, a worker's runs items."""

    first_seed = SEED

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = Options.of(config)
        self.is_worker = hasattr(config, "workerinput")
        self.prepared: Prepared | None = None
        self.recorder: Recorder | None = None
        self.earlier: Run | None = None
        self._suites: dict[Path, Suite] = {}
        self._collected: dict[Path, Path] = {}  # suite files by where they really are
        self._haystacks: OrderedDict[tuple[str, str], Haystack] = OrderedDict()
        self._memories: OrderedDict[tuple[Any, ...], tuple[Memory, object, object]] = OrderedDict()
        self._benches: dict[tuple[str, int], Bench] = {}
        self._refused: dict[str, str | None] = {}
        self._scored: list[rules.Scored] | None = None
        self._set: list[str] = []  # environment variables that this run added
        self._register_shipped_methods()
        if self.options.methods and config.args_source is not config.ArgsSource.ARGS:
            config.args[:] = self._default_suites()

    # Methods

    def _register_shipped_methods(self) -> None:
        from importlib import import_module

        for name in SHIPPED:
            module = import_module(f"pytest_engram.methods.{name}")
            self.config.pluginmanager.register(module, f"engram-{name}")

    def methods(self) -> dict[str, Method]:
        """All methods that plugins and conftest files brought, by name; a conftest's overrides a shipped one.

        Raises:
            pytest.UsageError: two have one name, so that nobody could tell which of them was measured.
        """
        found: dict[str, Method] = {}
        for _, plugin in self.config.pluginmanager.list_name_plugin():  # in the order of their registration
            for value in list(getattr(plugin, "__dict__", {}).values()):
                info = getattr(value, "__engram_method__", None) if callable(value) else None
                if not isinstance(info, Method) or (info.name in found and _is_shipped(info)):
                    continue
                other = found.get(info.name, info)
                if _place(other) != _place(info) and not _is_shipped(other):
                    places = f"{_place(other)} and {_place(info)}"
                    raise pytest.UsageError(f"two methods have the name {info.name!r}, in {places}; rename one")
                found[info.name] = info
        return found

    def selected(self) -> list[Method]:
        """The named methods, and, unless they are to run alone, their ablations, controls and anchors.

        Raises:
            pytest.UsageError: a name is no method's.
        """
        known = self.methods()
        names = list(self.options.methods) or ["all"]
        if "all" in names:
            names = [name for name in names if name != "all"] + sorted(known, key=_shipped_last(known))
        chosen: dict[str, Method] = {}
        for name in names:
            chosen[name] = _known(known, name, "--engram-method")
        if self.options.controls:
            for name in list(chosen):
                controls = chosen[name].controls
                for other in ANCHORS if controls is None else controls:
                    chosen.setdefault(other, _known(known, other, f"controls of {name}"))
        return list(chosen.values())

    def named(self) -> list[str]:
        """The methods that the run is about."""
        if self.options.methods and "all" not in self.options.methods:
            return list(self.options.methods)
        experiments = [m.name for m in self.selected() if m.role == "experiment"]
        return experiments or [m.name for m in self.selected()]

    def seeds(self, method: Method) -> list[int]:
        """One seed, or `--engram-seeds` for a stochastic method."""
        return [SEED + i for i in range(self.options.seeds if method.stochastic else 1)]

    # Suites

    def _default_suites(self) -> list[str]:
        given = self.config.getini("engram_cases")
        for path in given:
            if not path.exists():
                raise pytest.UsageError(f"engram_cases: {path} does not exist; correct it in {self.config.inipath}")
        return [str(path) for path in given] or [str(shipped_cases())]

    def shipped_nodeid(self, path: Path) -> str | None:
        """`cases/pilot/x.yaml` for a shipped suite that lies outside the root directory, else None."""
        if path.is_relative_to(self.config.rootpath) or not path.is_relative_to(shipped_cases()):
            return None
        return f"cases/{path.relative_to(shipped_cases()).as_posix()}"

    def collects(self, path: Path, parent: pytest.Collector) -> bool:
        """Whether a file is a suite that this run was asked for, and has not met yet by way of another link."""
        if path.suffix not in SUFFIXES or not (self.options.methods or parent.session.isinitpath(path)):
            return False
        return is_suite(path) and self._collected.setdefault(path.resolve(), path) == path

    def suite_paths(self) -> list[Path]:
        """Suite files under the arguments, in the order in which pytest will find them."""
        ignored = tuple(self.config.getini("norecursedirs"))
        found: dict[Path, None] = {}
        for path in argument_paths(self.config):
            if path.is_dir() and self.options.methods:
                found.update(dict.fromkeys(p for p in walk(path, ignored) if is_suite(p)))
            elif is_suite(path):
                found[path.resolve()] = None
        return list(found)

    def suite(self, path: Path) -> Suite:
        """A loaded suite.

        Raises:
            SuiteError: the file is wrong.
        """
        path = path.resolve()
        if path not in self._suites:
            from pytest_engram.asking import preparation

            assert self.prepared is not None
            self._suites[path] = preparation.load(path, self.prepared, self.options.data, self._suites.values())
            self._scored = None
        return self._suites[path]

    def loaded(self) -> list[Suite]:
        """The suites of the run, in their order."""
        return list(self._suites.values())

    def haystack(self, suite: Suite, key: str) -> Haystack:
        """The entries of a haystack; kept while it is in use.

        Raises:
            ValueError: two entries have one id.
        """
        at = (suite.name, key)
        if at not in self._haystacks:
            entries = suite.haystack(key)
            by_id = {entry.id: entry for entry in entries}
            if len(by_id) != len(entries):
                raise ValueError(f"{suite.name}: two entries of haystack {key!r} have one id")
            self._haystacks[at] = Haystack(entries, by_id)
            if len(self._haystacks) > _KEPT:
                self._haystacks.popitem(last=False)
        self._haystacks.move_to_end(at)
        return self._haystacks[at]

    # Memories

    @cached_property
    def store(self) -> EmbeddingStore:
        """The embeddings, mapped; the encoder is loaded only for texts that nobody embedded before.

        Raises:
            NotRun: there is no encoder.
        """
        from pytest_engram.asking import preparation

        assert self.prepared is not None
        return preparation.store(self.prepared, self.options, self.terminal())

    def bench(self, suite: Suite, seed: int) -> Bench:
        """What a memory over this suite's entries is given."""
        from pytest_engram.basics.cache import cache_dir

        if (suite.name, seed) not in self._benches:
            self._benches[suite.name, seed] = Bench(
                k=self.options.k,
                seed=seed,
                embeddings=lambda: self.store,
                cache_dir=cache_dir(),
                tokenize=suite.tokenize,
                rank=suite.rank,
                lexical=suite.lexical,
                training=self._training_split,
            )
        return self._benches[suite.name, seed]

    def memory(
        self,
        method: Method,
        factory: MemoryFactory,
        seed: int,
        suite: Suite,
        haystack: Haystack,
        *,
        second: bool = False,
    ) -> Memory:
        """The memory of a method over a haystack: filled once in each process, and kept while it is in use.

        The `second` one holds the same and is asked only now and then, to see whether it answers alike.
        """
        __tracebackhide__ = True
        from pytest_engram.asking.runner import fill

        # By identity, and what is identified is kept with the memory, so that no later object can have its address.
        key = (method.name, seed, id(factory), id(haystack.entries), suite.tokenize, suite.rank, second)
        if key not in self._memories:
            memory = fill(factory, self.bench(suite, seed), haystack.entries)
            self._memories[key] = (memory, factory, haystack.entries)
            if len(self._memories) > _KEPT:
                self._memories.popitem(last=False)
        self._memories.move_to_end(key)
        return self._memories[key][0]

    # Rules

    def refused(self, method: Method) -> str | None:
        """Why a method may not be scored: it learnt from scored data. None where it may."""
        if method.name not in self._refused:
            from pytest_engram.asking import training

            self._refused[method.name] = training.refusal(method, self.options.data, self.scored())
        return self._refused[method.name]

    def scored(self) -> list[rules.Scored]:
        """Every pilot question: those of the shipped pilot sets and those of this run."""
        if self._scored is None:
            from pytest_engram.asking import training

            self._scored = training.scored([shipped_cases(), *self.suite_paths()], self.loaded())
        return self._scored

    def _training_split(self, name: str) -> list[Any]:
        from pytest_engram.asking import training

        return training.split(name, self.options.data, self.scored())

    # Readers

    @cached_property
    def reader_spec(self) -> ReaderSpec | None:
        """Who answers; None: nobody.

        Raises:
            pytest.UsageError: there is no such reader.
        """
        from pytest_engram.reading import ReaderError, ReaderSpec, resolve

        if self.is_worker:
            assert self.prepared is not None
            return ReaderSpec(**self.prepared.reader) if self.prepared.reader else None
        try:
            return resolve(self.options.reader, self.options.data)
        except ReaderError as error:
            raise pytest.UsageError(f"--engram-reader: {error}") from None

    @cached_property
    def _reader(self) -> Reader | None:
        from pytest_engram.encoding.encoders import cache_dir
        from pytest_engram.reading import make

        return make(self.reader_spec, cache_dir()) if self.reader_spec else None

    def read(self, suite: Suite, question: Question, entries: Sequence[Entry], score: Score, outcome: Outcome) -> None:
        """Add SubEM where the suite has it: from the reader's answer, else as not run."""
        if "subem" not in suite.metrics or question.excluded:
            return
        from pytest_engram.reading import ReaderUnavailable

        score.metrics["subem"] = None
        if self.reader_spec is None or self._reader is None:
            score.missing["subem"] = "no reader: choose one with --engram-reader"
            return
        outcome.reader = self.reader_spec.label
        try:
            answer = self._reader.answer(question.query, entries)
        except ReaderUnavailable as reason:
            score.missing["subem"] = str(reason)
            return
        from pytest_engram.judging.metrics import sub_em

        score.metrics["subem"] = float(sub_em(answer.text, question.answers))
        outcome.answer = answer.text
        outcome.fields |= answer.fields()

    def describe_reader(self) -> dict[str, Any] | None:
        """The reader and what its answers took, for the manifest; None: nobody answers."""
        if self.reader_spec is None:
            return None
        from pytest_engram.reading import totals

        outcomes = self.recorder.outcomes.values() if self.recorder else ()
        return {**self.reader_spec.describe(), "totals": asdict(totals(outcomes))}

    # Outcomes

    def blank(self, suite: Suite, question: Question, method: str, seed: int, name: str) -> Outcome:
        """An outcome that nothing is known of yet."""
        return Outcome(
            suite=suite.name,
            question_id=question.id,
            method=method,
            seed=seed,
            k=self.options.k,
            ids=[],
            metrics=dict.fromkeys(() if question.excluded else suite.metrics),
            status="ok",
            item=name,
            query=question.query,
        )

    # The run

    def start(self) -> None:
        """Controller: prepare everything once. Worker: take over what was prepared."""
        from pytest_engram.asking import preparation
        from pytest_engram.plugin import gates

        if self.is_worker:
            self.prepared = preparation.Prepared.from_json(self.config.workerinput["engram"])  # type: ignore[attr-defined]
            return
        self.selected()  # an unknown method is told before anything long begins
        self.earlier = gates.earlier(self.options)  # now: this run may write to the same folder
        self.prepared = preparation.Prepared(reader=asdict(self.reader_spec) if self.reader_spec else None)
        preparation.prepare(self)
        if not self.config.option.collectonly:
            from pytest_engram.plugin.recorder import Recorder

            self.recorder = Recorder(self)
            self.config.pluginmanager.register(self.recorder, "engram-recorder")
        if getattr(self.config.option, "dist", "no") != "no":
            self._give_workers_one_thread_each()

    def _give_workers_one_thread_each(self) -> None:
        # Workers already fill the cores. On small matrices, a BLAS that starts a thread a core in each of them as well
        # spends more time waiting than computing. Workers inherit the environment; what a user has set stays.
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            if name not in os.environ:
                os.environ[name] = "1"
                self._set.append(name)

    def handover(self) -> Any:
        """What a worker needs to know, as JSON."""
        assert self.prepared is not None
        return self.prepared.to_json()

    def header(self) -> list[str]:
        """Lines for pytest's header."""
        return [f"engram: k={self.options.k}, methods: {', '.join(m.name for m in self.selected())}"]

    def collected(self) -> None:
        """Thousands of items, and all modules, stay until the end: the garbage collector need not visit them again."""
        gc.freeze()

    def finish(self, session: pytest.Session) -> None:
        """Write the report, and fail the run where the user asked for it."""
        if self.recorder is None:
            return
        # A report makes hundreds of thousands of small objects that live until it is written: looking for garbage among
        # them again and again takes a third of the time, and finds none.
        enabled = gc.isenabled()
        gc.disable()
        try:
            self.recorder.finish(session)
        finally:
            if enabled:
                gc.enable()

    def summarise(self, terminal: pytest.TerminalReporter) -> None:
        """Print the tables."""
        if self.recorder is not None:
            self.recorder.summarise(terminal)

    def terminal(self) -> Any:
        """The stream that pytest writes to, for progress."""
        return self.config.get_terminal_writer()._file

    def close(self) -> None:
        """Let go of memories, mapped files and the recorder's log."""
        self._memories.clear()
        for name in self._set:
            os.environ.pop(name, None)
        if self.recorder is not None:
            self.recorder.close()


def shipped_cases() -> Path:
    """The folder of the shipped suites."""
    from importlib.resources import files

    return Path(str(files(CASES)))


def _place(info: Method) -> str:
    code = info.function.__code__
    # One conftest can be met twice, through a link to its folder.
    return f"{os.path.realpath(code.co_filename)}:{code.co_firstlineno}"


def _is_shipped(info: Method) -> bool:
    return info.function.__module__.startswith("pytest_engram.methods")


def _shipped_last(known: dict[str, Method]) -> Any:
    return lambda name: (_is_shipped(known[name]), list(known).index(name))


def _known(known: dict[str, Method], name: str, where: str) -> Method:
    if name in known:
        return known[name]
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise pytest.UsageError(
        f"{where}: no method {name!r}{hint} Known: {', '.join(sorted(known))}. A method is a fixture made by @method, "
        "in the conftest.py of the root directory or in a plugin"
    )
