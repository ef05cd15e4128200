"""What a judged accuracy is worth, once it is known how often the judge errs, or what people said of some answers.

A judge's verdict on an answer is a number from 0 (wrong, every time it was asked) to 1 (right, every time).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_engram.statistics.clusters import cluster_error
from pytest_engram.statistics.intervals import score_interval
from pytest_engram.statistics.resampling import finite

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Undefined(Exception):
    """An estimate that there is none of. The message is the reason, in one line."""


class Verdicts(NamedTuple):
    """A judge's verdicts on some answers, shape (n,), and what each answer was drawn with; None: each by itself."""

    values: Sequence[float]
    clusters: Sequence[Hashable] | None = None


class Estimate(NamedTuple):
    """A share, or a difference of shares, and the bounds of its interval."""

    value: float
    low: float
    high: float


def rogan_gladen(judged: Verdicts, right: Verdicts, wrong: Verdicts, confidence: float = 0.95) -> Estimate:
    """The share of right answers behind a judge's accuracy, corrected for the judge's errors.

    The estimate is (p + specificity - 1) / (sensitivity + specificity - 1), cut to 0 to 1 (Rogan and Gladen,
    "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107, 1978). The
    interval carries the uncertainty of all three shares: that of Lang and Reiczigel, "Confidence limits for prevalence
    of disease adjusted for estimated sensitivity and specificity" (Preventive Veterinary Medicine 113, 2014), which
    does not shrink to nothing where the judge made no error on the known answers. A mean that is not of independent
    zeros and ones counts as that of as many of them as give its variance; with clusters the quantile is Student's.

    It holds as far as the answers that are judged are like the known ones: a judge that is harder to deceive by them,
    or easier, errs at another rate.

    Args:
        judged: the verdicts on the answers in question.
        right: the verdicts on answers that are known to be right; their mean is the sensitivity.
        wrong: the verdicts on answers that are known to be wrong; 1 minus their mean is the specificity.
        confidence: 0 to 1.

    Raises:
        Undefined: the judge is no better than chance, or may be none: the interval of sensitivity + specificity - 1
            (`youden`) has 0 in it. Or all answers are of one cluster.
        ValueError: one of the three is empty.
    """
    p, accepts, accepts_wrongly = (float(finite(sample.values).mean()) for sample in (judged, right, wrong))
    better, least, _ = youden(right, wrong, confidence)
    told = f"it accepts {_percent(accepts)} of answers known to be right and {_percent(accepts_wrongly)} of wrong ones"
    if better <= 0:
        raise Undefined(f"the judge is no better than chance: {told}")
    n_right, n_wrong = _independent(right), _independent(wrong)
    sensitivity = (n_right * accepts + 1) / (n_right + 2)
    specificity = (n_wrong * (1 - accepts_wrongly) + 1) / (n_wrong + 2)
    j = sensitivity + specificity - 1
    if min(least, j) <= 0:
        raise Undefined(f"the judge may be no better than chance: {told}, which so few answers can't tell apart")
    z, n = _quantile(judged.clusters, confidence), _independent(judged)
    p_, n_ = (n * p + z * z / 2) / (n + z * z), n + z * z
    of_right = sensitivity * (1 - sensitivity) / (n_right + 2)
    of_wrong = specificity * (1 - specificity) / (n_wrong + 2)
    centre = (p_ + specificity - 1) / j
    deviation = math.sqrt(p_ * (1 - p_) / n_ + centre**2 * of_right + (1 - centre) ** 2 * of_wrong) / j
    centre += 2 * z * z * (centre * of_right - (1 - centre) * of_wrong)
    value = _cut((p - accepts_wrongly) / better)
    low, high = _cut(centre - z * deviation), _cut(centre + z * deviation)
    return Estimate(value, min(low, value), max(high, value))


def youden(right: Verdicts, wrong: Verdicts, confidence: float = 0.95) -> Estimate:
    """Youden's J of a judge, sensitivity + specificity - 1: -1 to 1.

    The interval is method 10 of Newcombe, "Interval estimation for the difference between independent proportions"
    (Statistics in Medicine 17, 1998).

    Args:
        right: verdicts on answers known to be right.
        wrong: verdicts on answers known to be wrong.
        confidence: 0 to 1.
    """
    a, b = float(finite(right.values).mean()), float(finite(wrong.values).mean())
    n, m = _independent(right), _independent(wrong)
    low_a, high_a = score_interval(a * n, n, _quantile(right.clusters, confidence))
    low_b, high_b = score_interval(b * m, m, _quantile(wrong.clusters, confidence))
    return Estimate(a - b, a - b - math.hypot(a - low_a, high_b - b), a - b + math.hypot(high_a - a, b - low_b))


def ppi_mean(
    judged_alone: Sequence[float],
    judged: Sequence[float],
    human: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The share of right answers out of a judge's verdicts on all and people's on some: prediction-powered inference.

    The mean verdict of the judge over all answers, plus the mean difference between people and judge over those that
    both judged (Angelopoulos et al., "Prediction-powered inference", Science 382, 2023). As answers that both judged
    are among "all", this is their estimate of the two apart, with the judge's weight of Angelopoulos, Duchi and Zrnic,
    "PPI++" (2023), set to the share of answers that the judge judged alone: with people's verdicts on all, it is their
    mean. The variances of the two parts add up. One disagreement among as many verdicts again and one is counted at
    least: people and judge who agreed on a few answers may still differ. People must have judged a random part: chosen
    answers say nothing of the others.

    Args:
        judged_alone: the judge's verdicts on answers that no person judged, shape (N,); may be empty.
        judged: its verdicts on those that a person judged, shape (n,), n at least 2.
        human: the persons', 0 or 1, on the same answers in the same order.
        clusters: what each answer was drawn with, those of `judged_alone` first; None: each by itself.
        confidence: 0 to 1.

    Raises:
        Undefined: fewer than two answers were judged by a person, or all are of one cluster.
        ValueError: `judged` and `human` differ in length.
    """
    if len(judged) != len(human):
        raise ValueError(f"{len(judged)} verdicts of the judge against {len(human)} of people: not the same answers")
    if len(human) < 2:
        raise Undefined("people judged fewer than two answers")
    alone = np.asarray(judged_alone, dtype=np.float64)
    machine, person = finite(judged), finite(human)
    quantile = _quantile(clusters, confidence)
    weight = len(alone) / (len(alone) + len(machine))
    rest = person - weight * machine
    value = float(rest.mean() + (weight * alone.mean() if len(alone) else 0.0))
    of_both = (rest - rest.mean()) / len(rest)
    of_one = weight * (alone - alone.mean()) / len(alone) if len(alone) else alone
    least = weight**2 / (len(rest) * (len(rest) + 1))
    if clusters is None:
        variance = _variance(of_one) + max(_variance(of_both), least)
    else:
        variance = max(_variance(np.concatenate([of_one, of_both]), clusters), least)
    reach = quantile * math.sqrt(variance)
    return Estimate(_cut(value), _cut(value - reach), _cut(value + reach))


def _variance(contributions: NDArray[np.float64], clusters: Sequence[Hashable] | None = None) -> float:
    """Of a sum of contributions that are centred."""
    if clusters is None:
        return float((contributions**2).sum())
    return (cluster_error(contributions.tolist(), clusters) * len(contributions)) ** 2


def _independent(sample: Verdicts) -> float:
    """How many independent zeros and ones have a mean that varies as much as that of some verdicts."""
    array = finite(sample.values)
    p, n = float(array.mean()), len(array)
    variance = _variance((array - p) / n, sample.clusters)
    if variance < 1e-15:  # all are alike: nothing tells of how many they stand for
        return float(n)
    return p * (1 - p) / variance if sample.clusters is None else min(float(n), p * (1 - p) / variance)


def _quantile(clusters: Sequence[Hashable] | None, confidence: float) -> float:
    from scipy.special import ndtri, stdtrit

    at = (1 + confidence) / 2
    if clusters is None:
        return float(ndtri(at))
    if len(set(clusters)) < 2:
        raise Undefined("all answers are of one cluster, which tells no spread")
    return float(stdtrit(len(set(clusters)) - 1, at))


def _cut(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
