"""The comparisons that claims are made of: two contenders of a study on one quantity.

Every comparison is made as the rest of dlbench makes them: pairs only within a round, runs that
failed count as worse, nothing is compared under other conditions or with a model that is not
proven equal.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.alignment import Aligned, align
from dlbench.statistics.effects import comparable_scale
from dlbench.statistics.evidence import UNKNOWN, Evidence, all_of
from dlbench.statistics.intervals import Interval
from dlbench.statistics.margins import exceeds
from dlbench.statistics.measurements import (
    Measurements,
    ranked_values,
    reasons_alone,
    reasons_between,
)
from dlbench.statistics.rank_tests import shift_of_groups, shift_of_pairs
from dlbench.statistics.ranks import differences
from dlbench.statistics.sample_size import room_for_noise
from dlbench.statistics.words import listing, number
from dlbench.studies.quantities import Quantity

_NOT_RUN = "not run"
NOBODY = "all"


@dataclass(frozen=True)
class Side:
    """One contender on one workload and device, with what was measured of it."""

    name: str
    """The study's."""
    workload: str
    device: str
    quantity: Quantity
    groups: tuple[Group, ...]
    """Where the numbers come from; several for a mean or a speed-up."""
    measurements: Measurements | None
    """None: nothing was measured."""
    why: str = ""
    """Why there is nothing, other than that it was not run."""
    not_run: str = ""
    """The release that was not run there; `all`: nobody was."""

    @cached_property
    def values(self) -> list[float]:
        """Of the runs that finished with one."""
        if self.measurements is None:
            return []
        return [x for x in _only_finished(self.measurements).values if math.isfinite(x)]

    @property
    def middle(self) -> float | None:
        """The mean of the runs that finished, as the studies give it."""
        return math.fsum(self.values) / self.runs if self.values else None

    @property
    def sd(self) -> float | None:
        if self.runs < 2:
            return None
        return float(np.std(self.values, ddof=1)) if max(self.values) > min(self.values) else 0.0

    @property
    def runs(self) -> int:
        return len(self.values)

    @property
    def shown(self) -> str:
        """Mean and standard deviation in the unit of the published figures; empty: no run."""
        if self.middle is None:
            return ""
        factor = self.quantity.factor
        return self.quantity.shown(
            self.middle * factor, None if self.sd is None else self.sd * factor
        )

    @property
    def trials(self) -> tuple[str, ...]:
        return tuple(str(row["id"]) for group in self.groups for row in group.rows)


def side_of(
    name: str, workload: str, device: str, group: Group | None, quantity: Quantity, missing: str
) -> Side:
    """`missing`: the release that was not run, where there is no group."""
    if group is None:
        return Side(name, workload, device, quantity, (), None, not_run=missing)
    side = Side(name, workload, device, quantity, (group,), None)
    column = quantity.column_on(device)
    if not column or column not in group.rows[0]:
        why = f"a measurement of {quantity.words}, which dlbench does not make"
        return replace(side, why=why)
    measured = group.measurements(Metric(column, column, quantity.words, quantity.kind))
    measured = replace(measured, made_up=False)  # judging says it of the claim, once
    if not quantity.failures_count:
        measured = _only_finished(measured)
    return replace(side, measurements=measured, why=_refused(measured, quantity, name))


def _refused(measured: Measurements, quantity: Quantity, name: str) -> str:
    if not measured.values:
        return f"a measurement of {quantity.words}"
    reasons = reasons_alone(measured, quantity.kind)
    return f"{name}: {listing([one.value for one in reasons])}" if reasons else ""


def _only_finished(measured: Measurements) -> Measurements:
    done = measured.finished or (True,) * len(measured.values)
    kept = [i for i, ok in enumerate(done) if ok]

    def of(items: tuple[Hashable, ...] | None) -> tuple[Hashable, ...] | None:
        return tuple(items[i] for i in kept) if items is not None else None

    return replace(
        measured,
        values=tuple(measured.values[i] for i in kept),
        keys=of(measured.keys),
        finished=None,
        sessions=of(measured.sessions),
    )


def combined(name: str, sides: list[Side], how: str, quantity: Quantity) -> Side:
    """One side out of several, run by run: the `mean` over workloads, or the `ratio` of the first
    device to the second. Runs that have no partner in the others are left out; one that failed in
    any of them failed, but where failures do not count."""
    workload = ", ".join(dict.fromkeys(side.workload for side in sides))
    groups = tuple(group for side in sides for group in side.groups)
    whole = Side(name, workload, "both", quantity, groups, None)
    if any(side.not_run for side in sides):
        return whole
    parts = [side.measurements for side in sides if side.measurements is not None]
    if not quantity.failures_count:
        parts = [_only_finished(part) for part in parts]
    why = next((side.why for side in sides if side.why), "")
    if why or len(parts) < len(sides) or any(part.keys is None for part in parts):
        return replace(whole, why=why or f"a measurement of {quantity.words}")
    tables = [
        {
            key: value if done else math.nan
            for key, value, done in zip(
                part.keys or (), part.values, part.finished or (True,) * len(part.values),
                strict=True,
            )
        }
        for part in parts
    ]  # fmt: skip
    common = [key for key in tables[0] if all(key in table for table in tables)]
    if not common:
        return replace(whole, why=f"{name} has no runs of the same round")
    values = tuple(_joined([table[key] for table in tables], how) for key in common)
    made = Measurements(
        values=values,
        keys=tuple(common),
        finished=tuple(map(math.isfinite, values)),
        sessions=tuple(str(key[0]) if isinstance(key, tuple) else "" for key in common),
        machine=parts[0].machine,
        certified=all(part.certified for part in parts),
    )
    return replace(whole, measurements=made, why=_refused(made, quantity, name))


def _joined(values: list[float], how: str) -> float:
    if how == "mean":
        return math.fsum(values) / len(values)
    return values[0] / values[1] if values[1] else math.nan


@dataclass(frozen=True)
class Contrast:
    """Two sides on one quantity, tested as one of `family` claims."""

    first: Side
    second: Side
    quantity: Quantity
    family: int
    alpha: float
    parts: int = 1
    """How many comparisons the claim is made of; 0: they are only counted, not tested."""

    @cached_property
    def why_not(self) -> str:
        """Why they can't be compared; empty if they can."""
        for side in (self.first, self.second):
            if side.why or side.measurements is None:
                return side.why or _NOT_RUN
        assert self.first.measurements is not None and self.second.measurements is not None
        reasons = reasons_between(self.first.measurements, self.second.measurements)
        if not reasons:
            return ""
        names = f"{self.first.name} and {self.second.name} on {self.first.workload}"
        return f"{names}: {listing([one.value for one in reasons])}"

    @cached_property
    def aligned(self) -> Aligned | None:
        if self.why_not:
            return None
        kind = self.quantity.kind
        assert self.first.measurements is not None and self.second.measurements is not None
        a, b = (ranked_values(m, kind) for m in (self.first.measurements, self.second.measurements))
        # To refute a claim of many parts takes a correction for these, to support it does not.
        found = align(a, b, self.family * max(1, self.parts), self.alpha)
        if not found.size.enough:
            found = align(a, b, self.family, self.alpha)
        x, y = found.values
        return found if len(x) and len(y) else None

    def greater(self, bound: float | None) -> Evidence:
        """Of "the first is greater by more than bound"; None: greater at all."""
        if not self.parts or self.aligned is None:
            return UNKNOWN
        kind = self.quantity.kind
        if bound is None:
            bound = 1.0 if kind.scale == "ratio" else 0.0
        return exceeds(*self.aligned.values, bound, kind, paired=self.aligned.size.paired)

    def within(self, bound: float) -> Evidence:
        """Of "they differ by less than bound", by two one-sided tests."""
        less = 1 / bound if self.quantity.kind.scale == "ratio" else -bound
        return all_of([self.greater(less), self.greater(bound).denied()])

    @property
    def seen(self) -> int:
        """1: the first is greater, -1: less, 0: equal or unknown."""
        a, b = self.first.middle, self.second.middle
        if self.some_failed and self.aligned is not None:  # which are as bad as can be
            a, b = (float(np.median(values)) for values in self.aligned.values)
        return 0 if a is None or b is None or self.why_not else (a > b) - (a < b)

    @property
    def some_failed(self) -> bool:
        """Whether runs that failed are among what is compared."""
        return self.aligned is not None and not all(
            np.isfinite(values).all() for values in self.aligned.values
        )

    def interval(self, divisor: int) -> tuple[float, Interval | None] | None:
        """Hodges and Lehmann's shift as a ratio or difference, with its exact interval of level
        1 - alpha / divisor: what the tests do not refute."""
        if self.aligned is None:
            return None
        kind, paired = self.quantity.kind, self.aligned.size.paired
        x, y = self.aligned.values
        keep = np.isfinite(x) & np.isfinite(y) if paired else np.isfinite(x)
        x, y = x[keep], y[keep] if paired else y[np.isfinite(y)]
        if not len(x) or not len(y):
            return None
        room = 1.0 if paired else room_for_noise(len(x), len(y))
        level = 1 - self.alpha / (divisor * room) if math.isfinite(room) else 1.0
        u, v = comparable_scale(x, y, kind)
        if paired:
            shift, around = shift_of_pairs(differences(u, v), level)
        else:
            shift, around = shift_of_groups(u, v, level)
        if kind.scale == "ratio":
            shift = math.exp(shift)
            if around is not None:
                around = replace(around, low=math.exp(around.low), high=math.exp(around.high))
        return shift, around

    def words(self, divisor: int) -> str:
        """`ratio keras to mxnet 0.5 [0.4, 0.6]`: how the first compares with the second."""
        found = self.interval(divisor)
        if found is None:
            return ""
        shift, around = found
        kind = self.quantity.kind
        factor = 1.0 if kind.scale == "ratio" else kind.factor * self.quantity.factor
        said = kind.scale if not kind.unit else f"{kind.scale} in {kind.unit}"
        of = " where they finished" if self.some_failed else ""
        text = f"{said} {self.first.name} to {self.second.name}{of} {number(shift * factor, 3)}"
        if around is None:
            return f"{text}, no interval from so few runs"
        low, high = number(around.low * factor, 3), number(around.high * factor, 3)
        return f"{text} [{low}, {high}]"
