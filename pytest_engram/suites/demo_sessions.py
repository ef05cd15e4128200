"""Generated haystacks of sessions in LongMemEval's schema: its protocol on any machine, without a download."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pytest_engram.basics.cache import CacheError
from pytest_engram.suites.base import Loaded, NotRun
from pytest_engram.suites.longmemeval import demo, store, suite
from pytest_engram.suites.longmemeval.parse import record
from pytest_engram.suites.longmemeval.protocol import rank, tokenize
from pytest_engram.suites.longmemeval.suite import SessionSpec, missing, reopen

__all__ = ["Spec", "load", "missing", "rank", "reopen", "tokenize"]


class Spec(SessionSpec):
    """A suite file of this source."""

    source: Literal["demo_sessions"]
    seed: int


def load(spec: Spec, path: Path, data: Path | None) -> Loaded:  # noqa: ARG001 (nothing is read)
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
    return suite.load(spec, path, folder, shown="the generated data")
