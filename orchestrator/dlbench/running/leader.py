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
    return all(case.comparison.leader for case in compared.cases)
