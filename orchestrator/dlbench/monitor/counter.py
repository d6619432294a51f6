"""A kernel file that is opened once and read again and again.

Opening costs several times as much as reading; and a file of /proc that is held open cannot come to
mean another process after its number was given away again.
"""

from __future__ import annotations

import os
from pathlib import Path


class Counter:
    """One open kernel file."""

    __slots__ = ("_fd",)

    def __init__(self, path: Path | str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def text(self, size: int = 4096) -> bytes:
        """The file's present content, up to `size` bytes."""
        return os.pread(self._fd, size, 0)

    def number(self) -> int:
        """The present value of a file that holds a single number."""
        return int(os.pread(self._fd, 32, 0))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def optional(path: Path) -> Counter | None:
    """A counter that not every kernel has."""
    try:
        return Counter(path)
    except OSError:
        return None


def field(text: bytes, key: bytes) -> int | None:
    """The number behind `key` in lines of `key number`."""
    start = 0 if text.startswith(key + b" ") else text.find(b"\n" + key + b" ") + 1
    if start == 0 and not text.startswith(key + b" "):
        return None
    return int(text[start + len(key) :].split(None, 1)[0])


def processes_below(folder: Path) -> frozenset[int]:
    """The processes of a cgroup and of those below it."""
    pids: set[int] = set()
    for path in folder.rglob("cgroup.procs"):
        try:
            pids.update(int(line) for line in path.read_bytes().split())
        except (OSError, ValueError):
            continue
    return frozenset(pids)
