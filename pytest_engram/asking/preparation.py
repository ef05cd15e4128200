"""What is done once, before the first item: embed texts, build indexes. Workers map the result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.asking.memories import Memories
from pytest_engram.memory import Method
from pytest_engram.suites.base import Suite

if TYPE_CHECKING:
    from pytest_engram.encoding.encoders import EmbeddingStore

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
        queries.update(dict.fromkeys(asked))
    store.prepare(passages, queries, f"embedding with {store.spec.name}")


def index(
    suites: Sequence[Suite],
    methods: Sequence[Method],
    seeds: Callable[[Method], list[int]],
    memories: Memories,
    stream: Any,
) -> None:
    """Let the memories over large haystacks build their indexes now, where a method needs no other fixture."""
    from pytest_engram.basics.progress import progress

    simple = [m for m in methods if not inspect.signature(m.function).parameters and m.scope == "session"]
    simple = [m for m in simple if not inspect.isgeneratorfunction(m.function)]
    seen: set[int] = set()
    work = []
    for suite in suites:
        for key in dict.fromkeys(question.haystack for question in suite.runnable()):
            entries = suite.haystack(key)
            if len(entries) >= LARGE and id(entries) not in seen:
                seen.add(id(entries))
                work += [(suite, key, method, seed) for method in simple for seed in seeds(method)]
    factories: dict[str, Any] = {}
    with progress("indexing", len(work), "haystack", file=stream, patience=2.0) as bar:
        for suite, key, method, seed in work:
            try:
                if method.name not in factories:
                    factories[method.name] = method.function()
                memories.memory(method, factories[method.name], seed, suite, memories.haystack(suite, key))
            except (pytest.UsageError, pytest.exit.Exception, KeyboardInterrupt):
                raise
            except BaseException:  # the method's own fault, `sys.exit` and `pytest.skip` too: its items will show it
                pass
            bar.advance()
