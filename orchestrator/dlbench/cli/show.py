"""`dlbench show [DIR]`: what a campaign's trials say; `show workload NAME`, `show suite NAME`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json
from dlbench.cli.options import CampaignFolder, Only

if TYPE_CHECKING:
    from dlbench.campaigns.folder import Campaign
    from dlbench.report.material import Material


def show(
    folder: CampaignFolder = None,
    name: Annotated[
        str | None, typer.Argument(help="Behind the word `workload` or `suite`: which one.")
    ] = None,
    only: Only = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Also all other metrics, tests, p-values, intervals."),
    ] = False,
    json: Json = False,
) -> None:
    """Show a campaign: the answer, a table, why trials failed.

    \b
    dlbench show
    dlbench show results/2026-11-16_0312-digits-cnn-jax-numpy --only release=jax
    dlbench show results/2026-11-16_0312-digits-cnn-jax-numpy --only point=batch=8
    dlbench show workload mnist-cnn      its layers, parameters, FLOPs and recipe
    dlbench show suite elshawi2021       its study, scales and notes
    """
    if name is not None:
        from dlbench.cli.suite_table import show_suite
        from dlbench.cli.workload_table import show_workload
        from dlbench.errors import UserError

        things = {"workload": show_workload, "suite": show_suite}
        if str(folder) not in things:
            raise UserError(
                f"`dlbench show {folder} {name}` is not possible.",
                "Write `dlbench show DIR`, `dlbench show workload NAME` or"
                " `dlbench show suite NAME`.",
            )
        things[str(folder)](name, as_json=json)
        return
    from dlbench.campaigns.campaign_list import newest

    print_results(folder or newest(), as_json=json, only=only, verbose=verbose)


def print_results(
    place: Path, *, as_json: bool = False, only: str | None = None, verbose: bool = False
) -> None:
    """What people see at the end of a run, and with `show`; `place`: a folder or an archive."""
    from dlbench.analysis.selection import select
    from dlbench.campaigns.archive_file import campaign_folder
    from dlbench.campaigns.folder import Campaign
    from dlbench.campaigns.plan_file import read_plan
    from dlbench.cli.console import print_json, say

    campaign = Campaign.open(campaign_folder(place, only_results=as_json))
    about = campaign.about()
    planned = select(read_plan(campaign.folder), only)
    results = [result for trial in planned if (result := campaign.result(trial.id))]
    if as_json:
        print_json(
            {
                "folder": str(place),
                "campaign": about.to_json(),
                "planned": len(planned),
                "trials": [result.to_json() for result in results],
            }
        )
        return
    if results:
        from dlbench.report.material import load

        _print_answer(load(campaign.folder, only), campaign, place, verbose=verbose)
    if missing := len(planned) - len(results):
        say(f"{missing} of {len(planned)} trials have not been run yet.")
    say(f"\nResults: {place}", whole=True)
    if results:
        say(f"Report:  dlbench report {shlex.quote(str(place))} --open", whole=True)


def _print_answer(material: Material, campaign: Campaign, place: Path, *, verbose: bool) -> None:
    from dlbench.analysis.circumstances import is_busy
    from dlbench.analysis.scaling import lines_of, sentences
    from dlbench.cli.console import print_table, say
    from dlbench.cli.next_step import next_step
    from dlbench.cli.results_table import case_tables, failures
    from dlbench.host.machine import cautions
    from dlbench.report.answer import answer
    from dlbench.report.beside_numbers import busy_gpus

    whole = answer(material)
    say(f"\n{whole.headline}", style="bold")
    for sentence in whole.summary:
        say(sentence)
    tables = case_tables(material, everything=verbose)
    for table, case in zip(tables, whole.cases, strict=True):
        print_table(table.columns, table.rows, f"\n{table.title}", table.droppable)
        if len(table.more[0]) > 1:
            print_table(*table.more, "also measured")
        for sentence in (*table.sentences, *(table.details if verbose else ())):
            say(sentence)
        for warning in case.warnings:
            say(f"! {warning}")
    for number, sentence in enumerate(sentences(lines_of(material.cases))):
        say(sentence if number else f"\n{sentence}")
    seen_busy = any(map(is_busy, material.groups))
    busy = () if seen_busy else cautions(material.results.machines())
    for line in (*failures(material), *busy, *busy_gpus(material)):
        say(f"! {line}")
    sentence, command = next_step(material, campaign, place)
    if sentence:
        say(f"\n{sentence}")
    if command:
        say(f"  {command}", whole=True)
    if len({row["device"] for group in material.groups for row in group.rows}) > 1:
        say("\nDevice against device:")
        say(f"  dlbench compare {shlex.quote(str(place))} --by device", whole=True)
