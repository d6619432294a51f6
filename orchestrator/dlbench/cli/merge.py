"""`dlbench merge A B -o C`: campaigns of several machines in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.console import Json


def merge(
    campaigns: Annotated[list[Path], typer.Argument(help="Campaign folders or archives.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The new campaign's folder.")],
    json: Json = False,
) -> None:
    """Put campaigns into one. Comparisons keep machines apart.

    The same trial twice is kept once. If its results differ on one machine, nothing is merged.

    \b
    dlbench merge results/laptop results/server.dlbench -o results/both
    """
    from dataclasses import asdict

    from dlbench.cli.console import print_json
    from dlbench.sharing.merge import merge as merge_campaigns
    from dlbench.statistics.words import count

    merged = merge_campaigns(campaigns, out)
    if json:
        print_json({"v": 1, **asdict(merged)})
        return
    trials, machines = count(merged.trials, "trial"), count(merged.machines, "machine")
    typer.echo(f"{merged.folder}: {trials} of {machines}.")
    if merged.twice:
        typer.echo(f"{merged.twice} were in more than one campaign and are kept once.")
    if merged.unfinished:
        typer.echo(f"{merged.unfinished} had not ended and were left out.")
