"""`dlbench watch DIR`: a running campaign, followed from another terminal."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench.cli.console import Json
from dlbench.cli.options import CampaignFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from dlbench.campaigns.follower import CampaignFollower
    from dlbench.cli.panel import CampaignPanel

_EVERY_S = 0.5


def watch(
    folder: CampaignFolder = None,
    json: Json = False,
) -> None:
    """Follow a running campaign: progress, curves, load, its end.

    Reads its files only, so it works from another terminal or over ssh; in a pipe it prints
    a line for each trial that ends. Leaves when the campaign ends: 0 if every trial is
    complete, 1 if not.

    \b
    dlbench watch
    dlbench watch results/2026-11-16_0312-digits-cnn-jax-numpy
    """
    from dlbench.campaigns.campaign_list import newest
    from dlbench.campaigns.folder import Campaign
    from dlbench.campaigns.follower import CampaignFollower
    from dlbench.cli.panel import CampaignPanel

    folder = folder or newest()
    campaign = Campaign.open(folder)
    campaign.about()
    follower, panel = CampaignFollower(campaign), CampaignPanel()
    panel.planned(follower.trials, 0)
    named = shlex.quote(str(folder))
    try:
        if json:
            _follow(follower, panel, print, as_json=True)
        elif sys.stdout.isatty():
            _follow_live(follower, panel)
        else:
            _follow(follower, panel, lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        if not json and follower.running():
            typer.echo(f"The campaign goes on. Follow it again: dlbench watch {named}")
        elif not json:
            typer.echo(f"No process works on it. Finish it with: dlbench run --resume {named}")
        raise typer.Exit(1) from None
    failed = f", {panel.failed} of them not complete" if panel.failed else ""
    if not json:
        typer.echo(f"{panel.done} of {panel.total} trials have ended{failed}.")
        if follower.left:
            typer.echo(f"It was stopped. Finish it with: dlbench run --resume {named}")
        else:
            typer.echo(f"What they say: dlbench report {named} --open")
    raise typer.Exit(1 if panel.failed or follower.left else 0)


def _follow_live(follower: CampaignFollower, panel: CampaignPanel) -> None:
    from rich.live import Live

    from dlbench.cli.console import stdout

    with Live(get_renderable=panel.draw, console=stdout(), refresh_per_second=4) as live:
        _follow(follower, panel, lambda text: live.console.print(text, markup=False))


def _follow(
    follower: CampaignFollower,
    panel: CampaignPanel,
    say: Callable[[str], None],
    *,
    as_json: bool = False,
) -> None:
    """Until it ends. Trials that ended before are counted, not listed."""
    import json

    from dlbench.campaigns.follower import TrialEnded, TrialStarted
    from dlbench.cli.live import ended_line
    from dlbench.formats import Event
    from dlbench.monitor.samples import Sample

    first = True
    while True:
        for news in follower.news():
            if isinstance(news, TrialEnded):
                panel.ended(news.trial, news.result)
                if as_json:
                    say(json.dumps(news.result.to_json()))
                elif not first:
                    left = panel.estimate.left_s() if follower.left else None
                    say(ended_line(news.trial.label, news.result, panel.done, panel.total, left))
            elif isinstance(news, TrialStarted):
                panel.started(news.trial, _ago_s(follower.campaign.trial_folder(news.trial.id)))
            elif isinstance(news, Event):
                panel.event(news)
            elif isinstance(news, Sample):
                panel.sample(news)
        if first and not as_json:
            say(f"{panel.total} trials, {panel.done} have ended")
        first = False
        if follower.grown():
            panel.grown(follower.trials)
        elif follower.ended() or follower.stopped():
            return
        time.sleep(_EVERY_S)


def _ago_s(trial: Path) -> float:
    """How long a trial has been running: its job was written when it was started."""
    try:
        return max(0.0, time.time() - (trial / "job.json").stat().st_mtime)
    except OSError:
        return 0.0
