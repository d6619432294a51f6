"""What tests of the engines do with a trial: run it, wait, look for its processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from dlbench.engines.base import Exit, Request

from .conftest import Bed

RequestFor = Callable[[str], Request]


def run(bed: Bed, request: Request, seconds: float = 60.0) -> Exit:
    ended = bed.start(request).wait(seconds)
    assert ended is not None, "the trial did not end in time"
    return ended


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def marked(secret: str) -> list[int]:
    """Processes, in containers too, that carry `secret` in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if f"SECRET={secret}".encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


STUBBORN = """
    import os, signal, sys, time
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(600)
    open(sys.argv[3] + "/ready", "w").close()
    time.sleep(600)
    """
