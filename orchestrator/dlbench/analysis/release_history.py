"""A framework's releases in order, and where along them a metric changed its level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from dlbench.analysis.groups import Conditions, Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.change_points import ChangePoint, Point, changepoints

_FEWEST = 3
"""With two releases, their comparison already says it."""


@dataclass(frozen=True)
class Line:
    """The history of one framework on one workload."""

    framework: str
    points: tuple[Point, ...]
    changes: tuple[ChangePoint, ...]

    @property
    def sentence(self) -> str:
        names = f"{self.points[0].name} to {self.points[-1].name}"
        if not self.changes:
            return f"{self.framework}, {names}: no change of level is shown."
        return f"{self.framework}, {names}: {' '.join(change.sentence for change in self.changes)}"


def lines(groups: Sequence[Group], metric: Metric, alpha: float) -> tuple[Line, ...]:
    """One line a framework, variant and set of conditions; only what may be ranked is on it.

    All lines are one family of tests: the chance of a false alarm on any stays within alpha."""
    found: dict[tuple[str, str, str, Conditions], list[tuple[Version, Group]]] = {}
    for group in groups:
        kept = group.measurements
        framework, _, version = group.release.partition("@")
        number, _, on = version.partition("-")
        if not kept.certified or not kept.complete or not kept.values:
            continue
        key = (framework, on, str(group.trials[0]["variant"]), group.conditions)
        found.setdefault(key, []).append((_order(number), group))
    long = {key: members for key, members in found.items() if len(members) >= _FEWEST}
    made = []
    for (framework, on, *_), members in long.items():
        members.sort(key=lambda member: member[0])
        points = tuple(Point(g.release, g.measurements.values) for _, g in members)
        changes = changepoints(points, metric.kind, alpha=alpha, together=len(long))
        name = f"{framework} on {on}" if on else framework
        made.append(Line(name, points, changes))
    return tuple(made)


def _order(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        digits = re.findall(r"\d+", version)
        return Version(".".join(digits) if digits else "0")
