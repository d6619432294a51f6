"""Which of very many trials are worth a closer look: one pass over all of them together.

`steps_of_trial` takes a third of a millisecond, which is long where there are ten thousand trials
and nearly all of them are steady. Here its thresholds are held against many trials at once; its
tests, which cost the time, are then made for the rest alone.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dlbench.statistics import stability
from dlbench.statistics.intervals import Floats
from dlbench.statistics.ranks import row_medians

Flags = npt.NDArray[np.bool_]
_SLACK = 0.999
"""Sums in another order differ in their last digits; nothing may slip through for that."""


def worth_a_look(rows: Floats) -> Flags:
    """One row a trial, all of one length: False only where `steps_of_trial` would find nothing."""
    odd: Flags = np.asarray(~(np.isfinite(rows) & (rows > 0)).all(axis=1))
    if rows.shape[1] < 5 or odd.all():
        return odd
    safe = np.where(odd[:, None], 1.0, rows)
    logs = np.sort(np.log(safe), axis=1)
    return odd | _drifts(safe) | _two_levels(logs) | _sticks(logs)


def _drifts(rows: Floats) -> Flags:
    logs = stability.block_levels(rows)
    if logs is None:
        return np.zeros(len(rows), dtype=bool)
    _, _, change = stability.best_split(logs)
    wide = np.ptp(logs, axis=1) >= math.log1p(stability.LEAST_DRIFT) * _SLACK
    flags: Flags = wide & (np.abs(np.expm1(change)) >= stability.LEAST_DRIFT * _SLACK)
    return flags


def _two_levels(logs: Floats) -> Flags:
    if logs.shape[1] < 20:
        return np.zeros(len(logs), dtype=bool)
    _, left, right, width = stability.two_levels(logs)
    gap = right - left
    flags: Flags = np.expm1(gap) >= stability.LEAST_GAP * _SLACK
    return flags & (gap >= stability.APART * width * _SLACK)


def _sticks(logs: Floats) -> Flags:
    steps, typical = np.exp(logs), np.exp(row_medians(logs))[:, None]
    slow = stability.far_above(logs, _SLACK)
    extra = np.where(slow, steps - typical, 0.0).sum(axis=1) / steps.sum(axis=1)
    flags: Flags = extra >= stability.LEAST_LOST * _SLACK
    return flags
