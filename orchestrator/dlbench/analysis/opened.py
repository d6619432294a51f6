"""The campaigns behind a set of results: which trials have ended, and where their files are.

A campaign may come from somebody else, so nothing that is read from it is used as a path before it
has been checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.campaigns.about import CampaignAbout
from dlbench.campaigns.folder import Campaign
from dlbench.errors import UserError
from dlbench.formats import check_version
from dlbench.planning.plan import VERSION as PLAN_VERSION

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of a plan."""

    id: str
    campaign: str
    """The id of the campaign that it was run in: a merged folder holds several."""
    folder: Path


@dataclass(frozen=True)
class OpenedCampaign:
    """One campaign's folder, opened."""

    folder: Path
    about: CampaignAbout
    planned: tuple[PlannedTrial, ...]

    @property
    def id(self) -> str:
        return self.about.id


def open_campaign(folder: Path) -> OpenedCampaign:
    """Read what a campaign is and what it planned; of its trials, nothing yet."""
    campaign = Campaign.open(folder)
    about = campaign.about()
    path = folder / "plan.jsonl"
    planned = []
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            content = json.loads(line)
            check_version(content, PLAN_VERSION, path, missing=1)
            name = content["id"]
            if not isinstance(name, str) or not _ID.fullmatch(name):
                raise ValueError(f"{name!r} is no trial's id")
            planned.append(
                PlannedTrial(name, str(content.get("campaign", about.id)), folder / "trials" / name)
            )
    except (OSError, AttributeError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is damaged ({error}).", "Restore it from a copy.") from error
    return OpenedCampaign(folder, about, tuple(planned))


def machines(sources: Sequence[OpenedCampaign]) -> dict[str, dict[str, Any]]:
    """The fingerprint of every machine, by its digest."""
    found: dict[str, dict[str, Any]] = {}
    for source in sources:
        for machine in source.about.machines or (source.about.machine,):
            if machine:
                found.setdefault(str(machine.get("digest", "")), dict(machine))
    return found


def read_files(paths: Iterable[Path]) -> list[bytes | None]:
    """Many small files; None for one that is not there.

    One after the other: from a warm disk cache, threads would only wait for each other.
    """
    return [_read(path) for path in paths]


def _read(path: Path) -> bytes | None:
    try:
        # A pipe in a file's place must not hold up the reader.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        size = os.fstat(file).st_size + 1
        content = os.read(file, size)
        while more := os.read(file, size) if len(content) >= size else b"":  # it has grown
            content += more
        return content
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(file)


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path} can't be read ({error.strerror}).", "Mend its permissions.")
