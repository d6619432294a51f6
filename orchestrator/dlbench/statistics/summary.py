"""One group of values in numbers: where its middle is, how wide it scatters, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlbench.statistics.intervals import (
    DRAWS,
    SEED,
    Floats,
    Interval,
    Resamples,
    interval,
    resample,
)
from dlbench.statistics.words import count, number, percent


@dataclass(frozen=True)
class Summary:
    n: int
    median: float
    mean: float
    sd: float | None
    """None for a single value."""
    mad: float
    """The median distance from the median, as it is (not scaled to a standard deviation)."""
    iqr: float
    low: float
    high: float
    median_interval: Interval | None
    mean_interval: Interval | None
    not_numbers: int = 0
    """Values left out because they were no finite numbers."""

    @property
    def sentence(self) -> str:
        apart = ""
        if self.not_numbers:
            apart = f" ({count(self.not_numbers, 'value')} left out for being no number)"
        if not self.n:
            return f"No values{apart}."
        said = f"Median {number(self.median)} of {count(self.n, 'run')}{apart}"
        if self.n > 1 and self.low == self.high:
            return f"{said}, all alike."
        if self.median_interval is None:
            return f"{said}, too few for an interval."
        at = self.median_interval
        said = f"{said}, {percent(at.level)} interval {number(at.low)} to {number(at.high)}"
        if at.at_most < at.level:
            said = f"{said} (with so few runs it covers at most {percent(at.at_most)})"
        return f"{said}."


def describe(
    values: Sequence[float] | Floats,
    level: float = 0.95,
    seed: int = SEED,
    draws: int = DRAWS,
) -> Summary:
    every = np.asarray(values, dtype=np.float64)
    finite = every[np.isfinite(every)]
    return summarise(finite, resample(finite, seed, draws), level, len(every) - len(finite))


def summarise(
    values: Floats, drawn: Resamples | None, level: float, not_numbers: int = 0
) -> Summary:
    """As `describe`, of finite values that have been resampled already."""
    n = len(values)
    if not n:
        nan = float("nan")
        return Summary(0, nan, nan, None, nan, nan, nan, nan, None, None, not_numbers)
    ordered = np.sort(values)
    first, middle, third = _quartiles(ordered)
    same = ordered[0] == ordered[-1]
    sd = None if n < 2 else 0.0 if same else float(values.std(ddof=1))
    return Summary(
        n=n,
        median=middle,
        mean=middle if same else float(values.mean()),
        sd=sd,
        mad=_quartiles(np.sort(np.abs(ordered - middle)))[1],
        iqr=third - first,
        low=float(ordered[0]),
        high=float(ordered[-1]),
        median_interval=interval(drawn.medians, n, level) if drawn else None,
        mean_interval=interval(drawn.means, n, level) if drawn else None,
        not_numbers=not_numbers,
    )


def _quartiles(ordered: Floats) -> tuple[float, float, float]:
    """Of sorted values, interpolated as numpy.quantile does, but in no time."""
    last = len(ordered) - 1
    found = []
    for share in (0.25, 0.5, 0.75):
        at = share * last
        below = int(at)
        low = float(ordered[below])
        part = at - below
        found.append(low + part * (float(ordered[below + 1]) - low) if part else low)
    return found[0], found[1], found[2]
