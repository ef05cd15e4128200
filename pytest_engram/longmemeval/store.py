"""LongMemEval's files in Arrow: parsed once, each different session kept once, then memory-mapped by every process.

Two tables in a folder named by the file's sha256. `sessions.arrow` holds the user's side of each different session,
`questions.arrow` the questions, whose haystacks are rows of the first. Both are Arrow streams, so that
`datasets.Dataset.from_file` opens them too. Texts are bytes of UTF-8, because some files hold half a surrogate pair.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from pytest_engram.cache import cache_dir, locked, writing
from pytest_engram.longmemeval.parse import Record, Survey, records
from pytest_engram.longmemeval.protocol import Session
from pytest_engram.suites.base import NotRun

FORMAT = 1
ROWS = 4096  # of a record batch: few enough that its texts stay under Arrow's 2 GB

_SESSIONS = pa.schema(
    {
        "text": pa.binary(),  # the user's turns, joined by one space
        "lengths": pa.list_(pa.int32()),  # of each turn, in bytes
        "numbers": pa.list_(pa.int32()),
        "evidence": pa.list_(pa.bool_()),
    }
)
_QUESTIONS = pa.schema(
    {
        "id": pa.string(),
        "type": pa.string(),
        "query": pa.binary(),
        "answer": pa.binary(),
        "user_evidence": pa.bool_(),
        "session_ids": pa.list_(pa.string()),
        "times": pa.list_(pa.float64()),
        "rows": pa.list_(pa.int32()),
    }
)


def prepare(file: Path, shown: str) -> Path:
    """The folder with `file` in Arrow, made where it is missing. Safe under many processes.

    Args:
        file: JSON in the official schema.
        shown: its name in messages.

    Raises:
        NotRun: the file can't be read.
        pytest_engram.cache.CacheError: the cache can't be written.
    """
    try:
        sha256 = _sha256(file)
    except OSError as error:
        raise NotRun(f"{shown} can't be read: {error.strerror}") from None
    return keep("longmemeval", sha256, lambda: records(file, shown))


def keep(kind: str, name: str, read: Callable[[], Iterable[Record]]) -> Path:
    """The folder `kind`/`name` of the cache, with what `read` gives in Arrow. It is read where the folder is missing."""
    home = cache_dir() / kind
    folder = home / f"{name}.{FORMAT}"
    if not (folder / "summary.json").is_file():
        with locked(home / f"{name}.lock"):
            if not (folder / "summary.json").is_file():
                with writing(home):
                    _write(folder, name, read())
    return folder


def _sha256(file: Path) -> str:
    """The hash of a file, which is read again only where its size, time or inode has changed."""
    state = file.stat()
    seen = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    name = hashlib.sha256(str(file.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    memo = cache_dir() / "longmemeval" / "hashes" / f"{name}.json"
    try:
        known = json.loads(memo.read_bytes())
        if known["seen"] == seen:
            return str(known["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    with writing(memo.parent):
        memo.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=memo.parent, suffix=".tmp", delete=False) as made:
            json.dump({"seen": seen, "sha256": sha256}, made)
        Path(made.name).replace(memo)
    return sha256


def _write(folder: Path, sha256: str, found: Iterable[Record]) -> None:
    made = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        rows: dict[Session, int] = {}
        survey = Survey()
        with _Writer(made / "questions.arrow", _QUESTIONS) as questions:
            for record in found:
                survey.add(record)
                questions.add(
                    id=record.id,
                    type=record.type,
                    query=encode(record.query),
                    answer=encode(record.answer),
                    user_evidence=record.user_evidence,
                    session_ids=record.session_ids,
                    times=record.times,
                    rows=[rows.setdefault(session, len(rows)) for session in record.sessions],
                )
        with _Writer(made / "sessions.arrow", _SESSIONS) as sessions:
            for session in rows:
                turns = [encode(turn) for turn in session.turns]
                sessions.add(
                    text=b" ".join(turns),
                    lengths=[len(turn) for turn in turns],
                    numbers=session.numbers,
                    evidence=session.evidence,
                )
        summary = {
            "sha256": sha256,
            "questions": survey.questions,
            "sessions": survey.sessions,
            "different_sessions": len(rows),
            "oddities": survey.oddities(),
        }
        (made / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it stands in the store."""

    row: int
    id: str
    type: str
    query: str
    answer: str
    user_evidence: bool


class Store:
    """A prepared folder, mapped read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())

    @cached_property
    def _questions(self) -> pa.Table:
        return _mapped(self.folder / "questions.arrow")

    @cached_property
    def _sessions(self) -> pa.Table:
        return _mapped(self.folder / "sessions.arrow")

    @cached_property
    def questions(self) -> dict[str, Asked]:
        """All questions by id, in the file's order. Of two with one id, the first."""
        found: dict[str, Asked] = {}
        columns = ("id", "type", "query", "answer", "user_evidence")
        rows = zip(*(self._questions[name].to_pylist() for name in columns), strict=True)
        for row, (id_, type_, query, answer, evidence) in enumerate(rows):
            found.setdefault(id_, Asked(row, id_, type_, decode(query), decode(answer), evidence))
        return found

    def haystack(self, asked: Asked) -> tuple[list[str], list[float], list[int]]:
        """A haystack's session ids, times (seconds since 1970), and rows of the session table."""
        batch, at = divmod(asked.row, ROWS)
        ids, times, rows = (
            self._questions[name].chunk(batch)[at].as_py() for name in ("session_ids", "times", "rows")
        )
        return ids, times, rows

    def session(self, row: int) -> Session:
        """One session, from its row."""
        batch, at = divmod(row, ROWS)
        text, lengths, numbers, evidence = (column.chunk(batch)[at].as_py() for column in self._sessions.columns)
        turns, start = [], 0
        for length in lengths:
            turns.append(decode(text[start : start + length]))
            start += length + 1
        return Session(tuple(turns), tuple(numbers), tuple(evidence))

    def all_sessions(self) -> Iterator[Session]:
        """Every different session, in the order of the rows."""
        return map(self.session, range(len(self._sessions)))


def _mapped(path: Path) -> pa.Table:
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


def encode(text: str) -> bytes:
    """UTF-8, with half surrogate pairs kept."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """What `encode` was given."""
    return data.decode("utf-8", "surrogatepass")
