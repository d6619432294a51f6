"""Which of very many trials are worth a closer look: one pass over all of them together.

`steps_of_trial` takes a third of a millisecond, which is long where there are ten thousand trials
and nearly all of them are steady. Here its thresholds are held against many trials at once; its
tests, which cost the time, are then made for the rest alone.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dlbench.statistics.intervals import Floats
from dlbench.statistics.ranks import row_medians
from dlbench.statistics.stability import BLOCKS, NORMAL_MAD, best_split

_SLACK = 0.999
"""Sums in another order differ in their last digits; nothing may slip through for that."""


def worth_a_look(rows: Floats, *, least: float = 0.03) -> npt.NDArray[np.bool_]:
    """One row a trial, all of one length: False only where `steps_of_trial` would find nothing."""
    n = rows.shape[1]
    wrong = ~(np.isfinite(rows) & (rows > 0))
    odd: npt.NDArray[np.bool_] = np.asarray(wrong.any(axis=1))
    if n < 5 or odd.all():
        return odd
    safe = np.where(odd[:, None], 1.0, rows)
    logs = np.sort(np.log(safe), axis=1)
    return odd | _drifts(safe, least) | _two_levels(logs) | _sticks(logs)


def _drifts(rows: Floats, least: float) -> npt.NDArray[np.bool_]:
    n = rows.shape[1]
    blocks = min(BLOCKS, n // 5)
    if blocks < 8:
        return np.zeros(len(rows), dtype=bool)
    each = n // blocks
    parts = np.sort(rows[:, : each * blocks].reshape(len(rows), blocks, each), axis=2)
    logs = np.log(row_medians(parts))
    _, split = best_split(logs)
    first = np.arange(blocks)[None, :] < split[:, None]
    before = (logs * first).sum(axis=1) / split
    after = (logs * ~first).sum(axis=1) / (blocks - split)
    wide = logs.max(axis=1) - logs.min(axis=1) >= math.log1p(least) * _SLACK
    flags: npt.NDArray[np.bool_] = wide & (np.abs(np.expm1(after - before)) >= least * _SLACK)
    return flags


def _two_levels(logs: Floats, least: float = 0.05, apart: float = 4.5) -> npt.NDArray[np.bool_]:
    """As `stability.modes`, on sorted logarithms."""
    count, n = logs.shape
    if n < 20:
        return np.zeros(count, dtype=bool)
    fewest = max(3, n // 10)
    # About their mean, so that no digits are lost in the squares.
    x = logs - logs.mean(axis=1, keepdims=True)
    sums, squares = x.cumsum(axis=1), (x**2).cumsum(axis=1)
    cuts = slice(fewest - 1, n - fewest)
    sizes = np.arange(1, n)[cuts]
    left = sums[:, :-1][:, cuts] / sizes
    right = (sums[:, -1:] - sums[:, :-1][:, cuts]) / (n - sizes)
    variance_left = squares[:, :-1][:, cuts] / sizes - left**2
    variance_right = (squares[:, -1:] - squares[:, :-1][:, cuts]) / (n - sizes) - right**2
    best = (sizes * variance_left + (n - sizes) * variance_right).argmin(axis=1)
    at = (np.arange(count), best)
    gap = (right - left)[at]
    width = np.sqrt(np.maximum(0.0, (variance_left + variance_right)[at]) / 2)
    flags: npt.NDArray[np.bool_] = (np.expm1(gap) >= least * _SLACK) & (
        gap >= apart * width * _SLACK
    )
    return flags


def _sticks(logs: Floats, cutoff: float = 5.0, least: float = 0.02) -> npt.NDArray[np.bool_]:
    """As `stability.step_outliers`, on sorted logarithms."""
    middle = row_medians(logs)[:, None]
    away = np.abs(logs - middle)
    mad = row_medians(np.sort(away, axis=1))
    spread = np.where(mad > 0, NORMAL_MAD * mad, 1.2533 * away.mean(axis=1))[:, None]
    steps = np.exp(logs)
    typical = np.exp(middle)
    out = (away > cutoff * spread * _SLACK) & (logs > middle)
    extra = np.where(out, steps - typical, 0.0).sum(axis=1) / steps.sum(axis=1)
    flags: npt.NDArray[np.bool_] = extra >= least * _SLACK
    return flags
