"""Who is better across workloads: Friedman's test, who differs from whom, and the diagram's data.

Each workload ranks the groups; the test asks whether the mean ranks differ by more than chance. Its
distribution is that of shuffling the ranks within each workload: counted where that is feasible,
drawn at random where it is not, chi-square only for large tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, permutations
from typing import Literal

import numpy as np

from dlbench.statistics.bootstrap import SEED
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.rank_tests import signed_rank
from dlbench.statistics.ranks import differences, midranks
from dlbench.statistics.sample_size import holm, least_p
from dlbench.statistics.words import count, listing, number, p_value

_MOST_STATES = 400_000
_MOST_DRAWN = 2_000
_DRAWS = 20_000

Method = Literal["exact", "random shuffles", "chi-square", "none"]


@dataclass(frozen=True)
class PostHoc:
    """Two groups across workloads: the signed-rank test of their workload values, after Holm."""

    better: str
    worse: str
    rank_gap: float
    p: float
    adjusted: float
    beyond_critical: bool
    """Their mean ranks lie further apart than Nemenyi's critical difference."""
    shown: bool = False
    """They are shown to differ, by the test that so many workloads allow."""


@dataclass(frozen=True)
class Friedman:
    groups: tuple[str, ...]
    """Best mean rank first."""
    mean_ranks: tuple[float, ...]
    workloads: int
    left_out: tuple[str, ...]
    """Workloads that not every group completed."""
    statistic: float
    p: float
    method: Method
    alpha: float
    critical_difference: float
    cliques: tuple[tuple[str, ...], ...]
    """Groups, in order of rank, of which no two are shown to differ."""
    pairs: tuple[PostHoc, ...]

    @property
    def by_signed_ranks(self) -> bool:
        """Whether pairs are told apart by their values in each workload, and not by the distance of
        their mean ranks: from counts alone, where so many workloads can show it."""
        return _by_signed_ranks(self.workloads, len(self.groups), self.alpha)

    @property
    def enough(self) -> bool:
        """Whether so many workloads can show anything at all."""
        orders = math.factorial(len(self.groups))
        return self.workloads > 1 and orders ** (1 - self.workloads) <= self.alpha

    @property
    def sentence(self) -> str:
        across = f"across {count(self.workloads, 'workload')}"
        if len(self.groups) < 2 or not self.enough:
            return f"Too few workloads to rank {count(len(self.groups), 'group')} {across}."
        tail = ""
        if self.left_out:
            tail = f" ({listing(self.left_out)} left out: not every group completed it)"
        if self.p > self.alpha:
            return f"The groups are not shown to differ {across}{tail}."
        best, rank = self.groups[0], number(self.mean_ranks[0], 3)
        beaten = [x.worse for x in self.pairs if x.better == best and x.shown]
        shown = (
            f"better than {listing(beaten)}" if beaten else "not shown to be better than any one"
        )
        said = f"{best} has the best mean rank, {rank}, and is {shown}"
        return f"The groups differ {across}; {said}{tail}."

    @property
    def details(self) -> str:
        """The test and its p, and how pairs were told apart."""
        if self.by_signed_ranks:
            how = "pairs by signed ranks over the workloads, after Holm"
        else:
            how = f"pairs by mean ranks {number(self.critical_difference, 3)} or more apart"
        return f"Friedman {number(self.statistic)}, {self.method}, {p_value(self.p)}; {how}"


def friedman(
    table: Mapping[str, Mapping[str, float]],
    kind: Kind = TIME,
    *,
    alpha: float = 0.05,
) -> Friedman:
    """`table[workload][group]` is that group's median (or mean) there; NaN or no entry: none;
    infinite: it failed there."""
    groups = list(dict.fromkeys(group for row in table.values() for group in row))
    every = {name: [row.get(group, math.nan) for group in groups] for name, row in table.items()}
    left_out = tuple(name for name, row in every.items() if any(map(math.isnan, row)))
    rows = [row for name, row in every.items() if name not in left_out]
    n, k = len(rows), len(groups)
    critical = critical_difference(k, n, alpha) if n and k > 1 else math.inf
    if n < 2 or k < 2:
        nan = (math.nan,) * k
        return Friedman(tuple(groups), nan, n, left_out, 0.0, 1.0, "none", alpha, critical, (), ())
    values: Floats = np.array(rows, dtype=np.float64)
    ranks = np.array([midranks(row if kind.less_is_better else -row) for row in values])
    statistic, p, method = _test(ranks)
    means = ranks.mean(axis=0)
    by_rank = sorted(range(k), key=lambda i: (means[i], groups[i]))
    ordered = [groups[i] for i in by_rank]
    by_values = _by_signed_ranks(n, k, alpha)
    pairs = tuple(
        replace(
            pair,
            shown=p <= alpha and (pair.adjusted <= alpha if by_values else pair.beyond_critical),
        )
        for pair in _post_hoc(values[:, by_rank], ordered, means[by_rank], kind, critical)
    )
    return Friedman(
        tuple(ordered),
        tuple(float(means[i]) for i in by_rank),
        n,
        left_out,
        statistic,
        p,
        method,
        alpha,
        critical,
        _cliques(ordered, pairs),
        pairs,
    )


def _by_signed_ranks(workloads: int, groups: int, alpha: float) -> bool:
    return least_p(workloads) * (groups * (groups - 1) // 2) <= alpha


def _statistic(sums: Floats, ranks: Floats) -> Floats:
    """Friedman's chi-square with its correction for ties; of one or of many rows of rank sums."""
    n, k = ranks.shape
    centre = n * (k + 1) / 2
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (k - 1)
    between: Floats = ((sums - centre) ** 2).sum(axis=-1)
    return between / spread if spread else np.zeros_like(between)


def _test(ranks: Floats) -> tuple[float, float, Method]:
    n, k = ranks.shape
    seen = float(_statistic(ranks.sum(axis=0), ranks))
    if seen == 0:
        return 0.0, 1.0, "exact"
    edge = seen * (1 - 1e-9)
    counted = _count(ranks)
    if counted is not None:
        sums, chances = counted
        return seen, min(1.0, float(chances[_statistic(sums, ranks) >= edge].sum())), "exact"
    if n * k <= _MOST_DRAWN:
        rng = np.random.default_rng(SEED)
        beyond = 0
        step = max(1, 4_000_000 // (n * k))
        for start in range(0, _DRAWS, step):
            rows = min(step, _DRAWS - start)
            shuffled = rng.permuted(np.broadcast_to(ranks, (rows, n, k)), axis=2)
            beyond += int(np.count_nonzero(_statistic(shuffled.sum(axis=1), ranks) >= edge))
        return seen, (1 + beyond) / (1 + _DRAWS), "random shuffles"
    from scipy.special import chdtrc

    return seen, float(chdtrc(k - 1, seen)), "chi-square"


def _count(ranks: Floats) -> tuple[Floats, Floats] | None:
    """All rank sums that shuffling can give, with their chances; None where they are too many.

    The statistic does not care which group has which sum, so sums are kept sorted: that is what
    keeps their number small.
    """
    k = ranks.shape[1]
    if k > 6:
        return None
    doubled = np.rint(ranks * 2).astype(np.int64)
    base = int(doubled.sum()) + 1
    if base**k >= 2**62:
        return None
    powers = base ** np.arange(k, dtype=np.int64)
    states = np.sort(doubled[:1], axis=1)
    chances: Floats = np.ones(1)
    for row in doubled[1:]:
        orders = np.array(list(permutations(row.tolist())), dtype=np.int64)
        if len(states) * len(orders) > _MOST_STATES:
            return None
        every = np.sort((states[:, None, :] + orders[None, :, :]).reshape(-1, k), axis=1)
        each = np.repeat(chances / len(orders), len(orders))
        _, first, state = np.unique(every @ powers, return_index=True, return_inverse=True)
        states = every[first]
        chances = np.bincount(state, weights=each).astype(np.float64)
    return states / 2, chances


def critical_difference(groups: int, workloads: int, alpha: float = 0.05) -> float:
    """Nemenyi: mean ranks this far apart differ."""
    return studentised_range(groups, alpha) * math.sqrt(groups * (groups + 1) / (12 * workloads))


@lru_cache(maxsize=64)
def studentised_range(groups: int, alpha: float) -> float:
    """The upper point of the range of so many standard normal values.

    As `scipy.stats.studentized_range`, which takes a second to import and longer to compute."""
    from scipy.special import ndtr

    z = np.linspace(-8.5, 8.5, 1701)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    step = float(z[1] - z[0])

    def beyond(q: float) -> float:
        inside = (ndtr(z) - ndtr(z - q)) ** (groups - 1)
        return 1 - groups * float((density * inside).sum()) * step

    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > alpha else (low, middle)
    return (low + high) / 2


def _cliques(groups: Sequence[str], pairs: Sequence[PostHoc]) -> tuple[tuple[str, ...], ...]:
    """The bars of the diagram: the longest runs of groups of which no two are shown to differ."""
    apart = {(pair.better, pair.worse) for pair in pairs if pair.shown}
    spans: list[tuple[int, int]] = []
    for start in range(len(groups)):
        end = start
        while end + 1 < len(groups) and not any(
            (groups[i], groups[end + 1]) in apart for i in range(start, end + 1)
        ):
            end += 1
        if end > start and not (spans and spans[-1][1] >= end):
            spans.append((start, end))
    return tuple(tuple(groups[start : end + 1]) for start, end in spans)


def _post_hoc(
    values: Floats, groups: Sequence[str], means: Floats, kind: Kind, critical: float
) -> tuple[PostHoc, ...]:
    """Each pair by itself: its verdict must not hang on which other groups are in the table."""
    positive = bool((values > 0).all())
    scaled = np.log(values) if kind.scale == "ratio" and positive else values
    pairs = list(combinations(range(len(groups)), 2))
    raw = [signed_rank(differences(scaled[:, i], scaled[:, j])).p for i, j in pairs]
    return tuple(
        PostHoc(groups[i], groups[j], gap, p, adjusted, gap >= critical)
        for (i, j), p, adjusted in zip(pairs, raw, holm(raw), strict=True)
        for gap in (float(means[j] - means[i]),)
    )
