"""What is known before a GPU trial is started: which GPU it uses, and whether it can work there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlbench.environments import gpu_fit, releases
from dlbench.environments.gpu_fit import Fit
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from dlbench.monitor import gpu
from dlbench.monitor.gpu import Device, Inventory

if TYPE_CHECKING:
    import docker

_HOOK = "nvidia-container-runtime-hook"
_INSTALL = "Install NVIDIA's driver if this machine has one of its GPUs."
NO_RUNTIME = (
    "Docker has no NVIDIA runtime. Install the NVIDIA Container Toolkit and run"
    " `nvidia-ctk runtime configure --runtime=docker`, then restart Docker."
)


def refusal(
    release: Release, client: docker.DockerClient | None, selection: Sequence[str] = ("all",)
) -> str | None:
    """Why a GPU trial of this release can't run here, and what would; None: nothing against it."""
    if client is not None and not has_gpu_runtime(client.info()):
        return NO_RUNTIME
    gpus = gpu.inventory()
    if not gpus.devices:
        return f"No GPU is seen here. {gpus.reason} {_INSTALL}"
    card = used(gpus, selection)
    found = fit_on(release, gpus, card) if card is not None else Fit("native")
    if card is None or found.state != "hopeless":
        return None  # a GPU that is not there: the engine says so
    near = gpu_fit.nearest(release, releases.load_releases(), gpus.driver or "0", generation(card))
    advice = f" The nearest release that works here is {near.name}." if near else ""
    return f"{found.text}{advice}"


def warning(release: Release, selection: Sequence[str]) -> str:
    """What a user should know of a pair that is tried all the same; else nothing."""
    gpus = gpu.inventory()
    card = used(gpus, selection)
    found = fit_on(release, gpus, card) if card is not None else Fit("native")
    return found.text if found.state == "compiled" else ""


def notes(selection: Sequence[str], wanted: Iterable[Release] = ()) -> list[str]:
    """What a plan says of the GPU that its trials use: which, who else uses it, what takes long."""
    gpus = gpu.inventory()
    card, told = used(gpus, selection), []
    given = len(gpus.devices) if "all" in selection else len(selection)
    if card is not None and given > 1:
        others = "the other stays" if given == 2 else f"the other {given - 1} stay"
        told.append(
            f"A trial trains on one GPU: GPU {card.index} ({card.name}) is used, {others} idle."
            " `--gpu each` compares them."
        )
    if card is not None and card.processes:
        told.append(busy(card))
    for release in wanted:
        said = warning(release, selection)
        if said and said not in told:
            told.append(said)
    return told


def busy(card: Device) -> str:
    """The sentence about a GPU that other programs use."""
    users = "another program" if card.processes == 1 else f"{card.processes} other programs"
    return (
        f"GPU {card.index} ({card.name}) is in use by {users}: times measured on it are longer and"
        " scatter more."
    )


def each() -> tuple[str, ...]:
    """Every GPU of this machine, by its index; an error where there is none."""
    gpus = gpu.inventory()
    if not gpus.devices:
        raise UserError(f"`--gpu each` needs GPUs, and none is seen here. {gpus.reason}", _INSTALL)
    return tuple(str(card.index) for card in gpus.devices)


def used(gpus: Inventory, selection: Sequence[str]) -> Device | None:
    """The GPU that a trial trains on: the first of those it is given. None: it is not there."""
    if not gpus.devices or not selection:
        return None
    first = selection[0].rpartition("=")[2]  # of a CDI name, its end
    if first == "all":
        return gpus.devices[0]
    matching = (card for card in gpus.devices if first in (str(card.index), card.uuid))
    return next(matching, None)


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
