"""All that the author of a memory needs: `Entry`, `Memory`, `Bench` and `@method`.

Importing this module costs nothing: numpy is loaded when a memory first asks its bench for an embedding.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from pytest_engram.encoding.encoders import EmbeddingStore, EncoderSpec
    from pytest_engram.retrieval.okapi import Lexical

Role: TypeAlias = Literal["experiment", "ablation", "control", "anchor"]
ROLES: tuple[Role, ...] = ("experiment", "ablation", "control", "anchor")


class Entry(NamedTuple):
    """One thing that a memory holds.

    `id` is opaque: it says nothing about whether the entry is an answer. `time` orders entries; its unit is the
    data's (a serial number for FactConsolidation, seconds since 1970 for LongMemEval). `source` is who said it; empty
    where that is unknown.
    """

    id: str
    text: str
    time: float
    source: str = ""


class Recalled(NamedTuple):
    """What a memory that rewrites, merges or summarises returns in place of an id.

    It counts one of k, and is judged on its text. Metrics over ids count it as relevant where one of its sources is.

    Attributes:
        text: what was recalled.
        sources: ids of the entries that it was made from, where the memory knows them.
    """

    text: str
    sources: Sequence[str] = ()


class Memory(Protocol):
    """What is tested. Nothing needs to be inherited, and every method may be `async def`.

    More methods are used where a memory has them:

    - `prepare()`, called once after the last `write`: builds slow indexes (keep them with `Bench.cached`), or waits
      until a served index shows what was written.
    - `close()`, called when the memory is not needed any more; at most a few that have it are open at a time.
    - `usage()`: what it has used so far, as a mapping of names (`tokens`, `calls`, `usd`, ...) to numbers.
    - `trace(query, k)`: the conflicts that were resolved, as a list of `Dropped`.
    - `support()`: entry id to support, for the micro-tests that measure it.
    """

    def write(self, entries: Sequence[Entry]) -> Awaitable[None] | None:
        """Take entries, in time order; called once or many times."""

    def search(self, query: str, k: int) -> Sequence[str | Recalled] | Awaitable[Sequence[str | Recalled]]:
        """At most `k` ids of different entries, or texts of the memory's own, best first."""
        ...


MemoryFactory: TypeAlias = "Callable[[Bench], Memory]"


class Dropped(NamedTuple):
    """One conflict that a memory resolved while it answered: `id`, at `rank` of its own ranking, was dropped for `by`.

    `rank` counts from 1, before anything was dropped; it tells whether the entry would have been returned.
    """

    id: str
    by: str
    why: str
    rank: int | None = None


class TrainingQuestion(NamedTuple):
    """A question that a method may learn from; it has passed the check against every pilot set."""

    id: str
    query: str
    answers: tuple[str, ...]


class Bench:
    """What a memory is given: equal for every method, and without any gold label.

    Attributes:
        k: the number of ids that every method may return at most.
        seed: for whatever is random in a method.
        namespace: a name of letters, digits and dashes, which no other memory of this run has: for a collection, table
            or user of a store that many memories share. A memory that is `shared` has the same one in every process.
        folder: an empty folder of the same kind, for a store on the disk; with `keep`, what the last run left.
        encodings: how many queries this memory has had embedded.
        has_folder: whether it asked for its folder.
        embeds: whether it asked for anything of the encoder.
        unsplit: how many texts it had split at white space that are of a script without spaces.
    """

    def __init__(
        self,
        *,
        k: int,
        seed: int,
        embeddings: Callable[[], EmbeddingStore],
        cache_dir: Path,
        tokenize: Callable[[str], list[str]] | None = None,
        rank: Callable[[NDArray[Any]], NDArray[np.intp]] | None = None,
        lexical: Callable[[Sequence[str]], Lexical | None] | None = None,
        training: Callable[[str], list[TrainingQuestion]] | None = None,
        namespace: str = "engram",
        folder: Callable[[], Path] | None = None,
    ) -> None:
        self.k = k
        self.seed = seed
        self.namespace = namespace
        self.encodings = 0
        self.has_folder = False
        self.embeds = False
        self.unsplit = 0
        self._folder = folder
        self._embeddings = embeddings
        self._cache_dir = cache_dir
        self._tokenize = tokenize
        self._rank = rank
        self._lexical = lexical
        self._training = training

    @property
    def folder(self) -> Path:
        """See above; made when it is first asked for."""
        if self._folder is None:
            raise RuntimeError("this bench has no folder")
        self.has_folder = True
        return self._folder()

    @property
    def encoder(self) -> EncoderSpec:
        """Which encoder embeds: similarities of two encoders are on different scales."""
        self.embeds = True
        return self._embeddings().spec

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeddings of passages: float32 of shape (n, d), rows of length 1."""
        self.embeds = True
        return self._embeddings().embed(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embedding of a query, with the encoder's own query prefix: float32 of shape (d,), length 1."""
        self.embeds = True
        self.encodings += 1
        return self._embeddings().embed_query(text)

    def tokenize(self, text: str) -> list[str]:
        """Tokens as the benchmark's own lexical retriever makes them, or as the suite says; else by white space."""
        from pytest_engram.retrieval.words import unsplit, words

        if self._tokenize:
            return self._tokenize(text)
        tokens = words(text)
        self.unsplit += unsplit(tokens)
        return tokens

    def rank(self, scores: NDArray[Any], k: int | None = None) -> NDArray[np.intp]:
        """Positions of `scores` (n,), best first; ties as the benchmark breaks them, else earlier entry first.

        With `k` the first k alone, which is quicker over many scores.
        """
        from pytest_engram.retrieval.ranking import best

        return self._rank(scores)[:k] if self._rank else best(scores, k)

    def lexical(self, texts: Sequence[str]) -> Lexical:
        """BM25 over `texts`, with the benchmark's own tokens and ties; from an index made ahead, where there is one."""
        from pytest_engram.retrieval.okapi import Lexical
        from pytest_engram.retrieval.postings import Postings

        ahead = self._lexical(texts) if self._lexical else None
        if ahead is not None:
            return ahead
        counted = Postings()
        counted.extend(map(self.tokenize, texts))
        return Lexical(counted.scores, self.tokenize, self.rank, add=counted.extend)

    def cached(
        self, name: str, texts: Iterable[str], compute: Callable[[], Mapping[str, NDArray[Any]]]
    ) -> dict[str, NDArray[Any]]:
        """Arrays that depend on `name`, on `texts` in their order and on the encoder: computed once, then mapped.

        `name` must hold every other parameter that the arrays depend on. Safe under many processes.
        """
        from pytest_engram.encoding.encoders import cached_arrays

        digest = hashlib.sha256()
        for part in (name, self._embeddings().spec.hash, *texts):
            digest.update(f"{len(part)}:".encode())
            digest.update(part.encode("utf-8", "surrogatepass"))
        return cached_arrays(self._cache_dir / "indexes", digest.hexdigest()[:40], compute)

    def training_split(self, name: str) -> list[TrainingQuestion]:
        """The questions of the source `name`, after the check that none of them is in a pilot set.

        Raises:
            pytest_engram.asking.rules.Violation: a question, or its normalised text, stands in a pilot set.
        """
        if self._training is None:
            raise RuntimeError("this bench has no training data")
        return self._training(name)


@dataclass(frozen=True)
class Origin:
    """Where that is recorded which a memory recalled elsewhere.

    Attributes:
        file: its name, without a folder.
        sha256: of its bytes.
        packages: versions that the file names, by package.
    """

    file: str
    sha256: str
    packages: Mapping[str, str | None]


@dataclass(frozen=True)
class Method:
    """What `@method` was told about a fixture, or, where it is `recorded`, a file of what a memory recalled."""

    name: str
    label: str
    role: Role
    controls: tuple[str, ...] | None
    stochastic: bool
    trained_on: tuple[Any, ...]
    embeds: bool | None
    scope: Literal["session", "function"]
    function: Callable[..., Any]
    shared: bool = False
    keep: str | None = None
    encoder: str | None = None
    packages: tuple[str, ...] = ()
    recorded: Origin | None = None

    def describe(self) -> dict[str, Any]:
        """The part of it that a report needs, as JSON."""
        more: dict[str, Any] = {"encoder": self.encoder, "shared": self.shared or None, "keep": self.keep}
        if self.recorded is not None:
            more["recorded"] = {"file": self.recorded.file, "sha256": self.recorded.sha256}
            more["packages"] = dict(self.recorded.packages) or None
        told = {name: value for name, value in more.items() if value is not None}
        return {"label": self.label, "role": self.role, "stochastic": self.stochastic, **told}


F = TypeVar("F", bound=Callable[..., Any])


def method(
    *forgotten: Callable[..., Any],
    label: str | None = None,
    role: Role = "experiment",
    name: str | None = None,
    controls: Sequence[str] | None = None,
    stochastic: bool = False,
    trained_on: Iterable[Any] = (),
    embeds: bool | None = None,
    scope: Literal["session", "function"] = "session",
    shared: bool = False,
    keep: str | None = None,
    encoder: str | None = None,
    packages: Sequence[str] = (),
) -> Callable[[F], Any]:
    """Make a fixture whose value is called with a `Bench` for each haystack and seed, and gives a `Memory`.

    Args:
        forgotten: nothing; a function stands here where the parentheses of `@method()` were forgotten.
        label: the name in tables; default: the method's name.
        role: "experiment", "ablation", "control" or "anchor".
        name: the name for `--engram-method`; default: the function's. It is the fixture's name too.
        controls: methods that run beside this one; default: the anchors `dense` and `bm25`.
        stochastic: whether it is run on `--engram-seeds` seeds.
        trained_on: what it learnt from: mappings with an `id` and a `text`, plain question texts, or the name of a
            data source such as "factconsolidation_mh_32k". Refused where it meets a pilot set.
        embeds: whether it calls `bench.embed`, so that embeddings are made before the workers start; default: that is
            found out by use, on one small haystack, or taken for granted where the fixture needs others.
        scope: "function" where it uses a fixture of that scope; its memories are then rebuilt for every question.
        shared: whether a haystack is written once, by the process that starts the workers, into `bench.namespace` or
            `bench.folder`, where every worker's memory finds it; workers only search.
        keep: a word; what was written stays between runs, until the haystack, the encoder or this word changes. A
            memory that is kept is shared.
        encoder: what it embeds with, where that is not the bench's: tables show it.
        packages: distributions whose versions the manifest names.
    """
    if forgotten:
        raise TypeError("@method: write @method(), with parentheses")
    learnt = [trained_on] if isinstance(trained_on, (str, Mapping)) else trained_on
    _check(role in ROLES, "role", role, f"it must be one of {', '.join(ROLES)}")
    _check(scope in ("session", "function"), "scope", scope, "it must be session or function")
    _check(label is None or (isinstance(label, str) and label.strip()), "label", label, "it must be a text")
    _check(controls is None or _names(controls), "controls", controls, "it must be a list of names")
    _check(keep is None or (isinstance(keep, str) and keep.strip()), "keep", keep, 'it must be a word, such as "v1"')
    _check(encoder is None or (isinstance(encoder, str) and encoder.strip()), "encoder", encoder, "it must be a name")
    _check(_names(packages), "packages", packages, "it must be a list of names, as pip knows them")
    _check(not (shared or keep) or scope == "session", "scope", scope, "what is shared can't be rebuilt for every item")
    _check(isinstance(learnt, Iterable), "trained_on", trained_on, "it must be a list of questions, or a source's name")

    def decorate(function: F) -> Any:
        called = function.__name__ if name is None else name
        _check(called not in _TAKEN, "name", called, _TAKEN.get(called, ""))
        _check(_names([called]), "name", called, "it must be of letters, digits, `_`, `.` and `-`")
        info = Method(
            name=called,
            label=label or called,
            role=role,
            controls=None if controls is None else tuple(controls),
            stochastic=stochastic,
            trained_on=tuple(learnt),
            embeds=embeds,
            scope=scope,
            function=function,
            shared=shared or keep is not None,
            keep=keep,
            encoder=encoder,
            packages=tuple(packages),
        )
        made = pytest.fixture(scope=scope, name=info.name)(function)
        made.__engram_method__ = info  # type: ignore[attr-defined]
        return made

    return decorate


_NAME = re.compile(r"\w[\w.-]*")
_TAKEN = {
    "all": "which stands for every method",
    "baselines": "which stands for the shipped baselines",
    "request": "which is pytest's own",
}


def _names(given: object) -> bool:
    if isinstance(given, str) or not isinstance(given, Iterable):
        return False
    return all(isinstance(name, str) and _NAME.fullmatch(name) for name in given)


def _check(holds: object, what: str, given: object, must: str) -> None:
    if not holds:
        raise ValueError(f"@method: {what} is {given!r}{', ' if must.startswith('which') else '; '}{must}")
