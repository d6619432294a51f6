"""Bootstrap intervals: seeded, so that a report can be made again to the last digit.

Percentile intervals of few values are too narrow. The percentiles are therefore moved outwards as
Student's t asks for (the "expanded percentile" interval, which SciPy's bootstrap does not offer);
for many values this changes nothing. Two sets of values resampled with the same seed and of the
same length are resampled alike: that is all there is to paired resampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dlbench.statistics.intervals import LEVEL, Floats, Interval
from dlbench.statistics.ranks import quantile, row_medians

SEED = 20210
"""Where every random stream of the statistics starts."""
DRAWS = 2000
"""How often values are resampled."""
LEAST = 3
"""Fewer values than this get no interval."""
_CACHED = 1_000_000
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Resamples:
    """What the median and the mean of the resampled values were, one of each a resample."""

    medians: Floats
    means: Floats
    runs: int


def _draw(n: int, rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    kind = np.uint16 if n < 65536 else np.uint32
    return rng.integers(0, n, size=(rows, n), dtype=kind).astype(np.intp)


@lru_cache(maxsize=16)
def _small_draw(n: int, rows: int, seed: int) -> npt.NDArray[np.intp]:
    return _draw(n, rows, np.random.default_rng([seed, n]))


def resample(values: Floats, seed: int = SEED, rows: int = DRAWS) -> Resamples | None:
    """Resampled medians and means; None for fewer than three values."""
    n = len(values)
    if n < LEAST:
        return None
    if values.min() == values.max():
        same = np.full(rows, values[0])
        return Resamples(same, same, n)
    if n * rows <= _CACHED:
        drawn = values.take(_small_draw(n, rows, seed))
        means = drawn.mean(axis=1)
        drawn.sort(axis=1)
        return Resamples(row_medians(drawn), means, n)
    rng = np.random.default_rng([seed, n])
    medians, means = np.empty(rows), np.empty(rows)
    step = max(1, _CHUNK // n)
    for start in range(0, rows, step):
        drawn = values[_draw(n, min(step, rows - start), rng)]
        means[start : start + step] = drawn.mean(axis=1)
        drawn.sort(axis=1)
        medians[start : start + step] = row_medians(drawn)
    return Resamples(medians, means, n)


@lru_cache(maxsize=4096)
def _tail(n: int) -> float:
    """The percentile that stands for the lower end of an interval of n values."""
    from scipy.special import ndtr, stdtrit

    t = float(stdtrit(n - 1, (1 - LEVEL) / 2))
    return float(ndtr(t * (n / (n - 1)) ** 0.5))


def bootstrap_interval(draws: Floats, runs: int) -> Interval:
    """The expanded percentile interval of a resampled quantity that rests on `runs` values."""
    tail, ordered = _tail(runs), np.sort(draws)
    return Interval(quantile(ordered, tail), quantile(ordered, 1 - tail), runs)
