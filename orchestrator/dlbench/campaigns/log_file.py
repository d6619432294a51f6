"""Reads `log.txt`: what a trial printed."""

from __future__ import annotations

from pathlib import Path

from dlbench.campaigns.plain_files import MOST_LOG, read_file
from dlbench.errors import UserError
from dlbench.plain_json import printable

_TAIL_LINES = 20
_TAIL_BYTES = 16384


def read_log(log: Path) -> str:
    """What it printed, the last 16 MiB of it, as it was printed."""
    return (read_file(log, MOST_LOG, end_only=True) or b"").decode("utf-8", "replace")


def log_tail(log: Path) -> list[str]:
    """The last lines, printable, without the user's home folder in them."""
    try:
        end = (read_file(log, _TAIL_BYTES, end_only=True) or b"").decode("utf-8", "replace")
    except UserError:  # no log is a reason to lose the trial's result
        return []
    home = str(Path.home())
    return [printable(line.replace(home, "~")) for line in end.splitlines()[-_TAIL_LINES:]]
