"""Readings from a process and all its descendants, where no cgroup can be had.

Three things make this harder than adding up: a child that has ended is in its parent's sums only if
the parent waited for it; one whose parent has ended belongs to somebody else; and one that lived
between two readings was never seen. So processes once known stay members wherever they are moved,
the main process's session is followed too, and CPU time that would get lost is kept.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from dlbench.monitor.counter import Counter
from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone

_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_DISCOVERY = 0.45
"""Seconds between two searches for new processes. Their counters are cumulative: one found late
catches up."""


@dataclass(frozen=True, slots=True)
class _Stat:
    """The part of /proc/PID/stat that counts here; times in clock ticks."""

    parent: int
    session: int
    own: int
    children: int
    """Of children that have ended and were waited for."""

    @property
    def total(self) -> int:
        return self.own + self.children


class _Files:
    """The open files of one process."""

    __slots__ = ("_stat", "_statm")

    def __init__(self, pid: int) -> None:
        self._stat = Counter(f"/proc/{pid}/stat")
        try:
            self._statm = Counter(f"/proc/{pid}/statm")
        except OSError:
            self._stat.close()
            raise

    def read(self) -> tuple[_Stat, int, int]:
        """Its times; its resident pages, and how many of them are shared."""
        pages = self._statm.text(128).split(None, 3)
        return _parse(self._stat.text()), int(pages[1]), int(pages[2])

    def close(self) -> None:
        self._stat.close()
        self._statm.close()


class ProcessTree:
    """The main process and everything it started.

    Memory is every process's private part and the largest shared one: pages of libraries and of
    shared memory are mapped by all but exist once. What a fork shares with its parent until one of
    them writes is counted twice; telling that apart would cost a hundred times as much."""

    name = "process-tree"
    origin = "samples"

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._files: dict[int, _Files] = {}
        self._last: dict[int, _Stat] = {}
        self._seen: set[str] = set()
        self._newest = b""
        self._discovery_due = 0.0
        self._lost = 0
        self._highest = 0
        self._loadavg = Counter("/proc/loadavg")
        try:
            self._files[pid] = _Files(pid)
            # A main process that leads no session of its own shares it with strangers.
            session = self._files[pid].read()[0].session
            self._session = session if session == pid else -1
        except (OSError, ValueError, IndexError):
            self._session = -1

    def read(self) -> Reading:
        self._discover()
        now: dict[int, _Stat] = {}
        private = shared = 0
        for pid, files in list(self._files.items()):
            try:
                now[pid], resident, common = files.read()
                private += resident - common
                shared = max(shared, common)
            except (OSError, ValueError, IndexError):
                files.close()
                del self._files[pid]
        self._keep_lost(now)
        self._last = now
        if not now:
            raise Gone
        used = sum(stat.total for stat in now.values()) + self._lost
        self._highest = max(self._highest, used)
        return Reading(self._highest * _TICK, (private + shared) * _PAGE, None)

    def anon(self) -> int | None:
        return None

    def pids(self) -> frozenset[int]:
        return frozenset(self._files)

    def cpu_seconds(self) -> float:
        return 0.0

    def close(self) -> None:
        self._loadavg.close()
        for files in self._files.values():
            files.close()
        self._files.clear()

    def _discover(self) -> None:
        """Find new members. Without a new process on the machine this costs one small read."""
        now = time.monotonic()
        if now < self._discovery_due:
            return
        self._discovery_due = now + _DISCOVERY
        newest = self._loadavg.text(128).rsplit(b" ", 1)[-1]
        if newest == self._newest:
            return
        self._newest = newest
        present = {name for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
        candidates: dict[int, tuple[_Files, _Stat]] = {}
        for name in present - self._seen:
            pid = int(name)
            if pid in self._files:
                continue
            try:
                files = _Files(pid)
            except OSError:
                continue
            try:
                candidates[pid] = files, files.read()[0]
            except (OSError, ValueError, IndexError):
                files.close()
        self._seen = present
        grown = True
        while grown:
            grown = False
            for pid, (files, stat) in list(candidates.items()):
                if stat.parent in self._files or stat.session == self._session:
                    self._files[pid] = files
                    del candidates[pid]
                    grown = True
        for files, _ in candidates.values():
            files.close()

    def _keep_lost(self, now: dict[int, _Stat]) -> None:
        """Keep the time of members that ended without being in their parent's sum."""
        ended = {pid: stat for pid, stat in self._last.items() if pid not in now}
        if not ended:
            return
        # What they had used goes up to the nearest ancestor that still lives (None: there is none).
        expected: dict[int | None, tuple[int, int]] = {}
        for stat in ended.values():
            parent: int | None = stat.parent
            while parent is not None and parent not in now:
                parent = ended[parent].parent if parent in ended else None
            ticks, count = expected.get(parent, (0, 0))
            expected[parent] = ticks + stat.total, count + 1
        for parent, (ticks, count) in expected.items():
            gained = 0
            if parent is not None and parent in self._last:
                gained = now[parent].children - self._last[parent].children
            missing = ticks - gained
            # Sums are rounded down to ticks, user and system apart: that much is not lost.
            if missing > 2 * count:
                self._lost += missing


def _parse(text: bytes) -> _Stat:
    # The name, in brackets, may itself hold brackets and spaces.
    fields = text[text.rindex(b")") + 2 :].split()
    return _Stat(
        parent=int(fields[1]),
        session=int(fields[3]),
        own=int(fields[11]) + int(fields[12]),
        children=int(fields[13]) + int(fields[14]),
    )
