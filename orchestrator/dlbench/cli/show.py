"""`dlbench show DIR`: a campaign's trials and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json

if TYPE_CHECKING:
    from dlbench.campaigns.folder import Campaign
    from dlbench.campaigns.trial_result import TrialResult


def register(app: typer.Typer) -> None:
    @app.command("show")
    def show(
        folder: Annotated[Path, typer.Argument(help="The campaign's folder or archive.")],
        json: Json = False,
    ) -> None:
        """Show a campaign: a table, which differences are real, failures with their reasons.

        \b
        dlbench show results/2026-11-16_0312-quick
        """
        from dlbench.campaigns.archive_file import campaign_folder
        from dlbench.campaigns.folder import Campaign

        campaign = Campaign.open(campaign_folder(folder, only_results=True))
        campaign.about()
        print_results(campaign, campaign.results(), place=folder, as_json=json)


def print_results(
    campaign: Campaign,
    results: Sequence[TrialResult],
    *,
    place: Path | None = None,
    as_json: bool = False,
) -> None:
    """What people see at the end of a run, and with `show`; `place` is where they know it to be."""
    from dlbench.analysis.results import open_results
    from dlbench.cli.console import print_json, print_table, stdout
    from dlbench.cli.results_table import COLUMNS, case_tables, failures
    from dlbench.host.machine import cautions

    if as_json:
        print_json(
            {
                "folder": str(place or campaign.folder),
                "campaign": campaign.about().to_json(),
                "planned": len(campaign.trials()),
                "trials": [result.to_json() for result in results],
            }
        )
        return
    console = stdout()
    frames = open_results(campaign.folder) if results else None
    for summary in case_tables(frames) if frames else ():
        print_table(COLUMNS, summary.rows, title=f"\n{summary.title}")
        for sentence in summary.sentences:
            console.print(sentence, markup=False, soft_wrap=not console.is_terminal)
    for line in [*failures(frames), *cautions(frames.machines())] if frames else ():
        console.print(line, markup=False, soft_wrap=not console.is_terminal)
    missing = len(campaign.trials()) - len(results)
    if missing:
        console.print(f"{missing} of {len(campaign.trials())} trials have not been run yet.")
    console.print(f"\nResults: {place or campaign.folder}", markup=False, soft_wrap=True)
