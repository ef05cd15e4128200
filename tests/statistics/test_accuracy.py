"""Judged accuracies, corrected: against hand calculation, the published formulas, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t
from statsmodels.stats.proportion import confint_proportions_2indep

from pytest_engram import statistics as stats
from pytest_engram.statistics import Undefined, Verdicts


def verdicts(accepted: int, n: int) -> Verdicts:
    return Verdicts([1.0] * accepted + [0.0] * (n - accepted))


def lang_reiczigel(p: float, n: int, se: float, n_se: int, sp: float, n_sp: int) -> tuple[float, float]:
    """The interval of Lang and Reiczigel (2014), section 2, written down plainly."""
    z = norm.ppf(0.975)
    n_, p_ = n + z**2, (n * p + z**2 / 2) / (n + z**2)
    se_, sp_ = (n_se * se + 1) / (n_se + 2), (n_sp * sp + 1) / (n_sp + 2)
    n_se_, n_sp_ = n_se + 2, n_sp + 2
    j = se_ + sp_ - 1
    prevalence = (p_ + sp_ - 1) / j
    shift = 2 * z**2 * (prevalence * se_ * (1 - se_) / n_se_ - (1 - prevalence) * sp_ * (1 - sp_) / n_sp_)
    variance = (
        p_ * (1 - p_) / n_ + prevalence**2 * se_ * (1 - se_) / n_se_ + (1 - prevalence) ** 2 * sp_ * (1 - sp_) / n_sp_
    ) / j**2
    half = z * math.sqrt(variance)
    return max(0.0, prevalence + shift - half), min(1.0, prevalence + shift + half)


def test_the_correction_by_hand() -> None:
    # It accepts 0.7, of right ones 0.9, of wrong ones 0.2: (0.7 - 0.2) / (0.9 - 0.2).
    found = stats.rogan_gladen(verdicts(70, 100), verdicts(36, 40), verdicts(12, 60))
    assert found.value == pytest.approx(5 / 7)
    assert (found.low, found.high) == pytest.approx(lang_reiczigel(0.7, 100, 0.9, 40, 0.8, 60))


@pytest.mark.parametrize(
    ("judged", "right", "wrong"),
    [((1430, 1540), (40, 40), (3, 120)), ((30, 300), (30, 40), (5, 40)), ((0, 50), (39, 40), (4, 80))],
)
def test_the_interval_is_the_published_one(
    judged: tuple[int, int], right: tuple[int, int], wrong: tuple[int, int]
) -> None:
    found = stats.rogan_gladen(verdicts(*judged), verdicts(*right), verdicts(*wrong))
    low, high = lang_reiczigel(
        judged[0] / judged[1], judged[1], right[0] / right[1], right[1], 1 - wrong[0] / wrong[1], wrong[1]
    )
    assert (found.low, found.high) == pytest.approx((min(low, found.value), max(high, found.value)))


def test_a_judge_that_never_errs_on_many_known_answers_is_believed() -> None:
    found = stats.rogan_gladen(verdicts(210, 300), verdicts(5000, 5000), verdicts(0, 5000))
    assert found.value == pytest.approx(0.7)
    assert (found.low, found.high) == pytest.approx(stats.wilson(210, 300), abs=0.005)


def test_an_accuracy_below_the_rate_of_accepting_wrong_answers_is_cut_to_nothing() -> None:
    found = stats.rogan_gladen(verdicts(10, 100), verdicts(36, 40), verdicts(24, 60))
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high < 0.2


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ((40, 40), (40, 40), "no better than chance: it accepts 100.0% of answers known to be right and 100.0% of"),
        ((20, 40), (30, 40), "is no better than chance: it accepts 50.0% of answers known to be right and 75.0% of"),
        ((6, 10), (4, 10), "may be no better than chance"),
    ],
)
def test_where_the_judge_is_no_better_than_chance_there_is_no_correction(
    right: tuple[int, int], wrong: tuple[int, int], told: str
) -> None:
    with pytest.raises(Undefined, match=told):
        stats.rogan_gladen(verdicts(50, 100), verdicts(*right), verdicts(*wrong))


def test_nothing_is_corrected_by_nothing() -> None:
    with pytest.raises(ValueError, match="without a value"):
        stats.rogan_gladen(verdicts(5, 10), Verdicts([]), verdicts(0, 10))
    with pytest.raises(Undefined, match="one cluster"):
        stats.rogan_gladen(Verdicts([1.0, 0.0], ["a", "a"]), verdicts(40, 40), verdicts(0, 40))


@pytest.mark.parametrize(("a", "n", "b", "m"), [(38, 40, 11, 120), (40, 40, 0, 40), (25, 40, 60, 120)])
def test_youdens_j_is_the_difference_of_two_independent_shares(a: int, n: int, b: int, m: int) -> None:
    found = stats.youden(verdicts(a, n), verdicts(b, m))
    assert found.value == pytest.approx(a / n - b / m)
    low, high = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx((low, high))


counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts, counts)
def test_the_corrected_share_lies_in_its_interval_and_both_in_nothing_to_all(
    judged: tuple[int, int], right: tuple[int, int], wrong: tuple[int, int]
) -> None:
    try:
        found = stats.rogan_gladen(verdicts(*judged), verdicts(*right), verdicts(*wrong))
    except Undefined:
        assert stats.youden(verdicts(*right), verdicts(*wrong)).low <= 1e-12 or min(right[1], wrong[1]) < 5
        return
    assert 0 <= found.low <= found.value <= found.high <= 1


# People's verdicts on some


def sample(n: int, share: float, sensitivity: float, specificity: float, seed: int) -> tuple[list[float], list[float]]:
    """What people would say of n answers, and what a judge says."""
    random = np.random.default_rng(seed)
    human = random.random(n) < share
    judged = np.where(human, random.random(n) < sensitivity, random.random(n) >= specificity)
    return human.astype(float).tolist(), judged.astype(float).tolist()


@pytest.mark.parametrize(("alone", "both"), [(1000, 100), (150, 50), (30, 200)])
def test_people_s_verdicts_on_some_by_the_published_formula(alone: int, both: int) -> None:
    """Angelopoulos, Duchi and Zrnic (2023), PPI++, section 2: the mean, with its weight as it is chosen here."""
    human, judged = sample(alone + both, 0.7, 0.9, 0.6, seed=both)
    found = stats.ppi_mean(judged[both:], judged[:both], human[:both])
    labelled = np.array(human[:both]), np.array(judged[:both]), np.array(judged[both:])
    weight = alone / (alone + both)
    theirs, ours, rest = labelled
    value = weight * rest.mean() + (theirs - weight * ours).mean()
    variance = weight**2 * rest.var() / alone + (theirs - weight * ours).var() / both
    half = norm.ppf(0.975) * math.sqrt(variance)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx((value - half, value + half))
    # The same in words: the judge's mean over all, plus what people and judge differ by where both judged.
    rectifier = np.mean(labelled[0]) - np.mean(labelled[1])
    assert found.value == pytest.approx(np.mean(judged) + rectifier)


def test_people_s_verdicts_on_all_are_their_mean() -> None:
    human, judged = sample(80, 0.6, 0.7, 0.7, seed=1)
    found = stats.ppi_mean([], judged, human)
    half = norm.ppf(0.975) * np.std(human) / math.sqrt(80)
    assert tuple(found) == pytest.approx((np.mean(human), np.mean(human) - half, np.mean(human) + half))


def test_a_few_verdicts_that_agree_do_not_make_the_judge_infallible() -> None:
    agreeing = [1.0, 0.0, 1.0, 1.0]
    found = stats.ppi_mean([1.0] * 500, agreeing, agreeing)
    assert found.low < 0.7  # one of five might have differed
    with pytest.raises(Undefined, match="fewer than two"):
        stats.ppi_mean([1.0] * 500, [1.0], [1.0])
    with pytest.raises(ValueError, match="not the same answers"):
        stats.ppi_mean([], [1.0, 0.0], [1.0])


def test_by_cluster_the_quantile_is_student_s_and_whole_clusters_vary() -> None:
    human, clusters = [1.0] * 20 + [0.0] * 20, [*"aaaaabbbbbcccccddddd", *"eeeeefffffggggghhhhh"]
    found = stats.ppi_mean([], human, human, clusters=clusters)
    # Eight clusters, whose sums of residuals are 5/2 each: sqrt(8/7 * 8 * 2.5**2) / 40.
    half = t.ppf(0.975, 7) * math.sqrt(8 / 7 * 8 * 2.5**2) / 40
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


# Simulation: how often the interval holds what it should


def covered(seed: int, runs: int, one: object) -> float:
    random = np.random.default_rng(seed)
    return float(np.mean([one(random) for _ in range(runs)]))  # type: ignore[operator]


@pytest.mark.parametrize(("share", "sensitivity", "specificity"), [(0.7, 0.95, 0.9), (0.9, 0.99, 0.4), (0.3, 0.9, 0.7)])
def test_the_corrected_interval_holds_the_true_share(share: float, sensitivity: float, specificity: float) -> None:
    def one(random: np.random.Generator) -> bool:
        truth = random.random(300) < share
        judged = np.where(truth, random.random(300) < sensitivity, random.random(300) >= specificity).astype(float)
        right = (random.random(40) < sensitivity).astype(float)
        wrong = (random.random(120) >= specificity).astype(float)
        found = stats.rogan_gladen(*(Verdicts(values.tolist()) for values in (judged, right, wrong)))
        return found.low <= share <= found.high

    assert covered(3, 600, one) >= 0.93


def test_by_conversation_the_interval_still_holds_it_and_by_question_it_does_not() -> None:
    def draw(random: np.random.Generator) -> tuple[Verdicts, Verdicts, Verdicts]:
        of = np.repeat(np.arange(10), 30)
        truth = random.random(300) < random.beta(7, 3, 10)[of]
        judged = np.where(truth, random.random(300) < 0.95, random.random(300) >= 0.8).astype(float)
        right, wrong = random.random(40) < 0.95, random.random(120) >= 0.8
        known = (Verdicts(some.astype(float).tolist()) for some in (right, wrong))
        return (Verdicts(judged.tolist(), of.tolist()), *known)

    def by(random: np.random.Generator, *, cluster: bool) -> bool:
        judged, right, wrong = draw(random)
        found = stats.rogan_gladen(judged if cluster else Verdicts(judged.values), right, wrong)
        return found.low <= 0.7 <= found.high

    assert covered(5, 400, lambda random: by(random, cluster=True)) >= 0.93
    assert covered(5, 400, lambda random: by(random, cluster=False)) < 0.92
