"""What works on this machine and what does not, each with what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dlbench import paths
from dlbench.errors import UserError

_NOISY = 1.2
_LEAST_FREE = 10e9


@dataclass(frozen=True)
class Diagnosis:
    topic: str
    state: Literal["good", "fair", "bad"]
    """`fair`: dlbench works, but something is worth knowing."""
    text: str
    remedy: str = ""


def diagnose() -> list[Diagnosis]:
    return [
        *_docker(),
        *_gpus(),
        *_interpreters(),
        *_disk(),
        *_energy(),
        *_machine(),
    ]


def _docker() -> Iterator[Diagnosis]:
    from dlbench.engines import connect
    from dlbench.host import gpu_preflight

    try:
        client = connect.connect()
    except UserError as error:
        yield Diagnosis(
            "Docker", "fair", f"{error.problem} The process engine works.", error.remedy
        )
        return
    info = client.info()
    groups = f"cgroup v{info.get('CgroupVersion', '1')}"
    yield Diagnosis("Docker", "good", f"engine {info.get('ServerVersion')} answers, {groups}.")
    if lacking := gpu_preflight.no_passing_on(info):
        problem, _, remedy = lacking.partition(". ")
        yield Diagnosis(
            "GPU runtime", "fair", f"{problem}: only CPU trials in containers.",
            f"If this machine has a GPU: {remedy[:1].lower()}{remedy[1:]}",
        )  # fmt: skip
    else:
        yield Diagnosis("GPU runtime", "good", "The daemon can pass NVIDIA's GPUs on.")
    if shutil.which("mmdebstrap") is None:
        yield Diagnosis(
            "Base images", "fair", "mmdebstrap is missing: base images must come from a registry.",
            "`apt install mmdebstrap` where no registry can be reached.",
        )  # fmt: skip


def _gpus() -> Iterator[Diagnosis]:
    from dlbench.environments import gpu_fit, releases
    from dlbench.host import gpu_preflight
    from dlbench.monitor import gpu
    from dlbench.statistics.words import listing

    gpus = gpu.inventory()
    if not gpus.devices:
        yield Diagnosis("GPUs", "fair", f"none seen. {gpus.reason} CPU trials work.",
                      gpus.remedy)  # fmt: skip
        return
    if gpus.reason:
        yield Diagnosis("Broken GPU", "fair", f"one can't be used. {gpus.reason}", gpus.remedy)
    models: dict[tuple[str, str | None], list[gpu.Device]] = {}
    for device in gpus.devices:
        models.setdefault((device.name, device.compute), []).append(device)
    for alike in models.values():
        many = "GPUs" if len(alike) > 1 else "GPU"
        which = f"{many} {listing([str(device.index) for device in alike])}"
        yield Diagnosis(which, "good", f"{alike[0].name}, driver {gpus.driver}.")
        slow = []
        for release in releases.load_releases():
            found = gpu_preflight.fit_on(release, gpus, alike[0])
            if "gpu" in release.devices and found.state == "hopeless":
                near = gpu_preflight.advice(release, gpus, alike[0])
                yield Diagnosis(f"{release.name} on {which}", "fair", f"{found.text}{near}")
            elif found.state == "compiled":
                slow.append(release.name)
        if slow:
            lack = "has" if len(slow) == 1 else "have"
            yield Diagnosis(
                f"Slow start on {which}", "fair",
                f"{listing(slow)} {lack} no machine code for it. {gpu_fit.COMPILED}",
            )  # fmt: skip
        for device in alike:
            if device.processes:
                yield Diagnosis(
                    "GPU in use", "fair", gpu_preflight.busy(device),
                    "End those programs before you measure.",
                )  # fmt: skip
            if device.divided:
                yield Diagnosis(
                    "Divided GPU", "fair",
                    f"GPU {device.index} is in MIG mode: trials can use its parts only.",
                    "`--gpu MIG-…` gives a trial one of them; `dlbench list devices` shows them.",
                )  # fmt: skip
        if any(device.persistence is False for device in alike):
            yield Diagnosis(
                f"Persistence mode of {which}", "fair",
                "off: the driver goes when nobody uses the GPU, and each trial waits for it again.",
                "`sudo nvidia-smi -pm 1` keeps it loaded.",
            )  # fmt: skip


def _interpreters() -> Iterator[Diagnosis]:
    from dlbench.environments import interpreters, releases

    wanted: dict[tuple[str, ...], list[str]] = {}
    for release in releases.load_releases():
        wanted.setdefault(release.python, []).append(release.name)
    for pythons, names in sorted(wanted.items()):
        title = f"Python {' or '.join(pythons)}"
        interpreter = next(filter(None, (interpreters.installed(p) for p in pythons)), None)
        if interpreter:
            yield Diagnosis(title, "good", f"{interpreter.version} found, for {', '.join(names)}.")
        else:
            yield Diagnosis(
                title, "fair", f"not found; {', '.join(names)} need it in the process engine.",
                interpreters.offers(pythons[0]),
            )  # fmt: skip


def _disk() -> Iterator[Diagnosis]:
    free = paths.free_bytes()
    text = f"{free / 1e9:.0f} GB free where dlbench keeps environments and data."
    if free < _LEAST_FREE:
        yield Diagnosis(
            "Disk", "bad", text, "Free some space or set DLBENCH_CACHE to another disk."
        )
    else:
        yield Diagnosis("Disk", "good", text)


def _energy() -> Iterator[Diagnosis]:
    from dlbench.monitor.rapl import CpuEnergy

    energy = CpuEnergy()
    if energy.reason is None:
        yield Diagnosis("Energy", "good", "the processors' energy can be read.")
        return
    yield Diagnosis(
        "Energy", "fair", f"{energy.reason} Trials have no energy of the processors.",
        "`sudo chmod o+r /sys/class/powercap/intel-rapl:*/energy_uj` lets everybody read them until"
        " this machine is started again." if energy.refused else "",
    )  # fmt: skip


def _machine() -> Iterator[Diagnosis]:
    from dlbench.host.machine import fingerprint, noise

    machine = fingerprint()
    yield Diagnosis(
        "Machine", "good",
        f"{machine.cpu_model}, {machine.cores_usable:g} cores usable,"
        f" {machine.memory_bytes / 2**30:.0f} GiB.",
    )  # fmt: skip
    if machine.governor not in (None, "performance"):
        yield Diagnosis(
            "Clock", "fair", f"the governor is {machine.governor!r}: speed will vary.",
            "`cpupower frequency-set -g performance` keeps it steady.",
        )  # fmt: skip
    measured = noise()
    text = f"slow repeats of the same work take {measured.ratio:.2f} times the usual."
    if measured.ratio > _NOISY:
        yield Diagnosis("Noise", "fair", text,
                      "End other programs, or use more --repeats.")  # fmt: skip
    else:
        yield Diagnosis("Noise", "good", text)
