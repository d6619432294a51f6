"""What is known before a GPU trial is started: which GPU it uses, and whether it can work there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlbench.engines import gpu_requests
from dlbench.environments import gpu_fit, releases
from dlbench.environments.gpu_fit import Fit
from dlbench.environments.releases import Release
from dlbench.errors import UserError
from dlbench.monitor import gpu
from dlbench.monitor.gpu import Device, Inventory
from dlbench.statistics.words import listing

if TYPE_CHECKING:
    import docker

_OLD_PART = "MIG-GPU-"
"""Begins a MIG device's name in the style before driver 470, which newer ones no longer tell."""
_ALLOTTED = "CUDA_VISIBLE_DEVICES"
_LEAST_API = (1, 40)
"""From this version of Docker's interface on GPUs can be asked for."""
_LEAST_PODMAN = (5, 4)
"""Older ones start a container without the GPUs that they are asked for, and say nothing."""
NO_RUNTIME = (
    "Docker has no NVIDIA runtime. Install the NVIDIA Container Toolkit and run"
    " `sudo nvidia-ctk runtime configure --runtime=docker`, then restart Docker."
)
NO_CDI = (
    "Podman knows no NVIDIA GPU. Install the NVIDIA Container Toolkit and run"
    " `sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`."
)
OLD_PODMAN = "Podman's service passes GPUs on from 5.4 on, and this one is older. Update Podman."


def refusal(
    release: Release, client: docker.DockerClient | None, selection: Sequence[str] = ("all",)
) -> str | None:
    """Why a GPU trial of this release can't run here, and what would; None: nothing against it."""
    gpus = gpu.inventory()
    if not gpus.devices:
        return f"No GPU is seen here. {gpus.reason} {gpus.remedy}".rstrip()
    if client is not None and (lacking := too_old(client) or no_passing_on(client.info())):
        return f"{lacking} Or give `--engine process`: it needs no container."
    everything = any(_plain(name) == "all" for name in selection)
    if everything and (allotted := _allotted_others(gpus, "all")):
        return allotted
    if unusable := _absent(gpus, selection) or _divided(gpus, selection):
        return unusable
    card = used(gpus, selection)
    if card is None:
        return None
    found = fit_on(release, gpus, card)
    if found.state != "hopeless":
        return None
    return f"{found.text}{advice(release, gpus, card)}"


def advice(release: Release, gpus: Inventory, card: Device) -> str:
    """What would work instead of this hopeless pair: another release, another GPU."""
    near = gpu_fit.nearest(release, releases.load_releases(), gpus.driver or "0", generation(card))
    said = f" The nearest release that works here is {near.name}." if near else ""
    for other in gpus.devices:
        if other != card and fit_on(release, gpus, other).state != "hopeless":
            return f"{said} It can use GPU {other.index} ({other.name}): `--gpu {other.index}`."
    return said


def _absent(gpus: Inventory, selection: Sequence[str]) -> str:
    """The sentence about a GPU that was asked for and is not there; nothing: all are."""
    for name in map(_plain, selection):
        if name == "all" or name.startswith(_OLD_PART) or _found(gpus, name) is not None:
            continue
        there = listing([f"{card.index} ({card.name})" for card in gpus.devices])
        which = f"GPU {name}" if name.isdigit() else name
        several = "GPUs" if len(gpus.devices) > 1 else "GPU"
        more = f" Another can't be used. {gpus.reason} {gpus.remedy}" if gpus.reason else ""
        return f"There is no {which} here: this machine has {several} {there}.{more}"
    return ""


def _allotted_others(gpus: Inventory, word: str) -> str:
    """The sentence about a shell to which only some GPUs are allotted, as batch systems do."""
    allotted = os.environ.get(_ALLOTTED)
    if allotted is None:
        return ""
    names = [name.strip() for name in allotted.split(",")]
    if {card.uuid for name in names if (card := _found(gpus, name))} >= {
        card.uuid for card in gpus.devices
    }:
        return ""
    known = [name for name in names if _found(gpus, name)]
    instead = f"Give `--gpu {','.join(known)}`, or unset it." if known else "Unset it to use them."
    return (
        f"{_ALLOTTED} is {allotted!r} here: `--gpu {word}` would also use GPUs that this shell was"
        f" not given. {instead}"
    )


def _divided(gpus: Inventory, selection: Sequence[str]) -> str:
    """The sentence about a GPU that was asked for as a whole and is in parts (MIG)."""
    for card in _given(gpus, selection):
        if card.divided:
            several = "its parts" if card.parts else "the parts that you make of it"
            return (
                f"GPU {card.index} ({card.name}) is divided (MIG): no program can use it as a"
                f" whole. Give one of {several}, `--gpu MIG-…`; `dlbench list devices` shows them."
            )
    return ""


def in_order(selection: Sequence[str]) -> tuple[str, ...]:
    """These GPUs, each once, as the driver numbers them: so every engine shows them to a trial.

    A container shows them in that order whatever was asked for, and a trial trains on the first."""
    if len(selection) > 1 and any(_plain(name) == "all" for name in selection):
        return ("all",)
    gpus = gpu.inventory() if len(selection) > 1 else Inventory()
    unknown = 1 + max((card.index for card in gpus.devices), default=0)
    named: dict[tuple[int, str], str] = {}
    for name in selection:
        card = _found(gpus, _plain(name))
        # an index and a UUID may be the same GPU
        named.setdefault((card.index, card.uuid) if card else (unknown, name), name)
    return tuple(name for _, name in sorted(named.items(), key=lambda each: each[0][0]))


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
    given = len(_given(gpus, selection))
    if card is not None and given > 1:
        others = "the other stays" if given == 2 else f"the other {given - 1} stay"
        told.append(
            f"A trial trains on one GPU: GPU {card.index} ({card.name}) is used, {others} idle, and"
            f" energy and memory are those of {'both' if given == 2 else f'all {given}'}."
            f" `--gpu {card.index}` gives it that one"
            " alone; `--gpu each` compares them."
        )
    if card is not None and card.processes:
        told.append(busy(card))
    told += [
        f"GPU {other.index} ({other.name}) is in use by {_users(other)}: what it draws is counted"
        " as the trials' energy, too."
        for other in _given(gpus, selection)
        if other.processes and other != card
    ]
    for release in wanted:
        said = warning(release, selection)
        if said and said not in told:
            told.append(said)
    return told


def busy(card: Device) -> str:
    """The sentence about a GPU that other programs use."""
    return (
        f"GPU {card.index} ({card.name}) is in use by {_users(card)}: times measured on it are"
        " longer and scatter more, and its use, power and energy are also theirs."
    )


def _users(card: Device) -> str:
    return "another program" if card.processes == 1 else f"{card.processes} other programs"


def each() -> tuple[str, ...]:
    """Every GPU of this machine, by its index; an error where there is none."""
    gpus = gpu.inventory()
    if not gpus.devices:
        problem = f"`--gpu each` needs GPUs, and none is seen here. {gpus.reason}"
        raise UserError(problem, gpus.remedy)
    if allotted := _allotted_others(gpus, "each"):
        problem, _, remedy = allotted.partition(". ")
        raise UserError(f"{problem}.", remedy)
    return tuple(str(card.index) for card in gpus.devices)


def used(gpus: Inventory, selection: Sequence[str]) -> Device | None:
    """The GPU that a trial trains on: the first of those it is given. None: it is not there."""
    if not gpus.devices or not selection:
        return None
    first = _plain(selection[0])
    return gpus.devices[0] if first == "all" else _found(gpus, first)


def _given(gpus: Inventory, selection: Sequence[str]) -> list[Device]:
    """Those of the selection that are there."""
    if any(_plain(name) == "all" for name in selection):
        return list(gpus.devices)
    return [card for name in selection if (card := _found(gpus, _plain(name)))]


def _plain(name: str) -> str:
    """Of a CDI name, its end."""
    return name.rpartition("=")[2]


def _found(gpus: Inventory, name: str) -> Device | None:
    parts = (part for card in gpus.devices for part in card.parts if name == part.uuid)
    whole = (card for card in gpus.devices if name in (str(card.index), card.uuid))
    return next(whole, None) or next(parts, None)


def model(selection: Sequence[str]) -> list[str]:
    """What a proof on the used GPU holds for: this model of GPU with this driver."""
    gpus = gpu.inventory()
    card = used(gpus, selection)
    if card is None:
        return [str(gpus.driver), *selection]
    return [str(gpus.driver), card.name, str(card.compute)]


def fit_on(release: Release, gpus: Inventory, card: Device) -> Fit:
    """How they go together; nothing against it where the driver tells too little to know."""
    if gpus.driver is None or card.compute is None:
        return Fit("native")
    return gpu_fit.fit(release, gpus.driver, generation(card))


def generation(card: Device) -> int:
    """`8.6` as 86."""
    return int((card.compute or "0").replace(".", ""))


def too_old(client: docker.DockerClient) -> str:
    """Why a daemon of this age can't be asked for GPUs; nothing: it can."""
    if gpu_fit.numbers(client.api.api_version) >= _LEAST_API:
        return ""
    return "This Docker is too old for GPUs: they can be asked for from Docker 19.03 on. Update it."


def no_passing_on(info: Mapping[str, Any], search_path: str | None = None) -> str:
    """Why this daemon can't pass NVIDIA's GPUs on, and what to do; nothing: it can.

    It can by a runtime, by CDI, or by NVIDIA's hook on its path; Podman by CDI alone."""
    if gpu_requests.is_podman(info):
        version = gpu_fit.numbers(str(info.get("ServerVersion") or ""))
        if version and version < _LEAST_PODMAN:
            return OLD_PODMAN
        return "" if gpu_requests.described(info) else NO_CDI
    runtime = "nvidia" in (info.get("Runtimes") or {})
    able = runtime or gpu_requests.described(info) or gpu_requests.has_hook(search_path)
    return "" if able else NO_RUNTIME
