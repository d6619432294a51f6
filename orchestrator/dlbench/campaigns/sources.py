"""The campaigns that results come from: folders or archives, opened, with their plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.campaigns.archive_file import campaign_folder
from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.plan_file import PlannedTrial


@dataclass(frozen=True)
class CampaignSource:
    """One campaign: what it is and what it planned. Of its trials, nothing has been read yet."""

    folder: Path
    about: CampaignAbout
    planned: tuple[PlannedTrial, ...]

    @property
    def id(self) -> str:
        return self.about.id


def open_source(path: Path) -> CampaignSource:
    folder = campaign_folder(path)
    campaign = Campaign.open(folder)
    return CampaignSource(folder, campaign.about(), campaign.planned)


def machines(sources: Sequence[CampaignSource]) -> dict[str, dict[str, Any]]:
    """The fingerprint of every machine, by its digest."""
    fingerprints: dict[str, dict[str, Any]] = {}
    for source in sources:
        for machine in source.about.machines or (source.about.machine,):
            if machine:
                fingerprints.setdefault(str(machine.get("digest", "")), dict(machine))
    return fingerprints
