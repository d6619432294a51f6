"""Ranks with ties, and order statistics of all pairwise differences without listing them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dlbench.statistics.intervals import Floats

_WRITTEN_DOWN = 250_000


def midranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs (SciPy takes a second to import)."""
    order = values.argsort(kind="stable")
    ordered = values[order]
    first = np.empty(len(values), dtype=bool)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    starts = np.append(np.flatnonzero(first), len(values))
    shared = (starts[:-1] + starts[1:] + 1) / 2
    ranks = np.empty(len(values))
    ranks[order] = shared[first.cumsum() - 1]
    return ranks


def quantile(ordered: Floats | Sequence[float], share: float) -> float:
    """Of sorted values, as numpy.quantile at a tenth of its cost: thousands are asked for."""
    at = share * (len(ordered) - 1)
    below = int(at)
    low = float(ordered[below])
    return low + (at - below) * (float(ordered[below + 1]) - low) if at > below else low


def median(values: Floats) -> float:
    return quantile(np.sort(values), 0.5)


def row_medians(ordered: Floats) -> Floats:
    """Of rows of sorted values: sorting is vectorised, selecting is not."""
    n = ordered.shape[-1]
    medians: Floats = (ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2
    return medians


def ties(values: Floats) -> Floats:
    """How many values share each distinct value."""
    counts: Floats = np.unique(values, return_counts=True)[1].astype(np.float64)
    return counts


def differences(a: Floats, b: Floats) -> Floats:
    """a - b, without the last bits: 0.95 - 0.94 and 0.96 - 0.95 are to be equal.

    Infinite values stand for runs that failed; two of them do not differ."""
    with np.errstate(invalid="ignore"):
        d: Floats = a - b
    known = np.isfinite(d)
    if known.all():
        scale = max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-300)
        rounded: Floats = np.round(d / scale, 13) * scale
        return rounded
    d[np.isnan(d)] = 0.0
    if known.any():
        d[known] = differences(a[known], b[known])
    return d


def levelled(values: Floats, tolerance: float) -> Floats:
    """Values that lie no further apart than `tolerance` are made equal."""
    order = values.argsort(kind="stable")
    ordered = values[order]
    with np.errstate(invalid="ignore"):
        new = np.concatenate([[True], np.diff(ordered) > tolerance])
    equal = np.empty_like(values)
    equal[order] = ordered[new][new.cumsum() - 1]
    return equal


def cliffs_delta(a: Floats, b: Floats) -> float:
    """P(a > b) - P(a < b)."""
    ordered = np.sort(b)
    below = ordered.searchsorted(a, side="left").sum()
    not_above = ordered.searchsorted(a, side="right").sum()
    return float(below - (len(a) * len(b) - not_above)) / (len(a) * len(b))


@lru_cache(maxsize=16)
def _triangle(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.triu_indices(n)


def walsh_order(d: Floats, positions: tuple[int, ...]) -> list[float]:
    """The order statistics (from 0) of the n(n+1)/2 means of two of `d`, each with itself too."""
    n = len(d)
    d = np.sort(d)
    if n * (n + 1) // 2 <= _WRITTEN_DOWN:
        rows, columns = _triangle(n)
        return _select((d[rows] + d[columns]) / 2, positions)

    def counted(x: float) -> int:
        # Ordered pairs (i, j) with a mean of at most x, then each unordered pair once.
        both = int(d.searchsorted(2 * x - d, side="right").sum())
        return (both + int(np.count_nonzero(d <= x))) // 2

    return [_bisect(counted, float(d[0]), float(d[-1]), position) for position in positions]


def difference_order(a: Floats, b: Floats, positions: tuple[int, ...]) -> list[float]:
    """The order statistics (from 0) of all differences a_i - b_j."""
    if len(a) * len(b) <= _WRITTEN_DOWN:
        return _select((a[:, None] - b[None, :]).ravel(), positions)
    ordered = np.sort(b)

    def counted(x: float) -> int:
        return len(a) * len(b) - int(ordered.searchsorted(a - x, side="left").sum())

    low, high = float(a.min() - b.max()), float(a.max() - b.min())
    return [_bisect(counted, low, high, position) for position in positions]


def _select(values: Floats, positions: tuple[int, ...]) -> list[float]:
    values.partition(sorted(set(positions)))
    return [float(values[position]) for position in positions]


def _bisect(counted: Callable[[float], int], low: float, high: float, position: int) -> float:
    """The least x, to the last bits, with more than `position` values at or below it."""
    if counted(low) > position:
        return low
    for _ in range(80):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if counted(middle) > position:
            high = middle
        else:
            low = middle
    return high
