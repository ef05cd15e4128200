"""`sites`: what is returned must not depend on whether the entries are written in one call or one at a time."""

from __future__ import annotations

from pathlib import Path

from pytest_engram.suites.base import Loaded
from pytest_engram.suites.files import Lines
from pytest_engram.suites.microtests import suite
from pytest_engram.suites.microtests.model import Cases

Spec = Cases


class SitesKey(suite.CaseKey):
    """Every level is asked twice; the winner in the log is that of the first memory."""

    judged_by = "sites"
    asks = "one by one"


def load(spec: Cases, path: Path, lines: Lines) -> Loaded:
    """The suite and its key; nothing needs to be prepared."""
    return suite.load(spec, path, lines, SitesKey)
