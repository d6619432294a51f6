"""`dlbench show DIR`: a campaign's trials and what they say; `dlbench show workload NAME`."""

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
        folder: Annotated[
            Path, typer.Argument(help="The campaign's folder or archive; or the word `workload`.")
        ],
        name: Annotated[
            str | None, typer.Argument(help="Behind the word `workload`: which one.")
        ] = None,
        json: Json = False,
    ) -> None:
        """Show a campaign: a table, which differences are real, failures with their reasons.

        \b
        dlbench show results/2026-11-16_0312-quick
        dlbench show workload mnist-cnn      its layers, parameters, FLOPs and recipe
        """
        if name is not None:
            from dlbench.cli.workload_table import show_workload
            from dlbench.errors import UserError

            if str(folder) != "workload":
                raise UserError(
                    f"`dlbench show {folder} {name}` is not possible.",
                    "Write `dlbench show DIR` or `dlbench show workload NAME`.",
                )
            show_workload(name, as_json=json)
            return
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
    from rich.markup import escape

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
        cells = [[escape(cell) for cell in row] for row in summary.rows]
        print_table(COLUMNS, cells, title=f"\n{escape(summary.title)}")
        for sentence in summary.sentences:
            console.print(sentence, markup=False, soft_wrap=not console.is_terminal)
    for line in [*failures(frames), *cautions(frames.machines())] if frames else ():
        console.print(line, markup=False, soft_wrap=not console.is_terminal)
    missing = len(campaign.trials()) - len(results)
    if missing:
        console.print(f"{missing} of {len(campaign.trials())} trials have not been run yet.")
    console.print(f"\nResults: {place or campaign.folder}", markup=False, soft_wrap=True)
