"""`dlbench campaigns`: those in results/, the newest first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json

if TYPE_CHECKING:
    from dlbench.campaigns.campaign_list import CampaignEntry

_NAMED = 4


def campaigns(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to look; none: results/.")
    ] = None,
    json: Json = False,
) -> None:
    """List the campaigns of a folder, the latest first.

    \b
    dlbench campaigns
    """
    from dlbench.campaigns.campaign_list import RESULTS, list_campaigns
    from dlbench.cli.console import print_json, print_rows

    every = list(list_campaigns(folder or RESULTS))
    if json:
        print_json([_json(entry) for entry in every])
        return
    if not every:
        typer.echo(f"There is no campaign in {folder or RESULTS}/. `dlbench run` makes one.")
        return
    print_rows(
        every,
        {
            "campaign": lambda entry: entry.folder,
            "label": lambda entry: entry.label,
            "contenders": lambda entry: _some(entry.contenders),
            "workloads": lambda entry: _some(entry.workloads),
            ">trials": lambda entry: f"{entry.ended} of {entry.planned}",
            "state": _state,
        },
        droppable=("label", "workloads", "contenders"),
    )


def _state(entry: CampaignEntry) -> str:
    if entry.problem or not entry.failed:
        return entry.problem or entry.state
    failed = "all" if entry.failed == entry.planned else str(entry.failed)
    return f"{entry.state}, {failed} failed"


def _some(names: tuple[str, ...]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _json(entry: CampaignEntry) -> dict[str, object]:
    keys = ("folder", "label", "contenders", "workloads", "planned", "ended", "failed", "state",
            "changed", "problem")  # fmt: skip
    content = {key: getattr(entry, key) for key in keys}
    return content | {"changed": entry.changed.isoformat(timespec="seconds")}
