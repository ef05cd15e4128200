"""What is held while questions are asked: haystacks, and the memories that were filled with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_engram.memory import Bench, Entry, Memory, MemoryFactory, Method
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.encoders import EmbeddingStore

_KEPT = 64  # haystacks, and memories, that a process holds at a time


@dataclass(frozen=True, slots=True)
class Haystack:
    """Entries, and the same by id."""

    entries: Sequence[Entry]
    by_id: dict[str, Entry]


class Memories:
    """The haystacks and memories that are in use, and the benches that memories are given.

    Args:
        k: of equal k.
        store: gives the embeddings; the encoder is loaded only for texts that nobody embedded before.
        training: gives the questions of a training split, checked.
    """

    def __init__(
        self, k: int, store: Callable[[], EmbeddingStore], training: Callable[[str], list[Any]] | None = None
    ) -> None:
        self.k = k
        self._store = store
        self._training = training
        self._haystacks: OrderedDict[tuple[str, str], Haystack] = OrderedDict()
        self._memories: OrderedDict[tuple[Any, ...], tuple[Memory, object, object]] = OrderedDict()
        self._benches: dict[tuple[str, int], Bench] = {}

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

    def bench(self, suite: Suite, seed: int) -> Bench:
        """What a memory over this suite's entries is given."""
        from pytest_engram.basics.cache import cache_dir

        if (suite.name, seed) not in self._benches:
            self._benches[suite.name, seed] = Bench(
                k=self.k,
                seed=seed,
                embeddings=self._store,
                cache_dir=cache_dir(),
                tokenize=suite.tokenize,
                rank=suite.rank,
                lexical=suite.haystacks.lexical,
                training=self._training,
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
        # By identity, and what is identified is kept with the memory, so that no later object can have its address.
        key = (method.name, seed, id(factory), id(haystack.entries), suite.tokenize, suite.rank, second)
        if key not in self._memories:
            memory = fill(factory, self.bench(suite, seed), haystack.entries)
            self._memories[key] = (memory, factory, haystack.entries)
            if len(self._memories) > _KEPT:
                self._memories.popitem(last=False)
        self._memories.move_to_end(key)
        return self._memories[key][0]

    def close(self) -> None:
        """Let go of all memories."""
        self._memories.clear()


def fill(factory: MemoryFactory, bench: Bench, entries: Sequence[Entry], *, one_by_one: bool = False) -> Memory:
    """A new memory that holds the entries."""
    __tracebackhide__ = True
    memory = factory(bench)
    if one_by_one:
        for entry in entries:
            memory.write([entry])
    else:
        memory.write(list(entries))
    prepare = getattr(memory, "prepare", None)
    if prepare is not None:
        prepare()
    return memory
