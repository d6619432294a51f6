"""`scripts/supervise.py`: nothing that a command started outlives it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SUPERVISE = Path(__file__).resolve().parents[2] / "scripts" / "supervise.py"

# Ignores requests to end, and so do a child of another session and an orphan that it leaves.
STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
sleep = [sys.executable, "-c", "import time; time.sleep(300)", sys.argv[1]]
subprocess.Popen(sleep, start_new_session=True)
if os.fork() == 0:
    subprocess.Popen(sleep)
    os._exit(0)
os.wait()
time.sleep(float(sys.argv[2]))
sys.exit(7)
"""
# Puts things in order when it is asked to end, as pytest does.
ORDERLY = """
import signal, sys, time
from pathlib import Path
def end(*_):
    time.sleep(0.3)
    Path(sys.argv[2]).write_text("in order")
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
Path(sys.argv[2]).write_text("ready")
time.sleep(300)
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """A word in the command line of every process of a test, to find them by."""
    word = f"supervised-{uuid.uuid4().hex}"
    yield word
    for pid in _marked(word):
        subprocess.run(["kill", "-KILL", str(pid)])


def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, SUPERVISE, sys.executable, "-c", program, *arguments],
        start_new_session=True,  # so that the test's own group gets no signal
    )


def _marked(word: str) -> list[int]:
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_who_ignore_it(number: signal.Signals, mark: str) -> None:
    supervisor = start(STUBBORN, mark, "300")
    wait_for(lambda: len(_marked(mark)) == 4)  # with the supervisor itself
    supervisor.send_signal(number)
    assert supervisor.wait(60) == 128 + number
    assert _marked(mark) == []


def test_what_a_command_leaves_behind_is_ended(mark: str) -> None:
    supervisor = start(STUBBORN, mark, "0")
    assert supervisor.wait(60) == 7
    assert _marked(mark) == []


def test_there_is_time_to_put_things_in_order(mark: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    supervisor = start(ORDERLY, mark, str(state))
    wait_for(lambda: state.exists() and state.read_text() == "ready")
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(60) == 128 + signal.SIGTERM
    assert state.read_text() == "in order"
