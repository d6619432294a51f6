"""Runs a command; when either of them ends, every process that the command started ends, too.

    python3 scripts/supervise.py COMMAND [ARGUMENT …]

INT, TERM and HUP are passed on as the terminal's Ctrl-C is: to the command and to those of its
descendants that share its process group. What is left after `GRACE` seconds is killed. Orphans are
found as well: this process is their "subreaper", so that they become its children. Linux; Python
3.6 or newer, standard library alone, because it runs before anything is set up. The command can
tell that it is supervised: DLBENCH_SUPERVISOR is then the number of its parent process.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE = 2.5
"""Seconds for those who put things in order when they are asked to end."""
_KEEPERS_GRACE = 0.5
"""Seconds for the shells that end trials when their orchestrator is gone (engines/keeper.py)."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_CHILD_SUBREAPER = 36


class Signalled(Exception):
    """A signal asks this process to end."""


def run(command):
    """Run the command to its end and return the exit code, 128 + number where a signal ended it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    try:
        child = subprocess.Popen(command, env=dict(os.environ, DLBENCH_SUPERVISOR=str(os.getpid())))
        code = _wait_for(child.pid)
    except Signalled as reason:
        _ignore_signals()
        print("Interrupted: ending what was started.", file=sys.stderr)
        _send(signal.SIGTERM, own_group=True)
        _wait_until_none(GRACE)
        code = 128 + reason.args[0]
    _ignore_signals()
    _send(signal.SIGKILL, own_group=True)
    _wait_until_none(_KEEPERS_GRACE)
    while not _wait_until_none(0.0):
        _send(signal.SIGKILL, own_group=False)
        time.sleep(0.01)
    return code


def _ignore_signals():
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(number, _frame):
    raise Signalled(number)


def _wait_for(pid):
    """The exit code of this child; orphans that end meanwhile are collected as they come."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _wait_until_none(seconds):
    """Whether all children, orphans among them, have ended within so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)


def _send(number, own_group):
    """Send a signal to all descendants, or to those of them that are of this process group."""
    for pid in _descendants():
        try:
            if not own_group or os.getpgid(pid) == os.getpgrp():
                os.kill(pid, number)
        except ProcessLookupError:
            pass


def _descendants():
    children = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # "pid (name) state parent …": the name may hold anything, also parentheses
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    below = list(children.get(os.getpid(), []))
    for pid in below:  # the list grows while it is walked
        below += children.get(pid, [])
    return below


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
