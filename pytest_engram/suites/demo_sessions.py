"""Generated haystacks of sessions in LongMemEval's schema: its protocol on any machine, without a download."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pytest_engram.basics.cache import CacheError
from pytest_engram.suites.base import NotRun
from pytest_engram.suites.longmemeval import demo, store
from pytest_engram.suites.longmemeval.parse import record
from pytest_engram.suites.longmemeval.suite import SessionSpec, SessionSuite


class Spec(SessionSpec):
    """A suite file of this source."""

    source: Literal["demo_sessions"]
    seed: int


def prepare(spec: Spec, data: Path | None) -> Path:  # noqa: ARG001 (nothing is read)
    """Generate the haystacks, and keep them as a file of the official schema is kept.

    Raises:
        NotRun: the cache can't be written.
    """
    found = demo.questions(spec.seed)
    sha256 = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    try:
        folder = store.keep("demo_sessions", sha256, lambda: map(record, found))
        store.Store(folder, spec.granularity).count()
    except CacheError as error:
        raise NotRun(str(error)) from None
    return folder


def load(spec: Spec, path: Path, prepared: Path | None) -> SessionSuite:
    """The suite; with `prepared` None, its questions alone, by their committed ids."""
    return SessionSuite(spec, path, prepared, shown="the generated data")
