"""The exact rank tests: Wilcoxon's signed ranks for pairs, Mann–Whitney where there are none.

SciPy's are exact only without ties and zeros, and `scipy.stats` takes a second to import.

Both are permutation tests of ranks: their distribution is counted by dynamic programming from the
ranks at hand, so ties and zeros cost no exactness. Zeros are ranked and then left out (Pratt).
Only where counting would take long (hundreds of pairs; many tied, unpaired values) does a normal
approximation with tie and continuity correction take over, and the result says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Literal

import numpy as np

from dlbench.statistics.intervals import Floats, Interval
from dlbench.statistics.ranks import difference_order, midranks, ties, walsh_order

Side = Literal["two-sided", "greater", "less"]

_MOST_PAIRS = 300
_MOST_TIED_PAIRS = 100
_MOST_STEPS = 40_000_000
_MOST_TIED_STEPS = 2_000_000
_EDGE = 1e-9


@dataclass(frozen=True)
class RankTest:
    """A test's outcome, before any correction for how many were made."""

    statistic: float
    p: float
    exact: bool
    lean: int = 0
    """The sign of the statistic's distance from what chance would give: 1, the first is greater."""


def signed_rank(d: Floats, side: Side = "two-sided") -> RankTest:
    """Wilcoxon's signed-rank test that differences scatter evenly about zero."""
    ranks = midranks(np.abs(d))
    moving = d != 0
    statistic = float(ranks[d > 0].sum())
    ranks = ranks[moving]
    if not len(ranks):
        return RankTest(0.0, 1.0, True)
    weights, unit = _whole(ranks)
    tied = unit == 2 or len(set(weights)) < len(weights)
    exact = len(ranks) <= (_MOST_TIED_PAIRS if tied else _MOST_PAIRS)
    if exact:
        p = _tail_of(_sign_flips(weights), round(statistic * unit), sum(weights) / 2, side)
    else:
        spread = math.sqrt(float((ranks**2).sum()) / 4)
        p = _normal(statistic - float(ranks.sum()) / 2, spread, side)
    return RankTest(statistic, p, exact, int(np.sign(statistic - float(ranks.sum()) / 2)))


def rank_sum(a: Floats, b: Floats, side: Side = "two-sided") -> RankTest:
    """The Mann–Whitney test; the statistic is U of `a`."""
    n, m = len(a), len(b)
    ranks = midranks(np.concatenate([a, b]))
    own = float(ranks[:n].sum())
    u = own - n * (n + 1) / 2
    lean = int(np.sign(u - n * m / 2))
    weights, unit = _whole(np.sort(ranks))
    tied = unit == 2 or len(set(weights)) < len(weights)
    least = min(n, m)
    steps = (n + m) * least * sum(weights[-least:])
    if steps <= (_MOST_TIED_STEPS if tied else _MOST_STEPS):
        # Counted for the smaller sample; the larger one's sum is the rest.
        total = sum(weights)
        chances = _subset_sums(weights, least)
        at = round(own * unit) if n <= m else total - round(own * unit)
        turned: dict[Side, Side] = {"greater": "less", "less": "greater", "two-sided": "two-sided"}
        centre = least * total / (n + m)
        p = _tail_of(chances, at, centre, side if n <= m else turned[side])
        return RankTest(u, p, True, lean)
    shared = ties(ranks)
    total_n = n + m
    correction = float((shared**3 - shared).sum()) / (total_n * (total_n - 1))
    spread = math.sqrt(max(0.0, n * m / 12 * (total_n + 1 - correction)))
    return RankTest(u, _normal(u - n * m / 2, spread, side), False, lean)


def signed_rank_critical(n: int, tail: float) -> int:
    """The greatest sum of n untied ranks whose lower tail is within `tail`; below 0: none is."""
    if n <= _MOST_PAIRS:
        return _critical(_sign_flips(tuple(range(1, n + 1))), tail)
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.floor(n * (n + 1) / 4 - 0.5 + NormalDist().inv_cdf(tail) * spread)


def rank_sum_critical(n: int, m: int, tail: float) -> int:
    """The greatest U of n and m untied values whose lower tail is within `tail`; below 0: none."""
    least = min(n, m)
    every = tuple(range(1, n + m + 1))
    if (n + m) * least * sum(every[-least:]) <= _MOST_STEPS:
        # The least rank sum stands for U = 0.
        return _critical(_subset_sums(every, least)[least * (least + 1) // 2 :], tail)
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    return math.floor(n * m / 2 - 0.5 + NormalDist().inv_cdf(tail) * spread)


def shift_of_pairs(d: Floats, level: float) -> tuple[float, Interval | None]:
    """Hodges–Lehmann, the median of the means of two differences, with its exact interval:
    all shifts that the two-sided signed-rank test does not reject; None where n is too small."""
    n = len(d)
    below = signed_rank_critical(n, (1 - level) / 2)
    return _median_and_ends(partial(walsh_order, d), n * (n + 1) // 2, below, level, n)


def shift_of_groups(a: Floats, b: Floats, level: float) -> tuple[float, Interval | None]:
    """Hodges–Lehmann, the median of all differences a_i - b_j, with its exact interval:
    all shifts that the two-sided Mann–Whitney test does not reject."""
    n, m = len(a), len(b)
    below = rank_sum_critical(n, m, (1 - level) / 2)
    return _median_and_ends(partial(difference_order, a, b), n * m, below, level, min(n, m))


def _median_and_ends(
    order: Callable[[tuple[int, ...]], list[float]], count: int, below: int, level: float, runs: int
) -> tuple[float, Interval | None]:
    """Of `count` ordered values: their median, and those with `below` of them outside either."""
    middle = ((count - 1) // 2, count // 2)
    if below < 0:
        return sum(order(middle)) / 2, None
    lower, upper, low, high = order((*middle, below, count - 1 - below))
    return (lower + upper) / 2, Interval(low, high, runs, level, "exact")


def _whole(ranks: Floats) -> tuple[tuple[int, ...], int]:
    """The ranks as whole numbers, sorted; halves are doubled away."""
    unit = 1 if bool((ranks == np.floor(ranks)).all()) else 2
    return tuple(sorted((ranks * unit).astype(int).tolist())), unit


@lru_cache(maxsize=512)
def _sign_flips(weights: tuple[int, ...]) -> Floats:
    """The chance of each sum of a random half of `weights` (each in or out by a coin)."""
    chances = np.zeros(sum(weights) + 1)
    chances[0] = 1.0
    reached = 0
    for weight in weights:
        reached += weight
        chances[weight : reached + 1] += chances[: reached + 1 - weight].copy()
        chances[: reached + 1] *= 0.5
    return chances


@lru_cache(maxsize=128)
def _subset_sums(weights: tuple[int, ...], size: int) -> Floats:
    """The chance of each sum of `size` of `weights`, drawn without replacement."""
    most = sum(weights[-size:])
    ways = np.zeros((size + 1, most + 1))
    ways[0, 0] = 1.0
    for weight in weights:
        ways[1:, weight:] += ways[:-1, : most + 1 - weight]
    counted: Floats = ways[size] / ways[size].sum()
    return counted


def _tail_of(chances: Floats, at: int, centre: float, side: Side) -> float:
    if side == "greater":
        return min(1.0, float(chances[at:].sum()))
    if side == "less":
        return min(1.0, float(chances[: at + 1].sum()))
    away = abs(at - centre) - _EDGE
    high = math.ceil(centre + away)
    low = math.floor(centre - away)
    p = float(chances[high:].sum()) + (float(chances[: low + 1].sum()) if low >= 0 else 0.0)
    return min(1.0, p)


def _critical(chances: Floats, tail: float) -> int:
    """The greatest value whose lower tail is within `tail`; -1 where even the least is not."""
    return int(np.searchsorted(np.cumsum(chances), tail * (1 + 1e-12), side="right")) - 1


def _normal(away: float, spread: float, side: Side) -> float:
    if spread == 0:
        return 1.0
    if side == "less":
        away = -away
    if side == "two-sided":
        z = max(0.0, abs(away) - 0.5) / spread
        return min(1.0, math.erfc(z / math.sqrt(2)))
    return 0.5 * math.erfc((away - 0.5) / spread / math.sqrt(2))
