"""A campaign that goes on in another process, followed by its files alone."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from dlbench.campaigns import follower
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.follower import CampaignFollower, TrialEnded, TrialStarted
from dlbench.formats import Event
from tests.orchestrator.campaigns.growing import held_back, made


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return made(tmp_path / "campaign")


def test_a_watcher_reads_whole_lines_in_order_and_touches_nothing(campaign: Path) -> None:
    (source,) = held_back(campaign, 1)
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
    held_back(campaign, 1)
    monkeypatch.setattr(follower, "_SILENT_S", 0.0)
    watcher = CampaignFollower(Campaign(campaign))
    list(watcher.news())
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not watcher.stopped()
    assert watcher.stopped()
