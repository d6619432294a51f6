"""`dlbench.run(...)`: a campaign started from Python instead of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from dlbench.analysis.results import Results, open_results
from dlbench.campaigns.folder import Campaign
from dlbench.errors import check_known
from dlbench.planning.choices import Choices
from dlbench.planning.extension import refuse_ignored
from dlbench.running.campaign_observer import CampaignObserver
from dlbench.running.campaign_run import resume as go_on
from dlbench.running.campaign_run import start
from dlbench.running.workshop import open_workshop

_TEXTS = ("seeds", "threads")
"""A number, or numbers, for which the command line has words, too."""


def run_from_python(
    releases: Sequence[str],
    out: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
    observer: CampaignObserver | None,
    choices: Mapping[str, Any],
) -> Results:
    chosen = chosen_in_python(releases, choices)
    seen = observer or CampaignObserver()
    if resume is not None:
        refuse_ignored(frozenset(choices))
        began = Campaign.open(Path(resume)).about().engine
        finished = go_on(Path(resume), open_workshop(began), seen, chosen)
    else:
        place = Path(out) if out is not None else None
        finished = start(
            chosen, open_workshop(chosen.engine), place, seen, command=("dlbench.run",)
        )
    if finished.interrupted:
        raise KeyboardInterrupt(
            f"Finish it with dlbench.run(resume={str(finished.campaign.folder)!r})"
        )
    return open_results(finished.campaign.folder)


def chosen_in_python(releases: Sequence[str], choices: Mapping[str, Any]) -> Choices:
    """A single name may stand where several are possible."""
    known = {field.name: field.default for field in fields(Choices)}
    for name in choices:
        check_known("choice", name, known)
    values = dict(choices)
    for name, value in values.items():
        if isinstance(known[name], tuple):
            values[name] = (value,) if isinstance(value, str) else tuple(value)
        elif name in _TEXTS and value is not None and not isinstance(value, str):
            numbers = value if isinstance(value, Sequence) else [value]
            values[name] = ",".join(map(str, numbers))  # read like the command line's
    values["frameworks"] = (*releases, *values.get("frameworks", ()))
    return Choices(**values)
