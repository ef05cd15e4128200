"""`sites`: what is returned must not depend on whether the entries are written in one call or one at a time."""

from __future__ import annotations

from pathlib import Path

from pytest_engram.suites.base import Probe, Question, Score
from pytest_engram.suites.files import Lines
from pytest_engram.suites.microtests.model import Cases
from pytest_engram.suites.microtests.suite import CaseSuite

Spec = Cases


class Sites(CaseSuite):
    """Every level is asked twice; the winner in the log is that of the first memory."""

    def examine(self, question: Question, probe: Probe) -> Score:
        """Compare the ids of a memory written in one call with those of one written entry by entry."""
        at_once = probe.search()
        one_by_one = probe.search(one_by_one=True)
        fields = self.score(question, at_once).fields
        same = at_once == one_by_one
        if not same:
            fields["one_by_one"] = one_by_one
        return Score(metrics={"correct": float(same)}, hit=same, fields=fields)


def load(spec: Cases, path: Path, lines: Lines, prepared: Path | None) -> Sites:  # noqa: ARG001
    """The suite; nothing needs to be prepared."""
    return Sites(spec, path, lines)
