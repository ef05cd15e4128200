"""LongMemEval's files in Arrow: parsed once, each different session kept once, then memory-mapped by every process.

Three tables in a folder named by the file's sha256. `sessions.arrow` holds what the user said in each different
session, `questions.arrow` the questions, whose haystacks are rows of the first, and `gold.arrow` what is right: a
process that asks never opens it (`Store`), and one that judges does (`Golds`). All are Arrow streams, so that
`datasets.Dataset.from_file` opens them too. Texts are bytes of UTF-8, because some files hold half a surrogate pair.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import CacheError, cache_dir, cached_arrays, locked, whole, writing
from pytest_engram.retrieval.okapi import Okapi
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.longmemeval.parse import Record, Survey, records
from pytest_engram.suites.longmemeval.protocol import Granularity

FORMAT = 5  # of what is kept: another one is made anew
ROWS = 4096  # of a record batch: few enough that its texts stay under Arrow's 2 GB

_SESSIONS = pa.schema(
    {
        "text": pa.binary(),  # the user's turns, joined by one space
        "lengths": pa.list_(pa.int32()),  # of each turn, in bytes
    }
)
_QUESTIONS = pa.schema(
    {
        "id": pa.string(),
        "query": pa.binary(),
        "rows": pa.list_(pa.int32()),  # of the table of sessions
        "times": pa.list_(pa.float64()),  # of the sessions, in seconds since 1970
        "undated": pa.int32(),  # how many of these could not be read
        "damage": pa.string(),  # why it can't be asked, if so
    }
)
_GOLD = pa.schema(  # row by row that of `_QUESTIONS`
    {
        "type": pa.string(),
        "answer": pa.binary(),
        "date": pa.binary(),  # when it is asked
        "user_evidence": pa.bool_(),
        "session": pa.list_(pa.string()),  # the official ids of the documents, by granularity: they tell which answer
        "turn": pa.list_(pa.string()),
    }
)


def prepare(file: Path, shown: str) -> Path:
    """The folder with `file` in Arrow, made where it is missing. Safe under many processes.

    Args:
        file: JSON in the official schema.
        shown: its name in messages.

    Raises:
        NotRun: the file can't be read.
        pytest_engram.basics.cache.CacheError: the cache can't be written.
    """
    try:
        sha256 = _sha256(file)
    except OSError as error:
        raise NotRun(f"{shown} can't be read: {error.strerror}") from None
    return keep("longmemeval", sha256, lambda: records(file, shown))


def keep(kind: str, name: str, read: Callable[[], Iterable[Record]]) -> Path:
    """The folder `kind`/`name` of the cache, with what `read` gives in Arrow; made where it is missing or damaged."""
    home = cache_dir() / kind
    folder = home / f"{name}.{FORMAT}"
    if not _sound(folder, name):
        with locked(home / f"{name}.lock"):
            if not _sound(folder, name):
                with writing(home):
                    _write(folder, name, read())
    return folder


def _sound(folder: Path, name: str) -> bool:
    """Whether everything is there, and is what was put there: of the right size is not enough."""
    try:
        if _summary(folder)["sha256"] == name:
            for table in ("questions", "gold", "sessions"):
                _table(folder, table)
            return True
    except (CacheError, KeyError):
        pass
    if folder.exists():
        sealed.damaged(folder)
    return False


def _summary(folder: Path) -> dict[str, Any]:
    """Raises: CacheError: it is gone or damaged."""
    try:
        found = sealed.recall(folder / "summary.json")
    except OSError:
        found = {}
    if not found:
        raise _gone(folder)
    return found


def _table(folder: Path, name: str) -> dict[str, list[pa.Array]]:
    """The columns of a table, checked and then mapped; what is mapped stays, whoever empties the cache.

    Raises:
        CacheError: it is gone or damaged.
    """
    path = folder / f"{name}.arrow"
    try:
        state = path.stat()
        if _seen(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns) == _summary(folder)["crc32"][name]:
            return _mapped(path)
    except (OSError, ValueError):  # Arrow's own errors are of these
        pass
    raise _gone(folder)


def _gone(folder: Path) -> CacheError:
    return CacheError(f"{folder}: what was prepared is gone or damaged: was the cache emptied? Run again")


@lru_cache(maxsize=64)
def _seen(path: Path, _size: int, _mtime: int, _ctime: int) -> int:
    """`_crc32` of a file, computed once in a process as long as the file is not touched."""
    return _crc32(path)


def _crc32(path: Path) -> int:
    """The checksum tells damage, no forger."""
    with pa.memory_map(str(path)) as stream:
        return zlib.crc32(stream.read_buffer())


def _sha256(file: Path) -> str:
    """The hash of a file, which is read again only where its size, time or inode has changed."""
    state = file.stat()
    seen = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    name = hashlib.sha256(str(file.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    memo = cache_dir() / "longmemeval" / "hashes" / f"{name}.json"
    with suppress(OSError):
        known = sealed.recall(memo)
        if known.get("seen") == seen:
            return str(known["sha256"])
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    with writing(memo.parent):
        sealed.keep(memo, {"seen": seen, "sha256": sha256})
    return sha256


def _write(folder: Path, name: str, found: Iterable[Record]) -> None:
    with whole(folder) as made:
        rows: dict[tuple[str, ...], int] = {}
        survey = Survey()
        with _Writer(made / "questions.arrow", _QUESTIONS) as questions, _Writer(made / "gold.arrow", _GOLD) as gold:
            for record in found:
                survey.add(record)
                questions.add(
                    id=record.id,
                    query=encode(record.query),
                    rows=[rows.setdefault(session.turns, len(rows)) for session in record.sessions],
                    times=record.times,
                    undated=record.undated,
                    damage=record.damage,
                )
                gold.add(
                    type=record.type,
                    answer=encode(record.answer),
                    date=encode(record.date),
                    user_evidence=record.user_evidence,
                    session=record.documents("session"),
                    turn=record.documents("turn"),
                )
        with _Writer(made / "sessions.arrow", _SESSIONS) as sessions:
            for turns in rows:
                encoded = [encode(turn) for turn in turns]
                sessions.add(text=b" ".join(encoded), lengths=[len(turn) for turn in encoded])
        summary = {
            "sha256": name,
            "questions": survey.questions,
            "sessions": survey.sessions,
            "different_sessions": len(rows),
            "oddities": survey.oddities(),
            "crc32": {name: _crc32(made / f"{name}.arrow") for name in ("questions", "gold", "sessions")},
        }
        sealed.keep(made / "summary.json", summary)


class _Writer:
    """Rows into an Arrow stream, batch by batch."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._sink = pa.OSFile(str(path), "wb")
        self._stream = pa.ipc.new_stream(self._sink, schema)
        self._rows: list[dict[str, Any]] = []

    def add(self, **row: Any) -> None:
        self._rows.append(row)
        if len(self._rows) == ROWS:
            self._flush()

    def _flush(self) -> None:
        self._stream.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._flush()
        self._stream.close()
        self._sink.close()


class Asked(NamedTuple):
    """A question as it is asked; `row` is its place, `damage` why it can't be, if so."""

    row: int
    id: str
    query: str
    damage: str | None


class Documents(NamedTuple):
    """A haystack as the official code indexes it; both lists are in its order."""

    texts: list[str]
    times: list[float]


class Evidence(NamedTuple):
    """What is right for a question, as the file has it."""

    type: str
    answer: str
    user_evidence: bool
    date: str


class Golds:
    """The gold of a prepared folder, mapped read-only, at one granularity. Rows are those of `Asked`.

    Raises:
        CacheError: it is gone or damaged.
    """

    def __init__(self, folder: Path, granularity: Granularity) -> None:
        self._granularity = granularity
        self._columns = _table(folder, "gold")

    def evidence(self, row: int) -> Evidence:
        """Type, answer, whether any user turn has it, and when the question is asked."""
        names = ("type", "answer", "user_evidence", "date")
        type_, answer, user, date = (_cell(self._columns[name], row) for name in names)
        return Evidence(type_, decode(answer), user, decode(date))

    def ids(self, row: int) -> list[str]:
        """The official ids of a haystack's documents, in its order."""
        found: list[str] = _cell(self._columns[self._granularity], row)
        return found


class Store:
    """What is asked of a prepared folder, mapped read-only, at one granularity.

    Raises:
        CacheError: it is gone or damaged.
    """

    def __init__(self, folder: Path, granularity: Granularity) -> None:
        self._folder = folder
        self._granularity = granularity
        self.summary = _summary(folder)
        self._questions = _table(folder, "questions")
        self._sessions = _table(folder, "sessions")

    @cached_property
    def questions(self) -> dict[str, Asked]:
        """All questions by id, in the file's order. Of two with one id, the first."""
        found: dict[str, Asked] = {}
        batches = zip(*(self._questions[name] for name in ("id", "query", "damage")), strict=True)
        rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch), strict=True))
        for row, (id_, query, damage) in enumerate(rows):
            found.setdefault(id_, Asked(row, id_, decode(query), damage))
        return found

    def documents(self, asked: Asked) -> Documents:
        """A haystack."""
        rows, times = self._of(asked, "rows"), self._of(asked, "times")
        if self._granularity == "session":
            return Documents([decode(self._text(row)) for row in rows], times)
        said = [self._turns(row) for row in rows]
        texts = [text for turns in said for text in turns]
        return Documents(texts, [t for t, turns in zip(times, said, strict=True) for _ in turns])

    def size(self, asked: Asked) -> int:
        """How many documents a haystack has."""
        return len(self._positions(asked))

    def undated(self, asked: Asked) -> tuple[int, int]:
        """How many sessions of a haystack have a date that could not be read, and how many there are."""
        return int(_cell(self._questions["undated"], asked.row)), len(self._of(asked, "rows"))

    def bm25(self, asked: Asked, query: list[str]) -> NDArray[np.float64]:
        """The official BM25's scores of a haystack's documents, in its order, for a query given as its tokens."""
        okapi, averages = self._counted
        return okapi.scores_once(query, self._positions(asked), float(averages[asked.row]))

    def count(self) -> None:
        """Count all texts for `bm25`, if that was not done before."""
        _ = self._counted

    @cached_property
    def _counted(self) -> tuple[Okapi, NDArray[np.float64]]:
        """All different texts, counted, and the average idf of each haystack, which is dear."""

        def count() -> Mapping[str, NDArray[Any]]:
            okapi = Okapi.build_split(self._texts())
            averages = np.zeros(sum(map(len, self._questions["id"])))
            for asked in self.questions.values():
                averages[asked.row] = okapi.haystack(self._positions(asked)).average_idf
            return {**okapi.to_arrays(), "averages": averages}

        arrays = cached_arrays(self._folder, f"bm25-{self._granularity}", count)
        return Okapi.from_arrays(arrays), arrays["averages"]

    def _positions(self, asked: Asked) -> list[int]:
        """The places of a haystack's documents among all different texts."""
        rows = self._of(asked, "rows")
        if self._granularity == "session":
            return rows
        firsts = self._first_turns
        return [place for row in rows for place in range(firsts[row], firsts[row + 1])]

    @cached_property
    def _first_turns(self) -> list[int]:
        # From the buffer: Arrow's own `value_lengths` and `to_numpy` import what takes longer than all the rest.
        offsets = (chunk.offsets for chunk in self._sessions["lengths"])
        turns = [np.diff(np.frombuffer(o.buffers()[1], np.int32, len(o), 4 * o.offset)) for o in offsets]
        firsts: list[int] = np.cumsum(np.concatenate([[0], *turns]), dtype=np.int64).tolist()
        return firsts

    def _of(self, asked: Asked, column: str) -> list[Any]:
        found: list[Any] = _cell(self._questions[column], asked.row)
        return found

    def _text(self, row: int) -> bytes:
        found: bytes = _cell(self._sessions["text"], row)
        return found

    def _turns(self, row: int) -> list[str]:
        text, turns, start = self._text(row), [], 0
        for length in _cell(self._sessions["lengths"], row):
            turns.append(decode(text[start : start + length]))
            start += length + 1
        return turns

    def _texts(self) -> Iterator[str]:
        for row in range(sum(map(len, self._sessions["text"]))):
            if self._granularity == "session":
                yield decode(self._text(row))
            else:
                yield from self._turns(row)


def _mapped(path: Path) -> dict[str, list[pa.Array]]:
    """The columns of an Arrow stream, each in the batches in which it was written."""
    table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    return {name: table[name].chunks for name in table.column_names}


def _cell(column: list[pa.Array], row: int) -> Any:
    batch, at = divmod(row, ROWS)
    return column[batch][at].as_py()


def encode(text: str) -> bytes:
    """UTF-8, with half surrogate pairs kept."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """What `encode` was given."""
    return data.decode("utf-8", "surrogatepass")
