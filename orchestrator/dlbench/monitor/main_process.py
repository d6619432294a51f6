"""The studies' own definitions: memory of the main process alone, CPU of the whole machine.

memory-profiler reports the first, psutil.cpu_percent the second. They are recorded beside the
kernel's totals so that like can be compared with like.
"""

from __future__ import annotations

import os
from pathlib import Path

from dlbench.monitor.counter import optional

_PAGE = os.sysconf("SC_PAGE_SIZE")


class MainProcess:
    """Resident memory of one process."""

    def __init__(self, pid: int) -> None:
        folder = Path("/proc") / str(pid)
        self._statm = optional(folder / "statm") if pid > 0 else None
        self._status = optional(folder / "status") if pid > 0 else None
        self.visible = self._statm is not None

    def rss(self) -> int | None:
        """Resident memory; None if it has ended (or was never visible from here)."""
        if self._statm is None:
            return None
        try:
            pages = int(self._statm.text(128).split(None, 2)[1])
        except (OSError, ValueError, IndexError):
            return None
        return pages * _PAGE or None

    def peak(self) -> int | None:
        """The kernel's high-water mark of it, while it lives."""
        if self._status is None:
            return None
        try:
            text = self._status.text()
            start = text.index(b"VmHWM:") + 6
            return int(text[start:].split(None, 1)[0]) * 1024
        except (OSError, ValueError, IndexError):
            return None

    def close(self) -> None:
        for counter in (self._statm, self._status):
            if counter is not None:
                counter.close()


class SystemCpu:
    """The machine's CPU use between two calls, as psutil defines it."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = optional(stat)
        self._last: tuple[int, int] | None = None

    def percent(self) -> float | None:
        """Percent of all cores since the last call; None at the first."""
        if self._stat is None:
            return None
        try:
            # user nice system idle iowait irq softirq steal; guest time is in user already.
            ticks = [int(word) for word in self._stat.text(256).split(None, 9)[1:9]]
            total, idle = sum(ticks), ticks[3] + ticks[4]
        except (OSError, ValueError, IndexError):
            return None
        last, self._last = self._last, (total, idle)
        if last is None or total <= last[0]:
            return None
        share = 1.0 - (idle - last[1]) / (total - last[0])
        return round(100.0 * min(1.0, max(0.0, share)), 1)

    def close(self) -> None:
        if self._stat is not None:
            self._stat.close()
