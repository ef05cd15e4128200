"""What a test can find at all."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache  # a report asks for the same few hundred again and again
def smallest_difference(n: int, discordant: int = 0, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest true difference of two proportions that the exact McNemar test at n pairs finds with this power.

    In truth the share `discordant / n` of all pairs differs, and the difference is what is left of it once those that
    point the other way are taken off. The number of pairs that differ is then binomial, and so, for each number, is how
    many of them point the wrong way: the power is summed over both, exactly (Connor, Biometrics 1987, has the
    approximation; for benchmarks of language: Card et al., EMNLP 2020).

    No difference is larger than the share of pairs that differ. Where so few of them do that none can be found, more
    must: the share is then the difference itself, all pairs that differ point one way, and the test is significant from
    the smallest m with 2 * 0.5^m <= alpha on. That is the case most favourable to the test, and the least difference
    that it finds at this n.

    Args:
        n: number of questions.
        discordant: on how many of them two methods differ, 0 to n.
        power: probability of finding it, 0 to 1.
        alpha: two-sided level of the test.

    Returns:
        0 to 1, or None where n is so small that no difference could be significant.

    Raises:
        ValueError: more differ than there are.
    """
    from scipy.special import betaincinv

    if not 0 <= discordant <= n:
        raise ValueError(f"{discordant} of {n} pairs can't differ")
    needed = int(np.ceil(1 - np.log2(alpha)))
    if n < needed:
        return None
    # P(Binomial(n, d) >= needed) = P(Beta(needed, n - needed + 1) <= d)
    best = float(betaincinv(needed, n - needed + 1, power))
    share = discordant / n
    if share <= best:
        return best
    low, high = 0.0, share  # power rises with the difference
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _mcnemar_power(n, share, middle, alpha) < power else (low, middle)
    return high


def _mcnemar_power(n: int, share: float, difference: float, alpha: float) -> float:
    """Probability that the exact test is significant, and says the right way, where `share` of the pairs differs."""
    from scipy.special import bdtr, gammaln, xlog1py, xlogy

    most = _most_worse(n, alpha)
    m = np.arange(n + 1)[most >= 0]  # how many may differ so that a difference is significant at all
    log = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, share) + xlog1py(n - m, -share)
    return float((np.exp(log) * bdtr(most[m], m, (1 - difference / share) / 2)).sum())


@cache
def _most_worse(n: int, alpha: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Of m = 0, 1, ... n pairs that differ: how many may point the other way; -1: no split is significant."""
    from scipy.special import bdtr

    found, most = [-1], -1
    for m in range(1, n + 1):
        while most + 1 < m / 2 and 2 * bdtr(most + 1, m, 0.5) <= alpha:
            most += 1
        found.append(most)
    return np.array(found)


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
