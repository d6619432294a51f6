"""How much a trial has written to the disk, against its limit.

The kernel holds each single file to the limit (engines/). No quota of the kernel's reaches a folder
of the host for all of a trial's files together, so they are counted: those in its folders, and
those it has deleted but still holds open. Looking costs little for a few files and much for many:
the next look is the later the longer the last one took, and soon while the output grows.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from dlbench.engines import outfolder
from dlbench.engines.base import Request, Running

_SOONEST_S = 0.1
_LATEST_S = 2.0
_SHARE = 0.005
"""Of the time, for looking."""
_MUCH = 0.1
"""A share of the limit: who writes so much from one look to the next writes fast."""


class OutputUse:
    """Looks at what one running trial has written."""

    def __init__(self, request: Request, running: Running) -> None:
        self._running = running
        self._most = request.limits.output_bytes
        cache = (request.cache,) if request.cache else ()
        folders = (request.out, *cache, *running.scope.temporary)
        self._before = {folder: outfolder.size(folder) for folder in folders}
        self._free = _free(request.out)
        self._out = request.out
        self._used, self._due = 0, 0.0

    def is_over(self, now: float) -> bool:
        """Whether it is over its limit; False as well where it is not yet time for a look."""
        if now < self._due:
            return False
        grown, self._used = -self._used, self._look()
        grown += self._used
        took = time.monotonic() - now
        fast = grown > _MUCH * self._most or self._used > self._most / 2
        pause = _SOONEST_S if fast else min(max(took / _SHARE, 2 * _SOONEST_S), _LATEST_S)
        self._due = now + pause
        return self._used > self._most

    def is_over_at_end(self) -> bool:
        """As `is_over`, when the trial has ended: what it wrote last, too."""
        self._due = 0.0
        return self.is_over(time.monotonic())

    def clear(self) -> None:
        """Delete what was written, in the cache only if that was most of it."""
        for folder, before in self._before.items():
            if folder == self._out or outfolder.size(folder) - before > self._most / 2:
                outfolder.clear(folder)

    def _look(self) -> int:
        sizes = ((outfolder.size(folder), before) for folder, before in self._before.items())
        used = sum(max(0, size - before) for size, before in sizes)
        if used > self._most:
            return used
        # What is only mapped into memory is found at a price that the trial pays: a last resort.
        missing = self._free - _free(self._out) - used > self._most
        return used + self._deleted(missing)

    def _deleted(self, mapped: bool) -> int:
        """The size of files without a name, on the disks that it may write to."""
        disks = {folder.stat().st_dev for folder in self._before if folder.exists()}
        found: dict[tuple[int, int], int] = {}
        for pid in self._running.pids():
            for file in outfolder.open_files(pid, mapped):
                if stat.S_ISREG(file.st_mode) and not file.st_nlink and file.st_dev in disks:
                    found[file.st_dev, file.st_ino] = file.st_blocks * 512
        return sum(found.values())


def _free(folder: Path) -> int:
    """Bytes free on its disk; of the folder above, where a trial has removed its own."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        if folder == folder.parent:
            raise
        return _free(folder.parent)
    return disk.f_bfree * disk.f_frsize
