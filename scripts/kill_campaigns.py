"""Kills campaigns at random moments, finishes them with --resume, and counts what went wrong.

    PYTHONPATH=orchestrator python scripts/kill_campaigns.py --kills 100 --engine process --seed 1

A campaign of short trials is started and killed (SIGKILL), resumed and killed, until it is whole;
then the next one, until there were as many kills as asked for. After each kill, and at the end of
each campaign, is counted: `lost`, a trial whose result has gone, or that has none in the end or one
that is not ok; `doubled`, a trial that had a result and was run again; `orphans`, processes and
containers of the campaign that are still there ten seconds after the kill, or of which anything is
left when the campaign is whole. Exits with 1 if there was any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "orchestrator"))

from dlbench import paths
from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome
from dlbench.engines import cgroups, container

if TYPE_CHECKING:
    import docker

_KINDS = ("lost", "doubled", "orphans")
_ORPHANS_S = 10.0
_CONTENDER = ("numpy", "--workload", "digits-cnn", "--steps", "3")


@dataclass
class Count:
    kills: int = 0
    campaigns: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    """How many kills came while what was going on."""
    trials: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def words(self) -> str:
        faults = ", ".join(f"{self.faults[kind]} {kind}" for kind in _KINDS)
        moments = ", ".join(f"{kills} {moment}" for moment, kills in self.moments.items())
        return (
            f"{self.kills} kills ({moments}), {self.campaigns} whole campaigns with"
            f" {self.trials} trials: {faults}"
        )

    def fault(self, kind: str, what: str) -> None:
        self.faults[kind] += 1
        print(f"{kind}: {what}", flush=True)


def kill_campaign(
    folder: Path, chosen: argparse.Namespace, client: docker.DockerClient | None,
    drawn: random.Random, count: Count,
) -> None:  # fmt: skip
    """One campaign from its first start to its last trial, killed on the way."""
    campaign = Campaign(folder)
    done: dict[str, bytes] = {}
    while True:
        last = count.kills >= chosen.kills
        ended = _run(campaign, chosen, None if last else drawn.expovariate(1 / chosen.mean))
        if ended is None:
            count.kills += 1
            count.moments[_moment(campaign)] += 1
        now = _results(folder)
        for trial, content in done.items():
            if trial not in now:
                count.fault("lost", f"the result of {trial}")
            elif now[trial] != content:
                count.fault("doubled", trial)
        done = now
        if campaign.exists():
            _wait_for_orphans(campaign.about().id, client, count)
        if count.kills % 25 == 0 or ended is not None:
            print(count.words(), flush=True)
        if ended is not None:
            break
    count.campaigns += 1
    if ended != 0:
        count.fault("lost", f"the campaign in {folder} ended with exit code {ended}")
    _check_whole(campaign, client, count)


def _run(campaign: Campaign, chosen: argparse.Namespace, seconds: float | None) -> int | None:
    """Start or resume it; its exit code, or None: it was killed after so many seconds."""
    command = [sys.executable, "-m", "dlbench", "run"]
    if campaign.exists():
        command += ["--resume", str(campaign.folder)]
    else:
        command += [*_CONTENDER, "--engine", chosen.engine, "--repeats", str(chosen.trials)]
        command += ["--out", str(campaign.folder)]
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "orchestrator")}
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(command, env=variables, stdout=said, stderr=said)
        try:
            code = running.wait(seconds)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            return None
        if code != 0:
            said.seek(0)
            print(said.read().decode(errors="replace")[-2000:], flush=True)
        return code


def _moment(campaign: Campaign) -> str:
    if not campaign.exists():
        return "before the campaign was there"
    for trial in campaign.trials():
        folder = campaign.trial_folder(trial.id)
        if folder.is_dir() and not (folder / "trial.json").exists():
            return "in a trial"
    return "between trials"


def _results(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob("trials/*/trial.json")}


def _wait_for_orphans(identity: str, client: docker.DockerClient | None, count: Count) -> None:
    end = time.monotonic() + _ORPHANS_S
    while left := _processes(identity) + _containers(identity, client, everything=False):
        if time.monotonic() > end:
            count.fault("orphans", ", ".join(left))
            return
        time.sleep(0.05)


def _check_whole(campaign: Campaign, client: docker.DockerClient | None, count: Count) -> None:
    planned = [trial.id for trial in campaign.trials()]
    ok = {result.id for result in campaign.results() if result.outcome is Outcome.OK}
    count.trials += len(planned)
    for trial in planned:
        if trial not in ok:
            count.fault("lost", f"{trial} is not ok in the end")
    present = {path.name for path in (campaign.folder / "trials").iterdir()}
    for trial in sorted(present - set(planned)):
        count.fault("doubled", f"{trial} is not in the plan")
    for attempt in campaign.folder.glob("attempts/*/trial.json"):
        if json.loads(attempt.read_text(encoding="utf-8"))["outcome"] != Outcome.INTERRUPTED:
            count.fault("doubled", f"{attempt.parent.name} had a result already")
    identity = campaign.about().id
    left = _containers(identity, client, everything=True) + _processes(identity)
    left += [str(path) for path in paths.cache().glob(f"running/{cgroups.prefix(identity)}*")]
    for each in left:
        count.fault("orphans", f"{each} is left when the campaign is whole")


def _processes(identity: str) -> list[str]:
    """Those that carry the campaign's mark, or its name in their command line."""
    name, found = cgroups.prefix(identity).encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if name in told:
                found.append(f"process {entry.name}")
    return found


def _containers(
    identity: str, client: docker.DockerClient | None, *, everything: bool
) -> list[str]:
    """The campaign's containers that run; `everything`: stopped ones, too."""
    if client is None:
        return []
    label = f"{container.CAMPAIGN_LABEL}={identity}"
    found = client.api.containers(all=everything, filters={"label": [label]})
    return [f"container {each['Id'][:12]}" for each in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--engine", choices=("process", "docker"), default="process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=5, help="a campaign")
    parser.add_argument("--mean", type=float, default=8.0, help="seconds from start to kill")
    chosen = parser.parse_args()
    client = None
    if chosen.engine == "docker":
        from dlbench.engines.connect import connect

        client = connect()
    count, drawn = Count(), random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        while count.kills < chosen.kills:
            folder = Path(place) / str(count.campaigns)
            kill_campaign(folder, chosen, client, drawn, count)
    print(count.words())
    return 1 if count.faults else 0


if __name__ == "__main__":
    sys.exit(main())
