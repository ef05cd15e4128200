"""What a judge's verdicts are worth: its errors on known answers, and accuracies corrected for them.

No judged number stands without its judge: a figure whose judge was not itself judged says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_engram import statistics as stats
from pytest_engram.report.log import WHOLE, Log, Part, reasons
from pytest_engram.runs.known import KnownAnswer
from pytest_engram.runs.outcome import Outcome

Row: TypeAlias = dict[str, Any]

JUDGED = "judged"
ALL = "all"
KINDS = ("another", "vague", "superseded", "reworded")  # in their order; a file may have others
ELSEWHERE = "recorded verdicts"  # the judge of verdicts that came with the answers
NOT_JUDGED = "judge not judged"


class Judges:
    """Of one run.

    Args:
        log: its outcomes.
        known: the known answers that its judge was asked about.
    """

    def __init__(self, log: Log, known: Iterable[KnownAnswer]) -> None:
        self._log = log
        self._known: dict[str, list[KnownAnswer]] = defaultdict(list)
        for one in sorted(known, key=lambda one: one.place):
            self._known[one.suite].append(one)
        told = log.manifest.get("judge")
        self._told: Mapping[str, Any] = {"label": told} if isinstance(told, str) else told or {}

    @property
    def label(self) -> str | None:
        """The judge of the run."""
        return self._told.get("label")

    # The judges' rows

    def rows(self) -> list[Row]:
        """One a judge, suite and kind of known answer; see `aggregate`."""
        found: list[Row] = []
        for suite in self._log.suites:
            groups = list(self._log.of_suite(suite))
            there = {self._of(line) for group in groups for line in group if line.metrics.get(JUDGED) is not None}
            there |= {self.label} if self._known.get(suite) else set()
            for judge in sorted(filter(None, there), key=lambda judge: (judge != self.label, judge)):
                known = self._known_to(judge, suite)
                kinds = sorted({one.kind for one in known}, key=lambda kind: (*[kind != k for k in KINDS], kind))
                found.append(self._row(suite, judge, ALL, known))
                found += [self._row(suite, judge, kind, [o for o in known if o.kind == kind]) for kind in kinds]
        return found

    def _row(self, suite: str, judge: str, kind: str, known: Sequence[KnownAnswer]) -> Row:
        judged = [one for one in known if one.verdicts]
        wrong = _share([one for one in judged if one.truth == "wrong"])
        right = _share([one for one in judged if one.truth == "right"])
        status, reason = "ok", ""
        if not judged:
            status, reason = "not run", self._unjudged(judge, known)
        elif len(judged) < len(known):
            why = reasons(one.reason for one in known if not one.verdicts)
            status, reason = "partial", f"{len(known) - len(judged)} of {len(known)} known answers not judged: {why}"
        spreadless = [f"no interval: {told}" for truth in ("wrong", "right") if (told := self._of_one(judged, truth))]
        return {
            "judge": judge,
            "suite": suite,
            "kind": kind,
            "wrong_accepted": wrong["value"],
            "low": wrong["low"],
            "high": wrong["high"],
            "n": wrong["n"],
            # Refused is what is not accepted: the bounds change places.
            "right_rejected": _but(right["value"]),
            "right_low": _but(right["high"]),
            "right_high": _but(right["low"]),
            "right_n": right["n"],
            "prompt": self._prompt(suite) if judge == self.label else None,
            "runs": max((len(one.verdicts) for one in judged), default=None),
            "status": status,
            "reason": "; ".join([*([reason] if reason else []), *spreadless]),
        }

    def _of_one(self, known: Sequence[KnownAnswer], truth: str) -> str | None:
        """That all answers known to be `truth` are of one cluster, which tells no spread; else None."""
        clusters = _verdicts([one for one in known if one.truth == truth]).clusters
        alone = clusters is not None and len(set(clusters)) == 1
        return f"all answers known to be {truth} are of one {self._log.noun(known[0].suite)}" if alone else None

    def _known_to(self, judge: str, suite: str) -> list[KnownAnswer]:
        return [] if judge == ELSEWHERE else self._known.get(suite, [])

    def _unjudged(self, judge: str, known: Sequence[KnownAnswer]) -> str:
        if judge == ELSEWHERE:
            return f"{NOT_JUDGED}: its verdicts came with the answers, and with none on known ones"
        if not known:
            return f"{NOT_JUDGED}: it was asked about no answer that is known to be wrong or right"
        if all(one.verdicts for one in known):
            return f"{NOT_JUDGED}: it was asked about no answer that is known to be wrong"
        return f"{NOT_JUDGED}: {reasons(one.reason for one in known if not one.verdicts)}"

    def _prompt(self, suite: str) -> str | None:
        told = (self._told.get("prompts") or {}).get(suite) or {}
        return told.get("label") if isinstance(told, Mapping) else None

    def _of(self, line: Outcome) -> str | None:
        """Whose verdicts a line has."""
        given = line.fields.get("judge")
        return str(given) if given else ELSEWHERE if line.reader == "recorded" else self.label

    # The rows of methods

    def correct(self, row: Row, part: Part = WHOLE) -> None:
        """Put beside a judged accuracy what it is once corrected, and mark it where its judge was not judged."""
        nothing = dict.fromkeys(("corrected", "corrected_low", "corrected_high", "correction"))
        row |= {**nothing, "correction_reason": "", "spread": None, "judge": None}
        if row["value"] is None:
            row["correction_reason"] = "there is no figure to correct"
            return
        suite, method = row["suite"], row["method"]
        lines = [o for o in self._log.of_part(suite, method, part) if o.metrics.get(JUDGED) is not None]
        judges = sorted({self._of(line) or "" for line in lines})
        row["judge"], row["spread"] = " and ".join(judges), _spread(lines)
        there = self._known_to(ELSEWHERE if ELSEWHERE in judges else judges[0], suite)
        known = [one for one in there if one.verdicts] if len(judges) == 1 else []
        if not any(one.truth == "wrong" for one in known):
            row["marks"] = [*row["marks"], self._unjudged(ELSEWHERE if ELSEWHERE in judges else judges[0], there)]
        told = []
        for name, way in (("ppi", self._by_people), ("rogan-gladen", self._by_known)):
            try:
                found = way(suite, lines, known)
            except stats.Undefined as reason:
                told.append(str(reason))
                continue
            if found is not None:
                row |= {"corrected": found.value, "corrected_low": found.low, "corrected_high": found.high}
                row["correction"] = name
                break
        row["correction_reason"] = "; ".join(told)

    def _by_people(self, suite: str, lines: Sequence[Outcome], _: Sequence[KnownAnswer]) -> stats.Estimate | None:
        people = [line for line in lines if "human" in line.fields]
        if not people:
            return None
        alone = [line for line in lines if "human" not in line.fields]
        return stats.ppi_mean(
            [line.metrics[JUDGED] or 0.0 for line in alone],
            [line.metrics[JUDGED] or 0.0 for line in people],
            [float(line.fields["human"]) for line in people],
            clusters=self._clusters(suite, [line.question_id for line in [*alone, *people]]),
        )

    def _by_known(self, suite: str, lines: Sequence[Outcome], known: Sequence[KnownAnswer]) -> stats.Estimate:
        if not known:
            raise stats.Undefined(NOT_JUDGED)
        by_truth = {truth: [one for one in known if one.truth == truth] for truth in ("right", "wrong")}
        for truth, those in by_truth.items():
            if not those:
                raise stats.Undefined(f"not corrected: the judge was asked about no answer known to be {truth}")
        if told := self._of_one(known, "wrong") or self._of_one(known, "right"):
            raise stats.Undefined(f"not corrected: {told}")
        by_question: dict[str, list[float]] = defaultdict(list)
        for line in lines:
            by_question[line.question_id].append(line.metrics[JUDGED] or 0.0)
        values = [sum(found) / len(found) for found in by_question.values()]
        judged = stats.Verdicts(values, self._clusters(suite, list(by_question)))
        return stats.rogan_gladen(judged, _verdicts(by_truth["right"]), _verdicts(by_truth["wrong"]))

    def _clusters(self, suite: str, questions: Sequence[str]) -> list[Any] | None:
        drawn = self._log.clusters(suite, set(questions))
        return [drawn[question] for question in questions] if drawn else None


def _verdicts(known: Sequence[KnownAnswer]) -> stats.Verdicts:
    drawn = any(one.cluster for one in known)
    clusters = [one.cluster or (one.question_id,) for one in known] if drawn else None
    return stats.Verdicts([one.accepted for one in known], clusters)


def _share(known: Sequence[KnownAnswer]) -> Row:
    """How much of some known answers is accepted, and its interval: by cluster, Wilson's, or the bootstrap's.

    Where all are of one cluster, there is no interval.
    """
    if not known:
        return {"value": None, "low": None, "high": None, "n": 0}
    values, clusters = _verdicts(known)
    low: float | None
    high: float | None
    if clusters is not None and len(set(clusters)) == 1:
        low = high = None
    elif clusters is not None:
        low, high = stats.cluster_interval(values, clusters)
    elif set(values) <= {0.0, 1.0}:
        low, high = stats.wilson(round(sum(values)), len(values))
    else:
        low, high = stats.bootstrap(values)
    return {"value": sum(values) / len(values), "low": low, "high": high, "n": len(values)}


def _but(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _spread(lines: Sequence[Outcome]) -> list[float] | None:
    """The lowest and the highest accuracy of one run of a judge that was asked several times, as often everywhere."""
    verdicts = [line.fields.get("verdicts", ()) for line in lines]
    times = {len(given) for given in verdicts}
    if len(times) != 1 or (count := times.pop()) < 2:
        return None
    runs = [sum(given[at] for given in verdicts) / len(verdicts) for at in range(count)]
    return [min(runs), max(runs)]
