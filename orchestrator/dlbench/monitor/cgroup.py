"""Readings from a cgroup of version 1: controllers in folders of their own.

`memory.usage_in_bytes` counts file cache too, as the kernel's peak does. Cache is charged to
whoever touched a file first, so the second trial of a release can seem lighter than the first:
`anon`, which is free of that, is recorded beside it. The kernel charges memory in batches of 64
pages a core, which makes both figures up to 256 KiB a core too high: far below 2 % of any trial.
"""

from __future__ import annotations

from pathlib import Path

from dlbench.monitor.counter import Counter, field, processes_below
from dlbench.monitor.samples import Reading
from dlbench.monitor.source import Gone


class CgroupV1:
    """Counters of `cpuacct` and `memory`."""

    name = "cgroup-v1"
    origin = "cgroup"

    def __init__(self, cpuacct: Path, memory: Path) -> None:
        self._memory_folder = memory
        self._cpu = Counter(cpuacct / "cpuacct.usage")
        self._usage = Counter(memory / "memory.usage_in_bytes")
        self._peak = Counter(memory / "memory.max_usage_in_bytes")
        self._stat = Counter(memory / "memory.stat")

    def read(self) -> Reading:
        try:
            return Reading(self._cpu.number() / 1e9, self._usage.number(), self._peak.number())
        except (OSError, ValueError) as error:
            raise Gone from error

    def anon(self) -> int | None:
        try:
            return field(self._stat.text(), b"total_rss")
        except (OSError, ValueError):
            return None

    def pids(self) -> frozenset[int]:
        return processes_below(self._memory_folder)

    def cpu_seconds(self) -> float:
        return 0.0

    def close(self) -> None:
        for counter in (self._cpu, self._usage, self._peak, self._stat):
            counter.close()
