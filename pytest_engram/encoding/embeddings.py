"""Embeddings, kept by encoder and text: only a text that was never seen is embedded.

On disk, one folder an encoder holds segments, written once and memory-mapped, so that any number of workers
share one copy. So are the rows of a large haystack, which all methods of a process ask for in one order.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from statistics import median
from typing import IO

import numpy as np
from numpy.typing import NDArray

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import checksum, locked, mapped, writing
from pytest_engram.basics.progress import Bar
from pytest_engram.encoding import segments
from pytest_engram.encoding.model import load
from pytest_engram.encoding.modelfolder import BATCH, Embeddings, Encode, EncoderError, EncoderSpec
from pytest_engram.encoding.segments import KEYS, Segment, key_of, read_keys
from pytest_engram.encoding.window import Window

# A segment is committed after so many texts or seconds: the most that a killed process loses.
COMMIT_TEXTS = 4096
COMMIT_SECONDS = 20.0
SHARED_FROM = 4096  # texts whose embeddings memories share, until one of them writes into its own
TIMED_QUERIES = 8  # of whose times the median counts
_TIMED = "query.json"


class EmbeddingStore:
    """Embeddings of one encoder. Neither torch nor the model is loaded before a text is missing.

    Args:
        spec: the encoder.
        cache_dir: the folder of `pytest_engram.basics.cache.cache_dir`.
        progress: shows how far `prepare` is; called as `basics.progress.progress`. None: nothing is shown.
        encode: texts to float32 (n, d), rows of length 1; default: the model at `spec.path`.
    """

    def __init__(
        self,
        spec: EncoderSpec,
        cache_dir: Path,
        progress: Callable[[str, int], AbstractContextManager[Bar]] | None = None,
        encode: Encode | None = None,
    ) -> None:
        self.spec = spec
        self._folder = cache_dir / "embeddings" / spec.hash[:16]
        self._progress = progress
        self._encode = encode
        self._loaded: Encode | None = None  # the model, once it was needed
        self._segments: list[Segment] = []
        self._seen: set[str] = set()  # names of all segments that were looked at, sound or not
        self._unchecked: set[int] = set()  # segments whose embeddings were not needed yet
        self._damaged: set[str] = set()
        self._large: tuple[bytes, IO[bytes]] | None = None  # the last large haystack: its key, and its rows
        self._query: tuple[str, Embeddings] | None = None  # the last: all methods are asked one question in turn
        self._index: dict[bytes, int] = {}  # key to place: (number of the segment << 32) + row
        self._refresh()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embeddings of passages: float32 (n, d), rows of length 1.

        Raises:
            EncoderError: a text is new and the model can't be loaded.
            pytest_engram.basics.cache.CacheError: a text is new and its embedding can't be kept.
        """
        if self.spec.passage_prefix:
            texts = [self.spec.passage_prefix + text for text in texts]
        if len(texts) < SHARED_FROM:
            return self._embed(texts)
        with suppress(OSError):  # no room for a file: then everyone has a copy
            return self._shared(texts)
        return self._embed(texts)

    def embed_query(self, text: str) -> Embeddings:
        """Embedding of a query, behind the encoder's query prefix: float32 (d,), length 1."""
        if self._query is None or self._query[0] != text:
            self._query = text, self._embed([self.spec.query_prefix + text])[0]
        return self._query[1].copy()  # whoever asked may write into it

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The different passages among `texts` that are not kept yet, in their order."""
        return self._missing(self.spec.passage_prefix + text for text in texts)

    def prepare(self, passages: Iterable[str], queries: Iterable[str] = (), label: str = "") -> None:
        """Embed what is missing, with a progress bar, so that workers need no model.

        Where the model is loaded for it, what embedding a single query takes is measured, too.

        What was done is kept when it is interrupted. Several processes may prepare at once: they share the work.

        Raises:
            EncoderError, pytest_engram.basics.cache.CacheError: as `embed`.
        """
        asked = [self.spec.query_prefix + text for text in queries]
        wanted = [self.spec.passage_prefix + text for text in passages] + asked
        missing = self._missing(wanted)
        if missing and self._progress:
            shown = label or f"Embedding with {self.spec.name}"
            with self._progress(shown, len(missing)) as bar:
                self._fill(missing, bar)
        elif missing:
            self._fill(missing, None)
        if self._loaded is not None and self.query_seconds is None:
            self._time(self._loaded, asked[:TIMED_QUERIES])

    @property
    def query_seconds(self) -> float | None:
        """What embedding one query takes, as measured when the model was loaded; None: it never was."""
        found = None
        with suppress(OSError):
            found = sealed.recall(self._folder / _TIMED).get("query_seconds")
        return found if isinstance(found, float) and 0 < found < math.inf else None

    def _time(self, encode: Encode, queries: Sequence[str]) -> None:
        taken: list[float] = []
        for query in [*queries[:1], *queries]:  # the first one warms the model up
            start = time.perf_counter()
            encode([_printable(query)])
            taken.append(time.perf_counter() - start)
        if len(taken) > 1:
            with writing(self._folder):
                sealed.keep(self._folder / _TIMED, {"query_seconds": round(median(taken[1:]), 6)})

    # Reading.

    def _embed(self, texts: Sequence[str]) -> Embeddings:
        places = self._places(texts)
        if (places < 0).any():
            self._fill(self._missing(texts), None)
            places = self._places(texts)
            if (places < 0).any():
                raise EncoderError(
                    f"{self._folder}: embeddings can't be read back; check the disk, or set ENGRAM_CACHE"
                )
        numbers, rows = places >> 32, places & 0xFFFFFFFF
        if len(places) and (numbers == numbers[0]).all():
            return np.take(self._segments[numbers[0]].embeddings, rows, axis=0)
        found = np.empty((len(places), self.spec.dimensions), np.float32)
        for number in np.unique(numbers):
            here = numbers == number
            found[here] = self._segments[number].embeddings[rows[here]]
        return found

    def _shared(self, texts: Sequence[str]) -> Embeddings:
        """As `_embed`, from a nameless file that whoever asked last may share: a page is copied when it is written."""
        key = hashlib.sha256(b"".join(map(key_of, texts))).digest()
        if self._large is None or self._large[0] != key:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - as long as there is no other
            self._embed(texts).tofile(file)
            file.flush()
            self._large = key, file
        return np.asarray(np.memmap(self._large[1], np.float32, "c", shape=(len(texts), self.spec.dimensions)))

    def _missing(self, texts: Iterable[str]) -> list[str]:
        different = list(dict.fromkeys(texts))
        places = self._places(different)
        if (places < 0).any():
            self._refresh()  # another process may have embedded them
            places = self._places(different)
        return [different[position] for position in np.flatnonzero(places < 0)]

    def _places(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Where each text's embedding is, -1 where it is missing. Segments are checked when they are first needed."""
        find = self._index.get
        keys = [key_of(text) for text in texts]
        places = np.array([find(key, -1) for key in keys], dtype=np.int64)
        if self._unchecked and (met := self._unchecked.intersection((places >> 32).tolist())):
            for number in met:
                self._check(number)
            places = np.array([find(key, -1) for key in keys], dtype=np.int64)
        return places

    def _refresh(self) -> None:
        """Take up the segments that were committed since."""
        try:
            names = {entry.name[: -len(KEYS)] for entry in os.scandir(self._folder) if entry.name.endswith(KEYS)}
        except OSError:
            return
        for name in sorted(names - self._seen):
            self._seen.add(name)
            try:
                segment, keys = read_keys(self._folder, name)
            except OSError:
                continue
            except (ValueError, KeyError, TypeError):
                self._lose(name)
                continue
            number = len(self._segments)
            self._segments.append(segment)
            self._unchecked.add(number)
            self._index.update(zip(keys, range(number << 32, (number << 32) + segment.rows), strict=True))

    def _check(self, number: int) -> None:
        segment = self._segments[number]
        self._unchecked.discard(number)
        try:
            segment.embeddings = found = mapped(self._folder / f"{segment.name}.npy")
            plain = found.shape == (segment.rows, self.spec.dimensions) and found.dtype == np.float32
            if plain and checksum(found) == segment.checksum:
                return
        except (OSError, ValueError):
            pass
        self._lose(segment.name)
        for key in [key for key, place in self._index.items() if place >> 32 == number]:
            del self._index[key]

    def _lose(self, name: str) -> None:
        self._damaged.add(name)
        sealed.note(f"{self._folder / name}.npy: embeddings damaged in the cache; they are embedded anew")

    # Writing.

    def _fill(self, texts: Sequence[str], bar: Bar | None) -> None:
        # Texts of one length make batches without padding: ordered by characters, a fifth of what is computed would be
        # padding. The longest first: the time left is then no underestimate.
        lengths = Window(self.spec).lengths(texts) if len(texts) > BATCH else list(map(len, texts))
        todo = [text for _, text in sorted(zip(lengths, texts, strict=True), key=lambda one: one[0], reverse=True)]
        while todo:
            # The lock is held for one segment, so that processes with the same texts share the work.
            with locked(self._folder / "lock"):
                self._refresh()
                before = len(todo)
                todo = [text for text, place in zip(todo, self._places(todo), strict=True) if place < 0]
                if bar and before > len(todo):  # another process did some
                    bar.advance(before - len(todo))
                if todo:
                    self._sweep()
                    todo = todo[self._write_segment(todo, bar) :]

    def _write_segment(self, texts: list[str], bar: Bar | None) -> int:
        """Embed the first of `texts`, as many as fit into a segment; returns their number."""
        start = time.monotonic()
        done: list[Embeddings] = []
        try:
            for at in range(0, min(len(texts), COMMIT_TEXTS), BATCH):
                done.append(self._encoded(texts[at : at + BATCH]))
                if bar:
                    bar.advance(len(done[-1]))
                if time.monotonic() - start > COMMIT_SECONDS:
                    break
        finally:  # what was embedded before Ctrl-C is kept
            count = sum(map(len, done))
            if done:
                self._commit(texts[:count], np.concatenate(done))
        return count

    def _encoded(self, texts: list[str]) -> Embeddings:
        if self._encode is None:
            self._encode = self._loaded = load(self.spec)
        rows = np.asarray(self._encode([_printable(text) for text in texts]), dtype=np.float32)
        if rows.shape != (len(texts), self.spec.dimensions):
            raise EncoderError(
                f"encoder {self.spec.name}: {rows.shape[-1]} dimensions, its configuration says {self.spec.dimensions};"
                f" repair the copy at {self.spec.path}"
            )
        if not (np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-3).all():  # NaN included
            raise EncoderError(f"encoder {self.spec.name}: an embedding is not finite or has length 0; choose another")
        return rows

    def _commit(self, texts: list[str], embeddings: Embeddings) -> None:
        with writing(self._folder):
            segments.write(self._folder, secrets.token_hex(8), texts, embeddings)
        self._refresh()

    def _sweep(self) -> None:
        """Delete damaged segments, and what killed processes left; only whoever holds the lock writes here."""
        with os.scandir(self._folder) as entries:
            names = {entry.name for entry in entries}
        for name in names:
            stem, suffix = os.path.splitext(name)
            orphan = suffix == ".npy" and stem + KEYS not in names
            if suffix == ".tmp" or orphan or (stem in self._damaged and suffix in (".npy", KEYS)):
                with suppress(OSError):  # where another process still maps it, some systems refuse
                    os.unlink(self._folder / name)
        self._damaged.clear()


def _printable(text: str) -> str:
    """The text with lone surrogates, which no tokenizer takes, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
