"""Finds what a process trial leaves running where it has no control group.

A trial's process can leave its process group and shed the mark in its environment, but not its
ancestors: while the orchestrator is a "subreaper", a process whose parent ends becomes the
orchestrator's own child. Such a child is a trial's unless the engine started it itself or it is of
the orchestrator's session, which no process can enter from outside.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from contextlib import suppress

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_ours: set[int] = set()
"""Children that the engine started: those of all trials that run now."""


def adopt(*children: int) -> None:
    """From now on orphans come to this process. `children` are the engine's own."""
    _ours.update(children)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(*children: int, seconds: float = 5.0) -> set[int]:
    """End all orphans, and stop taking them in with the last trial; the numbers of the ended.

    `children` are those that `adopt` was told; they have ended, or are about to."""
    end = time.monotonic() + seconds
    ended: set[int] = set()
    while (found := _orphans()) and time.monotonic() < end:
        for pid in found:
            ended.add(pid)
            _kill(pid)
    _ours.difference_update(children)
    if not _ours:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    return ended


def _orphans() -> list[int]:
    session = os.getsid(0)
    children = (child.pid for child in psutil.Process().children())
    return [pid for pid in children if pid not in _ours and _session(pid) != session]


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _kill(pid: int) -> None:
    """End one of our children and take its status, so that nothing of it is left."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], 1.0)
            os.waitpid(pid, os.WNOHANG)
        finally:
            os.close(handle)
