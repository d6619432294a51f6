"""What machine a campaign ran on, as far as it matters for speed, and how quiet it is.

Recorded in every campaign. It names hardware by its model, never by its identity: no host or user
name, no path, no serial number, no UUID.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import statistics
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench.engines import cgroups
from dlbench.monitor.gpu import GpuCard, inventory

_TELLING_FLAGS = re.compile(
    r"sse4_2|avx|avx2|avx512\w*|avx_vnni|fma|f16c|amx_\w+|asimd\w*|sve\w*|bf16|i8mm|neon"
)
_HYPERVISORS = {
    "qemu": "kvm",
    "kvm": "kvm",
    "amazon ec2": "kvm (Amazon)",
    "google": "kvm (Google)",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "innotek": "virtualbox",
    "microsoft corporation": "hyper-v",
    "xen": "xen",
    "parallels": "parallels",
}


@dataclass(frozen=True)
class Machine:
    """The fingerprint. None: not readable here."""

    architecture: str
    cpu_model: str
    cpu_flags: tuple[str, ...]
    """Those that decide which kernels the frameworks choose."""
    cores_physical: int
    cores_logical: int
    cores_usable: float
    """Within this process's affinity and CPU quota."""
    governor: str | None
    turbo: bool | None
    memory_bytes: int
    swap_bytes: int
    kernel: str
    os: str
    virtualisation: str | None
    runtime: str | None
    """The container runtime and its version."""
    gpus: tuple[GpuCard, ...]
    gpu_driver: str | None
    gpu_reason: str | None
    """Why there are no GPUs in the list."""
    load_average: float | None
    """Over the minute before the campaign."""

    def to_dict(self) -> dict[str, Any]:
        """For campaign.json."""
        return {**asdict(self), "digest": self.digest()}

    def digest(self) -> str:
        """The same for machines whose times can be compared: hardware and the share of it in use.

        What changes from day to day (load, kernel, driver, governor) is recorded but not in it."""
        comparable = {
            "architecture": self.architecture,
            "cpu": [self.cpu_model, *self.cpu_flags],
            "cores": [self.cores_physical, self.cores_logical, round(self.cores_usable, 2)],
            # Kernels keep differing bits of it for themselves.
            "memory_gib": round(self.memory_bytes / (1 << 30)),
            "virtualisation": self.virtualisation,
            "gpus": [[gpu.name, gpu.compute] for gpu in self.gpus],
        }
        text = json.dumps(comparable, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Noise:
    """How evenly the machine does the same work over and over."""

    median_ms: float
    p95_ms: float
    repeats: int

    @property
    def ratio(self) -> float:
        """The slow repeats over the usual ones: 1 is perfectly quiet."""
        return self.p95_ms / self.median_ms


def used_gpus(
    machine: Mapping[str, Any], devices: Collection[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The GPUs, each with its index, that trials on these devices may have used: `gpu:1`, `gpu:`
    and the digest of a UUID, or `gpu` where it is not known which."""
    by_uuid = any(not name[4:].isdigit() for name in devices if name.startswith("gpu:"))
    for place, card in enumerate(machine.get("gpus") or ()):
        if not isinstance(card, Mapping):
            continue
        index = place if card.get("index") is None else card["index"]
        digest = card.get("digest")  # without one, any UUID may name this GPU
        named = {"gpu", f"gpu:{index}", f"gpu:{digest}"}
        if not named.isdisjoint(devices) or (digest is None and by_uuid):
            yield index, card


def gpu_cautions(machines: Mapping[str, Mapping[str, Any]], devices: Collection[str]) -> list[str]:
    """What other programs did on the GPUs that trials on these devices used."""
    sentences = []
    for digest, machine in machines.items():
        which = f"Machine {digest[:6]}" if len(machines) > 1 else "The machine"
        for index, card in used_gpus(machine, devices):
            users = card.get("processes")
            if isinstance(users, int) and users > 0:
                others = "another program" if users == 1 else f"{users} other programs"
                sentences.append(
                    f"{which}'s GPU {index} ({card.get('name')}) was in use by {others} when the"
                    " campaign began. Times measured on it are longer and scatter more, and its"
                    " use, power and energy are also theirs."
                )
    return sentences


def cautions(machines: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What about these machines, {digest: fingerprint}, makes their times less certain."""
    sentences = []
    for digest, machine in machines.items():
        load, cores = machine.get("load_average"), machine.get("cores_usable")
        which = f"Machine {digest[:6]}" if len(machines) > 1 else "The machine"
        if isinstance(load, int | float) and isinstance(cores, int | float) and load > 0.5 * cores:
            sentences.append(
                f"{which} was busy when the campaign began: load {load:g} on {cores:g}"
                f" {'core' if cores == 1 else 'cores'}."
                " Times from a busy machine scatter more and are longer."
            )
    return sentences


def fingerprint(runtime: str | None = None) -> Machine:
    """This machine, now."""
    cpuinfo = _text("/proc/cpuinfo")
    memory = _text("/proc/meminfo")
    gpus = inventory()
    logical = os.cpu_count() or 1
    return Machine(
        architecture=platform.machine(),
        cpu_model=cpu_model(cpuinfo),
        cpu_flags=cpu_flags(cpuinfo),
        cores_physical=physical_cores(cpuinfo) or logical,
        cores_logical=logical,
        cores_usable=usable_cores(),
        governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        turbo=_turbo(),
        memory_bytes=_meminfo(memory, "MemTotal"),
        swap_bytes=_meminfo(memory, "SwapTotal"),
        kernel=platform.release(),
        os=_os_name(_text("/etc/os-release")),
        virtualisation=_virtualisation(cpuinfo),
        runtime=runtime,
        gpus=tuple(device.card for device in gpus.devices),
        gpu_driver=gpus.driver,
        gpu_reason=gpus.reason,
        load_average=round(os.getloadavg()[0], 2),
    )


def noise(seconds: float = 0.3) -> Noise:
    """Do a fixed piece of work for about `seconds` and see how its time varies."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    now = time.perf_counter()
    while now < end or len(times) < 20:
        sum(range(20_000))
        now, before = time.perf_counter(), now
        times.append((now - before) * 1000.0)
    cuts = statistics.quantiles(times, n=20)
    return Noise(round(statistics.median(times), 4), round(cuts[-1], 4), len(times))


def cpu_model(cpuinfo: str) -> str:
    """The model's name in a /proc/cpuinfo; ARM kernels give numbers in its place."""
    if model := re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE):
        return " ".join(model[1].split())
    implementer = re.search(r"^CPU implementer\s*:\s*(\S+)", cpuinfo, re.MULTILINE)
    part = re.search(r"^CPU part\s*:\s*(\S+)", cpuinfo, re.MULTILINE)
    if implementer and part:
        return f"implementer {implementer[1]} part {part[1]}"
    return platform.processor() or "unknown"


def cpu_flags(cpuinfo: str) -> tuple[str, ...]:
    """The instruction sets that frameworks choose their kernels by."""
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    words = flags[1].split() if flags else []
    return tuple(sorted(word for word in words if _TELLING_FLAGS.fullmatch(word)))


def physical_cores(cpuinfo: str) -> int | None:
    """Cores without hyper-threads; None where the kernel does not tell them apart."""
    cores: set[tuple[str, str]] = set()
    for block in cpuinfo.split("\n\n"):
        package = re.search(r"^physical id\s*:\s*(\d+)", block, re.MULTILINE)
        core = re.search(r"^core id\s*:\s*(\d+)", block, re.MULTILINE)
        if package and core:
            cores.add((package[1], core[1]))
    return len(cores) or None


def usable_cores() -> float:
    """Cores this process may use: its affinity, and the CPU quota of the groups it is in."""
    cores = float(len(os.sched_getaffinity(0)))
    folders = cgroups.of_process()
    for controller, quota_of in (("cpu", _quota_v1), (cgroups.UNIFIED, _quota_v2)):
        folder = folders.get(controller)
        # A quota further up the tree binds those below it too.
        while folder is not None and folder != folder.parent:
            if (quota := quota_of(folder)) is not None:
                cores = min(cores, quota)
            folder = folder.parent if (folder.parent / "cgroup.procs").exists() else None
    return cores


def _quota_v1(folder: Path) -> float | None:
    quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
    try:
        return int(quota) / int(period) if int(quota) > 0 else None
    except ValueError:
        return None


def _quota_v2(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def _turbo() -> bool | None:
    cpu = Path("/sys/devices/system/cpu")
    if off := _text(cpu / "intel_pstate/no_turbo").strip():
        return off == "0"
    if on := _text(cpu / "cpufreq/boost").strip():
        return on == "1"
    return None


def _meminfo(text: str, key: str) -> int:
    amount = re.search(rf"^{key}:\s*(\d+) kB", text, re.MULTILINE)
    return int(amount[1]) * 1024 if amount else 0


def _os_name(release: str) -> str:
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
    return name[1] if name else platform.system()


def _virtualisation(cpuinfo: str) -> str | None:
    below = _hypervisor(cpuinfo)
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return f"container on {below}" if below else "container"
    return below


def _hypervisor(cpuinfo: str) -> str | None:
    if "microsoft" in platform.release().lower():
        return "wsl"
    maker = " ".join(
        _text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    ).lower()
    flagged = re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE) is not None
    for word, name in _HYPERVISORS.items():
        # Makers of hypervisors make computers as well.
        if word in maker and (flagged or word in ("qemu", "kvm", "virtualbox", "vmware")):
            return name
    return "virtual machine" if flagged else None


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
