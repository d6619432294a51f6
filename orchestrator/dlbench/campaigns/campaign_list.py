"""The campaigns of a folder: which there are, which is the newest, what each compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.errors import UserError

if TYPE_CHECKING:
    from dlbench.planning.trial import Trial

RESULTS = Path("results")
"""Where `dlbench run` puts campaigns, in the folder in which it is called."""
_NAME_LENGTH = 60


@dataclass(frozen=True)
class CampaignEntry:
    """One campaign as `dlbench campaigns` lists it."""

    folder: Path
    changed: datetime
    """When something was last added to it."""
    label: str = ""
    contenders: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    planned: int = 0
    ended: int = 0
    """Those that were interrupted have not."""
    failed: int = 0
    """How many of them did not end well."""
    running: bool = False
    problem: str = ""
    """Why it can't be read."""

    @property
    def state(self) -> str:
        if self.problem:
            return "damaged"
        if self.running:
            return "running"
        return "complete" if self.ended == self.planned else "unfinished"


def campaign_folders(root: Path = RESULTS) -> list[Path]:
    """The folders below `root` that hold a campaign, the one worked on last first."""
    try:
        folders = [path.parent for path in root.glob("*/campaign.json")]
    except OSError:
        folders = []
    return sorted(folders, key=lambda folder: (_changed(folder), folder.name), reverse=True)


def newest() -> Path:
    """The campaign that was worked on last."""
    folders = campaign_folders()
    if not folders:
        raise UserError(
            f"There is no campaign in {RESULTS}/.", "Run `dlbench run` here, or name a folder."
        )
    return folders[0]


def list_campaigns(root: Path = RESULTS) -> Iterator[CampaignEntry]:
    """Every campaign, also those that can't be read: a list must not end at one of them."""
    from dlbench.campaigns.folder import Campaign
    from dlbench.campaigns.follower import held
    from dlbench.campaigns.outcomes import Outcome

    for folder in campaign_folders(root):
        changed = datetime.fromtimestamp(_changed(folder), UTC)
        try:
            campaign = Campaign.open(folder)
            about, trials = campaign.about(), campaign.trials()
            outcomes = [result.outcome for result in campaign.results()]
        except UserError as error:
            yield CampaignEntry(folder, changed, problem=error.problem)
            continue
        yield CampaignEntry(
            folder,
            changed,
            about.choices.label or "",
            tuple(dict.fromkeys(trial.label for trial in trials)),
            tuple(dict.fromkeys(trial.workload for trial in trials)),
            len(trials),
            len(outcomes) - outcomes.count(Outcome.INTERRUPTED),
            sum(outcome not in (Outcome.OK, Outcome.INTERRUPTED) for outcome in outcomes),
            held(folder / ".lock"),
        )


def _changed(folder: Path) -> float:
    times = []
    for name in ("campaign.json", "plan.jsonl", "trials"):
        try:
            times.append((folder / name).stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def campaign_name(trials: Sequence[Trial], label: str | None) -> str:
    """What a campaign's folder is called, behind its time: its label, or what it compares."""
    if label:
        return label
    releases: Mapping[str, str] = {t.label: t.release.partition("@")[0] for t in trials}
    frameworks = list(releases.values())
    named = [
        framework if frameworks.count(framework) == 1 else label.replace("@", "-")
        for label, framework in sorted(releases.items())
    ]
    workloads = list(dict.fromkeys(trial.workload for trial in trials))
    for shown in range(len(named), 0, -1):
        rest = f"-and-{len(named) - shown}-more" if shown < len(named) else ""
        where = workloads[0] if len(workloads) == 1 else f"{len(workloads)}-workloads"
        text = f"{where}-{'-'.join(named[:shown])}{rest}".replace(":", "-")
        if len(text) <= _NAME_LENGTH:
            break
    return text


def fresh_folder(trials: Sequence[Trial], label: str | None) -> Path:
    """One that is not there yet, called after the time and what is compared."""
    name = campaign_name(trials, label).replace(" ", "-")
    stem = f"{datetime.now():%Y-%m-%d_%H%M%S}-{name}"
    folder, number = RESULTS / stem, 2
    while folder.exists():
        folder, number = RESULTS / f"{stem}-{number}", number + 1
    return folder
