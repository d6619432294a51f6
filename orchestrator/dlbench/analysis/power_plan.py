"""`--plan-power`: how many repeats a wanted difference needs, from the spread of a campaign."""

from __future__ import annotations

import math

from dlbench.analysis.campaign_comparison import CaseComparison
from dlbench.errors import UserError
from dlbench.statistics.measurements import Kind
from dlbench.statistics.power import (
    RepeatPlan,
    Spread,
    repeats_needed,
    spread_of_pairs,
    spread_of_runs,
)


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
    paired = all(v.effect is not None and v.effect.paired for v in tested)
    values = {
        group.name: {row["seed"]: row[case.metric.column] for row in group.measured(case.metric)}
        for group in case.case.groups
    }
    spreads = []
    for verdict in tested:
        spread = _spread(values[verdict.first], values[verdict.second], kind, paired)
        spreads += [spread] if spread else []
    if not spreads:
        return None
    worst = max(spreads, key=lambda spread: spread.sd)
    return repeats_needed(
        worst,
        wanted,
        kind,
        alpha=comparison.alpha,
        comparisons=len(tested),
        power=power,
        paired=paired,
    )


def _spread(
    first: dict[object, float], second: dict[object, float], kind: Kind, paired: bool
) -> Spread | None:
    try:
        if not paired:
            return spread_of_runs([list(first.values()), list(second.values())], kind)
        common = [key for key in first if key in second]
        return spread_of_pairs([first[k] for k in common], [second[k] for k in common], kind)
    except ValueError:  # a single run
        return None
