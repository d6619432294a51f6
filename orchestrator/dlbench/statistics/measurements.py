"""What is compared: the runs of one group on one metric, that metric's kind, and what may pair.

A group's `Measurements` carry what makes them comparable. Whoever loads a campaign fills that in;
the statistics only ever refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np

from dlbench.statistics.intervals import Floats


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


TIME = Kind("time", "ratio", True, "faster", "slower", "fastest")
THROUGHPUT = Kind("throughput", "ratio", False, "faster", "slower", "fastest")
MEMORY = Kind("memory", "ratio", True, "lighter", "heavier", "lightest")
ENERGY = Kind(
    "energy", "ratio", True, "less energy", "more energy", "the least energy", "uses", "use"
)
CPU_TIME = Kind(
    "cpu-time", "ratio", True, "less CPU time", "more CPU time", "the least CPU time", "uses", "use"
)
USE = Kind("use", "ratio", True, "less", "more", "the least", "uses", "use")
"""Shares of a device that are in use, power and the like."""
SCORE = Kind("score", "difference", False, "better", "worse", "best")
"""Accuracies and the like: the greater the better."""
LOSS = Kind("loss", "difference", True, "better", "worse", "best")


@dataclass(frozen=True)
class Measurements:
    """One group's values on one metric, one a trial."""

    values: tuple[float, ...]
    keys: tuple[Hashable, ...] | None = None
    """What pairs a value with another group's: its seed. None: nothing does."""
    certified: bool = True
    complete: bool = True
    """False: the trials were cut short (a time limit, an interruption)."""
    data: str = ""
    """The data's digest."""
    machine: str = ""
    scale: str = ""
    """How much was done, such as `15 epochs`."""

    def __post_init__(self) -> None:
        if self.keys is not None and len(self.keys) != len(self.values):
            raise ValueError(f"{len(self.values)} values, but {len(self.keys)} keys")

    @property
    def not_numbers(self) -> int:
        return len(self.values) - int(np.count_nonzero(np.isfinite(self.values)))


class Reason(Enum):
    """Why two groups are not compared."""

    UNCERTIFIED = "uncertified"
    TRUNCATED = "truncated"
    DATA = "different data"
    MACHINE = "different machine"
    SCALE = "different scale"
    EMPTY = "no values"
    NOT_POSITIVE = "values of zero or less have no ratio"


def reasons_alone(group: Measurements, kind: Kind) -> tuple[Reason, ...]:
    """What keeps a group from being compared with any other."""
    reasons = []
    if not group.certified:
        reasons.append(Reason.UNCERTIFIED)
    if not group.complete:
        reasons.append(Reason.TRUNCATED)
    values = np.asarray(group.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        reasons.append(Reason.EMPTY)
    elif kind.scale == "ratio" and values.min() <= 0:
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
class KeyedValues:
    """A group's finite values in the order of their keys, ready to be paired."""

    values: Floats
    keys: tuple[Hashable, ...] | None

    def only(self, wanted: frozenset[Hashable]) -> Floats:
        keys = self.keys or ()
        kept: Floats = self.values[[key in wanted for key in keys]]
        return kept


def keyed_values(group: Measurements) -> KeyedValues:
    """Without values that are not finite. A key that comes again is paired by its turn."""
    values = np.asarray(group.values, dtype=np.float64)
    finite = np.isfinite(values)
    if group.keys is None:
        return KeyedValues(values[finite], None)
    seen: Counter[Hashable] = Counter()
    keys: list[tuple[Hashable, int]] = []
    for key in group.keys:
        keys.append((key, seen[key]))
        seen[key] += 1
    kept = [i for i in range(len(keys)) if finite[i]]
    # Any order will do that is the same in both groups.
    kept.sort(key=lambda i: (str(keys[i][0]), keys[i][1]))
    return KeyedValues(values[kept], tuple(keys[i] for i in kept))


def partners(a: KeyedValues, b: KeyedValues) -> frozenset[Hashable] | None:
    """The keys to pair by; None: not paired.

    Groups are paired where at least half of either has a partner: decided from the keys alone,
    never from the values, so that it cannot favour a result.
    """
    if a.keys is None or b.keys is None:
        return None
    common = frozenset(a.keys) & frozenset(b.keys)
    return common if common and 2 * len(common) >= max(len(a.keys), len(b.keys)) else None
