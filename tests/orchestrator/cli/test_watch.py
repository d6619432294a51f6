"""`dlbench watch`: what a pipe sees of a campaign that goes on in another process."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
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
