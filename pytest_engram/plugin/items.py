"""Suite files as collectors, questions as test items, and how an item's result reaches the terminal and the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_engram.asking.runner import blank
from pytest_engram.plugin.methods import Methods
from pytest_engram.runs.outcome import Outcome
from pytest_engram.suites.base import Question, Suite, SuiteError

if TYPE_CHECKING:
    from pytest_engram.memory import Method
    from pytest_engram.plugin.session import EngramSession

PROPERTY = "engram"
RESULT = "engram_result"
STANDS = "stands"  # what a property holds of an item whose outcome is in the log already


def name_of(question: Question, method: Method, seed: int) -> str:
    """The name of an item, in brackets its method, and its seed where it has several."""
    suffix = f"-s{seed - Methods.first_seed}" if method.stochastic else ""
    return f"{question.name}[{method.name}{suffix}]"


class SuiteFile(pytest.File):
    """A suite file: each question x method (x seed) is one item under it."""

    engram: EngramSession

    @classmethod
    def of(cls, engram: EngramSession, parent: pytest.Collector, path: Path) -> SuiteFile:
        """The collector of `path`. A shipped suite outside the root directory gets a short node id."""
        shipped = engram.shelf.shipped_nodeid(path)
        more: dict[str, Any] = {"nodeid": shipped} if shipped else {}
        node: SuiteFile = cls.from_parent(parent, path=path, **more)
        node.engram = engram
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """The items, question by question, so that a haystack's memories are used while they are there."""
        try:
            suite = self.engram.suite(self.path)
            methods = self.engram.methods.selected
            _ = self.engram.standing  # a worker may find it gone
        except (SuiteError, pytest.UsageError) as error:
            raise self.CollectError(str(error)) from None
        shared: Any = None
        for question in suite.questions:
            for method in methods:
                for seed in self.engram.methods.seeds(method):
                    item = QuestionItem.from_parent(
                        self,
                        name=name_of(question, method, seed),
                        callobj=ask,
                        fixtureinfo=shared,
                        suite=suite,
                        question=question,
                        method=method,
                        seed=seed,
                    )
                    # All items have the same function, hence the same fixtures: looked up once, not 10,000 times.
                    shared = item._fixtureinfo
                    yield item


class QuestionItem(pytest.Function):
    """One question, for one method and seed."""

    def __init__(self, *, suite: Suite, question: Question, method: Method, seed: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite
        self.question = question
        self.method = method
        self.seed = seed
        self.outcome: Outcome | None = None
        self.stands = False  # its outcome is in the log of the run that is continued
        self.attempts = 0
        self.again = False  # asked when all others were done, to see whether the answer is the same
        if hasattr(self, "_id"):
            # Since 9.2, pytest holds ids in parts, what is in brackets as parameters; --lf looks up the parts.
            self._id = type(self._id).parse(self.nodeid)

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What no two items of a run share: suite, item, method and seed."""
        return self.suite.name, self.name, self.method.name, self.seed

    def reportinfo(self) -> tuple[Path, int, str]:
        """The suite file, not the module of the function that all items share."""
        return self.path, 0, self.name  # a skip in a fixture needs a line

    def begin(self) -> None:
        """Forget what an earlier attempt found: a plugin may run an item again."""
        self.attempts += 1
        self.outcome, self.stands = None, False
        self.user_properties = [(name, value) for name, value in self.user_properties if name != PROPERTY]

    def publish(self, outcome: Outcome) -> None:
        """Put the outcome where it reaches the process that judges, through a worker's channel too."""
        outcome.reruns = max(self.attempts - 1, 0)
        self.outcome = outcome
        # A worker's channel takes texts alone. What the outcome is worth is told by the process that judges.
        sent = outcome.to_line() if hasattr(self.config, "workerinput") else outcome
        self.user_properties.append((PROPERTY, sent))

    def publish_standing(self) -> None:
        """Say that the outcome that the process that judges has already stands."""
        self.stands = True
        told = {STANDS: [self.suite.name, self.name, self.method.name, self.seed], "reruns": max(self.attempts - 1, 0)}
        self.user_properties.append((PROPERTY, json.dumps(told)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """A violation is its one message; an error is the method's own traceback."""
        from pytest_engram.asking.memories import Empty, Unwritten
        from pytest_engram.asking.rules import Violation
        from pytest_engram.basics.cache import CacheError

        if isinstance(excinfo.value, (Violation, Empty, Unwritten, CacheError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


def ask(request: pytest.FixtureRequest) -> None:
    """The function of every item."""
    __tracebackhide__ = True
    from pytest_engram.asking.rules import Violation

    item = request.node
    assert isinstance(item, QuestionItem)
    assert isinstance(item.parent, SuiteFile)
    standing = item.parent.engram.standing.items
    if not item.again and item.key in standing:
        item.publish_standing()
        if (reason := standing[item.key]) is not None:
            raise Violation(reason)
        return
    outcome = item.parent.engram.asker.ask(
        item.suite,
        item.question,
        item.method,
        item.seed,
        item.name,
        lambda: request.getfixturevalue(item.method.name),
        twice=item.again,
    )
    item.publish(outcome)
    if outcome.status == "violation":
        raise Violation(outcome.reason)
    if outcome.status == "not run":
        pytest.skip(f"not run: {outcome.reason}")


def result(outcome: Outcome) -> str:
    """The word that the terminal shows."""
    if outcome.status != "ok":
        return outcome.status.upper()
    if outcome.hit is None:
        return "UNSCORED"
    return "HIT" if outcome.hit else "MISS"


def properties(outcome: Outcome) -> list[tuple[str, object]]:
    """A judged outcome as user properties: its result, and number by number for those who read JUnit XML."""
    numbers = [(f"engram_{name}", value) for name, value in outcome.metrics.items() if value is not None]
    return [(RESULT, result(outcome)), *numbers]


def complete_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Give a report that ended before its outcome was known (in a fixture, in the method) an outcome.

    A failure is an error. A skip is "not run": a method that skips questions must not be scored on the others alone.
    """
    if not isinstance(item, QuestionItem):
        return
    if report.when == "setup":
        item.begin()
        report.user_properties = list(item.user_properties)
    if item.outcome is not None or item.stands:
        return
    if not report.passed and report.when in ("setup", "call") and call.excinfo is not None:
        error = call.excinfo.value
        k = item.parent.engram.options.k  # type: ignore[union-attr]
        outcome = blank(item.suite, item.question, item.method.name, item.seed, k, item.name)
        outcome.status = "error" if report.failed else "not run"
        outcome.reason = f"{type(error).__name__}: {' '.join(_message(error).split())}"[:500]
        item.publish(outcome)
        report.user_properties.append(item.user_properties[-1])


def let_go(item: pytest.Item) -> None:
    """What an item found has gone to the process that judges: of 60,000 items, that is most of what a worker holds."""
    if isinstance(item, QuestionItem) and not item.again:
        item.outcome = None
        item.user_properties = [(name, value) for name, value in item.user_properties if name != PROPERTY]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the author's own class, whose message fails as well
        return "its message can't be shown"


_STATUS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "HIT": ("hit", ".", ("HIT", {"green": True})),
    "MISS": ("miss", "m", ("MISS", {"yellow": True})),
    "UNSCORED": ("unscored", "u", ("UNSCORED", {"cyan": True})),
    "NOT RUN": ("not run", "n", ("NOT RUN", {"yellow": True})),
}


def status(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """HIT, MISS, UNSCORED and NOT RUN as statuses of their own; a violation stays a failure."""
    if report.when != "call" or report.failed:
        return None
    return _STATUS.get(str(dict(report.user_properties).get(RESULT)))
