"""dlbench: compare deep learning frameworks on models proven to be the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlbench.analysis.results import Results
    from dlbench.running.campaign_observer import CampaignObserver

__version__ = "0.1.0"


def open(*paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Results:
    """The results of campaigns, as data frames: folders that `dlbench run` made, or archives.

    results = dlbench.open("results/2026-11-16_0312-quick")
    results.trials(), results.curves(), results.steps(), results.samples(), results.compare("time")
    """
    from dlbench.analysis.results import open_results

    return open_results(*paths)


def run(
    *releases: str,
    out: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    observer: CampaignObserver | None = None,
    **choices: Any,
) -> Results:
    """Run a campaign as `dlbench run` does, and return its results.

    results = dlbench.run("pytorch", "jax", workloads=["digits-cnn"], repeats=5)
    results = dlbench.run(resume="results/…", repeats=10)

    `choices` are the options of `dlbench run` by the names in `planning/choices.py`: `workloads`,
    `repeats`, `until="decided"`, … Nothing is printed; an `observer` is told what happens.
    """
    from dlbench.running.python_call import run_from_python

    return run_from_python(releases, out, resume, observer, choices)
