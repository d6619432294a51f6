"""An interval, and how it is worded beside its estimate.

n values enclose the median that they were drawn from with a chance of 1 - 2^(1-n): three with 75 %.
Where this is below the level that is asked for, no interval of that level can be had, and what is
shown is the range of the runs under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlbench.statistics.words import percent, together

Floats = npt.NDArray[np.float64]
RANGE = "range"


@dataclass(frozen=True)
class Interval:
    """Where a quantity lies, with a stated confidence."""

    low: float
    high: float
    level: float
    runs: int
    method: str = "bootstrap"

    @property
    def is_range(self) -> bool:
        return self.method == RANGE

    @property
    def name(self) -> str:
        """`95 % interval`, `range of 3 runs`."""
        return f"range of {self.runs} runs" if self.is_range else f"{percent(self.level)} interval"

    def holds(self, x: float) -> bool:
        return self.low <= x <= self.high

    def inverse(self) -> Interval:
        """Of 1/x, for positive x."""
        return Interval(1 / self.high, 1 / self.low, self.level, self.runs, self.method)

    def negative(self) -> Interval:
        return Interval(-self.high, -self.low, self.level, self.runs, self.method)

    def times(self, factor: float) -> Interval:
        """In another unit."""
        low, high = self.low * factor, self.high * factor
        return Interval(low, high, self.level, self.runs, self.method)

    def beside(self, estimate: float, unit: str = "") -> str:
        """`1.42 [1.38, 1.47]`; of a range `1.42 (1.38 to 1.47 in single runs)`."""
        shown, low, high = together(estimate, self.low, self.high)
        shown = f"{shown} {unit}".rstrip()
        if self.is_range:
            return f"{shown} ({low} to {high} in single runs)"
        return f"{shown} [{low}, {high}]"


def too_few_for(level: float, runs: int) -> bool:
    """Whether so few runs can have no interval of this level."""
    return 1.0 - 2.0 ** (1 - runs) < level
