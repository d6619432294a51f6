"""Statistics of trials: pure functions of numbers, with results that word themselves.

The trial is the replicate. Effect and interval come first, then the exact test; before either,
whether so few runs can show anything at all. Nothing here knows of campaigns, files or the
command line.
"""

from .comparison import Comparison, compare
from .conditions import Check, Checked, Condition, Result, check_conditions, parse_condition
from .effects import Effect, effect
from .history import ChangePoint, Point, changepoints
from .intervals import Interval
from .margins import Equivalence, equivalence
from .measurements import (
    ENERGY,
    KINDS,
    LOSS,
    MEMORY,
    SCORE,
    THROUGHPUT,
    TIME,
    Kind,
    Measurements,
    Reason,
)
from .order import OrderEffect, order_effect
from .power import Plan, Spread, repeats_needed, spread_of_pairs, spread_of_runs
from .rank_tests import RankTest, rank_sum, signed_rank
from .sample_size import (
    SampleSize,
    holm,
    least_p,
    least_p_unpaired,
    pairs_needed,
    runs_needed,
)
from .stability import (
    Concern,
    Finding,
    Steps,
    noisy_machine,
    steps_of_trial,
    trial_outliers,
    unequal,
)
from .summary import Summary, describe
from .verdicts import Outcome, Verdict
from .workloads import Friedman, PostHoc, friedman

__all__ = [
    "ENERGY",
    "KINDS",
    "LOSS",
    "MEMORY",
    "SCORE",
    "THROUGHPUT",
    "TIME",
    "ChangePoint",
    "Check",
    "Checked",
    "Comparison",
    "Concern",
    "Condition",
    "Effect",
    "Equivalence",
    "Finding",
    "Friedman",
    "Interval",
    "Kind",
    "Measurements",
    "OrderEffect",
    "Outcome",
    "Plan",
    "Point",
    "PostHoc",
    "RankTest",
    "Reason",
    "Result",
    "SampleSize",
    "Spread",
    "Steps",
    "Summary",
    "Verdict",
    "changepoints",
    "check_conditions",
    "compare",
    "describe",
    "effect",
    "equivalence",
    "friedman",
    "holm",
    "least_p",
    "least_p_unpaired",
    "noisy_machine",
    "order_effect",
    "pairs_needed",
    "parse_condition",
    "rank_sum",
    "repeats_needed",
    "runs_needed",
    "signed_rank",
    "spread_of_pairs",
    "spread_of_runs",
    "steps_of_trial",
    "trial_outliers",
    "unequal",
]
