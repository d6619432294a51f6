"""One group of values in numbers: where its middle is, how wide it scatters, how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlbench.statistics.bootstrap import Resamples, bootstrap_interval
from dlbench.statistics.intervals import RANGE, Floats, Interval, too_few
from dlbench.statistics.measurements import Kind
from dlbench.statistics.ranks import median, quantile
from dlbench.statistics.words import count, number


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
    """How many values were left out because they are not finite numbers."""

    def middle(self, kind: Kind) -> tuple[float, Interval | None]:
        """What represents the values, with its interval: the median, or the mean where differences
        are compared."""
        if kind.scale == "ratio":
            return self.median, self.median_interval
        return self.mean, self.mean_interval

    @property
    def sentence(self) -> str:
        apart = ""
        if self.not_numbers:
            apart = f" ({count(self.not_numbers, 'value')} left out: not a number)"
        if not self.n:
            return f"No values{apart}."
        said = f"Median {number(self.median)} of {count(self.n, 'run')}{apart}"
        if self.n > 1 and self.low == self.high:
            return f"{said}, all alike."
        if self.median_interval is None:
            return f"{said}, too few for an interval."
        at = self.median_interval
        return f"{said}, {at.name} {number(at.low)} to {number(at.high)}."


def summarise(values: Floats, drawn: Resamples | None, not_numbers: int = 0) -> Summary:
    """Of finite values; `drawn` is what resampling them gave."""
    n = len(values)
    if not n:
        nan = float("nan")
        return Summary(0, nan, nan, None, nan, nan, nan, nan, None, None, not_numbers)
    ordered = np.sort(values)
    low, first, middle, third, high = (
        quantile(ordered, share) for share in (0, 0.25, 0.5, 0.75, 1)
    )

    def interval_of(draws: Floats) -> Interval:
        if too_few(n):
            return Interval(low, high, n, method=RANGE)
        return bootstrap_interval(draws, n)

    same = low == high
    sd = None if n < 2 else 0.0 if same else float(values.std(ddof=1))
    return Summary(
        n=n,
        median=middle,
        mean=middle if same else float(values.mean()),
        sd=sd,
        mad=median(np.abs(values - middle)),
        iqr=third - first,
        low=low,
        high=high,
        median_interval=interval_of(drawn.medians) if drawn else None,
        mean_interval=interval_of(drawn.means) if drawn else None,
        not_numbers=not_numbers,
    )
