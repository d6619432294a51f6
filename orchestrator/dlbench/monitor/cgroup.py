"""Readings from a control group, of version 1 or 2.

The memory in use counts file cache too, as the kernel's peak does. Cache is charged to whoever
touched a file first, so the second trial of a release can seem lighter than the first: `anon`,
which is free of that, is recorded beside it. The kernel charges memory in batches of 64 pages a
core, which makes both figures up to 256 KiB a core too high: far below 2 % of any trial.
"""

from __future__ import annotations

from pathlib import Path

from dlbench.monitor.counter import Counter, field, optional, processes_below
from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone


class CgroupV2:
    """One folder for everything. `memory.peak` came with Linux 5.19; before it, the highest sample
    is taken for the peak."""

    name = "cgroup-v2"
    origin = "cgroup"
    _anon_key = b"anon"

    def __init__(self, folder: Path) -> None:
        self._open(folder, folder / "cpu.stat", "memory.current", "memory.peak")

    def _open(self, memory: Path, cpu: Path, usage: str, peak: str) -> None:
        self._folder = memory
        self._cpu = Counter(cpu)
        self._usage = Counter(memory / usage)
        self._peak = optional(memory / peak)
        self._stat = optional(memory / "memory.stat")

    def read(self) -> Reading:
        try:
            peak = None if self._peak is None else self._peak.number()
            return Reading(self._cpu_s(), self._usage.number(), peak)
        except (OSError, ValueError) as error:
            raise Gone from error

    def _cpu_s(self) -> float:
        used = field(self._cpu.text(1024), b"usage_usec")
        if used is None:
            raise Gone
        return used / 1e6

    def anon(self) -> int | None:
        try:
            return None if self._stat is None else field(self._stat.text(), self._anon_key)
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


class CgroupV1(CgroupV2):
    """Controllers in folders of their own: `cpuacct` and `memory`."""

    name = "cgroup-v1"
    _anon_key = b"total_rss"

    def __init__(self, cpuacct: Path, memory: Path) -> None:
        usage, peak = "memory.usage_in_bytes", "memory.max_usage_in_bytes"
        self._open(memory, cpuacct / "cpuacct.usage", usage, peak)

    def _cpu_s(self) -> float:
        return self._cpu.number() / 1e9
