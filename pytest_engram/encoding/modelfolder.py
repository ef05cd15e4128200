"""A folder that sentence-transformers has saved: what its small files say, and its hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_engram.basics import sealed
from pytest_engram.basics.cache import cache_dir

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Embeddings: TypeAlias = "NDArray[np.float32]"
Encode: TypeAlias = "Callable[[list[str]], Embeddings]"

BGE = "bge-small-en-v1.5"
MINILM = "all-MiniLM-L6-v2"

# Of the model.safetensors at sentence-transformers/all-MiniLM-L6-v2, which a package ships as well.
MINILM_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

BATCH = 64  # texts that are embedded at once


@dataclass(frozen=True, slots=True)
class Known:
    """A model that may be asked for by its bare name, and what tells it from a folder that only has its name."""

    hub: str
    layers: int
    pooling: Literal["cls", "mean"]


KNOWN = {
    BGE: Known("BAAI/bge-small-en-v1.5", 12, "cls"),
    MINILM: Known("sentence-transformers/all-MiniLM-L6-v2", 6, "mean"),
}


class EncoderError(Exception):
    """An encoder that can't be had or used. One line: what was asked, what was looked at, the cure."""


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Which encoder a run uses.

    Attributes:
        name: the model's own name, e.g. "bge-small-en-v1.5".
        path: the local folder that it is loaded from; belongs into no report.
        hash: sha256 over the names and contents of the files that determine an embedding.
        dimensions: length of an embedding.
        query_prefix: put before a query, as the model's authors document it.
        note: why this encoder and no other, for the reader of a table.
        passage_prefix: put before a passage.
    """

    name: str
    path: str
    hash: str
    dimensions: int
    query_prefix: str = ""
    note: str = ""
    passage_prefix: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> EncoderSpec:
        """The inverse of `to_json`."""
        return cls(**record)


class Unreadable(EncoderError):
    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"encoder {str(folder)!r}: {problem}; give a folder that sentence-transformers has saved, or a name"
        )
        self.problem = problem


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What the small files of a sentence-transformers folder say."""

    folder: Path
    modules: tuple[str, ...]  # their folders; "" is the model's own
    config: dict[str, Any]
    pooling: str
    dimensions: int
    prompts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> ModelFolder:
        """Raises: Unreadable."""
        if not folder.is_dir():
            raise Unreadable(folder, "no such folder")
        try:
            modules = tuple(str(module["path"]) for module in json.loads((folder / "modules.json").read_bytes()))
            configs = [_json(folder / module / "config.json") for module in modules]
            prompts = dict(_json(folder / "config_sentence_transformers.json").get("prompts") or {})
            dimensions, pooling = _output(configs)
        except FileNotFoundError:
            raise Unreadable(folder, "it has no modules.json") from None
        except OSError as error:
            raise Unreadable(folder, f"its configuration can't be read ({error.strerror})") from None
        except (ValueError, TypeError, LookupError) as error:
            raise Unreadable(folder, f"its configuration can't be read ({error})") from None
        if not modules or not dimensions:
            raise Unreadable(folder, "its configuration doesn't say how many dimensions an embedding has")
        model = cls(folder.resolve(), modules, configs[0], pooling, dimensions, prompts)
        if not any(path.suffix in _WEIGHTS for path in model.files()):
            raise Unreadable(folder, "it has no weights (model.safetensors)")
        return model

    @property
    def layers(self) -> Any:
        return self.config.get("num_hidden_layers")

    def may_be(self, name: str) -> bool:
        """Whether nothing speaks against its being the model `name`; only of known models can that be told."""
        if known := KNOWN.get(name):
            return self.layers == known.layers and self.pooling == known.pooling
        return self.pooling == "cls" or "bge-" not in name.lower()  # all of that family pool so

    def names(self) -> Iterator[str]:
        """What it may be called, the most trustworthy first: a folder's name says least."""
        cached = self.folder.parent.parent.name if self.folder.parent.name == "snapshots" else ""
        if cached.startswith("models--"):
            yield cached.removeprefix("models--").replace("--", "/", 1)
        try:
            readme = (self.folder / "README.md").read_text(encoding="utf-8", errors="replace")
        except OSError:
            readme = ""
        for title in _CARD_NAME.findall(readme)[:1] or _TITLE.findall(readme)[:1]:
            if _NAME.fullmatch(title):
                yield title
        yield self.folder.name
        yield str(self.config.get("_name_or_path", "")).rstrip("/").rpartition("/")[2]

    def files(self) -> list[Path]:
        """The files that determine an embedding."""
        found = []
        for module in dict.fromkeys(("", *self.modules)):
            folder = self.folder / module
            if not folder.is_dir():  # a module without settings, such as Normalize, often has none
                continue
            files = [path for path in folder.iterdir() if path.suffix in _MATTERS and path.name not in _IDLE]
            if any(path.suffix == ".safetensors" for path in files):  # then the same weights as .bin are not read
                files = [path for path in files if path.suffix != ".bin"]
            found += files
        return sorted(found)

    def hash(self) -> str:
        """sha256 over the names and the sha256 of `files`."""
        told = "".join(f"{name}\0{digest}\n" for name, digest in self.hashes().items())
        return hashlib.sha256(told.encode()).hexdigest()

    def hashes(self) -> dict[str, str]:
        """The sha256 of each of `files`, by name; kept, as the weights are large, as long as no file is touched.

        Raises:
            OSError: one can't be read.
        """
        files = self.files()
        stats = [path.stat() for path in files]
        names = [path.relative_to(self.folder).as_posix() for path in files]
        state = [[n, s.st_size, s.st_mtime_ns, s.st_ctime_ns] for n, s in zip(names, stats, strict=True)]
        kept = cache_dir() / "encoders" / (hashlib.sha256(str(self.folder).encode()).hexdigest()[:32] + ".json")
        with suppress(OSError):
            memo = sealed.recall(kept)
            if memo.get("state") == state and "hashes" in memo:
                return dict(memo["hashes"])
        found = {}
        for name, path in zip(names, files, strict=True):
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        with suppress(OSError):  # a memo that can't be kept costs a second next time, no more
            sealed.keep(kept, {"state": state, "hashes": found})
        return found


_WEIGHTS = {".safetensors", ".bin"}
_MATTERS = {".json", ".txt", ".model", ".py", *_WEIGHTS}
_IDLE = {"data_config.json", "train_script.py", "requirements.txt"}
_MODE = re.compile(r"^pooling_mode_|_tokens?$|_token$")
_CARD_NAME = re.compile(r"^model-index:\s*\n\s*- name:\s*(\S+)\s*$", re.MULTILINE)
_TITLE = re.compile(r"^# *(.+?) *$", re.MULTILINE)
_NAME = re.compile(r"(?=.*[-\d])([\w.-]+/)?[\w.-]+")  # no heading such as "Usage"


def _output(configs: list[dict[str, Any]]) -> tuple[int, str]:
    """Length of an embedding and kind of pooling, from the modules' settings in their order."""
    dimensions, pooling = 0, "no"
    for config in configs:
        modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
        if isinstance(config.get("pooling_mode"), str):
            modes = [config["pooling_mode"]]
        width = config.get("embedding_dimension") or config.get("word_embedding_dimension")
        if modes and width:
            dimensions = int(width) * len(modes)
            pooling = "+".join(_MODE.sub("", mode) for mode in modes)
        dimensions = int(config.get("out_features") or dimensions or config.get("hidden_size") or 0)
    return dimensions, pooling


def _json(path: Path) -> dict[str, Any]:
    """The mapping in a file; {} where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    if isinstance(value, dict):
        return value
    raise ValueError(f"{path.name} holds no mapping")
