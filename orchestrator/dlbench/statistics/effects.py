"""How large a difference is: the ratio of medians or the difference of means, with an interval.

Beside it stand two measures that outliers do not move: Hodges–Lehmann's shift (of logarithms where
a ratio is asked for), whose interval is the exact rank test turned round, and Cliff's delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlbench.statistics.bootstrap import DRAWS, SEED, Resamples, bootstrap_interval, resample
from dlbench.statistics.intervals import LEVEL, RANGE, Floats, Interval, too_few
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.rank_tests import shift_of_groups, shift_of_pairs
from dlbench.statistics.ranks import cliffs_delta, differences, median
from dlbench.statistics.words import number


@dataclass(frozen=True)
class Effect:
    """How much the first group differs from the second."""

    kind: Kind
    estimate: float
    """Ratio of medians, first by second; or difference of means, first minus second."""
    interval: Interval | None
    shift: float
    """Hodges–Lehmann, as a ratio or a difference like the estimate."""
    shift_interval: Interval | None
    """Exact; None where so few runs give none at this level."""
    delta: float
    """Cliff's delta: how much likelier the first is greater than the second than the reverse."""
    paired: bool
    runs: tuple[int, ...]
    failed: tuple[int, int] = (0, 0)
    """Runs of either group that failed: not in the estimate, but in the ranks and in `delta`."""
    lean: int = 0
    """The sign of the test's statistic, which counts them."""

    @property
    def neutral(self) -> float:
        return 1.0 if self.kind.scale == "ratio" else 0.0

    @property
    def direction(self) -> int:
        """1: the first is greater, -1: less, 0: the estimate and the shift do not agree on one.

        Where runs failed, the ranks alone tell: the estimate knows nothing of them."""
        if any(self.failed):
            return self.lean
        return self.seen

    @property
    def seen(self) -> int:
        """As `direction`, of the runs that finished."""
        signs = {int(np.sign(x - self.neutral)) for x in (self.estimate, self.shift)}
        return signs.pop() if len(signs) == 1 else 0

    @property
    def first_is_better(self) -> bool:
        return self.direction != 0 and (self.direction < 0) == self.kind.less_is_better

    def from_first(self) -> str:
        """`0.70 [0.68, 0.72]`: the first by the second, or the first minus the second."""
        return self._written(self.estimate, self.interval)

    def from_second(self) -> str:
        """As `from_first`, seen from the second group."""
        around = self.interval
        if self.kind.scale == "ratio":
            size, around = 1 / self.estimate, around.inverse() if around else None
        else:
            size, around = -self.estimate, around.negative() if around else None
        return self._written(size, around)

    def _written(self, size: float, around: Interval | None) -> str:
        factor, unit = self.kind.factor, self.kind.unit
        if around:
            return around.times(factor).beside(size * factor, unit)
        return f"{number(size * factor)} {unit}".rstrip()

    @property
    def magnitude(self) -> str:
        """The size without its direction: `1.42 [1.38, 1.47]`, a factor or a difference."""
        return self.from_second() if self.estimate < self.neutral else self.from_first()


def effect(
    first: Sequence[float] | Floats,
    second: Sequence[float] | Floats,
    kind: Kind = TIME,
    *,
    paired: bool = False,
    draws: int = DRAWS,
) -> Effect:
    """Finite values; positive ones where a ratio is asked for; in the same order where paired."""
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    # Resampled with the same seed two groups move together; unpaired ones must not.
    drawn_a, drawn_b = resample(a, SEED, draws), resample(b, SEED + (not paired), draws)
    return measure(a, b, drawn_a, drawn_b, kind, paired)


def measure(
    a: Floats,
    b: Floats,
    drawn_a: Resamples | None,
    drawn_b: Resamples | None,
    kind: Kind,
    paired: bool,
) -> Effect:
    """As `effect`, of values that have been resampled already."""
    ratio = kind.scale == "ratio"
    x, y = comparable_scale(a, b, kind)
    d = differences(x, y) if paired else None
    shift, around = shift_of_pairs(d, LEVEL) if d is not None else shift_of_groups(x, y, LEVEL)
    if ratio:
        estimate = median(a) / median(b)
        shift = float(np.exp(shift))
        if around:
            low, high = float(np.exp(around.low)), float(np.exp(around.high))
            around = replace(around, low=low, high=high)
    else:
        estimate = float(d.mean()) if d is not None else float(a.mean() - b.mean())
    fewest = min(len(a), len(b))
    spread = None
    if drawn_a is not None and drawn_b is not None:
        if too_few(fewest):
            spread = _range(x, y, d, ratio)
        elif ratio:
            spread = bootstrap_interval(drawn_a.medians / drawn_b.medians, fewest)
        else:
            spread = bootstrap_interval(drawn_a.means - drawn_b.means, fewest)
    runs = (len(a),) if paired else (len(a), len(b))
    return Effect(kind, estimate, spread, shift, around, cliffs_delta(a, b), paired, runs)


def _range(x: Floats, y: Floats, d: Floats | None, ratio: bool) -> Interval:
    """From the least difference of two runs to the greatest."""
    low, high = (d.min(), d.max()) if d is not None else (x.min() - y.max(), x.max() - y.min())
    if ratio:
        low, high = np.exp(low), np.exp(high)
    return Interval(float(low), float(high), min(len(x), len(y)), method=RANGE)


def comparable_scale(a: Floats, b: Floats, kind: Kind) -> tuple[Floats, Floats]:
    """Values whose differences mean what is asked for: logarithms where that is a ratio."""
    return (_logarithm(a), _logarithm(b)) if kind.scale == "ratio" else (a, b)


def _logarithm(values: Floats) -> Floats:
    """Infinite values, which stand for runs that failed, stay as they are."""
    known = np.isfinite(values)
    if known.all():
        logs: Floats = np.log(values)
        return logs
    logs = values.copy()
    logs[known] = np.log(values[known])
    return logs
