"""Reads `plan.jsonl`: the trials of a campaign, in order of execution.

A campaign may come from somebody else, so an id is checked before it becomes part of a path.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.errors import damaged
from dlbench.formats import check_version
from dlbench.planning.plan import VERSION, Trial

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class PlannedTrial:
    """One line of a plan."""

    id: str
    campaign: str
    """The id of the campaign that it was run in: a merged folder holds several."""
    folder: Path
    """Where its files are, or will be."""
    content: dict[str, Any]
    """The line as it was written."""

    @property
    def trial(self) -> Trial:
        """Everything that was planned of it."""
        try:
            return Trial.from_json(self.content)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.folder.parent.parent / "plan.jsonl", error) from error


def read_plan(folder: Path, campaign: str = "") -> tuple[PlannedTrial, ...]:
    """The plan in a campaign's folder; `campaign` is the id where a line names none."""
    path = folder / "plan.jsonl"
    planned = []
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            content = json.loads(line)
            check_version(content, VERSION, path, missing=1)
            name = content["id"]
            if not isinstance(name, str) or not _ID.fullmatch(name):
                raise ValueError(f"{name!r} is not the id of a trial")
            own = str(content.get("campaign", campaign))
            planned.append(PlannedTrial(name, own, folder / "trials" / name, content))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged(path, error) from error
    return tuple(planned)
