"""The trials of one contender in one place, and such groups described beside each other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dlbench.analysis.groups import Conditions
from dlbench.campaigns.trial_result import TrialResult
from dlbench.report.metrics import Metric
from dlbench.statistics.comparison import Comparison, compare
from dlbench.statistics.measurements import Measurements

_DRAWS = 1000


@dataclass(frozen=True)
class Group:
    """The trials of one contender in one place."""

    place: str
    contender: str
    results: tuple[TrialResult, ...]
    conditions: Conditions
    folders: Mapping[str, Path] = field(repr=False)
    """Where the files of each trial are, by its id."""

    @property
    def workload(self) -> str:
        return self.results[0].workload

    @property
    def release(self) -> str:
        return self.results[0].release

    @property
    def framework(self) -> str:
        return self.release.partition("@")[0]

    @property
    def device(self) -> str:
        return self.results[0].device

    @cached_property
    def complete(self) -> tuple[TrialResult, ...]:
        return tuple(result for result in self.results if result.complete)

    @cached_property
    def certified(self) -> bool:
        """Proven equal to the reference, all of its trials."""
        return all(result.certified is True for result in self.results)

    @property
    def proof(self) -> str:
        """`yes`, `no`, or `not checked`."""
        refused = any(result.certified is False for result in self.results)
        return "yes" if self.certified else "no" if refused else "not checked"

    def values(self, metric: Metric) -> list[float]:
        found = (metric.of(result) for result in self.complete)
        return [value for value in found if value is not None]

    def typical(self, metric: Metric) -> TrialResult | None:
        """The complete trial in the middle: shown where one trial must stand for all."""
        ranked = sorted(
            ((value, result.index, result.id), result)
            for result in self.complete
            if (value := metric.of(result)) is not None
        )
        return ranked[(len(ranked) - 1) // 2][1] if ranked else None


def described(members: Sequence[Group], metric: Metric) -> Comparison:
    """Each group against the one with the best median, where all ran under the same conditions."""
    groups = {member.contender: _measured(member, metric) for member in members}
    ranked = [
        (statistics.median(group.values), name)
        for name, group in groups.items()
        if group.values and group.certified and group.complete
    ]
    alike = len({member.conditions for member in members}) == 1
    best = None
    if ranked:
        best = min(ranked) if metric.kind.less_is_better else max(ranked)
    return compare(
        groups,
        metric.kind,
        metric=metric.title.lower(),
        baseline=best[1] if best and alike else None,
        draws=_DRAWS,
    )


def _measured(group: Group, metric: Metric) -> Measurements:
    found = [(r, value) for r in group.complete if (value := metric.of(r)) is not None]
    return Measurements(
        values=tuple(value / metric.factor for _, value in found),
        keys=tuple(str(result.seed) for result, _ in found),
        certified=group.certified,
        complete=bool(group.complete),
        data=group.conditions.data,
        machine=group.conditions.machine,
        scale=group.conditions.scale,
    )
