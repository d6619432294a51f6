"""Which runs of two groups are compared, in pairs or not: decided from counts and keys alone."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import RankedValues, partners
from dlbench.statistics.sample_size import SampleSize, choose_test


@dataclass(frozen=True)
class Aligned:
    """Two groups ready to be tested."""

    first: RankedValues
    second: RankedValues
    """Only what was measured in the same sessions, where there is such."""
    common: frozenset[Hashable]
    """The keys to pair by."""
    size: SampleSize
    apart: bool
    """They were never measured in the same session."""

    @property
    def values(self) -> tuple[Floats, Floats]:
        """In the same order where they are compared in pairs."""
        if self.size.paired:
            return self.first.only(self.common), self.second.only(self.common)
        return self.first.values, self.second.values


def align(first: RankedValues, second: RankedValues, family: int, alpha: float) -> Aligned:
    """`family`: how many comparisons share alpha."""
    sessions = first.session_set & second.session_set
    if sessions:
        first, second = first.within(sessions), second.within(sessions)
    apart = bool(first.session_set and second.session_set and not sessions)
    common = partners(first, second)
    size = choose_test(len(common), (len(first.values), len(second.values)), family, alpha)
    return Aligned(first, second, common, size, apart)
