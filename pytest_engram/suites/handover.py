"""What is asked, as a worker gets it: questions and entries in files of the cache, each under the hash of its content.

Nothing else of a suite goes to a worker: it reads no suite file and no benchmark, so that no answer is in its memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pytest_engram.basics.cache import CacheError, kept_file
from pytest_engram.memory import Entry
from pytest_engram.retrieval.words import TOKENIZERS
from pytest_engram.suites.base import Lists, Question, Source, Suite, SuiteError

_PLAIN = ("name", "kind", "asks", "not_run", "source", "split")


def write(suite: Suite, folder: Path) -> str:
    """Put a suite into the folder; its name there.

    Raises:
        CacheError: the folder can't be written.
    """
    listed = None
    if suite.place is None and suite.not_run is None:
        listed = _write(folder, _lists(suite))
    record = {name: getattr(suite, name) for name in _PLAIN}
    return _write(
        folder,
        record
        | {"settings": dict(suite.settings), "place": suite.place and dict(suite.place), "listed": listed}
        | {"questions": list(suite.questions)},
    )


def _lists(suite: Suite) -> dict[str, Any]:
    """Every different entry once, and each haystack as places among them."""
    places: dict[Entry, int] = {}
    keys = dict.fromkeys(question.haystack for question in suite.questions)
    lists = {key: [places.setdefault(entry, len(places)) for entry in suite.haystack(key)] for key in keys}
    return {"entries": list(places), "lists": lists}


def _write(folder: Path, record: Mapping[str, Any]) -> str:
    content = json.dumps(record).encode()
    name = hashlib.sha256(content).hexdigest()
    kept_file(folder / f"{name}.json", content)
    return name


def read(name: str, path: Path, folder: Path, sources: Mapping[str, Source]) -> Suite:
    """The suite that `write` put there, for the suite file at `path`.

    Raises:
        SuiteError: it is gone, or was changed.
    """
    record = _read(name, path, folder)
    source = sources.get(record["source"])
    if record["place"] is not None:
        try:
            haystacks = source.reopen(record["place"])  # type: ignore[union-attr]
        except CacheError as error:
            raise SuiteError(path, None, "", str(error)) from None
    else:
        haystacks = Lists({}) if record["listed"] is None else _listed(record["listed"], path, folder)
    questions = [
        Question(id_, name, query, haystack, tuple(about), not_run)
        for id_, name, query, haystack, about, not_run in record["questions"]
    ]
    return Suite(
        path=path,
        questions=questions,
        haystacks=haystacks,
        settings=record["settings"],
        place=record["place"],
        tokenize=TOKENIZERS[record["split"]] if record["split"] else getattr(source, "tokenize", None),
        rank=getattr(source, "rank", None),
        **{name: record[name] for name in _PLAIN},
    )


@cache
def _listed(name: str, path: Path, folder: Path) -> Lists:
    # Cached, so that suites over one haystack share it, and the memories that were filled with it.
    record = _read(name, path, folder)
    entries = [Entry(*fields) for fields in record["entries"]]
    return Lists({key: tuple(entries[place] for place in places) for key, places in record["lists"].items()})


def _read(name: str, path: Path, folder: Path) -> Any:
    try:
        content = (folder / f"{name}.json").read_bytes()
    except OSError as error:
        problem = f"what was prepared of it can't be read any more ({error.strerror}): was the cache emptied? Run again"
        raise SuiteError(path, None, "", problem) from None
    if hashlib.sha256(content).hexdigest() != name:
        raise SuiteError(path, None, "", "what was prepared of it was changed in the cache; run again")
    return json.loads(content)
