"""What an engine is given (a request), what it returns (something running) and how that ends.

An engine starts one trial and knows nothing of campaigns, events or statistics. The runner polls
what it started, the monitor reads the counters named by its `Scope`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Protocol


@dataclass(frozen=True)
class Limits:
    """What a trial may use. `None` means: no limit of ours."""

    cpus: float | None = None
    memory_bytes: int | None = None
    seconds: float | None = None
    pids: int = 4096
    output_bytes: int = 4 << 30
    """Of all files together."""

    @property
    def file_bytes(self) -> int:
        """Of each file, by the kernel: one that reaches it is over the limit on all of them."""
        return self.output_bytes + (1 << 20)


@dataclass(frozen=True)
class Request:
    """All that an engine needs to start one trial. Folders exist; files are in place."""

    trial: str
    campaign: str
    environment: str
    """The interpreter of a virtual environment, or an image's id: what the engine prepared."""
    bench: Path
    """The folder of package `bench`; mounted read-only."""
    job: Path
    data: Path
    out: Path
    """The one folder that the trial may write to."""
    log: Path
    limits: Limits = field(default_factory=Limits)
    cores: int | None = None
    """How many cores the trial is pinned to; None: it may run on every one that we may use."""
    gpus: tuple[str, ...] = ()
    """GPU indices or UUIDs the trial may see; empty: none."""
    variables: dict[str, str] = field(default_factory=dict)
    libraries: tuple[Path, ...] = ()
    """Folders of shared libraries that come first on the loader's path; read-only."""
    cache: Path | None = None
    """A folder kept between the trials of one release (compile caches); writable. None: none."""
    weights: Path | None = None
    """The file of weights that the trial starts from; read-only. None: none."""


NOT_ASKED = "No number of cores was asked for."
"""Why a trial is not pinned."""


COMMON_VARIABLES = {
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONHASHSEED": "0",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
}
"""What every trial has in its environment."""


def cache_variables(folder: str) -> dict[str, str]:
    """What makes frameworks and drivers keep what they compile in this folder."""
    return {
        "BENCH_CACHE": folder,
        "XDG_CACHE_HOME": folder,
        "CUPY_CACHE_DIR": f"{folder}/cupy",
        "CUDA_CACHE_PATH": f"{folder}/cuda",
        # Old builds on a new GPU: all their code is compiled, and the usual 256 MB do not hold it.
        "CUDA_CACHE_MAXSIZE": str(4 << 30),
    }


@dataclass(frozen=True)
class Scope:
    """Where the counters of a running trial are found."""

    pid: int
    """The trial's main process, as the host sees it."""
    cpus: float
    """Cores allotted: the limit, or the cores this process may use."""
    cgroup: dict[str, Path] = field(default_factory=dict)
    """v2: {"unified": folder}; v1: {"cpuacct": folder, "memory": folder, "pids": folder}.

    Empty where no cgroup of the trial's own is visible from here."""
    container: str | None = None
    """The container's id: the daemon's stats stream is read where no cgroup is visible."""
    pinned: tuple[int, ...] = ()
    """The cores that it is pinned to; empty: to none, and `unpinned` says why."""
    unpinned: str = ""
    temporary: tuple[Path, ...] = ()
    """Folders on this machine's disk, besides `Request.out` and `cache`, that it may write to."""


@dataclass(frozen=True)
class Exit:
    """How the main process ended."""

    code: int
    """The exit code; negative: ended by that signal."""
    oom: bool = False
    """The kernel ended it for its memory limit."""
    cpu_seconds: float | None = None
    """The kernel's total where the engine's wait() gives one (rusage)."""
    rss_peak_bytes: int | None = None


class Running(Protocol):
    """A started trial."""

    scope: Scope

    def wait(self, seconds: float) -> Exit | None:
        """How it ended, or None while it runs; waits up to `seconds` for the end."""

    def pids(self) -> set[int]:
        """Its processes, as far as they can be seen from here."""

    def signal(self, number: Signals) -> None:
        """Send it to the whole group."""

    def stop(self, grace: float = 5.0) -> Exit:
        """End the whole group: interrupt, terminate, kill, with `grace` seconds between."""
        for number in (Signals.SIGINT, Signals.SIGTERM):
            if self.wait(0.0) is None:
                self.signal(number)
                self.wait(grace)
        while (ended := self.wait(0.0)) is None:
            self.signal(Signals.SIGKILL)
            self.wait(1.0)
        return ended

    def close(self) -> None:
        """Remove what was created for it (cgroup, container). Safe to call twice."""


class Engine(Protocol):
    """Starts trials; and clears away what a killed orchestrator left behind."""

    name: str

    def unenforced(self, limits: Limits) -> tuple[str, ...]:
        """Which of these limits the engine can't hold trials to here: one sentence each."""

    def start(self, request: Request) -> Running: ...

    def sweep(self, campaign: str) -> list[str]:
        """End and remove everything left of this campaign's earlier trials; says what it ended."""
