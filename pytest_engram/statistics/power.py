"""What a test can find at all."""

from __future__ import annotations

import numpy as np


def smallest_difference(n: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true difference of two proportions that the exact McNemar test at n pairs finds with this power.

    Under the assumption most favourable to the test: the better method loses no question that the other one has, so
    that every discordant pair points one way. Then the number of discordant pairs is binomial with the difference as
    its probability, and the test is significant from the smallest m with 2 * 0.5^m <= alpha on. Differences that go
    both ways need a larger one (Connor, Biometrics 1987; for benchmarks of language: Card et al., EMNLP 2020).

    Args:
        n: number of questions.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        0 to 1, or None where n is so small that no difference could be significant.
    """
    from scipy.special import betaincinv

    needed = int(np.ceil(1 - np.log2(alpha)))
    if n < needed:
        return None
    # P(Binomial(n, d) >= needed) = P(Beta(needed, n - needed + 1) <= d)
    return float(betaincinv(needed, n - needed + 1, power))


def smallest_mean_difference(sd: float, n: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The same for a paired test of means: `(z_{1 - alpha/2} + z_{power}) * sd / sqrt(n)`, the normal approximation.

    Args:
        sd: standard deviation of the paired differences, in the metric's unit.
        n: number of questions, at least 1.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        In the metric's unit. Source: Cohen 1988, chapter 2; as used by Card et al., EMNLP 2020.
    """
    from scipy.special import ndtri

    if n < 1:
        raise ValueError("no smallest difference without a value: n is 0")
    return float((ndtri(1 - alpha / 2) + ndtri(power)) * sd / np.sqrt(n))
