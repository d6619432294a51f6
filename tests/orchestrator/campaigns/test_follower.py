"""`dlbench watch`: what a person or a pipe sees of a campaign that goes on in another process."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dlbench.campaigns import follower
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.follower import CampaignFollower, TrialEnded, TrialStarted
from dlbench.cli.panel import CampaignPanel, sparkline
from dlbench.formats import Event

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "campaign"
    command = [sys.executable, ROOT / "scripts/make_campaign.py", folder]
    options = ["--trials", "100", "--steps", "20", "--samples", "10"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    plan = (folder / "plan.jsonl").read_text().splitlines()[:4]
    (folder / "plan.jsonl").write_text("\n".join(plan) + "\n")
    return folder


def _held_back(campaign: Path, number: int) -> list[Path]:
    """The last trials, taken out of the campaign."""
    aside = campaign.parent / "aside"
    aside.mkdir()
    taken = []
    for trial in Campaign(campaign).trials()[-number:]:
        target = aside / trial.id
        shutil.move(campaign / "trials" / trial.id, target)
        taken.append(target)
    return taken


def _grow(campaign: Path, source: Path) -> None:
    """A trial as its orchestrator writes it: folder and events first, trial.json last."""
    folder = campaign / "trials" / source.name
    folder.mkdir()
    for name in ("events.jsonl", "samples.jsonl"):
        with (folder / name).open("ab") as file:
            for line in (source / name).read_bytes().splitlines(keepends=True):
                file.write(line)
                file.flush()
    time.sleep(0.7)
    (folder / ".trial.json.new").write_bytes((source / "trial.json").read_bytes())
    (folder / ".trial.json.new").rename(folder / "trial.json")


def test_a_pipe_gets_a_line_for_each_trial_and_the_end(campaign: Path) -> None:
    left = _held_back(campaign, 2)
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        watch = subprocess.Popen(
            [sys.executable, "-m", "dlbench", "watch", campaign],
            stdout=subprocess.PIPE, text=True, cwd=ROOT / "orchestrator",
        )  # fmt: skip
        assert watch.stdout is not None
        assert watch.stdout.readline() == "4 trials, 2 have ended\n"
        writer = threading.Thread(target=lambda: [_grow(campaign, source) for source in left])
        writer.start()
        lines = watch.stdout.read().splitlines()
        writer.join()
    assert [line[:5] for line in lines[:2]] == ["[3/4]", "[4/4]"]
    assert "seed" in lines[0] and "left" in lines[0]
    complete = all(result.complete for result in Campaign(campaign).results())
    assert watch.wait(timeout=30) == (0 if complete else 1)
    assert lines[2].startswith("4 of 4 trials have ended")


def test_machines_get_one_json_object_a_trial(campaign: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dlbench", "watch", campaign, "--json"],
        capture_output=True, text=True, cwd=ROOT / "orchestrator", check=False,
    )  # fmt: skip
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert [trial["id"] for trial in trials] == [t.id for t in Campaign(campaign).trials()]


def test_a_watcher_reads_whole_lines_in_order_and_touches_nothing(campaign: Path) -> None:
    (source,) = _held_back(campaign, 1)
    watcher = CampaignFollower(Campaign(campaign))
    assert sum(isinstance(news, TrialEnded) for news in watcher.news()) == 3
    folder = campaign / "trials" / source.name
    folder.mkdir()
    whole = (source / "events.jsonl").read_bytes()
    (folder / "events.jsonl").write_bytes(whole[:-20])
    first = list(watcher.news())
    assert isinstance(first[0], TrialStarted)
    assert all(isinstance(news, Event) for news in first[1:])
    (folder / "events.jsonl").write_bytes(whole)
    second = list(watcher.news())
    times = [news.t for news in [*first, *second] if isinstance(news, Event)]
    assert len(times) == whole.count(b"\n") and times == sorted(times)
    assert sorted(path.name for path in folder.iterdir()) == ["events.jsonl"]


def test_a_stopped_campaign_is_told_from_a_quiet_one(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _held_back(campaign, 1)
    monkeypatch.setattr(follower, "_SILENT_S", 0.0)
    watcher = CampaignFollower(Campaign(campaign))
    list(watcher.news())
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not watcher.stopped()
    assert watcher.stopped()


def test_the_panel_shows_curve_use_and_progress(campaign: Path) -> None:
    from rich.console import Console

    (source,) = _held_back(campaign, 1)
    watcher, now = CampaignFollower(Campaign(campaign)), CampaignPanel()
    now.planned(watcher.trials, 0)
    shutil.copytree(source, campaign / "trials" / source.name)
    (campaign / "trials" / source.name / "trial.json").unlink()
    for news in watcher.news():
        if isinstance(news, TrialEnded):
            now.ended(news.trial, news.result)
        elif isinstance(news, TrialStarted):
            now.started(news.trial)
        elif isinstance(news, Event):
            now.event(news)
        else:
            now.sample(news)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(now.draw())
    text = console.export_text()
    assert "3 of 4 trials" in text and "left" in text
    for word in ("loss", "CPU", "memory"):
        assert word in text


def test_sparklines_fit_and_rise_with_their_values() -> None:
    assert sparkline([]) == ""
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert len(sparkline(list(range(1000)), width=40)) == 40
    assert sparkline([5.0, 5.0]) == "▁▁"
