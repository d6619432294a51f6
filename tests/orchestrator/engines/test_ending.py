"""How trials end on either engine: stopped, left alone, or without their orchestrator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from .conftest import Bed
from .trials import STUBBORN, RequestFor, marked, run, wait_for


def test_stop_ends_descendants_that_ignore_signals(
    any_bed: Bed, request_for: RequestFor, campaign: str
) -> None:
    request = replace(request_for(STUBBORN), variables={"SECRET": campaign})
    running = any_bed.start(request)
    wait_for((request.out / "ready").exists)
    wait_for(lambda: len(marked(campaign)) == 3)
    assert running.stop(grace=0.1).code == -signal.SIGKILL
    wait_for(lambda: not marked(campaign))


def test_stop_gives_a_chance_to_end_well(bed: Bed, request_for: RequestFor) -> None:
    request = request_for(
        """
        import sys, time
        try:
            open(sys.argv[3] + "/ready", "w").close()
            time.sleep(600)
        except KeyboardInterrupt:
            print("saved", flush=True)
            sys.exit(5)
        """
    )
    running = bed.start(request)
    wait_for((request.out / "ready").exists)
    assert running.stop(grace=20.0).code == 5
    assert request.log.read_text() == "saved\n"


def test_children_that_outlive_the_main_process_are_ended(
    any_bed: Bed, request_for: RequestFor, campaign: str
) -> None:
    request = request_for(
        """
        import os, signal, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        """
    )
    assert run(any_bed, replace(request, variables={"SECRET": campaign})).code == 0
    wait_for(lambda: not marked(campaign))


def test_a_survivor_without_a_mark_is_ended(
    any_bed: Bed, request_for: RequestFor, campaign: str
) -> None:
    """It is of another session and has nothing of the trial's environment; only its ancestors."""
    request = request_for(
        """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                if os.fork() == 0:
                    time.sleep(0.3)  # its parent has ended by then
                words = [sys.executable, "-c", "import time; time.sleep(600)"]
                os.execve(sys.executable, words, {"SECRET": os.environ["SECRET"]})
            os._exit(0)
        time.sleep(1)
        """
    )
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        assert run(any_bed, replace(request, variables={"SECRET": campaign})).code == 0
        wait_for(lambda: not marked(campaign))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


ORCHESTRATOR = """
import sys, time
from pathlib import Path
from dlbench.engines.base import Request
from dlbench.engines.connect import connect
from dlbench.engines.docker import DockerEngine
from dlbench.engines.process import ProcessEngine

name, campaign, environment, folder, secret = sys.argv[1:]
folder = Path(folder)
engine = DockerEngine(connect()) if name == "docker" else ProcessEngine(name == "process")
running = engine.start(Request(
    trial="trial-1", campaign=campaign, environment=environment, bench=folder / "code/bench",
    job=folder / "job.json", data=folder / "data", out=folder / "out", log=folder / "log.txt",
    variables={"SECRET": secret},
))
for path in running.scope.cgroup.values():
    print(path)
print("started", flush=True)
time.sleep(600)
"""


def test_a_killed_orchestrator_leaves_nothing_running(
    any_bed: Bed, request_for: RequestFor, tmp_path: Path
) -> None:
    """Not even what ignores every signal and its standard input.

    (Containers of a daemon that an ordinary user asks: not after the next sweep.)"""
    request = request_for(STUBBORN)
    secret = request.campaign
    orchestrator = subprocess.Popen(
        [
            sys.executable,
            "-c",
            ORCHESTRATOR,
            any_bed.kind,
            request.campaign,
            any_bed.environment,
            str(tmp_path),
            secret,
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert orchestrator.stdout is not None
    try:
        folders = [Path(line.strip()) for line in iter(orchestrator.stdout.readline, "started\n")]
        wait_for(lambda: len(marked(secret)) == 3)
    finally:
        orchestrator.kill()
        orchestrator.communicate()
    if any_bed.engine.name == "process" or os.geteuid() == 0:
        wait_for(lambda: not marked(secret))
    any_bed.engine.sweep(request.campaign)
    wait_for(lambda: not marked(secret))
    wait_for(lambda: not any(folder.exists() for folder in folders))
    assert any_bed.engine.sweep(request.campaign) == []


def test_the_lifeline_breaks_when_the_orchestrator_is_killed(
    bed: Bed, request_for: RequestFor, tmp_path: Path
) -> None:
    """A trial that watches its standard input, as bench does, sees the end for itself."""
    request = request_for(
        """
        import sys
        open(sys.argv[3] + "/ready", "w").close()
        sys.stdin.read()
        open(sys.argv[3] + "/farewell", "w").close()
        """
    )
    # A keeper would end the trial first: this orchestrator has none.
    program = "import dlbench.engines.keeper as k\nk.Keeper.__init__ = lambda *a: None\n"
    orchestrator = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program + ORCHESTRATOR,
            bed.engine.name,
            request.campaign,
            bed.environment,
            str(tmp_path),
            "lifeline",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        wait_for((request.out / "ready").exists)
    finally:
        orchestrator.kill()
        orchestrator.wait()
    wait_for((request.out / "farewell").exists)
    bed.engine.sweep(request.campaign)


def test_sweep_ends_its_campaign_and_no_other(
    any_bed: Bed, request_for: RequestFor, campaign: str
) -> None:
    request = replace(request_for(STUBBORN), variables={"SECRET": f"mine-{campaign}"})
    mine = any_bed.start(request)
    # A name that begins like the other's.
    neighbour = any_bed.start(
        replace(request, campaign=f"{request.campaign}-2", variables={"SECRET": f"next-{campaign}"})
    )
    wait_for(lambda: len(marked(f"mine-{campaign}")) == 3 and len(marked(f"next-{campaign}")) == 3)
    assert any_bed.engine.sweep("some-other-campaign") == []
    assert any_bed.engine.sweep(request.campaign)
    wait_for(lambda: not marked(f"mine-{campaign}"))
    ended = mine.wait(30)
    assert ended is not None
    assert ended.code == -signal.SIGKILL
    assert neighbour.wait(0) is None
    assert len(marked(f"next-{campaign}")) == 3
