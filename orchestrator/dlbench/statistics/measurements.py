"""What is compared: the runs of one group on one metric, that metric's kind, and what may pair.

A group's `Measurements` carry what makes them comparable. Whoever loads a campaign fills that in;
the statistics only ever refuse.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Literal

import numpy as np

from dlbench.statistics.intervals import Floats
from dlbench.statistics.words import number


@dataclass(frozen=True)
class Kind:
    """How a metric is compared and worded."""

    name: str
    scale: Literal["ratio", "difference"]
    """Times and sizes are compared by their ratio, accuracies by their difference."""
    less_is_better: bool
    better: str
    """`A is faster than B`: what follows the verb."""
    worse: str
    best: str
    verb: str = "is"
    infinitive: str = "be"
    unit: str = ""
    """Behind the sizes of differences."""
    factor: float = 1.0
    """From a value to that unit."""

    def size(self, difference: float) -> str:
        """`a factor of 1.05`, `2.5 percentage points`, `0.25`."""
        if self.scale == "ratio":
            return f"a factor of {number(difference)}"
        shown = number(difference * self.factor)
        return f"{shown} {self.unit.removesuffix('s') if shown == '1' else self.unit}".rstrip()


TIME = Kind("time", "ratio", True, "faster", "slower", "fastest")
THROUGHPUT = Kind("throughput", "ratio", False, "faster", "slower", "fastest")
MEMORY = Kind("memory", "ratio", True, "lighter", "heavier", "lightest")
SIZE = Kind("size", "ratio", True, "smaller", "larger", "smallest")
"""Of files."""
ENERGY = Kind(
    "energy", "ratio", True, "less energy", "more energy", "the least energy", "uses", "use"
)
CPU_TIME = Kind(
    "cpu-time", "ratio", True, "less CPU time", "more CPU time", "the least CPU time", "uses", "use"
)
USE = Kind("use", "ratio", True, "less", "more", "the least", "uses", "use")
"""Shares of a device that are in use, power and the like."""
SCORE = Kind("score", "difference", False, "better", "worse", "best")
"""The greater the better."""
SHARE = replace(SCORE, name="share", unit="percentage points", factor=100.0)
"""Accuracies: scores from 0 to 1."""
LOSS = Kind("loss", "difference", True, "better", "worse", "best")
EPOCH = Kind("epoch", "ratio", True, "earlier", "later", "earliest")
"""Numbers of epochs, from 1."""
EXCESS = Kind("excess", "difference", True, "shorter", "longer", "shortest", unit="s")
"""Differences of times, which may be 0 or less."""


def error_kind(name: str) -> Kind:
    """Of an error that sentences call by its name: `has lower perplexity than`."""
    return Kind("loss", "difference", True, f"lower {name}", f"higher {name}",
                f"the lowest {name}", "has", "have")  # fmt: skip


@dataclass(frozen=True)
class Measurements:
    """One group's values on one metric, one a trial."""

    values: tuple[float, ...]
    """NaN for a run that has none."""
    keys: tuple[Hashable, ...] | None = None
    """What pairs a value with another group's: its round and seed. None: nothing does."""
    finished: tuple[bool, ...] | None = None
    """False: the run failed, and counts as worse than every one that did not. None: all did."""
    sessions: tuple[Hashable, ...] | None = None
    """When each was measured: the campaign, or the part of it that ran in one go."""
    certified: bool = True
    altered: bool = False
    """Not certified because it is altered on purpose."""
    complete: bool = True
    """False: the trials were cut short (a time limit, an interruption)."""
    made_up: bool = False
    """Values that mean nothing, because the data are made up: qualities on synthetic data."""
    data: str = ""
    """The data's digest."""
    machine: str = ""
    scale: str = ""
    """How much was done, such as `15 epochs`."""

    def __post_init__(self) -> None:
        for name in ("keys", "finished", "sessions"):
            own = getattr(self, name)
            if own is not None and len(own) != len(self.values):
                raise ValueError(f"{len(self.values)} values, but {len(own)} {name}")

    @property
    def not_numbers(self) -> int:
        """Runs that finished without a usable value."""
        finished = self.finished or (True,) * len(self.values)
        runs = zip(self.values, finished, strict=True)
        return sum(1 for value, done in runs if done and not math.isfinite(value))


class Reason(Enum):
    """Why two groups are not compared."""

    UNCERTIFIED = "uncertified"
    ALTERED = "altered on purpose"
    TRUNCATED = "no run finished"
    DATA = "different data"
    MACHINE = "different machine"
    SCALE = "different scale"
    EMPTY = "no values"
    MADE_UP = "synthetic data"
    NOT_POSITIVE = "values of zero or less have no ratio"


def reasons_alone(group: Measurements, kind: Kind) -> tuple[Reason, ...]:
    """What keeps a group from being compared with any other."""
    reasons = []
    if not group.certified:
        reasons.append(Reason.ALTERED if group.altered else Reason.UNCERTIFIED)
    if not group.complete:
        reasons.append(Reason.TRUNCATED)
    if group.made_up:
        reasons.append(Reason.MADE_UP)
    values = ranked_values(group, kind).values
    values = values[np.isfinite(values)]
    if not len(values) and group.complete:
        reasons.append(Reason.EMPTY)
    elif len(values) and kind.scale == "ratio" and values.min() <= 0:
        reasons.append(Reason.NOT_POSITIVE)
    return tuple(reasons)


def reasons_between(a: Measurements, b: Measurements) -> tuple[Reason, ...]:
    """What keeps two groups from being compared with each other."""
    checks = (
        (a.data == b.data, Reason.DATA),
        (a.machine == b.machine, Reason.MACHINE),
        (a.scale == b.scale, Reason.SCALE),
    )
    return tuple(reason for alike, reason in checks if not alike)


@dataclass(frozen=True)
class RankedValues:
    """A group's values in the order of their keys, ready to be paired and ranked.

    A run that failed is infinitely bad: it ranks below every one that did not.
    """

    values: Floats
    keys: tuple[Hashable, ...] | None
    sessions: tuple[Hashable, ...] | None = None

    @cached_property
    def finite(self) -> Floats:
        kept: Floats = self.values[np.isfinite(self.values)]
        return kept

    @cached_property
    def key_set(self) -> frozenset[Hashable]:
        return frozenset(self.keys or ())

    @cached_property
    def failed_keys(self) -> frozenset[Hashable]:
        failed = ~np.isfinite(self.values)
        return frozenset(key for key, bad in zip(self.keys or (), failed, strict=False) if bad)

    @cached_property
    def session_set(self) -> frozenset[Hashable]:
        return frozenset(self.sessions or ())

    def only(self, wanted: frozenset[Hashable]) -> Floats:
        """The values of these keys."""
        keys = self.keys or ()
        kept: Floats = self.values[[key in wanted for key in keys]]
        return kept

    def within(self, sessions: frozenset[Hashable]) -> RankedValues:
        """What was measured in these sessions."""
        if self.sessions is None or self.session_set <= sessions:
            return self
        kept = [i for i, session in enumerate(self.sessions) if session in sessions]
        keys = tuple(self.keys[i] for i in kept) if self.keys is not None else None
        return RankedValues(self.values[kept], keys, tuple(self.sessions[i] for i in kept))


def ranked_values(group: Measurements, kind: Kind) -> RankedValues:
    """Without runs that finished and have no number, unless quality is asked for: training that
    ends in no number has failed. A key that comes again is paired by its turn."""
    values = np.array(group.values, dtype=np.float64)
    bad = ~np.isfinite(values)
    failed = np.zeros(len(values), dtype=bool)
    if group.finished is not None:
        failed = ~np.asarray(group.finished, dtype=bool)
    if kind.scale == "difference":
        failed |= bad
    values[failed] = math.inf if kind.less_is_better else -math.inf
    kept = np.flatnonzero(failed | ~bad).tolist()
    if group.keys is None:
        return RankedValues(values[kept], None, _picked(group.sessions, kept))
    seen: Counter[Hashable] = Counter()
    keys: list[tuple[Hashable, int]] = []
    for key in group.keys:
        keys.append((key, seen[key]))
        seen[key] += 1
    # Any order will do that is the same in both groups.
    kept.sort(key=lambda i: (str(keys[i][0]), keys[i][1]))
    return RankedValues(values[kept], tuple(keys[i] for i in kept), _picked(group.sessions, kept))


def _picked(items: tuple[Hashable, ...] | None, kept: list[int]) -> tuple[Hashable, ...] | None:
    return tuple(items[i] for i in kept) if items is not None else None


def partners(a: RankedValues, b: RankedValues) -> frozenset[Hashable]:
    """The keys to pair by; none: not paired.

    Groups are paired where at least half of either has a partner, and every run that failed: these
    must not drop out. Decided from keys and outcomes alone, never from the values of runs that
    finished, so that it cannot favour a result.
    """
    common = a.key_set & b.key_set
    if 2 * len(common) < max(len(a.key_set), len(b.key_set)):
        return frozenset()
    return common if a.failed_keys | b.failed_keys <= common else frozenset()
