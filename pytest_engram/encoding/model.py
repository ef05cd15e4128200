"""The model itself: loaded from its folder only when a text was never embedded."""

from __future__ import annotations

import os

from pytest_engram.encoding.modelfolder import BATCH, Embeddings, Encode, EncoderError, EncoderSpec


def load(spec: EncoderSpec) -> Encode:
    """From its folder alone: takes seconds, and asks no network.

    Raises:
        EncoderError: it can't be loaded.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # pytest forks later; the tokenizer's share is small
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        model = SentenceTransformer(spec.path, local_files_only=True).float()
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(
            f"encoder {spec.name}: {spec.path} can't be loaded ({first}); repair that copy or choose another encoder"
        ) from None
    model.default_prompt_name = None  # prefixes are put before the texts already

    def encode(texts: list[str]) -> Embeddings:
        rows: Embeddings = model.encode(
            texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
        )
        return rows

    return encode
