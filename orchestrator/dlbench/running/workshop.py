"""Chooses the engine, and makes ready what a campaign needs before its first trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.engines.base import Engine
from dlbench.environments import interpreters, locks
from dlbench.environments.progress import Progress, silent
from dlbench.environments.releases import Release
from dlbench.errors import UserError, check_known
from dlbench.host import gpu_preflight

if TYPE_CHECKING:
    import docker

    from dlbench.monitor.source import StatsStream

ENGINES = ("auto", "docker", "process")


@dataclass(frozen=True)
class Workshop:
    """An engine, and the way to make environments for it."""

    engine: Engine
    client: docker.DockerClient | None
    note: str = ""
    """Why this engine, where the user left it open."""

    @property
    def runtime(self) -> str | None:
        """The container runtime's name and version."""
        if self.client is None:
            return None
        version = self.client.version()
        return f"docker {version.get('Version', '?')}"

    @property
    def cores(self) -> float:
        """How many trials may use: also the daemon's own machine has to have them."""
        from dlbench.host.machine import usable_cores

        there = float(self.client.info().get("NCPU") or 0) if self.client is not None else 0.0
        if self.client is not None and self.client.api.base_url != "http+docker://localhost":
            return there or usable_cores()
        return min(there, usable_cores()) if there else usable_cores()

    def stats(self) -> Callable[[str], StatsStream] | None:
        client = self.client
        if client is None:
            return None
        return lambda container: lambda: client.api.stats(container, decode=True)

    def check(self, release: Release, device: str) -> None:
        """Raise what can be known to fail before anything is fetched or made."""
        locks.read(release.lock(device))
        if self.client is None:
            from dlbench.environments import venvs

            if venvs.ready(release, device) is None:
                interpreters.find(release.python)

    def environment(
        self,
        release: Release,
        device: str,
        progress: Progress = silent,
        brought: Path | None = None,
    ) -> str:
        """What the engine starts: an interpreter's path or an image's id. Made if need be.

        `brought`: a folder with the archives of the release's CUDA set, if it has one."""
        if self.client is not None:
            from dlbench.environments import images

            return images.build(self.client, release, device, progress, brought).id
        from dlbench.environments import venvs

        return str(venvs.prepare(release, device, progress, brought=brought).python)

    def cpu_environment(
        self, release: Release, build: str, progress: Progress = silent
    ) -> tuple[str, bool]:
        """As `environment`, of packages that are to compute on a CPU; and whether it is whole.

        It is not where a CUDA set can't be had and the build only opens it when it uses a GPU."""
        try:
            return self.environment(release, build, progress), True
        except UserError:
            # What it opens by name as it runs, it does not open on a CPU.
            if self.client is not None or not (release.cuda and release.cuda.needs):
                raise
            from dlbench.environments import venvs

            return str(venvs.prepare(release, build, progress, with_set=False).python), False

    def libraries(self, release: Release, device: str) -> tuple[Path, ...]:
        """Folders that the loader must be told of; an image tells it by itself."""
        if self.client is not None:
            return ()
        from dlbench.environments import venvs

        return venvs.library_folders(release, device)

    def is_ready(self, release: Release, device: str) -> bool:
        if self.client is not None:
            from dlbench.environments import images

            return images.find_image(self.client, release, device) is not None
        from dlbench.environments import venvs

        return venvs.ready(release, device) is not None

    def gpu_refusal(self, release: Release, gpus: tuple[str, ...] = ("all",)) -> str | None:
        """Why a trial of this release can't run on these GPUs; None: nothing known against it."""
        return gpu_preflight.refusal(release, self.client, gpus)


def open_workshop(name: str) -> Workshop:
    """The engine by name; `auto` takes Docker where a daemon answers."""
    from dlbench.engines import connect

    check_known("engine", name, ENGINES)
    if name == "process":
        return Workshop(_process(), None)
    try:
        client = connect.connect()
    except UserError as error:
        if name == "docker":
            raise
        refused = isinstance(error, connect.NotAllowed)
        why = "The container daemon refuses this user" if refused else "No Docker daemon answers"
        note = f"{why}, so the process engine is used (`dlbench doctor` says more)."
        return Workshop(_process(), None, note)
    from dlbench.engines.docker import DockerEngine

    return Workshop(DockerEngine(client), client)


def _process() -> Engine:
    from dlbench.engines.process import ProcessEngine

    return ProcessEngine()
