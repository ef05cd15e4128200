"""`reworded`: the update says the contrary without a predicate word of the belief; checked, so that it stays true."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_engram.suites.base import Loaded, SuiteError
from pytest_engram.suites.files import Lines
from pytest_engram.suites.microtests import suite
from pytest_engram.suites.microtests.model import Cases

Spec = Cases

# Words that carry grammar and no predicate; sharing them is no shared wording.
_GRAMMAR = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at been by for from had has have he her his in is it its of on or s she that the their they "
        "this to was were which who with",
    )
)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def predicate_words(text: str) -> set[str]:
    """The words of a template outside its placeholders, without grammar, lower-cased."""
    return set(re.findall(r"\w+", _PLACEHOLDER.sub(" ", text).casefold())) - _GRAMMAR


class RewordedKey(suite.CaseKey):
    """Cases whose two statements share their slots (the subject) and no other word."""


def load(spec: Cases, path: Path, lines: Lines) -> Loaded:
    """The suite and its key, after the check of its wording.

    Raises:
        SuiteError: belief and update of a case share a predicate word.
    """
    for i, case in enumerate(spec.cases):
        shared = sorted(predicate_words(case.belief) & predicate_words(case.update))
        if shared:
            at = lines[("cases", i, "update")]
            problem = f"shares {', '.join(map(repr, shared))} with the belief; say it in other words, subjects as slots"
            raise SuiteError(path, at, f"cases[{i}].update", problem)
    return suite.load(spec, path, lines, RewordedKey)
