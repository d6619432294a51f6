"""dlbench: compare deep learning frameworks on models proven to be the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlbench.analysis.results import Results

__version__ = "0.1.0"


def open(*paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Results:
    """The results of campaigns, as data frames: folders that `dlbench run` made, or archives.

    results = dlbench.open("results/2026-11-16_0312-quick")
    results.trials(), results.curves(), results.steps(), results.samples(), results.compare("time")
    """
    from dlbench.analysis.results import open_results

    return open_results(*paths)
