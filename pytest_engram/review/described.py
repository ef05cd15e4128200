"""What the manifest says of a suite: by it, a reader and `engram verify` can tell whether two runs asked the same."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from pytest_engram.basics.privacy import public
from pytest_engram.suites.base import Key

if TYPE_CHECKING:
    from pytest_engram.suites.microtests.suite import MicroKey


def describe(key: Key) -> dict[str, Any]:
    """Kind, metrics, counts, hashes, and what the suite tells of itself. JSON."""
    questions = key.questions()
    excluded = Counter(why for id_ in questions if (why := key.gold(id_).excluded))
    found = {
        "kind": key.kind,
        "metrics": list(key.metrics),
        "n": len(questions),
        "file": key.path.name,
        "sha256": hashlib.sha256(key.path.read_bytes()).hexdigest(),
        "excluded": dict(sorted(excluded.items())),
        "not_run": key.not_run and public(key.not_run),
        **({"cluster": key.cluster} if key.cluster else {}),
        **key.describe(),
    }
    return found | (_registered(cast("MicroKey", key)) if key.kind == "micro" else {})


def _registered(key: MicroKey) -> dict[str, Any]:
    from pytest_engram.review import registration

    parts = registration.parts(key)
    return {"sha256": parts["case file"], "hashes": parts, "registered": registration.status(key)}
