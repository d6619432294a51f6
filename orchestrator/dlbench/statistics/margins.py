"""Are two groups the same for all practical purposes? Only a margin stated beforehand can tell.

Two one-sided exact rank tests: the groups are equivalent when both "the shift is at or beyond the
upper margin" and "... the lower margin" are rejected. That is the same as an exact interval of
level 1 - 2 alpha that lies inside the margin. Not to have
detected a difference shows no equivalence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlbench.statistics.effects import comparable_scale
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.rank_tests import rank_sum, signed_rank
from dlbench.statistics.ranks import differences
from dlbench.statistics.words import number


@dataclass(frozen=True)
class Equivalence:
    margin: float
    """A factor above 1 for ratios, a difference above 0 otherwise."""
    p: float
    """The greater of the two one-sided p-values."""
    ratio: bool


def within_margin(margin: float, ratio: bool) -> str:
    return f"within a factor of {number(margin)}" if ratio else f"within {number(margin)}"


def equivalence(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    margin: float,
    kind: Kind = TIME,
    *,
    paired: bool = False,
) -> Equivalence:
    """Finite values; positive ones where a ratio is asked for; in the same order where paired."""
    ratio = kind.scale == "ratio"
    if margin <= (1 if ratio else 0):
        raise ValueError(f"a margin of {margin} leaves no room")
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    x, y = comparable_scale(a, b, kind)
    room = math.log(margin) if ratio else margin
    if paired:
        d = differences(x, y)
        p = max(signed_rank(d + room, "greater").p, signed_rank(d - room, "less").p)
    else:
        p = max(rank_sum(x + room, y, "greater").p, rank_sum(x - room, y, "less").p)
    return Equivalence(margin, p, ratio)
