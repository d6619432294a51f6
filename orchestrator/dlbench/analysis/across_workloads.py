"""The groups ranked across workloads: Friedman's test over the cases that share everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlbench.analysis.groups import Group
from dlbench.analysis.metrics import Metric
from dlbench.statistics.friedman import Friedman, friedman

if TYPE_CHECKING:
    from dlbench.analysis.campaign_comparison import CaseComparison


@dataclass(frozen=True)
class WorkloadRanking:
    fixed: tuple[tuple[str, str], ...]
    friedman: Friedman

    @property
    def sentence(self) -> str:
        where = ", ".join(value for _, value in self.fixed if value)
        return f"{where}: {self.friedman.sentence}" if where else self.friedman.sentence


def rank_across_workloads(
    cases: Sequence[CaseComparison], metric: Metric, alpha: float
) -> tuple[WorkloadRanking, ...]:
    """Friedman's test over the workloads that share everything else."""
    tables: dict[tuple[tuple[str, str], ...], dict[str, dict[str, float]]] = {}
    for case in cases:
        for machine, groups in _by_machine(case).items():
            key = (*case.case.fixed, *((("machine", machine),) if machine else ()))
            row = tables.setdefault(key, {}).setdefault(case.case.workload, {})
            for group in groups:
                # without the conditions that its name may carry
                row[group.name.split(" (")[0]] = _middle(case, group, metric)
    rankings = []
    for key, table in tables.items():
        ranked = [row for row in table.values() if len(row) > 1]
        if len(ranked) > 1:
            result = friedman(table, metric.kind, alpha=alpha)
            # Too few workloads are worth a sentence for releases, not for each release's devices.
            worth = result.enough or "release" not in dict(key)
            if worth and not math.isnan(result.mean_ranks[0]):
                rankings.append(WorkloadRanking(key, result))
    return tuple(rankings)


def _middle(case: CaseComparison, group: Group, metric: Metric) -> float:
    """The group's value on a workload: the worst where it failed in half of its runs or more."""
    if 2 * len(group.failed) >= len(group.rows) - len(group.interrupted):
        return math.inf if metric.kind.less_is_better else -math.inf
    return case.comparison.summaries[group.name].middle(metric.kind)[0]


def _by_machine(case: CaseComparison) -> dict[str, list[Group]]:
    """The groups that may be ranked, and those that failed always; by machine, where there are
    several."""
    ranking = set(case.comparison.ranking)
    ranked = [
        group
        for group in case.case.groups
        if group.name in ranking or (group.certified and len(group.failed) == len(group.rows))
    ]
    machines = {g.conditions.machine for g in ranked}
    parts: dict[str, list[Group]] = {}
    for group in ranked:
        parts.setdefault(group.conditions.machine if len(machines) > 1 else "", []).append(group)
    return parts
