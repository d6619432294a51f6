"""`dlbench watch`: what a pipe sees of a campaign that goes on in another process."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.follower import CampaignFollower
from dlbench.cli.watch import _ago_s
from tests.orchestrator.campaigns.growing import ROOT, grow, held_back, made


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return made(tmp_path / "campaign")


def test_a_pipe_gets_a_line_for_each_trial_and_the_end(campaign: Path) -> None:
    left = held_back(campaign, 2)
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        watch = subprocess.Popen(
            [sys.executable, "-m", "dlbench", "watch", campaign],
            stdout=subprocess.PIPE, text=True, cwd=ROOT / "orchestrator",
        )  # fmt: skip
        assert watch.stdout is not None
        assert watch.stdout.readline() == "4 trials, 2 have ended\n"
        writer = threading.Thread(target=lambda: [grow(campaign, source) for source in left])
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


def test_ctrl_c_says_that_the_campaign_goes_on(campaign: Path) -> None:
    held_back(campaign, 2)
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        watch = subprocess.Popen(
            [sys.executable, "-m", "dlbench", "watch", campaign],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT / "orchestrator",
        )  # fmt: skip
        assert watch.stdout is not None
        watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        text = watch.stdout.read()
    assert watch.wait(timeout=30) == 1, "not all trials are complete"
    assert text == f"The campaign goes on. Follow it again: dlbench watch {campaign}\n"


def test_a_plan_that_grows_is_followed(campaign: Path) -> None:
    """With `--until decided` more rounds come after the last trial."""
    about = Campaign(campaign).about()
    follower = CampaignFollower(Campaign(campaign))
    list(follower.news())
    assert follower.ended()
    Campaign(campaign).write_about(replace(about, looks=(5, 9)))
    with (campaign / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not follower.ended(), "it may go on"
        assert not follower.grown()
        trials = Campaign(campaign).trials()
        Campaign(campaign).write_plan([*trials, replace(trials[0], id="more", index=len(trials))])
        assert follower.grown()
        assert follower.left == 1
    assert not follower.ended()


def test_the_clock_of_a_trial_that_runs_already(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{}")
    os.utime(tmp_path / "job.json", (time.time() - 100, time.time() - 100))
    assert 99 < _ago_s(tmp_path) < 200
    assert _ago_s(tmp_path / "none") == 0
