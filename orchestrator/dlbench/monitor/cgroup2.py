"""Readings from a cgroup of version 2: one folder for everything.

What is said of file cache in `cgroup1` holds here too. `memory.peak` came with Linux 5.19; before
it, the highest sample is taken for the peak.
"""

from __future__ import annotations

from pathlib import Path

from dlbench.monitor.counter import Counter, field, optional, processes_below
from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone


class CgroupV2:
    """Counters of the `cpu` and `memory` controllers."""

    name = "cgroup-v2"
    origin = "cgroup"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cpu = Counter(folder / "cpu.stat")
        self._usage = Counter(folder / "memory.current")
        self._peak = optional(folder / "memory.peak")
        self._stat = optional(folder / "memory.stat")

    def read(self) -> Reading:
        try:
            used = field(self._cpu.text(1024), b"usage_usec")
            if used is None:
                raise Gone
            peak = None if self._peak is None else self._peak.number()
            return Reading(used / 1e6, self._usage.number(), peak)
        except (OSError, ValueError) as error:
            raise Gone from error

    def anon(self) -> int | None:
        try:
            return None if self._stat is None else field(self._stat.text(), b"anon")
        except (OSError, ValueError):
            return None

    def pids(self) -> frozenset[int]:
        return processes_below(self._folder)

    def cpu_seconds(self) -> float:
        return 0.0

    def close(self) -> None:
        for counter in (self._cpu, self._usage, self._peak, self._stat):
            if counter is not None:
                counter.close()
