"""An interval, and how it is worded beside its estimate.

n values enclose the median that they were drawn from with a chance of 1 - 2^(1-n): three with 75 %.
Where this is below the level that is asked for, no interval of that level can be had, and what is
shown is the range of the runs under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dlbench.statistics.words import percent, together

Floats = npt.NDArray[np.float64]
RANGE = "range"
LEVEL = 0.95
"""Of every interval that is shown beside an estimate."""


@dataclass(frozen=True)
class Interval:
    """Where a quantity lies, with a stated confidence."""

    low: float
    high: float
    runs: int
    level: float = LEVEL
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
        return replace(self, low=1 / self.high, high=1 / self.low)

    def negative(self) -> Interval:
        return replace(self, low=-self.high, high=-self.low)

    def times(self, factor: float) -> Interval:
        """In another unit."""
        return replace(self, low=self.low * factor, high=self.high * factor)

    def beside(self, estimate: float, unit: str = "") -> str:
        """`1.42 [1.38, 1.47]`; of a range `1.42 (1.38 to 1.47 in single runs)`."""
        shown, low, high = together(estimate, self.low, self.high)
        shown = f"{shown} {unit}".rstrip()
        if self.is_range:
            return f"{shown} ({low} to {high} in single runs)"
        return f"{shown} [{low}, {high}]"


def too_few(runs: int) -> bool:
    """Whether there are too few runs for an interval of this level."""
    return 1.0 - 2.0 ** (1 - runs) < LEVEL
