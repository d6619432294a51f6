"""How strongly runs speak for a statement and against it, and for what is made of statements.

A statement is true or not. `for_it` is the p-value of "it is not true", `against` that of "it is
true": a small one refutes. At most one of the two verdicts is wrong, so taking the lesser of them
twice is a two-sided p-value. Statements are joined by "at least k of them hold", which needs no
other assumption than that each p-value is valid: all of them (the worst p decides), any of them
(the best p times their number), most of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    for_it: float
    against: float

    @property
    def p(self) -> float:
        """The two-sided p-value of a verdict, for the statement or against it."""
        return min(1.0, 2 * min(self.for_it, self.against))

    @property
    def lean(self) -> int:
        """1: rather for the statement, -1: rather against it, 0: neither."""
        return (self.for_it < self.against) - (self.for_it > self.against)

    def denied(self) -> Evidence:
        """The evidence for the opposite of the statement."""
        return Evidence(self.against, self.for_it)


UNKNOWN = Evidence(1.0, 1.0)
"""Nothing was measured that could speak for it or against it."""
CERTAIN = Evidence(0.0, 1.0)
"""A fact that needs no test, such as a count."""


def at_least(k: int, parts: Sequence[Evidence]) -> Evidence:
    """Of "at least k of these statements hold"; against it: n - k + 1 of them do not."""
    n = len(parts)
    if not 1 <= k <= n:
        raise ValueError(f"at least {k} of {n} statements is not possible")
    best = sorted(part.for_it for part in parts)
    worst = sorted(part.against for part in parts)
    return Evidence(min(1.0, (n - k + 1) * best[k - 1]), min(1.0, k * worst[n - k]))


def all_of(parts: Sequence[Evidence]) -> Evidence:
    return at_least(len(parts), parts)


def any_of(parts: Sequence[Evidence]) -> Evidence:
    return at_least(1, parts)


def most_of(parts: Sequence[Evidence]) -> Evidence:
    """More than half of them."""
    return at_least(len(parts) // 2 + 1, parts)


def holm_divisors(p_values: Sequence[float], alpha: float) -> tuple[int, ...]:
    """By what each p-value's share of alpha is divided, in the given order.

    Those that Holm's procedure accepts have the divisor of their own step, all others that of the
    step at which it stopped: an interval of level 1 - alpha / divisor excludes what was refuted.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    divisors = [1] * len(p_values)
    stopped = 0
    for rank, i in enumerate(order):
        divisors[i] = stopped or len(p_values) - rank
        if not stopped and p_values[i] > alpha / divisors[i]:
            stopped = divisors[i]
    return tuple(divisors)


@dataclass(frozen=True)
class Tau:
    """Kendall's tau over the pairs that a claim orders: those in its order less those against it,
    as a share of all. 1: the claimed order throughout."""

    estimate: float
    low: float
    high: float
    pairs: int
    """How many were measured."""
    of: int
    """How many the claim orders."""

    @property
    def words(self) -> str:
        said = f"Kendall's tau {self.estimate:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return said if self.pairs == self.of else f"{said} over {self.pairs} of {self.of} pairs"


def kendall(pairs: Sequence[tuple[Evidence, int]], share: float, of: int) -> Tau | None:
    """Of pairs that were measured: what speaks for the claimed order, and what was seen (1, 0, -1).

    `share`: of alpha, for all of them together. The interval ends where "at least so many pairs are
    in the claimed order", and against it, can no longer be shown: it is [1, 1] where all of them
    are shown in that order, and ends below 1 where any is shown to be the other way round.
    """
    if not pairs:
        return None
    parts = [*(evidence for evidence, _ in pairs), *[UNKNOWN] * (of - len(pairs))]
    in_order = _shown(parts, share / 2)
    against = _shown([part.denied() for part in parts], share / 2)
    seen = sum(sign for _, sign in pairs) / len(pairs)
    return Tau(seen, 2 * in_order / of - 1, 1 - 2 * against / of, len(pairs), of)


def _shown(parts: Sequence[Evidence], p: float) -> int:
    """The most of them that are shown to hold."""
    every = range(1, len(parts) + 1)
    return max((k for k in every if at_least(k, parts).for_it <= p), default=0)


def mean_in_band(
    values: Sequence[float], low: float, high: float, runs: int
) -> tuple[Evidence, float, float]:
    """Of "the mean of as many new runs as the other side had lies from low to high", by a
    prediction with our own spread: evidence, the prediction's centre and its standard error.

    Normal noise is supposed here, as everywhere where a single figure is all that is known of the
    other side. At least two values.
    """
    from scipy.special import stdtr

    n = len(values)
    centre = math.fsum(values) / n
    spread = math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (n - 1))
    error = spread * math.sqrt(1 / n + 1 / runs)
    if error == 0:
        inside = low <= centre <= high
        return (CERTAIN if inside else CERTAIN.denied()), centre, 0.0
    above = float(stdtr(n - 1, -(centre - low) / error))  # p of "it lies below the band"
    below = float(stdtr(n - 1, -(high - centre) / error))
    return (
        all_of([Evidence(above, 1 - above), Evidence(below, 1 - below)]),
        centre,
        error,
    )


def t_quantile(freedom: int, level: float) -> float:
    """How many standard errors an interval of this level reaches to either side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))
