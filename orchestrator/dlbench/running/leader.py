"""The question that `--until decided` asks at each look: is the leader known?"""

from __future__ import annotations

from pathlib import Path

from dlbench.errors import UserError


def leader_is_known(folder: Path, alpha: float) -> bool:
    """Whether in each case one contender is shown to train faster than all the others."""
    from dlbench.analysis.metrics import TRAINING
    from dlbench.analysis.results import open_results

    try:
        compared = open_results(folder).compare(TRAINING.column, alpha=alpha, stability=False)
    except UserError:  # no trial has a training time
        return False
    for case in compared.cases:
        comparison = case.comparison
        best = comparison.ranking[0] if comparison.ranking else None
        against = [v for v in comparison.tested if best in (v.first, v.second)]
        if best is None or not against or not all(v.won_by(best) for v in against):
            return False
    return True
