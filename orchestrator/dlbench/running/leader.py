"""The question that `--until decided` asks at each look: is the leader known?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.errors import UserError

if TYPE_CHECKING:
    from dlbench.statistics.comparison import Comparison


def leader_is_known(folder: Path, alpha: float) -> bool:
    """Whether in each case one contender is shown to train faster than all the others."""
    from dlbench.analysis.metrics import TRAINING
    from dlbench.analysis.results import open_results

    try:
        compared = open_results(folder).compare(TRAINING.column, alpha=alpha, stability=False)
    except UserError:  # no trial has a training time
        return False
    return all(leader(case.comparison) for case in compared.cases)


def leader(comparison: Comparison) -> str | None:
    """The contender that is shown to be better than all it may be compared with."""
    best = comparison.ranking[0] if comparison.ranking else None
    against = [verdict for verdict in comparison.tested if best in (verdict.first, verdict.second)]
    return best if best and against and all(v.won_by(best) for v in against) else None
