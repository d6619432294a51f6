"""Killed and interrupted campaigns: nothing lost, nothing done twice, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dlbench.campaigns.folder import Campaign
from dlbench.campaigns.outcomes import Outcome

ENGINES = ["process", pytest.param("docker", marks=pytest.mark.docker)]


def wait_for(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def strays(mark: str) -> list[int]:
    """Processes that carry this word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "cmdline").read_bytes().decode(errors="replace"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", ["first-trial", "mid-trial"])
def test_sigkill_then_resume(
    engine: str, after: str, orchestrator, launch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "docker":
        request.getfixturevalue("docker_client")
    command, environment = orchestrator
    out = tmp_path / "campaign"
    options = ("--framework", "spoilt:slow", "--repeats", "3", "--steps", "12")
    running = launch("run", "--engine", engine, *options, "--out", str(out))
    trials = out / "trials"
    if after == "first-trial":
        wait_for(lambda: list(trials.glob("*/trial.json")), 180)
    else:
        wait_for(lambda: [p for p in trials.glob("*/samples.jsonl") if p.stat().st_size], 180)
    running.kill()
    running.wait()
    done = {path: path.read_bytes() for path in trials.glob("*/trial.json")}
    assert len(done) < 3
    finished = subprocess.run(
        command("run", "--resume", str(out)), env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    campaign = Campaign(out)
    assert [result.outcome for result in campaign.results()] == [Outcome.OK] * 3
    assert len(list(trials.iterdir())) == 3
    for path, content in done.items():
        assert path.read_bytes() == content, "a finished trial was done again"
    identity = campaign.about().id
    assert strays(identity) == []
    if engine == "docker":
        client = request.getfixturevalue("docker_client")
        label = f"org.dlbench.campaign={identity}"
        assert client.containers.list(all=True, filters={"label": label}) == []


@pytest.mark.docker
def test_docker_proof_killed_then_made_again(orchestrator, launch, docker_client) -> None:
    command, environment = orchestrator

    def proofs() -> set[str]:
        found = docker_client.containers.list(
            all=True, filters={"label": "org.dlbench.campaign"}, ignore_removed=True
        )
        labels = {each.labels["org.dlbench.campaign"] for each in found}
        return {label for label in labels if label.startswith("certificate-")}

    before = proofs()
    wanted = ("verify", "--engine", "docker", "--again", "--workload", "enthalpy-fcrn-10",
              "--framework", "spoilt:good")  # fmt: skip
    running = launch(*wanted)
    wait_for(lambda: proofs() - before, 180)
    running.kill()
    running.wait()
    assert proofs() - before, "its container should have been left for the next proof"
    again = subprocess.run(command(*wanted), env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stdout + again.stderr
    assert not proofs() - before


@pytest.mark.parametrize("engine", ENGINES)
def test_interrupt(engine: str, launch, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if engine == "docker":
        request.getfixturevalue("docker_client")
    out = tmp_path / "campaign"
    options = ("--framework", "spoilt:child", "--repeats", "2", "--epochs", "1")
    running = launch("run", "--engine", engine, *options, "--out", str(out))
    # only the group's leader gets the signal; the trial's own child must go all the same
    wait_for(
        lambda: [e for e in out.glob("trials/*/events.jsonl") if "model" in e.read_text()], 180
    )
    trial = next(out.glob("trials/*/job.json"))
    mark = "stray-" + json.loads(trial.read_text())["id"]
    wait_for(lambda: strays(mark))
    os.kill(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "--resume" in output
    assert strays(mark) == []
    campaign = Campaign(out)
    assert [result.outcome for result in campaign.results()] == [Outcome.INTERRUPTED]
    assert len(campaign.unfinished()) == 2


def test_a_changed_plan_is_not_resumed(orchestrator, tmp_path: Path) -> None:
    command, environment = orchestrator
    out = tmp_path / "campaign"
    options = ("--engine", "process", "--framework", "numpy", "--repeats", "1", "--steps", "2")
    subprocess.run(command("run", *options, "--out", str(out)), env=environment, check=True)
    plan = (out / "plan.jsonl").read_text()
    (trial,) = out.glob("trials/*/trial.json")
    trial.unlink()
    (out / "plan.jsonl").write_text(plan.replace('"steps": 2', '"steps": 3'))
    resumed = subprocess.run(
        command("run", "--resume", str(out)), env=environment, capture_output=True, text=True
    )
    assert resumed.returncode == 2
    assert "no longer what was planned" in resumed.stderr


def test_a_full_disk_loses_nothing(orchestrator, tmp_path: Path) -> None:
    command, environment = orchestrator
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        out = disk / "campaign"
        options = ("--engine", "process", "--framework", "numpy", "--repeats", "9", "--steps", "9")
        full = subprocess.run(
            command("run", *options, "--out", str(out)),
            env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert full.returncode == 2, full.stderr
        assert "No space left on device" in full.stderr
        assert "Traceback" not in full.stderr
        finished = len(list(out.glob("trials/*/trial.json")))
        assert finished < 9
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        done = subprocess.run(command("run", "--resume", str(out)), env=environment)
        assert done.returncode == 0
        assert len(Campaign(out).results()) == 9
    finally:
        subprocess.run(["umount", str(disk)], check=True)
