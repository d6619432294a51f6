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
    """The groups ranked across workloads."""

    fixed: tuple[tuple[str, str], ...]
    friedman: Friedman

    @property
    def sentence(self) -> str:
        where = ", ".join(value for _, value in self.fixed)
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
                name = group.name.split(" (")[0]
                row[name] = case.comparison.summaries[group.name].middle(metric.kind)[0]
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


def _by_machine(case: CaseComparison) -> dict[str, list[Group]]:
    """The groups that may be ranked; by machine, where there are several."""
    ranked = [g for g in case.case.groups if g.name in case.comparison.ranking]
    machines = {g.conditions.machine for g in ranked}
    parts: dict[str, list[Group]] = {}
    for group in ranked:
        parts.setdefault(group.conditions.machine if len(machines) > 1 else "", []).append(group)
    return parts
