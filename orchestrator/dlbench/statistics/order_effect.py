"""Does it matter when a trial ran? Trials are interleaved in rounds of random order to find out.

Within a round the order was drawn at random, so shuffling it is what would have happened had it not
mattered: an exact permutation test, drawn at random, or its normal limit for long campaigns.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlbench.statistics.bootstrap import SEED
from dlbench.statistics.intervals import Floats
from dlbench.statistics.measurements import TIME, Kind
from dlbench.statistics.ranks import median
from dlbench.statistics.sample_size import holm
from dlbench.statistics.stability import Concern, Finding
from dlbench.statistics.words import percent

_ALPHA = 0.01
_SHUFFLES = 1999
_MOST_TRIALS = 250
"""With more, the normal limit of the shuffles is as good and costs nothing."""
_MOST_DRAWN = 2_000_000


@dataclass(frozen=True)
class OrderEffect:
    """How values hang on a trial's place in its round, and on the round."""

    trials: int
    within: float
    """Change from a round's first place to its last (a share for ratios)."""
    within_p: float
    across: float
    """Change from the first round to the last."""
    across_p: float
    kind: Kind

    @property
    def findings(self) -> tuple[Finding, ...]:
        findings = []
        within, across = holm([self.within_p, self.across_p])
        for p, size, where in (
            (within, self.within, "from the first to the last place in a round"),
            (across, self.across, "from the first round to the last"),
        ):
            if p <= _ALPHA:
                ratio = self.kind.scale == "ratio"
                shown = percent(abs(size)) if ratio else self.kind.size(abs(size))
                way = "rise" if size > 0 else "fall"
                said = f"Values {way} by {shown} {where}."
                findings.append(Finding(Concern.ORDER, said, size, p))
        return tuple(findings)

    @property
    def sentence(self) -> str:
        if findings := self.findings:
            return " ".join(finding.sentence for finding in findings)
        return f"No order effect is shown in {self.trials} trials."


def order_effect(
    values: Sequence[float] | Floats,
    groups: Sequence[Hashable],
    rounds: Sequence[int],
    positions: Sequence[int],
    kind: Kind = TIME,
) -> OrderEffect:
    """One entry a trial in each argument: its value, group, round and position in the round."""
    every = np.asarray(values, dtype=np.float64)
    ratio = kind.scale == "ratio"
    kept = np.isfinite(every) & ((every > 0) | (not ratio))
    every = np.log(every[kept]) if ratio else every[kept]
    labels = [group for group, keep in zip(groups, kept, strict=True) if keep]
    turn = np.asarray(rounds, dtype=np.int64)[kept]
    position = np.asarray(positions, dtype=np.float64)[kept]
    rest = _residuals(every, labels)
    rng = np.random.default_rng(SEED)
    slope, within_p = _within(rest, turn, position, rng)
    drift, across_p = _across(rest, turn, rng)
    width = float(np.ptp(position)) if len(position) else 0.0
    length = float(np.ptp(turn)) if len(turn) else 0.0
    changes = [slope * width, drift * length]
    if ratio:
        changes = [math.expm1(change) for change in changes]
    return OrderEffect(len(every), changes[0], within_p, changes[1], across_p, kind)


def _residuals(values: Floats, groups: Sequence[Hashable]) -> Floats:
    """What is left of each value without its group's median."""
    members: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    rest = np.empty_like(values)
    for own in members.values():
        rest[own] = values[own] - median(values[own])
    # Values of one group that are all alike leave only rounding.
    rest[np.abs(rest) < 1e-12] = 0.0
    return rest


def _within(
    rest: Floats, turn: npt.NDArray[np.int64], position: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """The slope along a round, and its p from shuffling the positions within each round."""
    order = turn.argsort(kind="stable")
    turn, position, rest = turn[order], position[order], rest[order]
    _, starts, counts = np.unique(turn, return_index=True, return_counts=True)
    if not len(starts):
        return 0.0, 1.0
    # Both centred within the round.
    owner = np.repeat(np.arange(len(starts)), counts)
    position = position - (np.add.reduceat(position, starts) / counts)[owner]
    rest = rest - (np.add.reduceat(rest, starts) / counts)[owner]
    squares = float(position @ position)
    seen = float(position @ rest)
    several = counts > 1
    spread = np.add.reduceat(position**2, starts) * np.add.reduceat(rest**2, starts)
    variance = float((spread[several] / (counts[several] - 1)).sum())
    if variance <= 1e-24 or squares == 0:
        return 0.0, 1.0
    if len(rest) > _MOST_TRIALS:
        return seen / squares, math.erfc(abs(seen) / math.sqrt(2 * variance))
    # Sorting by round and a random number shuffles each round by itself.
    keys = owner + rng.random((_SHUFFLES, len(rest)))
    drawn = position[keys.argsort(axis=1)] @ rest
    return seen / squares, _share_beyond(drawn, seen)


def _across(
    rest: Floats, turn: npt.NDArray[np.int64], rng: np.random.Generator
) -> tuple[float, float]:
    """The slope from round to round, and its p from shuffling whole rounds."""
    rounds, owner = np.unique(turn, return_inverse=True)
    if len(rounds) < 3:
        return 0.0, 1.0
    means = np.bincount(owner, weights=rest) / np.bincount(owner)
    at = rounds - rounds.mean()
    means = means - means.mean()
    if float(np.abs(means).max()) < 1e-12:
        return 0.0, 1.0
    seen = float(at @ means)
    draws = min(_SHUFFLES, max(199, _MOST_DRAWN // len(rounds)))
    drawn = at[rng.random((draws, len(rounds))).argsort(axis=1)] @ means
    return seen / float(at @ at), _share_beyond(drawn, seen)


def _share_beyond(drawn: Floats, seen: float) -> float:
    beyond = int(np.count_nonzero(np.abs(drawn) >= abs(seen) * (1 - 1e-9)))
    return (1 + beyond) / (1 + len(drawn))
