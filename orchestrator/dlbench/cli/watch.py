"""`dlbench watch DIR`: a running campaign, followed from another terminal."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.console import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from dlbench.campaigns.follower import CampaignFollower
    from dlbench.cli.panel import Now

_EVERY_S = 0.5


def register(app: typer.Typer) -> None:
    @app.command("watch")
    def watch(
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's folder.")],
        json: Json = False,
    ) -> None:
        """Follow a running campaign: progress, curves, CPU, memory, GPU and when it will end.

        Reads its files only, so it works from another terminal or over ssh; in a pipe it prints
        a line for each trial that ends. Leaves when the campaign ends: 0 if every trial is
        complete, 1 if not.

        \b
        dlbench watch results/2026-11-16_0312-quick
        """
        from dlbench.campaigns.folder import Campaign
        from dlbench.campaigns.follower import CampaignFollower
        from dlbench.cli.panel import Now

        campaign = Campaign.open(folder)
        campaign.about()
        watcher, now = CampaignFollower(campaign), Now()
        now.planned(watcher.trials, 0)
        if json:
            _follow(watcher, now, print, as_json=True)
        elif sys.stdout.isatty():
            _follow_live(watcher, now)
        else:
            _follow(watcher, now, lambda text: print(text, flush=True))
        failed = f", {now.failed} of them not complete" if now.failed else ""
        if not json:
            typer.echo(f"{now.done} of {now.total} trials have ended{failed}.")
            if watcher.left:
                typer.echo(f"It was stopped. Finish it with: dlbench run --resume {folder}")
            else:
                typer.echo(f"What they say: dlbench report {folder} --open")
        raise typer.Exit(1 if now.failed or watcher.left else 0)


def _follow_live(watcher: CampaignFollower, now: Now) -> None:
    from rich.live import Live

    from dlbench.cli.console import stdout

    with Live(get_renderable=now.draw, console=stdout(), refresh_per_second=4) as live:
        _follow(watcher, now, lambda text: live.console.print(text, markup=False))


def _follow(
    watcher: CampaignFollower, now: Now, say: Callable[[str], None], *, as_json: bool = False
) -> None:
    """Until it ends. What ended before is counted, not told one by one."""
    import json

    from dlbench.campaigns.follower import TrialEnded, TrialStarted
    from dlbench.cli.live import ended_line
    from dlbench.formats import Event
    from dlbench.monitor.samples import Sample

    first = True
    while True:
        for news in watcher.news():
            if isinstance(news, TrialEnded):
                now.ended(news.trial, news.result)
                if as_json:
                    say(json.dumps(news.result.to_json()))
                elif not first:
                    left = now.estimate.left_s() if watcher.left else None
                    say(ended_line(news.result.release, news.result, now.done, now.total, left))
            elif isinstance(news, TrialStarted):
                now.started(news.trial)
            elif isinstance(news, Event):
                now.event(news)
            elif isinstance(news, Sample):
                now.sample(news)
        if first and not as_json:
            say(f"{now.total} trials, {now.done} have ended")
        first = False
        if not watcher.left or watcher.stopped():
            return
        time.sleep(_EVERY_S)
