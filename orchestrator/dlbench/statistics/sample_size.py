"""What a number of runs can show at all, said before any test is made.

A rank test of few runs has a least p that no data can undercut. Where that is above what Holm's
first step asks for, "no difference was found" would be an empty sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.statistics.words import count, number


def least_p(n_pairs: int) -> float:
    """The least two-sided p of the signed-rank test with so many pairs."""
    return min(1.0, 2.0 ** (1 - n_pairs))


def least_p_unpaired(n: int, m: int) -> float:
    """The least two-sided p of the Mann–Whitney test with so many runs on either side."""
    return min(1.0, 2 / math.comb(n + m, n)) if n and m else 1.0


def pairs_needed(alpha: float = 0.05, comparisons: int = 1) -> int:
    """The fewest pairs that can reach alpha after Holm's correction for so many comparisons."""
    n = 1
    while least_p(n) * comparisons > alpha:
        n += 1
    return n


def runs_needed(alpha: float = 0.05, comparisons: int = 1) -> int:
    """As `pairs_needed`, for equally many unpaired runs on either side."""
    n = 1
    while least_p_unpaired(n, n) * comparisons > alpha:
        n += 1
    return n


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values, in the given order. The error of them all stays within alpha."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [1.0] * len(p_values)
    worst = 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = worst
    return tuple(adjusted)


@dataclass(frozen=True)
class SampleSize:
    """Whether so many runs can reach alpha, among so many comparisons."""

    runs: tuple[int, ...]
    """One number: pairs. Two: unpaired runs on either side."""
    comparisons: int
    alpha: float

    @property
    def least(self) -> float:
        return least_p(self.runs[0]) if len(self.runs) == 1 else least_p_unpaired(*self.runs)

    @property
    def enough(self) -> bool:
        return self.least * self.comparisons <= self.alpha

    @property
    def needed(self) -> int:
        need = pairs_needed if len(self.runs) == 1 else runs_needed
        return need(self.alpha, self.comparisons)

    @property
    def sentence(self) -> str:
        if len(self.runs) == 1:
            size, unit = count(self.runs[0], "pair"), count(self.needed, "pair")
        else:
            size = f"{self.runs[0]} and {count(self.runs[1], 'run')}"
            unit = f"{count(self.needed, 'run')} on either side"
        among = f" and {self.comparisons} comparisons" if self.comparisons > 1 else ""
        asked = number(self.alpha)
        if self.comparisons > 1:
            asked = f"{asked}/{self.comparisons} = {number(self.alpha / self.comparisons, 3)}"
        said = f"With {size}{among} the least p is {number(self.least, 3)}"
        if self.enough:
            return f"{said}, within {asked}: a difference can be shown."
        needed = f"{unit} {'is' if self.needed == 1 else 'are'} needed"
        return f"{said}, above {asked}: no difference can be shown, {needed}."
