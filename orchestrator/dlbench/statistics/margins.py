"""Are two groups the same for all practical purposes? Only a margin stated beforehand can tell.

Two one-sided exact rank tests: the groups are equivalent when both "the shift is at or beyond the
upper margin" and "... the lower margin" are rejected. That is the same as an exact interval of
level 1 - 2 alpha that lies inside the margin. Not to have detected a difference shows no
equivalence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlbench.statistics.effects import comparable_scale
from dlbench.statistics.evidence import Evidence
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import SCORE, SHARE, TIME, Kind
from dlbench.statistics.rank_tests import Side, rank_sum, signed_rank
from dlbench.statistics.ranks import differences, levelled
from dlbench.statistics.sample_size import room_for_noise

_ROUNDING = 1e-12
"""Differences this near to a bound, as a share of the numbers behind them, lie on it."""
MOST_SCORE = 0.5
"""No two accuracies that differ by as much are the same for any purpose."""
MOST_FACTOR = 2.0
"""Nor two times, one of which is twice the other."""
_SIDES: tuple[Side, Side] = ("greater", "less")


@dataclass(frozen=True)
class Equivalence:
    margin: float
    """A factor above 1 for ratios, a difference above 0 otherwise."""
    p: float
    """The greater of the two one-sided p-values."""


def within_margin(margin: float, kind: Kind) -> str:
    return f"within {kind.size(margin)}"


def margin_problem(margin: float, kind: Kind) -> str:
    """Why a margin means nothing for metrics of this kind; empty if it does."""
    if not math.isfinite(margin) or margin <= 0:
        return "it has to be a positive number"
    if kind.scale == "ratio" and not 1 < margin < MOST_FACTOR:
        return "a factor between 1 and 2 is asked for, such as 1.05"
    if kind in (SCORE, SHARE) and margin >= MOST_SCORE:
        return "a difference below 0.5 is asked for, such as 0.01"
    return ""


def inside(estimate: float, margin: float, ratio: bool) -> bool:
    """Whether a difference lies within the margin. Exactly on it is not within it."""
    away, room = (abs(math.log(estimate)), math.log(margin)) if ratio else (abs(estimate), margin)
    return away < room * (1 - _ROUNDING)


def equivalence(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    margin: float,
    kind: Kind = TIME,
    *,
    paired: bool = False,
) -> Equivalence:
    """Positive values where a ratio is asked for; in the same order where paired; infinite ones
    are runs that failed. What lies exactly on the margin, rounding aside, speaks for neither side.
    """
    if why := margin_problem(margin, kind):
        raise ValueError(f"a margin of {margin} is not possible: {why}")
    ratio = kind.scale == "ratio"
    less = 1 / margin if ratio else -margin
    p = max(
        exceeds(first, second, less, kind, paired=paired).for_it,
        exceeds(first, second, margin, kind, paired=paired).against,
    )
    return Equivalence(margin, p)


def exceeds(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    bound: float,
    kind: Kind = TIME,
    *,
    paired: bool = False,
) -> Evidence:
    """Of "the first is greater than the second by more than `bound`": a factor where a ratio is
    asked for, a difference otherwise. Values and rules are those of `equivalence`."""
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    x, y = comparable_scale(a, b, kind)
    room = math.log(bound) if kind.scale == "ratio" else bound
    every = np.abs(np.concatenate([x, y]))
    near = _ROUNDING * max(abs(room), float(every[np.isfinite(every)].max(initial=0.0)))
    if paired:
        d = _off_the_bound(differences(x, y) - room, near)
        return Evidence(signed_rank(d, "greater").p, signed_rank(d, "less").p)
    n = len(x)
    moved = levelled(np.concatenate([x - room, y]), near)
    space = room_for_noise(n, len(y))
    greater, less = (rank_sum(moved[:n], moved[n:], side).p for side in _SIDES)
    return Evidence(min(1.0, space * greater), min(1.0, space * less))


def _off_the_bound(d: Floats, near: float) -> Floats:
    """What lies on the bound is zero, and equal distances from it are equal."""
    away = levelled(np.abs(d), near)
    away[np.abs(d) <= near] = 0.0
    signed: Floats = np.sign(d) * away
    return signed
