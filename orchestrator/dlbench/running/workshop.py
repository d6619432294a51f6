"""Chooses the engine, and makes ready what a campaign needs before its first trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dlbench.engines.base import Engine
from dlbench.environments import interpreters, locks
from dlbench.environments.progress import Progress, silent
from dlbench.environments.releases import Release
from dlbench.errors import UserError, unknown

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

    def environment(self, release: Release, device: str, progress: Progress = silent) -> str:
        """What the engine starts: an interpreter's path or an image's id. Made if need be."""
        if self.client is not None:
            from dlbench.environments import images

            return images.build(self.client, release, device, progress).id
        from dlbench.environments import venvs

        return str(venvs.prepare(release, device, progress).python)

    def is_ready(self, release: Release, device: str) -> bool:
        if self.client is not None:
            from dlbench.environments import images

            return images.find_image(self.client, release, device) is not None
        from dlbench.environments import venvs

        return venvs.ready(release, device) is not None

    def gpu_refusal(self, release: Release) -> str | None:
        """Why a GPU trial of this release can't run here; None: nothing known against it."""
        from dlbench.environments import cuda
        from dlbench.monitor.gpu import inventory

        if self.client is not None and not _has_gpu_runtime(self.client):
            return (
                "Docker has no NVIDIA runtime. Install the NVIDIA Container Toolkit and run"
                " `nvidia-ctk runtime configure --runtime=docker`, then restart Docker."
            )
        gpus = inventory()
        if not gpus.devices:
            return f"No GPU is seen here. {gpus.reason} Install or load the NVIDIA driver."
        for card in gpus.devices:
            generation = int((card.compute or "0").replace(".", ""))
            if refusal := cuda.refusal(release, gpus.driver or "0", generation):
                return refusal
        return None


def _has_gpu_runtime(client: docker.DockerClient) -> bool:
    info = client.info()
    # newer engines inject devices through CDI, without a runtime of NVIDIA's own
    return "nvidia" in info.get("Runtimes", {}) or bool(info.get("DiscoveredDevices"))


def open_workshop(name: str) -> Workshop:
    """The engine by name; `auto` takes Docker where a daemon answers."""
    from dlbench.engines import connect

    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if name == "process":
        return Workshop(_process(), None)
    try:
        client = connect.connect()
    except UserError:
        if name == "docker":
            raise
        note = (
            "No Docker daemon answers, so the process engine is used (`dlbench doctor` says more)."
        )
        return Workshop(_process(), None, note)
    from dlbench.engines.docker import DockerEngine

    return Workshop(DockerEngine(client), client)


def _process() -> Engine:
    from dlbench.engines.process import ProcessEngine

    return ProcessEngine()
