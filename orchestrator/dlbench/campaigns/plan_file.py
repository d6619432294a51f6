"""Reads `plan.jsonl`: the trials of a campaign, in order of execution.

A campaign may come from somebody else, so every line is checked, and an id before it becomes part
of a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dlbench.campaigns.plain_files import check_folder, parse_record, read_file
from dlbench.errors import damaged
from dlbench.formats import check_version
from dlbench.planning.trial import MOST_TRIALS, VERSION, Trial
from dlbench.shapes import identity, record

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class PlannedTrial:
    """One line of a plan."""

    id: str
    campaign: str
    """The id of the campaign that it was run in: a merged folder holds several."""
    folder: Path
    """Where its files are, or will be."""
    trial: Trial
    """Everything that was planned of it."""


def read_plan(folder: Path, campaign: str = "") -> tuple[PlannedTrial, ...]:
    """The plan in a campaign's folder; `campaign` is the id where a line names none."""
    path = folder / "plan.jsonl"
    content = read_file(path, _MOST_BYTES)
    if content is None:
        raise damaged(path, "it is missing")
    if content.count(b"\n") > MOST_TRIALS:
        raise damaged(path, f"it has more than {MOST_TRIALS:,} lines, one a trial")
    check_folder(folder / "trials")
    planned: dict[str, PlannedTrial] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        one = parse_record(line, partial(_planned, folder, campaign), path, number)
        if one.id in planned:
            raise damaged(path, f"line {number} has the id of an earlier line, {one.id}")
        check_folder(one.folder)
        planned[one.id] = one
    return tuple(planned.values())


_NAMES = record({"id": identity, "campaign": identity}, required=["id"])


def _planned(folder: Path, campaign: str, content: Any) -> PlannedTrial:
    """One line, checked."""
    check_version(content, VERSION, folder / "plan.jsonl", missing=1)
    names = _NAMES(content)
    trial = Trial.from_json(content)
    own = names.get("campaign", campaign)
    return PlannedTrial(trial.id, own, folder / "trials" / trial.id, trial)
