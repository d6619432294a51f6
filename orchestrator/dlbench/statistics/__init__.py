"""Statistics of trials: pure functions of numbers, with results that word themselves.

The trial is the replicate. Effect and interval come first, then the exact test; before either,
whether so few runs can show anything at all. Nothing here knows of campaigns, files or the
command line.
"""

from .comparison import Comparison, compare
from .effects import Effect, effect
from .equivalence import Equivalence, equivalence
from .intervals import Interval
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
from .rank_tests import RankTest, rank_sum, signed_rank
from .sample_size import (
    SampleSize,
    holm,
    least_p,
    least_p_unpaired,
    pairs_needed,
    runs_needed,
)
from .summary import Summary, describe
from .verdicts import Outcome, Verdict

__all__ = [
    "ENERGY",
    "KINDS",
    "LOSS",
    "MEMORY",
    "SCORE",
    "THROUGHPUT",
    "TIME",
    "Comparison",
    "Effect",
    "Equivalence",
    "Interval",
    "Kind",
    "Measurements",
    "Outcome",
    "RankTest",
    "Reason",
    "SampleSize",
    "Summary",
    "Verdict",
    "compare",
    "describe",
    "effect",
    "equivalence",
    "holm",
    "least_p",
    "least_p_unpaired",
    "pairs_needed",
    "rank_sum",
    "runs_needed",
    "signed_rank",
]
