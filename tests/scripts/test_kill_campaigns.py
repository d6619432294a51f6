"""The script that kills campaigns: what it counts, and that nothing is lost."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.engines import cgroups, leftovers

CAMPAIGN = Path(__file__).parents[1] / "orchestrator/campaigns/stored-0.1.0"
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "kill_campaigns.py"


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_left(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--kills", "4", "--trials", "2", "--seed", "5", "--mean", "3"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("4 kills")
    assert last.endswith("trials: 0 lost, 0 doubled, 0 orphans")


def test_it_sees_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial without a result, one that was run again, a process that is left."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    script = importlib.import_module("kill_campaigns")
    monkeypatch.setattr(script, "_ORPHANS_S", 0.2)
    folder = tmp_path / "c"
    shutil.copytree(CAMPAIGN, folder)
    campaign, count = Campaign(folder), script.Count()
    first, second = campaign.trials()
    shutil.copytree(campaign.trial_folder(first.id), folder / "attempts" / f"{first.id}-1")
    (campaign.trial_folder(second.id) / "trial.json").unlink()
    mark = cgroups.group_name(campaign.about().id, first.id)
    left = subprocess.Popen(["sleep", "60"], env={leftovers.MARK: mark, "PATH": "/usr/bin:/bin"})
    try:
        while mark.encode() not in Path(f"/proc/{left.pid}/environ").read_bytes():
            time.sleep(0.01)  # a process is there a moment before its environment is
        script._wait_for_orphans(campaign.about().id, None, count)
    finally:
        left.kill()
        left.wait()
    script._check_whole(campaign, None, count)
    assert count.faults == {"lost": 1, "doubled": 1, "orphans": 1}
