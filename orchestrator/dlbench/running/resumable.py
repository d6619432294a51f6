"""What a campaign that is resumed must be: on its own machine; and open to what is added."""

from __future__ import annotations

from pathlib import Path

from dlbench.campaigns.campaign_file import CampaignAbout
from dlbench.errors import UserError
from dlbench.host.machine import fingerprint
from dlbench.running.workshop import Workshop
from dlbench.statistics.words import listing


def check_extensible(folder: Path, about: CampaignAbout) -> None:
    if about.merged:
        raise UserError(
            f"{folder} was merged from several campaigns: nothing can be added to it.",
            "Extend one of the campaigns that it was merged from.",
        )
    if about.looks:
        raise UserError(
            f"{folder} was planned with looks after {listing([str(n) for n in about.looks])}"
            " repeats: more of them would raise its error rate.",
            "Leave out the other options to finish it, or start a new campaign with a larger"
            " --at-most.",
        )


def check_machine(folder: Path, about: CampaignAbout, workshop: Workshop) -> None:
    """What ran elsewhere must not be recorded as run here."""
    began = about.machine.get("digest")
    if began and began != fingerprint(workshop.runtime).digest():
        raise UserError(
            f"{folder} was begun on another machine, or with other cores of this one.",
            "Start a new campaign here; `dlbench merge` puts both into one folder.",
        )
