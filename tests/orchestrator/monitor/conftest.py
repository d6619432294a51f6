"""Real load to watch: processes, and control groups to put them in."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator

import pytest

from dlbench.engines.control_group import ControlGroup, create
from tests.orchestrator.monitor.load import Start


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python program as a trial's main process: a session of its own, waiting for a line.

    The line is what `go` sends: by then it has been moved to its control group."""
    started: list[subprocess.Popen[bytes]] = []

    def run(program: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", "input()\n" + textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def group() -> Iterator[ControlGroup]:
    made = create(f"dlbench-test-{uuid.uuid4().hex[:8]}")
    if made is None:
        pytest.skip("this user may make no control group here")
    yield made
    made.remove()


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """No thread may end with a traceback."""
    seen: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: seen.append(repr(arguments)))
    yield seen
    assert seen == []
