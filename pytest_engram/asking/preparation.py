"""What is done once, before the first item: embed texts, write what is shared, build indexes."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.asking.memories import Haystack, Memories, close_one, empty
from pytest_engram.basics import sealed
from pytest_engram.basics.cache import CacheError, locked, writing
from pytest_engram.encoding.modelfolder import EncoderError
from pytest_engram.memory import Method
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.encoders import EmbeddingStore

_NOT_ITS_FAULT = (pytest.UsageError, pytest.exit.Exception, KeyboardInterrupt, CacheError, EncoderError)

LARGE = 256  # entries of a haystack from which its indexes are worth building ahead


def chosen(suite: Suite, methods: Sequence[Method], keyword: str) -> bool:
    """Whether `-k` leaves an item of the suite: what it leaves out is not worth minutes of embedding."""
    if not keyword:
        return True
    from _pytest.mark.expression import Expression

    try:
        expression = Expression.compile(keyword)
    except Exception:  # a SyntaxError, before pytest 9 its own ParseError: pytest itself will say what is wrong
        return True
    file = suite.path.name.lower()
    names = (f"{question.name}[{method.name}".lower() for question in suite.questions for method in methods)
    return any(
        expression.evaluate(lambda part, /, **_: part.lower() in file or part.lower() in name)  # noqa: B023
        for name in names
    )


def embed(suites: Sequence[Suite], store: EmbeddingStore) -> None:
    """Embed every passage and query of the suites, as far as that was not done before."""
    passages: dict[str, None] = {}
    queries: dict[str, None] = {}
    for suite in suites:
        some, asked = suite.texts()
        passages.update(dict.fromkeys(some))
        queries.update(dict.fromkeys([*asked, *suite.given()]))
    store.prepare(passages, queries, f"embedding with {store.spec.name}")


def try_out(suites: Sequence[Suite], methods: Sequence[Method], memories: Memories) -> None:
    """Let the methods that do not say whether they embed show it, on one small haystack and one question.

    Where one asks its bench for an embedding, everything is embedded at once. What it raises is told by its items.
    """
    asked = [(len(suite.haystack(q.haystack)), suite, q) for suite in suites for q in suite.runnable()[:1]]
    if not asked:
        return
    _, suite, question = min(asked, key=lambda one: one[0])
    haystack = memories.haystack(suite, question.haystack)
    for method in methods:
        if method.embeds is None and not method.shared and simple(method):
            try:
                bench = memories.bench(suite, method, 0, haystack, "trial")
                held = memories.fill(memories.factory(method), bench, haystack)
                memories.calls.call(held.memory.search, question.query or haystack.entries[0].text, memories.k)
                close_one(memories.calls, held.memory)
            except _NOT_ITS_FAULT:
                raise
            except BaseException:
                continue


def simple(method: Method) -> bool:
    """Whether a method's fixture can be called here: it needs no other, and lives as long as the run."""
    needs_others = inspect.signature(method.function).parameters
    return not needs_others and method.scope == "session" and not inspect.isgeneratorfunction(method.function)


def write_shared(
    suites: Sequence[Suite],
    methods: Sequence[Method],
    seeds: Callable[[Method], list[int]],
    memories: Memories,
    kept: Path,
    stream: Any,
    needed: Collection[tuple[str, str, str, int]] | None = None,
) -> None:
    """Write every haystack for the methods whose memories are shared, once, and close what was written.

    What that took, or why it failed, is in `memories.written`, for the workers as well. A memory that is kept is not
    written where an earlier run has done so, into the folder `kept`. `needed` are suite, haystack, method and seed of
    what somebody will ask; None: all of them.

    Raises:
        pytest.UsageError: a method is shared and its fixture needs others, which only an item can have.
        CacheError: the cache can't be written.
    """
    from pytest_engram.basics.progress import progress

    shared = [method for method in methods if method.shared]
    for method in shared:
        if needs := ", ".join(inspect.signature(method.function).parameters):
            raise pytest.UsageError(
                f"@method(shared=True): {method.name} needs the fixture {needs}, and is written before there are any; "
                "make what it needs in the memory itself"
            )
    work: dict[str, tuple[Suite, Haystack, Method, int]] = {}
    for suite in suites:
        for key in dict.fromkeys(question.haystack for question in suite.runnable()):
            haystack = memories.haystack(suite, key)
            for method in shared:
                for seed in seeds(method):
                    if needed is not None and (suite.name, key, method.name, seed) not in needed:
                        continue
                    work.setdefault(memories.namespace(method, seed, haystack), (suite, haystack, method, seed))
    with progress("writing", len(work), "haystack", file=stream, patience=2.0) as bar:
        for namespace, (suite, haystack, method, seed) in work.items():
            memories.written[namespace] = _write(memories, namespace, suite, haystack, method, seed, kept)
            bar.advance()


def _write(
    memories: Memories, namespace: str, suite: Suite, haystack: Haystack, method: Method, seed: int, kept: Path
) -> dict[str, Any]:
    if method.keep is None:
        return _written(memories, suite, haystack, method, seed)
    place = kept / hashlib.sha256(f"{namespace}\0{method.keep}\0{method.encoder}".encode()).hexdigest()[:32]
    told = place / "written.json"
    with locked(place.with_suffix(".lock")):
        with suppress(OSError):
            found = sealed.recall(told)
            if found and found["encoder"] in (None, memories.encoder()):
                if found.get("sha256") == _digest(place / "store"):
                    return found
                sealed.note(f"{place}: a memory that was kept is not as it was written; written anew")
        empty(place)
        with writing(place):
            (place / "store").mkdir(parents=True)
        memories.written[namespace] = {"folder": str(place / "store")}
        found = _written(memories, suite, haystack, method, seed) | {"folder": str(place / "store")}
        if "problem" in found:
            empty(place)
        else:
            with writing(place):
                record = {"folder": found["folder"], "wrote": {}, "encoder": found["encoder"]}
                sealed.keep(told, record | {"sha256": _digest(place / "store")})
    return found


def seal_kept(memories: Memories, kept: Path) -> None:
    """Seal what is kept again, as the run leaves it: a database may write to its files as it is asked."""
    for told in memories.written.values():
        place = Path(told.get("folder", "")).parent
        if not place.is_relative_to(kept) or "problem" in told:
            continue
        with suppress(OSError), locked(place.with_suffix(".lock")):
            record = sealed.recall(place / "written.json")
            if record and record["sha256"] != (now := _digest(place / "store")):
                sealed.keep(place / "written.json", record | {"sha256": now})


_PASSING = ("*-wal", "*-shm", "*-journal", "*.lock", "LOCK", "*.log", "LOG", "LOG.old", "*.pid")


def _digest(folder: Path) -> str:
    """The sha256, in hex, of all files under a folder and of their names.

    Left out is what databases write as they are opened and asked: logs, locks, and what is not yet in the main file.
    """
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not any(fnmatch(path.name, pattern) for pattern in _PASSING):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _written(memories: Memories, suite: Suite, haystack: Haystack, method: Method, seed: int) -> dict[str, Any]:
    try:
        bench = memories.bench(suite, method, seed, haystack)
        held = memories.fill(memories.factory(method), bench, haystack)
        usage = memories.usage(held)
    except _NOT_ITS_FAULT:
        raise
    except BaseException as error:  # the method's own fault, `sys.exit` and `pytest.skip` too: its items will tell
        return {"problem": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
    close_one(memories.calls, held.memory)
    return {"wrote": held.wrote, "usage": usage, "encoder": memories.encoder() if bench.embeds else None}


def index(
    suites: Sequence[Suite],
    methods: Sequence[Method],
    seeds: Callable[[Method], list[int]],
    memories: Memories,
    stream: Any,
    needed: Collection[tuple[str, str, str, int]] | None = None,
) -> None:
    """Let the memories over large haystacks build their indexes now, where a method needs no other fixture.

    `needed` is as in `write_shared`.
    """
    from pytest_engram.basics.progress import progress

    alone = [method for method in methods if not method.shared and simple(method)]
    seen: set[int] = set()
    work = []
    for suite in suites:
        for key in dict.fromkeys(question.haystack for question in suite.runnable()):
            entries = suite.haystack(key)
            if len(entries) >= LARGE and id(entries) not in seen:
                seen.add(id(entries))
                found = [(suite, key, method, seed) for method in alone for seed in seeds(method)]
                work += [one for one in found if needed is None or (suite.name, key, one[2].name, one[3]) in needed]
    factories: dict[str, Any] = {}
    with progress("indexing", len(work), "haystack", file=stream, patience=2.0) as bar:
        for suite, key, method, seed in work:
            try:
                if method.name not in factories:
                    factories[method.name] = memories.factory(method)
                memories.hold(method, factories[method.name], seed, suite, memories.haystack(suite, key))
            except _NOT_ITS_FAULT:
                raise
            except BaseException:  # the method's own fault, `sys.exit` and `pytest.skip` too: its items will show it
                pass
            bar.advance()
