"""What every source of readings can do, and which source fits a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from dlbench.engines.base import Scope
from dlbench.monitor.samples import Reading

StatsStream = Callable[[], Iterator[Any]]
"""Opens the daemon's stats stream of the trial's container (docker: `stats(decode=True)`)."""


class Gone(Exception):
    """The counters are no longer there: the trial has ended and its traces were removed."""


class CounterSource(Protocol):
    """Somewhere to read a trial's counters."""

    name: str
    origin: str
    """What its totals are worth after the trial's end: see `Totals.origin`."""

    def read(self) -> Reading | None:
        """The present counters; None: nothing new yet. Raises `Gone`."""

    def anon(self) -> int | None:
        """Memory that is not file cache, if that is known."""

    def pids(self) -> frozenset[int]:
        """The trial's processes."""

    def cpu_seconds(self) -> float:
        """CPU time this source used outside the caller's thread."""

    def close(self) -> None: ...


def choose(scope: Scope, stats: StatsStream | None = None) -> CounterSource:
    """The most exact source that can be opened: cgroup, the daemon, the process tree."""
    from dlbench.monitor.cgroup import CgroupV1, CgroupV2
    from dlbench.monitor.daemon import DaemonStats
    from dlbench.monitor.tree import ProcessTree

    try:
        if "unified" in scope.cgroup:
            return CgroupV2(scope.cgroup["unified"])
        if "cpuacct" in scope.cgroup and "memory" in scope.cgroup:
            return CgroupV1(scope.cgroup["cpuacct"], scope.cgroup["memory"])
    except OSError:
        # A folder that cannot be read from here (another namespace, a controller that is off).
        pass
    if scope.container is not None and stats is not None:
        return DaemonStats(stats)
    return ProcessTree(scope.pid)
