"""`--plan-power`: how many repeats a wanted difference needs, from the spread of a campaign."""

from __future__ import annotations

import math

import numpy as np

from dlbench.analysis.campaign_comparison import CaseComparison
from dlbench.errors import UserError
from dlbench.statistics.measurements import Kind, RankedValues, partners, ranked_values
from dlbench.statistics.power import (
    RepeatPlan,
    Spread,
    repeats_needed,
    spread_of_pairs,
    spread_of_runs,
)
from dlbench.statistics.sample_size import pairs_needed

_FEWEST = 2
"""Runs that a spread needs."""


def plan_power(case: CaseComparison, wanted: float, *, power: float = 0.8) -> RepeatPlan | None:
    """For the noisiest pair of the case; None where no group has two runs."""
    comparison = case.comparison
    kind = comparison.kind
    ratio = kind.scale == "ratio"
    if not math.isfinite(wanted) or wanted == 0 or (ratio and (wanted < 0 or wanted == 1)):
        raise UserError(
            f"{wanted:g} is not a difference to look for.",
            "Give a factor such as 1.05, or a difference such as 0.01 for accuracies.",
        )
    tested = comparison.tested
    if not tested:
        return None
    groups = {group.name: group.measurements(case.metric) for group in case.case.groups}
    runs = {name: ranked_values(group, kind) for name, group in groups.items()}

    def planned(spreads: list[Spread], paired: bool) -> RepeatPlan | None:
        if not spreads:
            return None
        return repeats_needed(
            max(spreads, key=lambda spread: spread.sd),
            wanted,
            kind,
            alpha=comparison.alpha,
            comparisons=len(tested) + comparison.unlisted,
            power=power,
            paired=paired,
        )

    pairs = [(runs[v.first], runs[v.second]) for v in tested]
    together = planned([s for one in pairs if (s := _of_pairs(*one, kind))], True)
    alone = planned([s for one in pairs if (s := _of_runs(*one, kind))], False)
    if together is None or alone is None:
        return alone
    # Below so many repeats the runs are not compared in pairs.
    few = alone.repeats < pairs_needed(comparison.alpha, alone.comparisons)
    return alone if few and alone.repeats < together.repeats else together


def _of_pairs(first: RankedValues, second: RankedValues, kind: Kind) -> Spread | None:
    """Of partners that both finished; None where fewer than two did."""
    common = partners(first, second)
    both = [own.only(common) for own in (first, second)]
    done = np.isfinite(both[0]) & np.isfinite(both[1])
    if np.count_nonzero(done) < _FEWEST:
        return None
    return spread_of_pairs(both[0][done], both[1][done], kind)


def _of_runs(first: RankedValues, second: RankedValues, kind: Kind) -> Spread | None:
    if max(len(first.finite), len(second.finite)) < _FEWEST:
        return None
    return spread_of_runs([first.finite, second.finite], kind)
