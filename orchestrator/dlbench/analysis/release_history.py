"""A framework's releases in order, and where along them a metric changed its level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import Version

from dlbench.analysis.groups import Conditions, Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.change_points import ChangePoint, HistoryPoint, change_points
from dlbench.statistics.margins import within_margin
from dlbench.statistics.verdicts import Decision, Verdict
from dlbench.versions import release_order

_FEWEST = 3
"""With two releases, their comparison already says it."""


@dataclass(frozen=True)
class ReleaseHistory:
    """The releases of one framework on one workload."""

    framework: str
    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]
    margin: str = ""
    """Changes within it are left out, in words."""
    differing: bool = False
    """Whether any two of these releases are shown to differ by themselves."""

    @property
    def sentence(self) -> str:
        names = f"{self.points[0].name} to {self.points[-1].name}"
        beyond = f" beyond the margin ({self.margin})" if self.margin else ""
        if self.changes:
            said = " ".join(change.sentence for change in self.changes)
            if not self.differing:
                said += (
                    " This takes all runs of each level together: no two of these releases are"
                    " shown to differ by themselves."
                )
        elif self.differing:
            said = f"no lasting change of level{beyond} is shown, though single releases differ."
        else:
            said = f"no change of level{beyond} is shown."
        return f"{self.framework}, {names}: {said}"


def release_histories(
    groups: Sequence[Group],
    metric: Metric,
    alpha: float,
    margin: float | None = None,
    verdicts: Sequence[Verdict] = (),
) -> tuple[ReleaseHistory, ...]:
    """One for each framework, variant and set of conditions; only of what may be ranked.

    All of them are one family of tests: the chance of a false alarm on any stays within alpha.
    `verdicts`, on pairs of the same groups, are never contradicted."""
    together: dict[tuple[str, str, str, Conditions], list[tuple[Version, Group]]] = {}
    for group in groups:
        framework, version, flavour = release_order(group.release)
        if group.certified and group.values(metric):
            key = (framework, flavour, str(group.rows[0]["variant"]), group.conditions)
            together.setdefault(key, []).append((version, group))
    long = {key: members for key, members in together.items() if len(members) >= _FEWEST}
    equal = {frozenset((v.first, v.second)) for v in verdicts if v.decision is Decision.EQUIVALENT}
    differ = [(v.first, v.second) for v in verdicts if v.different]
    words = within_margin(margin, metric.kind) if margin is not None else ""
    histories = []
    for (framework, flavour, *_), members in long.items():
        members.sort(key=lambda member: member[0])
        own = [group for _, group in members]
        points = tuple(HistoryPoint(g.release, g.values(metric)) for g in own)
        found = change_points(points, metric.kind, alpha=alpha, together=len(long), margin=margin)
        changes = tuple(change for change in found if not _equivalent(change, own, equal))
        names = {group.name for group in own}
        name = f"{framework} on {flavour}" if flavour else framework
        differing = any(a in names and b in names for a, b in differ)
        histories.append(ReleaseHistory(name, points, changes, words, differing))
    return tuple(histories)


def _equivalent(change: ChangePoint, groups: Sequence[Group], equal: set[frozenset[str]]) -> bool:
    """Whether each release of the new level is shown to equal each of the level before."""
    if not equal:
        return False
    places = {group.release: i for i, group in enumerate(groups)}
    first, cut, end = places[change.before[0]], places[change.name], places[change.until]
    return all(
        frozenset((old.name, new.name)) in equal
        for old in groups[first:cut]
        for new in groups[cut : end + 1]
    )
