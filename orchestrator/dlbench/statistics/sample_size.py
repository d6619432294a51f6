"""What a number of runs can show at all, said before any test is made.

A rank test of few runs has a least p that no data can undercut. Where that is above what Holm's
first step asks for, "no difference was found" would be an empty sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.statistics.words import count, number

FEWEST_UNPAIRED = 5
"""Runs on either side that Mann and Whitney's test asks for here."""


def least_p(n_pairs: int) -> float:
    """The least two-sided p of the signed-rank test with so many pairs."""
    return min(1.0, 2.0 ** (1 - n_pairs))


def least_p_unpaired(n: int, m: int) -> float:
    """The least two-sided p of the Mann–Whitney test with so many runs on either side."""
    return min(1.0, room_for_noise(n, m) * 2 / math.comb(n + m, n)) if n and m else 1.0


def room_for_noise(n: int, m: int) -> float:
    """By how much the p of a Mann–Whitney test is made larger.

    If one group scatters far more than the other, few runs lie wholly on one side of the other's
    more often than its p says: of four, every eighth time. Below five runs the test is not used,
    with five its p is doubled; from six on, the simulations in docs/statistics.md need no room.
    """
    fewest = min(n, m)
    return math.inf if fewest < FEWEST_UNPAIRED else 2.0 if fewest == FEWEST_UNPAIRED else 1.0


def fewest_repeats(alpha: float = 0.05, comparisons: int = 1) -> int:
    """So many repeats of each contender can show a difference, by the test that needs fewer."""
    return min(pairs_needed(alpha, comparisons), runs_needed(alpha, comparisons))


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


def holm(p_values: Sequence[float], family: int | None = None) -> tuple[float, ...]:
    """Holm's adjusted p-values, in the given order. The error of them all stays within alpha.

    `family`: how many comparisons there are, where not all of their p are known. Holm's later steps
    need them all, so each is multiplied by that number.
    """
    if family is not None and family != len(p_values):
        return tuple(min(1.0, family * p) for p in p_values)
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
    pairs: int = 0
    """Where the runs are not compared in pairs: how many there would be."""

    @property
    def paired(self) -> bool:
        return len(self.runs) == 1

    @property
    def least(self) -> float:
        return least_p(self.runs[0]) if self.paired else least_p_unpaired(*self.runs)

    @property
    def enough(self) -> bool:
        return self.least * self.comparisons <= self.alpha

    @property
    def needed(self) -> int:
        """Repeats of each; runs that have partners may be compared in pairs or not."""
        need = fewest_repeats if self.paired or self.pairs else runs_needed
        return need(self.alpha, self.comparisons)

    @property
    def had(self) -> str:
        """`10 runs of each`, `8 and 10 runs`."""
        if len(set(self.runs)) == 1:
            return f"{count(self.runs[0], 'run')} of each"
        return f"{self.runs[0]} and {count(self.runs[1], 'run')}"

    @property
    def sentence(self) -> str:
        if self.enough:
            return f"{self.had} can show a difference."
        verb = "is" if self.needed == 1 else "are"
        return f"{self.had} cannot show any difference: {self.needed} of each {verb} needed."

    @property
    def test(self) -> str:
        """Which test, and why: decided from these counts alone."""
        if not self.enough:
            return ""
        if self.paired:
            return "Runs of the same round and seed are compared with each other (signed ranks)."
        if self.pairs:
            among = f"{count(self.comparisons, 'comparison')} at once"
            why = f"{count(self.pairs, 'pair')} could not show a difference in {among}"
        else:
            why = "too few have a partner in the same round of the same campaign"
        return f"All runs are ranked together, without pairs (Mann and Whitney): {why}."

    @property
    def details(self) -> str:
        """The numbers behind the sentence."""
        asked = number(self.alpha, 3)
        if self.comparisons > 1:
            asked = f"{asked}/{self.comparisons} = {number(self.alpha / self.comparisons, 3)}"
        return f"The least p that {self.had} can reach is {number(self.least, 3)}; needed: {asked}."


def choose_test(pairs: int, runs: tuple[int, int], comparisons: int, alpha: float) -> SampleSize:
    """The test of one comparison, chosen from counts alone so that it cannot favour a result.

    In pairs where so many can reach alpha after the correction; else by the ranks of all runs where
    these can; else neither shows anything, and it does not matter which.
    """
    paired = SampleSize((pairs,), comparisons, alpha)
    if pairs and paired.enough:
        return paired
    unpaired = SampleSize(runs, comparisons, alpha, pairs)
    return unpaired if unpaired.enough or not pairs else paired
