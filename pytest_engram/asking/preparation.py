"""What is done once, before the first item: find data, embed texts, build indexes. Workers map the result."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.suites import files
from pytest_engram.suites.base import DataSource, NotRun, Suite, SuiteError

if TYPE_CHECKING:
    from pytest_engram.encoding.encoders import EmbeddingStore
    from pytest_engram.memory import Method
    from pytest_engram.plugin.options import Options
    from pytest_engram.plugin.session import EngramSession

LARGE = 256  # entries of a haystack from which its indexes are worth building ahead


@dataclass
class Prepared:
    """What a worker needs to know. `suites` maps a suite file to where its data is, or to why it is not."""

    suites: dict[str, dict[str, str | None]] = field(default_factory=dict)
    encoder: dict[str, Any] | None = None
    reader: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a worker's channel."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Prepared:
        """The same, in the worker."""
        return cls(**record)


def prepare(session: EngramSession) -> None:
    """All of it. A suite file that can't be read is left to its collection, which reports it."""
    assert session.prepared is not None
    suites: list[Suite] = []
    for path in session.suite_paths():
        try:
            suites.append(session.suite(path))
        except SuiteError:
            continue
    if session.config.option.collectonly:
        return
    methods = session.selected()
    runnable = [s for s in suites if s.not_run is None and s.questions and _chosen(session, s, methods)]
    if any(method.embeds for method in methods) and runnable:
        _embed(session, runnable)
    _index(session, methods, runnable)


def _chosen(session: EngramSession, suite: Suite, methods: list[Method]) -> bool:
    """Whether `-k` leaves an item of the suite: what it leaves out is not worth minutes of embedding."""
    if not session.config.option.keyword:
        return True
    from _pytest.mark.expression import Expression

    try:
        expression = Expression.compile(session.config.option.keyword)
    except Exception:  # a SyntaxError, before pytest 9 its own ParseError: pytest itself will say what is wrong
        return True
    file = suite.path.name.lower()
    names = (f"{question.name}[{method.name}".lower() for question in suite.questions for method in methods)
    return any(
        expression.evaluate(lambda part, /, **_: part.lower() in file or part.lower() in name)  # noqa: B023
        for name in names
    )


def load(path: Path, prepared: Prepared, folder: Path | None, others: Collection[Suite]) -> Suite:
    """Read a suite file and its data, which may be in `folder`, that of `--engram-data`.

    Raises:
        SuiteError: the file is wrong, or has the name of another suite of this run.
    """
    data, lines = files.read(path)
    suite = _pilot(path, data, lines, prepared, folder) if _kind(path, data, lines) == "pilot" else None
    if suite is None:
        from pytest_engram.suites import microtests

        where = _data_of(path, prepared, lambda: microtests.prepare(path, data, lines, folder))
        suite = microtests.load(path, data, lines, where["path"])
        suite.not_run = where["reason"]
    for other in others:
        if other.name == suite.name:
            raise SuiteError(
                path, lines[("name",)], "name", f"{suite.name!r} is also the name of {other.path}; rename one"
            )
    names: set[str] = set()
    for question in suite.questions:
        if question.name in names:
            raise SuiteError(path, None, "", f"two items are named {question.name!r}; rename one")
        names.add(question.name)
    return suite


def _kind(path: Path, data: dict[str, Any], lines: files.Lines) -> str:
    kind = data.get("engram")
    if kind not in ("pilot", "micro"):
        raise SuiteError(path, lines[("engram",)], "engram", f"must be `pilot` or `micro`; got {kind!r}")
    return str(kind)


def _pilot(path: Path, data: dict[str, Any], lines: files.Lines, prepared: Prepared, folder: Path | None) -> Suite:
    name = data.get("source")
    if not isinstance(name, str) or name not in files.sources():
        problem = "this field is missing; add it" if name is None else f"no data source {name!r}"
        raise SuiteError(path, lines[("source",)], "source", f"{problem}; known are {', '.join(files.sources())}")
    source: DataSource = files.source(name)
    spec = files.validate(source.Spec, data, path, lines)
    where = _data_of(path, prepared, lambda: source.prepare(spec, folder))
    suite = source.load(spec, path, Path(where["path"]) if where["path"] else None)
    suite.not_run = where["reason"] or suite.not_run
    return suite


def _data_of(path: Path, prepared: Prepared, find: Any) -> dict[str, str | None]:
    # A worker is told by the controller; only where it meets a suite that the controller did not see, it looks itself.
    if str(path) not in prepared.suites:
        try:
            found = find()
            prepared.suites[str(path)] = {"path": None if found is None else str(found), "reason": None}
        except NotRun as reason:
            prepared.suites[str(path)] = {"path": None, "reason": str(reason)}
    return prepared.suites[str(path)]


def store(prepared: Prepared, options: Options, stream: Any) -> EmbeddingStore:
    """The embeddings of the run's encoder; progress goes to `stream`.

    Raises:
        pytest.UsageError: there is no such encoder.
    """
    from pytest_engram.basics.progress import progress
    from pytest_engram.encoding.encoders import EmbeddingStore, EncoderError, EncoderSpec, cache_dir, resolve

    if prepared.encoder is None:
        try:
            prepared.encoder = asdict(resolve(options.encoder, options.data))
        except EncoderError as error:
            raise pytest.UsageError(f"--engram-encoder: {error}") from None
    spec = EncoderSpec(**prepared.encoder)
    return EmbeddingStore(spec, cache_dir(), lambda label, total: progress(label, total, file=stream))


def _embed(session: EngramSession, suites: list[Suite]) -> None:
    passages: dict[str, None] = {}
    queries: dict[str, None] = {}
    for suite in suites:
        some, asked = suite.texts()
        passages.update(dict.fromkeys(some))
        queries.update(dict.fromkeys(asked))
    session.store.prepare(passages, queries, f"embedding with {session.store.spec.name}")


def _index(session: EngramSession, methods: list[Method], suites: list[Suite]) -> None:
    """Let the memories over large haystacks build their indexes now, where a method needs no other fixture."""
    from pytest_engram.basics.progress import progress

    simple = [m for m in methods if not inspect.signature(m.function).parameters and m.scope == "session"]
    simple = [m for m in simple if not inspect.isgeneratorfunction(m.function)]
    seen: set[int] = set()
    work = []
    for suite in suites:
        for key in dict.fromkeys(question.haystack for question in suite.questions):
            entries = suite.haystack(key)
            if len(entries) >= LARGE and id(entries) not in seen:
                seen.add(id(entries))
                work += [(suite, key, method, seed) for method in simple for seed in session.seeds(method)]
    with progress("indexing", len(work), "haystack", file=session.terminal(), patience=2.0) as bar:
        for suite, key, method, seed in work:
            try:
                session.memory(method, _once(method), seed, suite, session.haystack(suite, key))
            except (pytest.UsageError, pytest.exit.Exception, KeyboardInterrupt):
                raise
            except BaseException:  # the method's own fault, `sys.exit` and `pytest.skip` too: its items will show it
                pass
            bar.advance()


_factories: dict[str, Any] = {}


def _once(method: Method) -> Any:
    return _factories.setdefault(method.name, method.function())
