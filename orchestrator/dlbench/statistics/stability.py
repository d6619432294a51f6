"""Was it a steady measurement? What is wrong with it is said next to the number it affects.

Step times of one trial are not independent of each other, so the tests here warn and never decide a
comparison. Each warning needs two things: that chance does not explain it, and that it is large
enough to matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dlbench.statistics.bootstrap import SEED
from dlbench.statistics.intervals import Floats
from dlbench.statistics.ranks import median, row_medians
from dlbench.statistics.words import count, listing, number, percent

BLOCKS = 24
_SHUFFLES = 999
_ALPHA = 0.01
LEAST_DRIFT = 0.03
"""A change of level that is worth a word; so are these, of two levels and of slow steps."""
LEAST_GAP = 0.05
LEAST_LOST = 0.02
APART = 4.5
"""Two levels lie so many times further from each other than they are wide (Ashman's D; a uniform
spread has 3.5)."""
_CUTOFF = 5.0
"""A step further than so many robust standard deviations from the median sticks out."""
_BETWEEN_TRIALS, _WITHIN_TRIALS = 0.05, 0.15
"""How much trials of one group, and the steps of one trial, may scatter without a word."""
_NORMAL_MAD = 1.4826
"""What makes a normal sample's MAD its standard deviation."""


class Concern(Enum):
    WARM_UP = "warm-up drift"
    DRIFT = "drift"
    THROTTLING = "throttling"
    OUTLIERS = "outliers"
    MODES = "several modes"
    NOISY_STEPS = "noisy steps"
    NOISY_MACHINE = "noisy machine"
    UNEQUAL = "unequal conditions"
    ORDER = "order effect"


@dataclass(frozen=True)
class Finding:
    """Something that weakens a number, worded for people."""

    concern: Concern
    sentence: str
    size: float
    """How large: a share, 0.12 for 12 %."""
    p: float | None = None


def steps_of_trial(steps_ms: Sequence[float] | Floats) -> tuple[Finding, ...]:
    """All that can be wrong with the steady step times of one trial."""
    steps = np.asarray(steps_ms, dtype=np.float64)
    steps = steps[np.isfinite(steps) & (steps > 0)]
    # A change of level also looks like two modes, and a second mode like many outliers.
    first = _drift(steps) or _modes(steps)
    if first and first.concern is Concern.MODES:
        return (first,)
    return tuple(finding for finding in (first, _step_outliers(steps)) if finding)


def _drift(steps: Floats) -> Finding | None:
    """Whether the level of the step times changes within the trial: at once or little by little.

    The best split of the blocks' medians in two is held against the best splits of the same medians
    in random order.
    """
    n = len(steps)
    levels = block_levels(steps[None, :])
    if levels is None or np.ptp(levels) < math.log1p(LEAST_DRIFT):
        return None
    scores, splits, changes = best_split(levels)
    logs, blocks = levels[0], levels.shape[1]
    at, change = int(splits[0]), math.expm1(changes[0])
    if abs(change) < LEAST_DRIFT:
        return None
    shuffled, _, _ = best_split(logs[_orders(blocks)])
    p = (1 + int(np.count_nonzero(shuffled >= scores[0] * (1 - 1e-9)))) / (1 + _SHUFFLES)
    if p > _ALPHA:
        return None
    step = at * (n // blocks)
    slope = theil_sen(logs)
    line = logs - slope * np.arange(blocks)
    sudden = _squares(logs[:at]) + _squares(logs[at:]) <= _squares(line)
    whole = math.exp(slope * (blocks - 1)) - 1
    if change < 0 and at <= blocks / 3:
        slower = 1 / (1 + change) - 1
        said = f"The first {step} of {n} steady steps are {percent(slower)} slower than the rest"
        return Finding(Concern.WARM_UP, f"{said}: the warm-up had not ended.", slower, p)
    if sudden and change > 0:
        said = f"From about step {step} of {n} on, steps take {percent(change)} longer"
        why = "throttling, or another load on the machine"
        return Finding(Concern.THROTTLING, f"{said}: {why}.", change, p)
    if sudden:
        said = f"From about step {step} of {n} on, steps are {percent(-change)} shorter."
        return Finding(Concern.DRIFT, said, change, p)
    way = "longer" if whole > 0 else "shorter"
    said = f"Steps become {percent(abs(whole))} {way} from the trial's beginning to its end."
    return Finding(Concern.DRIFT, said, whole, p)


def theil_sen(levels: Floats) -> float:
    """The median slope of all pairs of points."""
    i, j = np.triu_indices(len(levels), 1)
    return median((levels[j] - levels[i]) / (j - i))


def _squares(values: Floats) -> float:
    return float(((values - values.mean()) ** 2).sum())


@lru_cache(maxsize=32)
def _orders(n: int) -> npt.NDArray[np.intp]:
    return np.random.default_rng([SEED, n]).random((_SHUFFLES, n)).argsort(axis=1)


def block_levels(rows: Floats) -> Floats | None:
    """The steps of each row cut into blocks: the logarithms of their medians; None for too few."""
    count, n = rows.shape
    blocks = min(BLOCKS, n // 5)
    if blocks < 8:
        return None
    each = n // blocks
    parts = np.sort(rows[:, : each * blocks].reshape(count, blocks, each), axis=2)
    levels: Floats = np.log(row_medians(parts))
    return levels


def best_split(rows: Floats) -> tuple[Floats, npt.NDArray[np.intp], Floats]:
    """For each row: how far apart its best two parts lie in standard errors, where the second
    begins, and how much higher it is."""
    n = rows.shape[1]
    sizes = np.arange(1, n)
    left = rows.cumsum(axis=1)[:, :-1]
    total = rows.sum(axis=1, keepdims=True)
    scores = np.abs(left - total * sizes / n) / np.sqrt(sizes * (n - sizes) / n)
    best = scores.argmax(axis=1)
    at = np.arange(len(rows)), best
    higher = (total[:, 0] - left[at]) / (n - 1 - best) - left[at] / (best + 1)
    return scores[at], best + 1, higher


def far_above(logs: Floats, slack: float = 1.0) -> npt.NDArray[np.bool_]:
    """Which values of each row lie too many robust standard deviations above its median."""
    middle = row_medians(np.sort(logs, axis=1))[:, None]
    away = np.abs(logs - middle)
    # Where most values are the same the MAD is zero; the mean distance still tells.
    mad = row_medians(np.sort(away, axis=1))
    spread = np.where(mad > 0, _NORMAL_MAD * mad, 1.2533 * away.mean(axis=1))[:, None]
    above: npt.NDArray[np.bool_] = (away > _CUTOFF * spread * slack) & (logs > middle)
    return above


def _step_outliers(steps: Floats) -> Finding | None:
    """Steps that stick out, where together they cost more than `LEAST_LOST` of the time."""
    if len(steps) < 5:
        return None
    middle = median(steps)
    slow = np.flatnonzero(far_above(np.log(steps)[None, :])[0] & (steps > middle))
    extra = float((steps[slow] - middle).sum() / steps.sum())
    if extra < LEAST_LOST:
        return None
    most = number(float(steps.max()) / middle, 3)
    stick = "sticks" if len(slow) == 1 else "stick"
    said = (
        f"{count(len(slow), 'step')} of {len(steps)} {stick} out, up to {most} times the median: "
        f"{percent(extra)} of the time was lost by it."
    )
    return Finding(Concern.OUTLIERS, said, extra)


def outlying_trials(values: Sequence[float] | Floats, *, groups: int = 1) -> tuple[int, ...]:
    """Which trials of one group stick out: Rosner's test, of logarithms where these exist. Of so
    many `groups` of normal noise, a share of `_ALPHA` has any such trial."""
    every = np.asarray(values, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(every))
    seen = every[known]
    scaled = np.log(seen) if len(seen) and seen.min() > 0 else seen
    return tuple(int(known[i]) for i in beyond_noise(scaled, _ALPHA / max(1, groups)))


def trial_outliers(
    values: Sequence[float] | Floats, names: Sequence[str], *, groups: int = 1
) -> Finding | None:
    """Trials of one group that stick out. They are named and never left out."""
    odd = list(outlying_trials(values, groups=groups))
    if not odd:
        return None
    every = np.asarray(values, dtype=np.float64)
    middle = median(every[np.isfinite(every)])
    listed = [f"{names[i]} ({number(float(every[i]))})" for i in odd[:5]]
    more = [f"{len(odd) - 5} more"] if len(odd) > 5 else []
    verb = "sticks" if len(odd) == 1 else "stick"
    said = f"{listing(listed + more)} {verb} out from the median of {number(middle)}."
    away = float(np.abs(every[odd] - middle).max())
    return Finding(Concern.OUTLIERS, said, away / abs(middle) if middle else away)


def beyond_noise(values: Floats, alpha: float) -> tuple[int, ...]:
    """Which values, a fifth at most, lie further from the rest than normal noise: Rosner's
    generalised extreme studentised deviates."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 5:
        return ()
    left = np.arange(n)
    removed: list[int] = []
    found = 0
    level = 1e-9 * float(np.abs(values).max())
    for _ in range(max(1, n // 5)):
        rest = values[left]
        away = np.abs(rest - rest.mean())
        at = int(away.argmax())
        others = np.delete(rest, at)
        size = len(rest)
        # The distance of one value from the others, in their standard deviations.
        spread = float(others.std(ddof=1)) * math.sqrt(size / (size - 1))
        t = abs(float(rest[at] - others.mean())) / max(spread, level, 1e-300)
        removed.append(int(left[at]))
        left = np.delete(left, at)
        if t > float(stdtrit(size - 2, 1 - alpha / (2 * size))):
            found = len(removed)
    return tuple(sorted(removed[:found]))


def _modes(values: Floats) -> Finding | None:
    """A hint that the values have two levels (two kernels, two clock speeds), not one."""
    n = len(values)
    if n < 20:
        return None
    size, left, right, width = (float(of[0]) for of in two_levels(np.log(np.sort(values))[None, :]))
    gap = right - left
    if math.expm1(gap) < LEAST_GAP or gap < APART * width:
        return None
    low, high, share = number(math.exp(left)), number(math.exp(right)), percent((n - size) / n)
    said = f"The steps have two levels, about {low} ms and {high} ms ({share} of them)."
    return Finding(Concern.MODES, said, math.expm1(gap))


def two_levels(rows: Floats) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats]:
    """The best cut of each row of sorted values in two parts, each a tenth at least: the size of
    the first part, the mean of either part, and how wide they are."""
    count, n = rows.shape
    fewest = max(3, n // 10)
    centre = rows.mean(axis=1, keepdims=True)  # about it, no digits are lost in the squares
    x = rows - centre
    sums, squares = x.cumsum(axis=1), (x**2).cumsum(axis=1)
    sizes = np.arange(fewest, n - fewest + 1)
    left, left_squares = sums[:, sizes - 1] / sizes, squares[:, sizes - 1]
    right = (sums[:, -1:] - sums[:, sizes - 1]) / (n - sizes)
    variance_left = left_squares / sizes - left**2
    variance_right = (squares[:, -1:] - left_squares) / (n - sizes) - right**2
    best = (sizes * variance_left + (n - sizes) * variance_right).argmin(axis=1)
    at = np.arange(count), best
    width = np.sqrt(np.maximum(0.0, (variance_left + variance_right)[at]) / 2)
    return sizes[best], left[at] + centre[:, 0], right[at] + centre[:, 0], width


@dataclass(frozen=True)
class StepSummary:
    """The steady steps of one trial in three numbers, so that many trials fit in memory."""

    median: float
    mad: float
    n: int


def noisy_machine(trials: Sequence[StepSummary]) -> tuple[Finding, ...]:
    """Whether trials of one group differ by more than their own steps explain."""
    usable = [t for t in trials if t.n and t.median > 0]
    if len(usable) < 3:
        return ()
    own = [_NORMAL_MAD * t.mad / t.median for t in usable]
    inside = float(np.median(own))
    # The standard error of a median of n steps.
    expected = float(
        np.median([1.2533 * o / math.sqrt(t.n) for o, t in zip(own, usable, strict=True)])
    )
    logs = np.log([t.median for t in usable])
    outside = float(logs.std(ddof=1))
    findings = []
    if outside > _BETWEEN_TRIALS and outside > 3 * expected:
        said = (
            f"Trials scatter by {percent(outside)}, their steps explain {percent(expected)}: "
            "something other than the workload changed between trials."
        )
        findings.append(Finding(Concern.NOISY_MACHINE, said, outside))
    if inside > _WITHIN_TRIALS:
        said = f"Within a trial, steps scatter by {percent(inside)} about their median."
        findings.append(Finding(Concern.NOISY_STEPS, said, inside))
    return tuple(findings)
