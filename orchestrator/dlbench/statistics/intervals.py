"""An interval, and how it is worded beside its estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlbench.statistics.words import together

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Where a quantity lies, with a stated confidence."""

    low: float
    high: float
    level: float
    runs: int
    method: str = "bootstrap"

    @property
    def at_most(self) -> float:
        """The most it can have: n values enclose their median with a chance of 1 - 2^(1-n)."""
        return min(self.level, 1.0 - 2.0 ** (1 - self.runs))

    def holds(self, x: float) -> bool:
        return self.low <= x <= self.high

    def inverse(self) -> Interval:
        """Of 1/x, for positive x."""
        return Interval(1 / self.high, 1 / self.low, self.level, self.runs, self.method)

    def negative(self) -> Interval:
        return Interval(-self.high, -self.low, self.level, self.runs, self.method)

    def beside(self, estimate: float) -> str:
        """`1.42 [1.38, 1.47]`."""
        shown, low, high = together(estimate, self.low, self.high)
        return f"{shown} [{low}, {high}]"
