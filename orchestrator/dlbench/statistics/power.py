"""How many repeats a wanted difference needs, from the spread seen so far.

Noise is taken as normal on the scale of the comparison (logarithms for ratios). A first guess comes
from the t-test's formula and the rank test's efficiency against it (3/pi); the exact test is then
simulated around that guess, because with few repeats its steps decide, not its efficiency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dlbench.statistics.bootstrap import SEED
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.rank_tests import rank_sum_critical, signed_rank_critical
from dlbench.statistics.sample_size import pairs_needed, room_for_noise, runs_needed
from dlbench.statistics.words import percent

_SIMULATED = 2_000
_MOST_SIMULATED = 200
_CAUTION = 0.2
"""A spread from few runs may be too small by luck: this share of such samples is luckier still."""


@dataclass(frozen=True)
class Spread:
    """How much a comparison's noise scatters, and how well that is known."""

    sd: float
    """Of a pair's difference (paired) or of one run (unpaired), on the comparison's scale."""
    freedom: int
    """Degrees of freedom behind it; 0: it is taken as known."""

    @property
    def cautious(self) -> float:
        """An upper bound that holds in four of five cases."""
        if not self.freedom or not self.sd:
            return self.sd
        from scipy.special import chdtri

        # chdtri gives the point with so much above it; a small chi-square means a large spread.
        return self.sd * math.sqrt(self.freedom / float(chdtri(self.freedom, 1 - _CAUTION)))


@dataclass(frozen=True)
class RepeatPlan:
    wanted: float
    """The ratio (or the difference) that is to be seen."""
    repeats: int
    cautious: int
    """As many if the spread has been underestimated."""
    least: int
    """Fewer could not reach alpha whatever the data."""
    alpha: float
    power: float
    comparisons: int
    paired: bool
    kind: Kind

    @property
    def sentence(self) -> str:
        unit = "pairs" if self.paired else "runs in each group"
        among = f" among {self.comparisons} comparisons" if self.comparisons > 1 else ""
        said = (
            f"To see a difference of {self.kind.size(self.wanted)} with a chance of"
            f" {percent(self.power)}{among}, {self.repeats} {unit} are needed"
        )
        if self.cautious > self.repeats:
            return f"{said}, {self.cautious} if the spread seen so far is too small by luck."
        return f"{said}."


def spread_of_pairs(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats, kind: Kind = TIME
) -> Spread:
    """From pairs measured so far."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return _pooled([np.log(a) - np.log(b) if kind.scale == "ratio" else a - b])


def spread_of_runs(groups: Sequence[Sequence[float] | Floats], kind: Kind = TIME) -> Spread:
    """From the runs of one or more groups, each about its own mean."""
    values = [np.asarray(group, dtype=np.float64) for group in groups]
    return _pooled([np.log(x) if kind.scale == "ratio" else x for x in values])


def _pooled(groups: Sequence[Floats]) -> Spread:
    freedom = sum(len(x) - 1 for x in groups if len(x))
    if freedom < 1:
        raise ValueError("a spread needs two runs of a group at least")
    squares = sum(float(((x - x.mean()) ** 2).sum()) for x in groups if len(x))
    sd = math.sqrt(squares / freedom)
    scale = max(float(np.abs(x).max()) for x in groups if len(x))
    return Spread(sd if sd > 1e-13 * scale else 0.0, freedom)


def repeats_needed(
    spread: Spread,
    wanted: float,
    kind: Kind = TIME,
    *,
    alpha: float = 0.05,
    comparisons: int = 1,
    power: float = 0.8,
    paired: bool = True,
) -> RepeatPlan:
    """`wanted`: a ratio other than 1, or a difference other than 0, by the metric's kind."""
    ratio = kind.scale == "ratio"
    shift = abs(math.log(wanted)) if ratio and wanted > 0 else abs(wanted)
    if shift == 0 or (ratio and wanted <= 0):
        raise ValueError(f"{wanted} is not a difference to look for")
    # Holm's first step is the strictest.
    each = alpha / comparisons
    least = (pairs_needed if paired else runs_needed)(alpha, comparisons)

    def repeats(sd: float) -> int:
        return _repeats(shift / sd, each, power, paired, least) if sd else least

    usual = repeats(spread.sd)
    cautious = max(usual, repeats(spread.cautious))
    return RepeatPlan(wanted, usual, cautious, least, alpha, power, comparisons, paired, kind)


def _repeats(effect: float, alpha: float, power: float, paired: bool, least: int) -> int:
    normal = NormalDist()
    wanted = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    guess = math.ceil((1 if paired else 2) * (wanted / effect) ** 2 * math.pi / 3)
    n = max(least, guess)
    if n > _MOST_SIMULATED:
        return n
    reached = simulated_power(n, effect, alpha, paired) >= power
    step = -1 if reached else 1
    while n + step >= least and n + step <= 2 * _MOST_SIMULATED:
        if (simulated_power(n + step, effect, alpha, paired) >= power) != reached:
            return n if reached else n + step
        n += step
    return n


def simulated_power(n: int, effect: float, alpha: float, paired: bool = True) -> float:
    """How often the exact test sees a shift of `effect` standard deviations with n repeats."""
    rng = np.random.default_rng([SEED, n])
    if paired:
        d = rng.normal(effect, size=(_SIMULATED, n))
        ranks = np.abs(d).argsort(axis=1).argsort(axis=1) + 1
        statistic = np.where(d > 0, ranks, 0).sum(axis=1)
        most, below = n * (n + 1) // 2, signed_rank_critical(n, alpha / 2)
    else:
        both = rng.normal(size=(_SIMULATED, 2 * n))
        both[:, :n] += effect
        ranks = both.argsort(axis=1).argsort(axis=1) + 1
        statistic = ranks[:, :n].sum(axis=1) - n * (n + 1) // 2
        most, below = n * n, rank_sum_critical(n, n, alpha / 2 / room_for_noise(n, n))
    return float(np.mean((statistic <= below) | (statistic >= most - below)))
