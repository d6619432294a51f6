"""What to do next, as a command that can be copied: more repeats where these could not decide."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.analysis.metrics import TRAINING
from dlbench.planning.repeats import repeats_needed, rivals
from dlbench.statistics.verdicts import Decision
from dlbench.statistics.words import count

if TYPE_CHECKING:
    from dlbench.campaigns.folder import Campaign
    from dlbench.report.material import Material

_MORE = 2
"""Undecided with enough runs: go on to at most this many times as many."""


def next_step(material: Material, campaign: Campaign, place: Path) -> tuple[str, str]:
    """A sentence and a command; empty where the leader is known or nothing can be added."""
    about, trials = campaign.about(), campaign.trials()
    if about.merged or place.is_file() or campaign.unfinished():
        return "", ""
    if about.looks:
        if about.looks_left or any(about.looked):
            return "", ""
        return (
            f"No leader was found in {count(len(about.looks), 'look')}: if there is one, its"
            f" lead is smaller than {about.looks[-1]} runs of each can show."
        ), ""
    made = max(trial.repeat for trial in trials) + 1
    decisions = list(_open_questions(material))
    command = f"dlbench run --resume {shlex.quote(str(place))}"
    if Decision.TOO_FEW in decisions:
        needed = max(_needed(material), repeats_needed(rivals(trials)))
        if needed > made:
            return (
                f"These runs show sizes, and prove nothing: {made} of each can't tell a difference"
                " from chance. Next:"
            ), f"{command} --repeats {needed}"
    elif Decision.NOT_SHOWN in decisions:
        most = _MORE * made
        return (
            "To go on until the leader is known:",
            f"{command} --until decided --at-most {most}",
        )
    return "", ""


def _open_questions(material: Material) -> Iterator[Decision]:
    """What came of the leader of each case against the others."""
    for case in material.cases:
        times = material.comparison(case.label, TRAINING)
        if times is not None and times.ranking:
            yield from (v.decision for v in times.against_others(times.ranking[0]))


def _needed(material: Material) -> int:
    compared = (material.comparison(case.label, TRAINING) for case in material.cases)
    sizes = [size for times in compared if times is not None for size in times.sizes]
    return max((size.needed for size in sizes if not size.enough), default=0)
