"""`dlbench show DIR`: a campaign's trials and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json

if TYPE_CHECKING:
    from dlbench.campaign import Campaign
    from dlbench.results import TrialResult


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
        from dlbench.analysis.archive import campaign_folder
        from dlbench.campaign import Campaign

        campaign = Campaign.open(campaign_folder(folder))
        campaign.about()
        print_results(campaign, campaign.results(), as_json=json)


def print_results(
    campaign: Campaign, results: Sequence[TrialResult], *, as_json: bool = False
) -> None:
    """What people see at the end of a run, and with `show`."""
    from dlbench.cli.console import print_json, print_table, stdout
    from dlbench.summary import COLUMNS, answers, failures, rows

    if as_json:
        print_json(
            {
                "folder": str(campaign.folder),
                "campaign": campaign.about(),
                "planned": len(campaign.trials()),
                "trials": [result.to_json() for result in results],
            }
        )
        return
    console = stdout()
    for workload in dict.fromkeys(result.workload for result in results):
        group = [result for result in results if result.workload == workload]
        print_table(COLUMNS, rows(group), title=f"\n{workload}")
        for sentence in answers(group):
            console.print(sentence)
    for line in failures(results):
        console.print(line, markup=False)
    missing = len(campaign.trials()) - len(results)
    if missing:
        console.print(f"{missing} of {len(campaign.trials())} trials have not been run yet.")
    console.print(f"\nResults: {campaign.folder}")
