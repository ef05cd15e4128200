"""A run log, sorted: which questions a method was measured on, and why a cell has no number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pytest_engram import statistics as stats
from pytest_engram.runs.outcome import BINARY, LIMIT, READ, Outcome, covers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Status: TypeAlias = Literal["ok", "covers", "partial", "not run", "violation", "error"]

# The order of every table: the user's own methods first, then these, then whatever else ran.
SHIPPED = ("loom", "loom-recency", "loom-no-regex", "loom-distinct", "loom-sampled", "tide", "bm25", "dense")
ROLES = ("experiment", "ablation", "control", "anchor")

DECIDED = "decided"  # computed from `winner`: which side came back alone
MEASURES = ("percentile_mutual", "percentile_plain", "percentile_method")  # of the family `hub`
GRADED = frozenset({"recall", "f1"})  # shares, even where all of a suite's are 0 or 1; and so is every NDCG
DISPUTED = "disputed"

Drawn: TypeAlias = tuple[str | None, str]  # the cluster; or, of a question that was drawn by itself, None and its id

wilson = cache(stats.wilson)  # a report needs the same few hundred proportions again and again


class Part(NamedTuple):
    """Which questions of a suite a figure is over: a category's, or several categories'; without the disputed ones."""

    group: str | None = None
    without: str | None = None


WHOLE = Part()


def whole(row: Mapping[str, Any]) -> bool:
    """Whether a row of the results is over a whole suite, in its published form."""
    return Part(row["group"], row["without"]) == WHOLE


@dataclass(slots=True)
class Measured:
    """One metric of one method on one suite.

    `values` has one row a question of `questions` and one column a seed; without rows there is no number, and
    `reason` says why. `errors` counts the items that ended in an error: they are no part of the values.
    """

    status: Status
    reason: str = ""
    questions: list[str] = field(default_factory=list)
    values: NDArray[np.float64] | None = None
    errors: int = 0

    def per_question(self) -> dict[str, float]:
        """The mean over the seeds, by question."""
        if self.values is None:
            return {}
        return dict(zip(self.questions, self.values.mean(axis=1).tolist(), strict=True))


class Returned(NamedTuple):
    """What a method returned on a part of a suite, in the mean over its seeds. None: nothing is known of it."""

    seeds: int
    effective_k: float | None  # places that were filled, in the mean over the items
    lost: float | None  # questions whose answer was ranked in the first k and then dropped in a conflict


class Log:
    """Outcomes by suite and method, in an order that doesn't depend on the order of the log.

    Attributes:
        suites: the manifest's, and whatever else the log holds, by name.
        methods: {label, role, stochastic, named} by name, in the order of every table.
        groups: outcomes by (suite, method).
    """

    def __init__(self, outcomes: Iterable[Outcome], manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self.groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
        # One item, one outcome: of an item that was repeated, the later line counts.
        once = {(o.suite, o.question_id, o.method, o.seed): o for o in outcomes}
        for outcome in sorted(once.values(), key=lambda o: (o.item, o.question_id, o.seed)):
            self.groups[outcome.suite, outcome.method].append(outcome)
        self.groups = dict(self.groups)
        self.suites: dict[str, Mapping[str, Any]] = dict(manifest.get("suites") or {})
        for suite, _ in sorted(self.groups):
            self.suites.setdefault(suite, {})
        self.methods = self._methods()
        self._measured: dict[tuple[str, str, str, Part], Measured] = {}
        self._parts: dict[tuple[str, str, Part], list[Outcome]] = {}
        self._returned: dict[tuple[str, str, Part], Returned] = {}
        self._clusters: dict[str, dict[str, Drawn]] = {}
        self._metrics: dict[str, list[str]] = {}
        self._binary: dict[tuple[str, str], bool] = {}
        self._differs: dict[tuple[str, str, str], float | None] = {}

    def _methods(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {k: dict(v) for k, v in (self.manifest.get("methods") or {}).items()}
        for _, method in sorted(self.groups):
            found.setdefault(method, {})
        named = list(self.manifest.get("named") or ())
        place = {name: at for at, name in enumerate(found)}

        def order(name: str) -> tuple[int, ...]:
            if name in SHIPPED:
                return (1, SHIPPED.index(name))
            role = found[name].get("role", "experiment")
            rank = ROLES.index(role) if role in ROLES else len(ROLES)
            return (0 if name in named else 2, rank, place[name])

        return {
            name: {
                "label": found[name].get("label") or name,
                "role": found[name].get("role") or "experiment",
                "stochastic": bool(found[name].get("stochastic")),
                "named": name in named,
            }
            for name in sorted(found, key=order)
        }

    def label(self, method: str) -> str:
        """The method's name in tables."""
        return str(self.methods[method]["label"]) if method in self.methods else method

    def kind(self, suite: str) -> str:
        """Of a suite: "pilot" or "micro"."""
        return str(self.suites[suite].get("kind") or ("micro" if self.family(suite) else "pilot"))

    def family(self, suite: str) -> str | None:
        """A micro-test's family: as the manifest has it, else as its outcomes say."""
        if self.suites[suite].get("family"):
            return str(self.suites[suite]["family"])
        for group in self.of_suite(suite):
            for outcome in group:
                if outcome.family:
                    return outcome.family
        return suite if self.suites[suite].get("kind") == "micro" else None

    def of_suite(self, suite: str) -> Iterator[list[Outcome]]:
        """The outcomes of each method on a suite, in the methods' order."""
        for method in self.methods:
            if (suite, method) in self.groups:
                yield self.groups[suite, method]

    def differs(self, suite: str, method: str, anchor: str = "dense") -> float | None:
        """Questions for which the method returned other ids than the anchor, or in another order; mean over seeds."""
        if (suite, method, anchor) not in self._differs:
            theirs = {o.question_id: o.ids for o in self.groups.get((suite, anchor), []) if o.status == "ok"}
            known = [o for o in self.groups.get((suite, method), []) if o.status == "ok" and not o.unrecalled]
            ours = [o for o in known if o.question_id in theirs]
            seeds = len({o.seed for o in ours})
            other = sum(o.ids != theirs[o.question_id] for o in ours)
            self._differs[suite, method, anchor] = other / seeds if ours and method != anchor else None
        return self._differs[suite, method, anchor]

    def metrics(self, suite: str) -> list[str]:
        """The suite's metrics in its own order, then what else its outcomes hold."""
        if suite not in self._metrics:
            names = dict.fromkeys(self.suites[suite].get("metrics") or ())
            micro = self.kind(suite) == "micro"
            for group in self.of_suite(suite):
                for outcome in group:
                    names.update(dict.fromkeys(outcome.metrics))
                    if micro:
                        if _asks_for_decision(outcome):
                            names.setdefault(DECIDED)
                        names.update(dict.fromkeys(m for m in MEASURES if outcome.fields.get(m) is not None))
            self._metrics[suite] = list(names)
        return self._metrics[suite]

    def binary(self, suite: str, metric: str) -> bool:
        """Whether a metric is 0 or 1 on each question: by its name, else by all values of the suite."""
        base = metric.partition("@")[0]
        if base in BINARY or base == DECIDED:
            return True
        if base.startswith("ndcg") or base in GRADED:
            return False
        if (suite, metric) not in self._binary:
            values = {_value(o, metric) for group in self.of_suite(suite) for o in group} - {None}
            self._binary[suite, metric] = values <= {0.0, 1.0}
        return self._binary[suite, metric]

    def clusters(self, suite: str, questions: Collection[str] | None = None) -> dict[str, Drawn]:
        """What each of these questions, else each that was measured, was drawn with.

        Empty where no two questions of the suite were drawn together, so that each stands for itself. A single question
        of a suite that names its clusters can't tell that, and is one cluster.
        """
        drawn = self._drawn(suite)
        if questions is None:
            questions = {o.question_id for group in self.of_suite(suite) for o in group if o.status == "ok"}
        alone = len(questions) == 1 and bool(self.suites[suite].get("cluster"))
        together = len(set(drawn.values())) < len(drawn)
        return {question: drawn[question] for question in questions} if together or alone else {}

    def _drawn(self, suite: str) -> dict[str, Drawn]:
        if suite not in self._clusters:
            of: dict[str, str | None] = {}
            for group in self.of_suite(suite):
                for outcome in group:
                    of[outcome.question_id] = of.get(outcome.question_id) or outcome.cluster
            self._clusters[suite] = {q: (None, q) if name is None else (name, "") for q, name in of.items()}
        return self._clusters[suite]

    def cluster(self, suite: str, questions: Collection[str] | None = None) -> str | None:
        """What the `clusters` of these questions are, as a noun; None where there are none."""
        return self.noun(suite) if self.clusters(suite, questions) else None

    def noun(self, suite: str) -> str:
        """What a cluster of a suite is called."""
        return str(self.suites[suite].get("cluster") or "cluster")

    def parts(self, suite: str) -> list[Part]:
        """What figures of a suite are over besides the whole: its categories, and all of it without disputed keys."""
        outcomes = [outcome for group in self.of_suite(suite) for outcome in group]
        pooled = self.suites[suite].get("pooled") or {}
        groups = sorted({o.group for o in outcomes if o.group is not None})
        labels = [*groups, *(label for label in pooled if label not in groups)] if groups else []
        found = [Part(label) for label in labels]
        if any(o.disputed for o in outcomes):
            found += [Part(label, DISPUTED) for label in (None, *labels)]
        return found

    def of_part(self, suite: str, method: str, part: Part = WHOLE) -> list[Outcome]:
        """The outcomes of a method on a part of a suite.

        A question that was not run, and whose category nobody knows, may be of any: it is a part of each.
        """
        group = self.groups.get((suite, method), [])
        if part == WHOLE:
            return group
        key = (suite, method, part)
        if key not in self._parts:
            pooled = (self.suites[suite].get("pooled") or {}).get(part.group) or (part.group,)
            self._parts[key] = [
                o
                for o in group
                if (part.group is None or o.group in pooled or (o.group is None and o.status == "not run"))
                and not (part.without and o.disputed)
            ]
        return self._parts[key]

    def returned(self, suite: str, method: str, part: Part = WHOLE) -> Returned:
        """What came back, whatever it is measured by."""
        key = (suite, method, part)
        if key not in self._returned:
            group = self.of_part(suite, method, part)
            lost = [outcome.lost for outcome in group if outcome.lost is not None]
            seeds = len({outcome.seed for outcome in group})
            ran = [outcome.returned for outcome in group if outcome.status == "ok" and not outcome.unrecalled]
            mean = sum(ran) / len(ran) if ran else None
            self._returned[key] = Returned(seeds, mean, sum(lost) / seeds if lost else None)
        return self._returned[key]

    def measured(self, suite: str, method: str, metric: str, part: Part = WHOLE) -> Measured:
        """The numbers of a cell, or the reason why there are none."""
        key = (suite, method, metric, part)
        if key not in self._measured:
            self._measured[key] = self._measure(*key)
        return self._measured[key]

    def _measure(self, suite: str, method: str, metric: str, part: Part) -> Measured:
        if suite not in self.suites:
            return Measured("not run", f"the suite {suite} was no part of this run")
        group = self.of_part(suite, method, part)
        if not group:
            return Measured("not run", str(self.suites[suite].get("not_run") or "none of its questions was asked"))
        if not (counted := [o for o in group if metric not in o.left_out]):
            return Measured("not run", f"every question is left out: {reasons(o.left_out[metric] for o in group)}")
        group = counted
        refused = [o for o in group if o.status == "violation"]
        if refused:
            return Measured("violation", _counted(refused, group, "items"))
        failed = [o for o in group if o.status == "error"]
        # Nothing is left out of a figure in silence: errors beside items that were not run leave no number.
        if failed and (
            any(o.status == "not run" for o in group) or not any(o.status == "ok" and _counts(o, metric) for o in group)
        ):
            return Measured("error", _counted(failed, group, "items"), errors=len(failed))
        stopped = [o for o in group if o.status == "not run"]
        if len(stopped) == len(group):
            return Measured("not run", reasons(o.reason for o in stopped))
        if stopped:
            ran = len(group) - len(stopped)
            return Measured("not run", f"{ran} of {len(group)} items run: {reasons(o.reason for o in stopped)}")
        return self._numbers(suite, metric, group, failed)

    def _numbers(self, suite: str, metric: str, group: list[Outcome], failed: list[Outcome]) -> Measured:
        scored = [o for o in group if o.status == "ok" and _counts(o, metric)]
        if not scored:
            return Measured("not run", f"every question is left out: {reasons(o.excluded or '' for o in group)}")
        by_question: dict[str, dict[int, float]] = defaultdict(dict)
        missing: list[Outcome] = []
        for outcome in scored:
            value = _value(outcome, metric)
            if value is not None:
                by_question[outcome.question_id][outcome.seed] = float(value)
            elif outcome.family is None or metric in outcome.missing:  # a level without a winner isn't scored
                missing.append(outcome)
        # What the run's money did not reach to leaves a part of a figure; whatever else is missing, none.
        unpaid = [o for o in missing if o.missing.get(metric, "").startswith(LIMIT)]
        if missing and (len(unpaid) < len(missing) or not by_question):
            why = reasons(o.missing.get(metric) or "not measured" for o in missing)
            some = f"{len(scored) - len(missing)} of {len(scored)} {'answered' if metric in READ else 'measured'}: "
            return Measured("not run", why if len(missing) == len(scored) else some + why)
        if not by_question:
            told = [why for outcome in scored for why in outcome.missing.values()]
            return Measured("not run", reasons(told) if told else f"no level of this suite is scored by {metric}")
        cut = f"partial: {len(scored) - len(unpaid)} of {len(scored)} answered" if unpaid else ""
        cut += f": {reasons(o.missing[metric] for o in unpaid)}" if unpaid else ""
        return self._flagged(suite, group, scored, by_question, failed, cut)

    def _flagged(
        self,
        suite: str,
        group: list[Outcome],
        scored: list[Outcome],
        by_question: dict[str, dict[int, float]],
        failed: list[Outcome],
        cut: str,
    ) -> Measured:
        import numpy as np

        seeds = sorted({outcome.seed for outcome in scored})
        questions = [q for q, values in by_question.items() if len(values) == len(seeds)]
        # A part of a suite is whole where the suite was asked as a whole.
        asked = len({o.question_id for o in self.groups[suite, group[0].method]})
        planned = int(self.suites[suite].get("n") or 0)
        if not questions:
            return Measured("not run", f"no question was asked with all {len(seeds)} seeds")
        table = np.array([[by_question[q][seed] for seed in seeds] for q in questions], dtype=np.float64)
        reasons: dict[Status, str] = {}
        covered = {o.question_id: (o.k, o.haystack) for o in scored if o.haystack and covers(o.k, o.haystack)}
        if covered:
            k, smallest = min(covered.values(), key=lambda pair: pair[1])
            where = "" if len(covered) == len(by_question) else f" on {len(covered)} of {len(by_question)} questions"
            reasons["covers"] = f"k covers the haystack: measures nothing (k = {k}, {smallest} entries{where})"
        partial = [_counted(failed, group, "items ended in an error")] if failed else []
        if cut:
            partial.append(cut)
        elif asked < planned:
            partial.append(f"partial: {asked} of {planned} questions were asked")
        elif len(questions) < len(by_question):
            partial.append(f"partial: {len(questions)} of {len(by_question)} questions ran with all seeds")
        if partial:
            reasons["partial"] = "; ".join(partial)
        status: Status = next(iter(reasons), "ok")
        return Measured(status, "; ".join(reasons.values()), questions, table, len(failed))


def in_order(outcomes: Iterable[Outcome], results: Mapping[str, Any]) -> list[Outcome]:
    """The outcomes in the order of the results' suites, then of their items, then of the methods."""
    suites = {suite["suite"]: at for at, suite in enumerate(results["suites"])}
    methods = {method["method"]: at for at, method in enumerate(results["methods"])}
    return sorted(outcomes, key=lambda o: (suites[o.suite], o.item, o.question_id, methods[o.method], o.seed))


def _asks_for_decision(outcome: Outcome) -> bool:
    # Where nothing contradicts (keep-both), or something else is measured (a score without an expected side), a side
    # that comes back alone decides nothing.
    elsewhere = outcome.expected is None and "correct" in outcome.metrics
    return outcome.winner is not None and outcome.expected != "both" and not elsewhere


def _counts(outcome: Outcome, metric: str) -> bool:
    """Whether a question is in the mean of a metric. One that the official means leave out is in those of answers."""
    return not outcome.excluded or metric in outcome.metrics


def _value(outcome: Outcome, metric: str) -> float | None:
    if metric in outcome.metrics:
        return outcome.metrics[metric]
    if metric == DECIDED and _asks_for_decision(outcome):
        return float(outcome.winner in ("belief", "update"))
    if metric in MEASURES:
        found = outcome.fields.get(metric)
        return None if found is None else float(found)
    return None


def _counted(some: list[Outcome], group: list[Outcome], what: str) -> str:
    return f"{len(some)} of {len(group)} {what}; the first: {reasons([some[0].reason])}"


def reasons(reasons: Iterable[str]) -> str:
    """The different ones, the most frequent first; more than three are counted, not told."""
    counted = Counter(" ".join(reason.split()) or "no reason was given" for reason in reasons)
    ordered = sorted(counted, key=lambda reason: (-counted[reason], reason))
    rest = len(ordered) - 3
    return "; ".join(ordered[:3]) + (f"; and {rest} other reasons" if rest > 0 else "")
