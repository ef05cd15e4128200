"""What is held while questions are asked: haystacks, and the memories that were filled with them."""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_engram.asking.calls import Calls
from pytest_engram.asking.watch import Watch, theirs
from pytest_engram.memory import Bench, Entry, Memory, MemoryFactory, Method
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.encoders import EmbeddingStore

_KEPT = 64  # haystacks, and memories, that a process holds at a time
_OPEN = 2  # of a method and seed, where its memories have to be closed


class Empty(Exception):
    """A memory that does not hold what it was given. The message is one line.

    Attributes:
        told: whether an item has failed of it: one is enough.
    """

    told = False


class Unwritten(Exception):
    """A memory that could not be filled, and is not tried again. The message is one line."""


@dataclass(frozen=True, slots=True)
class Haystack:
    """Entries as a memory gets them: their ids are unique over all haystacks, and say nothing.

    Attributes:
        entries: in time order.
        by_id: the benchmark's own entries, by the ids that the memory gets.
        plain: the benchmark's own entries, by its own ids.
        tag: what the ids begin with that the memory gets; the same for the same entries, in any process.
    """

    entries: Sequence[Entry]
    by_id: dict[str, Entry]
    plain: dict[str, Entry]
    tag: str

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Haystack:
        """With the benchmark's entries.

        Raises:
            ValueError: two entries have one id.
        """
        digest = hashlib.sha256()
        for entry in entries:
            said = f"{entry.id}\0{entry.text}\0{entry.time!r}\0{entry.source}\0"
            digest.update(said.encode("utf-8", "surrogatepass"))
        tag = f"{digest.hexdigest()[:8]}-"
        by_id = {tag + entry.id: entry for entry in entries}
        plain = {entry.id: entry for entry in entries}
        if len(by_id) != len(entries):
            raise ValueError("two entries have one id")
        return cls([entry._replace(id=id_) for id_, entry in by_id.items()], by_id, plain, tag)


@dataclass
class Held:
    """A memory in use.

    Attributes:
        memory: itself.
        bench: that it was given.
        factory: that made it; held, so that no later one can have its address.
        wrote: what filling it took, until an item has put that down.
        admitted: whether it was asked for an entry that it was given.
        counted: whether what filling such a one took stands in the log already.
        used: what it had used when it was last asked.
    """

    memory: Memory
    bench: Bench
    factory: object
    wrote: dict[str, Any] = field(default_factory=dict)
    admitted: bool = False
    counted: bool = False
    used: dict[str, float] = field(default_factory=dict)


class Memories:
    """The haystacks and memories that are in use, and the benches that memories are given.

    Args:
        k: of equal k.
        store: gives the embeddings; the encoder is loaded only for texts that nobody embedded before.
        training: gives the questions of a training split, checked.
        calls: how memories are called.
        folder: gives the folder in which this run's memories have theirs.
        encoder: gives the hash of the run's encoder.
        run: a word that no other run has.
        worker: the name of this process among those of the run; empty for the one that prepares.
    """

    def __init__(
        self,
        k: int,
        store: Callable[[], EmbeddingStore],
        training: Callable[[str], list[Any]] | None = None,
        *,
        calls: Calls | None = None,
        folder: Callable[[], Path] | None = None,
        encoder: Callable[[], str] = str,
        run: str = "",
        worker: str = "",
    ) -> None:
        self.k = k
        self.calls = calls or Calls()
        self._store = store
        self._training = training
        self._folder = folder
        self.encoder = encoder
        self.run = run
        self.watch = Watch({})  # notes what methods open; the session puts one there that knows what they may not
        self._worker = worker
        self._haystacks: OrderedDict[int, tuple[Haystack, object]] = OrderedDict()
        self._held: OrderedDict[tuple[Any, ...], Held] = OrderedDict()
        self._failed: dict[tuple[Any, ...], Exception] = {}
        self._times: Counter[str] = Counter()
        # Method, seed and haystack of what an earlier part of this run, which is continued, has filled and put down.
        self.filled: Collection[tuple[str, int, str]] = frozenset()
        self.written: dict[str, dict[str, Any]] = {}  # by namespace: what is shared and was written by the controller

    def haystack(self, suite: Suite, key: str) -> Haystack:
        """The entries of a haystack; kept while it is in use.

        Raises:
            ValueError: two entries have one id.
        """
        entries = suite.haystack(key)
        # By identity, and what is identified is kept with it, so that no later object can have its address.
        if id(entries) not in self._haystacks:
            try:
                self._haystacks[id(entries)] = Haystack.of(entries), entries
            except ValueError as error:
                raise ValueError(f"{suite.name}: haystack {key!r}: {error}") from None
            if len(self._haystacks) > _KEPT:
                self._haystacks.popitem(last=False)
        self._haystacks.move_to_end(id(entries))
        return self._haystacks[id(entries)][0]

    def bench(self, suite: Suite, method: Method, seed: int, haystack: Haystack, use: str = "") -> Bench:
        """What a memory of a method over a haystack is given; `use` tells the second one from the first."""
        from pytest_engram.basics.cache import cache_dir

        self.watch.whose = method.name
        namespace = self.namespace(method, seed, haystack, use)
        if not method.shared or use:
            # One that was closed and is made anew finds nothing of the first.
            self._times[namespace] += 1
            namespace += f"-{self._times[namespace]}" if self._times[namespace] > 1 else ""
        return Bench(
            k=self.k,
            seed=seed,
            embeddings=self._store,
            cache_dir=cache_dir(),
            tokenize=suite.tokenize,
            rank=suite.rank,
            lexical=suite.haystacks.lexical,
            training=self._training,
            namespace=namespace,
            folder=lambda: self.folder_of(namespace, method),
        )

    def factory(self, method: Method) -> MemoryFactory:
        """What makes the memories of a method whose fixture needs no other."""
        __tracebackhide__ = True
        self.watch.whose = method.name
        return theirs(method.function)  # type: ignore[no-any-return]

    def namespace(self, method: Method, seed: int, haystack: Haystack, use: str = "") -> str:
        """A name that no other memory of the run has. What is shared has the same one in every process."""
        # Two names that differ in what can't stand in a namespace must not meet.
        plain = hashlib.sha256(method.name.encode()).hexdigest()[:4]
        readable = "".join(c if c.isascii() and c.isalnum() else "-" for c in method.name)
        # What is kept must be found again by the next run; what is not must not meet what another run left.
        run = self.run if method.keep is None else hashlib.sha256(method.keep.encode()).hexdigest()[:6]
        parts = ["engram", run, f"{readable}-{plain}", str(seed), haystack.tag.rstrip("-"), use]
        return "-".join(filter(None, [*parts, "" if method.shared and not use else self._worker]))

    def folder_of(self, namespace: str, method: Method) -> Path:
        """The folder of a memory."""
        if method.keep is not None and namespace in self.written:
            return Path(self.written[namespace]["folder"])
        if self._folder is None:
            raise RuntimeError("this run has no folder for memories")
        place = self._folder() / namespace
        place.mkdir(parents=True, exist_ok=True)
        return place

    def hold(
        self,
        method: Method,
        factory: MemoryFactory,
        seed: int,
        suite: Suite,
        haystack: Haystack,
        *,
        admit: Callable[[Held], None] | None = None,
    ) -> Held:
        """The memory of a method over a haystack: filled once in each process, and kept while it is in use.

        One that is shared is filled by the controller alone; here it only finds what was written. `admit` is called
        once, and raises `Empty` where there is nothing to be asked.

        Raises:
            Exception: what a call of the memory raised.
            Unwritten: it raised before, and is not tried again.
            Empty: nothing is held.
        """
        __tracebackhide__ = True
        key = (method.name, seed, id(factory), haystack.tag, suite.tokenize, suite.rank)
        failure = self._failed.get(key)
        if isinstance(failure, (Empty, Unwritten)):
            raise failure
        if failure is not None:
            why = f"{type(failure).__name__}: {' '.join(str(failure).split())}"[:300]
            raise Unwritten(f"{method.name}: its haystack could not be written, and is not tried again: {why}")
        if key not in self._held:
            try:
                self._held[key] = self._made(method, factory, seed, suite, haystack)
            except Exception as error:
                self._failed[key] = error
                raise
            self._let_go(key)
            if (method.name, seed, haystack.tag) in self.filled:
                self._held[key].counted = True
                self.usage(self._held[key])
        held = self._held[key]
        self._held.move_to_end(key)
        if admit is not None and not held.admitted:
            held.admitted = True
            try:
                admit(held)
            except Empty as error:
                self._failed[key] = error
                self._close(key)
                raise
        return held

    def _made(self, method: Method, factory: MemoryFactory, seed: int, suite: Suite, haystack: Haystack) -> Held:
        __tracebackhide__ = True
        if not method.shared:
            return self.fill(factory, self.bench(suite, method, seed, haystack), haystack)
        bench = self.bench(suite, method, seed, haystack)
        told = self.written.get(bench.namespace)
        if told is not None and "problem" in told:
            raise Unwritten(
                f"{method.name}: its haystack could not be written, and is not tried again: {told['problem']}"
            )
        if told is None:
            if self._worker:
                raise Unwritten(f"{method.name}: its haystack was not written when the run was prepared")
            return self.fill(factory, bench, haystack)
        return Held(theirs(factory, bench), bench, factory)  # what writing it took is told by the process that did

    def fill(self, factory: MemoryFactory, bench: Bench, haystack: Haystack, *, one_by_one: bool = False) -> Held:
        """A new memory that holds the entries."""
        __tracebackhide__ = True
        entries = haystack.entries
        started = perf_counter()
        memory = theirs(factory, bench)
        for part in [[entry] for entry in entries] if one_by_one else [list(entries)]:
            self.calls.call(memory.write, part)
        prepare = getattr(memory, "prepare", None)
        if prepare is not None:
            self.calls.call(prepare)
        wrote = {"entries": len(entries), "seconds": round(perf_counter() - started, 6)}
        if bench.has_folder:
            wrote["bytes"] = size_of(bench.folder)
        return Held(memory, bench, factory, wrote)

    def usage(self, held: Held) -> dict[str, float]:
        """What a memory says that it has used since it was last asked; nothing where it says nothing."""
        __tracebackhide__ = True
        usage = getattr(held.memory, "usage", None)
        if usage is None:
            return {}
        given = dict(self.calls.call(usage)).items()
        now = {str(name): float(value) for name, value in given if isfinite(value)}
        before, held.used = held.used, now
        return {name: value - before.get(name, 0.0) for name, value in now.items()}

    def _let_go(self, newest: tuple[Any, ...]) -> None:
        """Close what is too much, the longest unused first."""
        if len(self._held) > _KEPT:
            self._close(next(iter(self._held)))
        if hasattr(self._held[newest].memory, "close"):
            alike = [key for key in self._held if key[:2] == newest[:2]]
            for key in alike[:-_OPEN]:
                self._close(key)

    def _close(self, key: tuple[Any, ...]) -> None:
        close_one(self.calls, self._held.pop(key).memory)

    def let_go(self) -> None:
        """Close all memories: the next one that is asked is made anew."""
        while self._held:
            self._close(next(iter(self._held)))

    def close(self) -> None:
        """Close all memories, and the event loop that they were called on."""
        self.let_go()
        self.calls.close()


def close_one(calls: Calls, memory: Memory) -> None:
    """Close a memory where it can be; that it fails is a warning, since nothing depends on it."""
    close = getattr(memory, "close", None)
    if close is not None:
        try:
            calls.call(close)
        except Exception as error:
            warnings.warn(f"{type(memory).__name__}.close(): {type(error).__name__}: {error}", stacklevel=2)


def size_of(folder: Path) -> int:
    """Bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def empty(folder: Path) -> None:
    """Remove a folder and all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
