"""A framework's releases in order, and where along them a metric changed its level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import Version

from dlbench.analysis.groups import Conditions, Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.change_points import ChangePoint, HistoryPoint, change_points
from dlbench.versions import release_order

_FEWEST = 3
"""With two releases, their comparison already says it."""


@dataclass(frozen=True)
class ReleaseHistory:
    """The releases of one framework on one workload."""

    framework: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]

    @property
    def sentence(self) -> str:
        names = f"{self.points[0].name} to {self.points[-1].name}"
        if not self.changes:
            return f"{self.framework}, {names}: no change of level is shown."
        return f"{self.framework}, {names}: {' '.join(change.sentence for change in self.changes)}"


def release_histories(
    groups: Sequence[Group], metric: Metric, alpha: float
) -> tuple[ReleaseHistory, ...]:
    """One for each framework, variant and set of conditions; only of what may be ranked.

    All of them are one family of tests: the chance of a false alarm on any stays within alpha."""
    together: dict[tuple[str, str, str, Conditions], list[tuple[Version, Group]]] = {}
    for group in groups:
        framework, version, flavour = release_order(group.release)
        if group.certified and group.values(metric):
            key = (framework, flavour, str(group.rows[0]["variant"]), group.conditions)
            together.setdefault(key, []).append((version, group))
    long = {key: members for key, members in together.items() if len(members) >= _FEWEST}
    histories = []
    for (framework, flavour, *_), members in long.items():
        members.sort(key=lambda member: member[0])
        points = tuple(HistoryPoint(g.release, g.values(metric)) for _, g in members)
        changes = change_points(points, metric.kind, alpha=alpha, together=len(long))
        name = f"{framework} on {flavour}" if flavour else framework
        histories.append(ReleaseHistory(name, points, changes))
    return tuple(histories)
