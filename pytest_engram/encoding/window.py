"""What lies behind an encoder's window: a text's last tokens, of which its embedding knows nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_engram.encoding.modelfolder import EncoderSpec
from pytest_engram.encoding.tokens import Tokens

_CONFIGURED = (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length"))
_UNBOUNDED = 1_000_000  # what tokenizers say that know no bound is larger
_CHARACTERS = 8  # a token; more of a text than this many windows' is looked at only where that does not fill the window


class Window(Tokens):
    """Counts the texts that an encoder cuts, by its own tokenizer. The model itself is not loaded.

    Args:
        spec: the encoder.
        folder: where counts are kept between runs; None: nowhere.
    """

    def __init__(self, spec: EncoderSpec, folder: Path | None = None) -> None:
        super().__init__(folder)
        self._spec = spec

    @cached_property
    def size(self) -> int | None:
        """Tokens that the encoder reads of a text, special ones included; None where its files don't say it."""
        for name, field in _CONFIGURED:
            try:
                found = json.loads((Path(self._spec.path) / name).read_bytes()).get(field)
            except (OSError, ValueError, AttributeError):
                continue
            if isinstance(found, int) and 0 < found < _UNBOUNDED:
                return found
        return None

    @cached_property
    def file(self) -> Path | None:
        """The encoder's tokenizer; None where there is none, or where nobody knows the window."""
        path = Path(self._spec.path) / "tokenizer.json"
        return path if path.is_file() and self.size is not None else None

    def lengths(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens that the encoder reads of each text, special ones included; characters, where that can't be told."""
        if self.file is None:
            return [len(text) for text in texts]
        size = self.size or 0
        return [min(length, size) for length in self._lengths([text[: _CHARACTERS * size] for text in texts])]

    def cut(self, passages: Iterable[str], name: str) -> tuple[int, int] | None:
        """How many of the different passages are cut, and of how many; None where that can't be told.

        Args:
            passages: entries' texts, without the encoder's prefix.
            name: of the file in which it is kept, such as the suite's.
        """
        if self.file is None:
            return None
        texts = [self._spec.passage_prefix + text for text in dict.fromkeys(passages)]
        counts = self.count(texts, f"window {self.size} of {name}")
        return sum(counts.values()), len(texts)

    def _encoded(self, texts: list[str]) -> list[int]:
        """For each text 1 where it is cut, else 0."""
        size = self.size or 0
        found = dict.fromkeys(texts, 0)
        # A token has a byte at least, and there are two special tokens in most models.
        longer = [text for text in found if len(text.encode("utf-8", "surrogatepass")) > size - 4]
        # Where a text was ended, its last words may be other tokens: the window must be filled with some to spare.
        ended = [text[: _CHARACTERS * size] for text in longer]
        enough = self._lengths(ended)
        found |= {text: 1 for text, length in zip(longer, enough, strict=True) if length > size + 16}
        rest = [text for text in longer if not found[text]]
        found |= {text: int(length > size) for text, length in zip(rest, self._lengths(rest), strict=True)}
        return [found[text] for text in texts]

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        plain = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        encoded: Any = self._tokenizer.encode_batch(plain)
        return [len(one.ids) for one in encoded]
