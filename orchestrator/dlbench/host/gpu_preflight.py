"""What is known before a GPU trial is started: whether it can work on this machine's GPUs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dlbench.environments import gpu_fit, releases
from dlbench.environments.gpu_fit import Fit
from dlbench.environments.releases import Release
from dlbench.monitor.gpu import Device, Inventory, inventory

if TYPE_CHECKING:
    import docker

_HOOK = "nvidia-container-runtime-hook"
NO_RUNTIME = (
    "Docker has no NVIDIA runtime. Install the NVIDIA Container Toolkit and run"
    " `nvidia-ctk runtime configure --runtime=docker`, then restart Docker."
)


def refusal(
    release: Release, client: docker.DockerClient | None, gpus: Inventory | None = None
) -> str | None:
    """Why a GPU trial of this release can't run here, and what would; None: nothing against it."""
    if client is not None and not has_gpu_runtime(client.info()):
        return NO_RUNTIME
    gpus = gpus or inventory()
    if not gpus.devices:
        return f"No GPU is seen here. {gpus.reason} Install or load the NVIDIA driver."
    for card in gpus.devices:
        found = fit_on(release, gpus, card)
        if found.state == "hopeless":
            return f"{found.text} {_advice(release, gpus, card)}".strip()
    return None


def warnings(release: Release, gpus: Inventory) -> list[str]:
    """What a user should know of a pair that is tried all the same."""
    found = (fit_on(release, gpus, card) for card in gpus.devices)
    return list(dict.fromkeys(each.text for each in found if each.state == "compiled"))


def patience(release: Release, gpus: Inventory) -> float:
    """How many seconds longer than usual a trial may take, for what the driver must compile."""
    return gpu_fit.COMPILE_S if warnings(release, gpus) else 0.0


def busy(gpus: Inventory) -> list[str]:
    """GPUs that other programs use now, one sentence each."""
    return [
        f"GPU {card.index} ({card.name}) is in use by {_count(card.processes)}: times measured on"
        " it are longer and scatter more."
        for card in gpus.devices
        if card.processes
    ]


def fit_on(release: Release, gpus: Inventory, card: Device) -> Fit:
    return gpu_fit.fit(release, gpus.driver or "0", generation(card))


def generation(card: Device) -> int:
    """`8.6` as 86."""
    return int((card.compute or "0").replace(".", ""))


def has_gpu_runtime(info: Mapping[str, Any], search_path: str | None = None) -> bool:
    """The daemon can pass NVIDIA GPUs on: by a runtime, by CDI, or by NVIDIA's hook on its path."""
    if "nvidia" in (info.get("Runtimes") or {}) or info.get("DiscoveredDevices"):
        return True
    return shutil.which(_HOOK, path=search_path or os.environ.get("PATH")) is not None


def _advice(release: Release, gpus: Inventory, card: Device) -> str:
    known: Iterable[Release] = releases.load_releases()
    near = gpu_fit.nearest(release, known, gpus.driver or "0", generation(card))
    return f"The nearest release that works here is {near.name}." if near else ""


def _count(number: int) -> str:
    return "another program" if number == 1 else f"{number} other programs"
