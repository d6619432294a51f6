"""Readings from NVIDIA's management library (NVML), per device and, by process, per trial.

Drivers differ in what they can tell. Each value is asked for by itself: what a driver lacks is None
and is not asked for again, everything else goes on. Without driver or library nothing is sampled
and the reason is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from dlbench.monitor.samples import GpuSample

_DRIVER = Path("/proc/driver/nvidia/version")
"""It is there where the kernel has NVIDIA's driver."""
_SMI = "`nvidia-smi` says more."
_OF_WINDOWS = Path("/usr/lib/wsl/lib")
"""Where WSL has the libraries of the driver in Windows."""


@dataclass(frozen=True)
class GpuCard:
    """What of a GPU is recorded: all but its UUID."""

    name: str
    memory_bytes: int | None
    compute: str | None
    """The compute capability: `8.6`."""
    processes: int | None = None
    """Programs that compute on it now; None: the driver does not say."""
    persistence: bool | None = None
    """The driver stays loaded while nobody uses the GPU."""
    ecc: bool | None = None
    clock_mhz: int | None = None
    """The clock of the processors now."""
    clock_limit_mhz: int | None = None
    index: int | None = None
    """As the driver numbers it; None: it was not recorded."""
    digest: str | None = None
    """Of its UUID, as bench records the GPUs that it sees."""


@dataclass(frozen=True, kw_only=True)
class Device(GpuCard):
    """One GPU as the driver describes it."""

    index: int
    uuid: str
    divided: bool = False
    """It is in MIG mode: programs can use its parts only."""
    parts: tuple[Device, ...] = ()
    """Its MIG devices; each has the index of the GPU that it is a part of."""

    @property
    def card(self) -> GpuCard:
        known = {each.name: getattr(self, each.name) for each in fields(GpuCard)}
        return GpuCard(**{**known, "digest": digest_of(self.uuid) if self.uuid else None})


@dataclass(frozen=True, slots=True)
class Inventory:
    """All GPUs of this machine; why none, or not every one, can be used."""

    devices: tuple[Device, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    """The newest CUDA version the driver supports."""
    reason: str | None = None
    remedy: str = ""
    """What to do about it."""


class _Why(NamedTuple):
    """Why there is no GPU, and what to do about it."""

    reason: str | None = None
    remedy: str = ""


def inventory() -> Inventory:
    """The machine's GPUs, through NVML."""
    nvml, why = _initialise()
    if nvml is None:
        return Inventory(reason=why.reason, remedy=why.remedy)
    try:
        handles, why = _openable(nvml)
        devices = tuple(_describe(nvml, handle) for handle in handles)
        cuda = _ask(nvml, "nvmlSystemGetCudaDriverVersion")
        return Inventory(
            devices=devices,
            driver=_ask(nvml, "nvmlSystemGetDriverVersion"),
            cuda=None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
            reason=why.reason,
            remedy=why.remedy,
        )
    except nvml.NVMLError as error:
        why = _why(nvml, error)
        return Inventory(reason=why.reason, remedy=why.remedy)
    finally:
        _shut_down(nvml)


def digests(selection: Sequence[str]) -> tuple[str, ...]:
    """The chosen GPUs' UUIDs as digests, which bench compares with what it sees; it names none."""
    nvml, _ = _initialise()
    if nvml is None:
        return ()
    try:
        uuids = (_ask(nvml, "nvmlDeviceGetUUID", each) for each in _handles(nvml, selection))
        return tuple(digest_of(str(uuid)) for uuid in uuids if uuid)
    except nvml.NVMLError:
        return ()  # the engine, or the trial, will say that there is no such GPU
    finally:
        _shut_down(nvml)


def digest_of(uuid: str) -> str:
    """A GPU's UUID as it is recorded, as bench/gpus.py makes it."""
    digits = re.sub(r"[^0-9a-f]", "", uuid.lower())
    return hashlib.sha256(digits[-32:].encode()).hexdigest()[:16]


class Gpus:
    """The chosen GPUs of a running trial. `reason`: why there are none, if any were asked for."""

    def __init__(self, selection: Sequence[str]) -> None:
        self.reason: str | None = None
        self._devices: list[_Watched] = []
        self._nvml: Any = None
        if not selection:
            return
        nvml, why = _initialise()
        if nvml is None:
            self.reason = why.reason
            return
        self._nvml = nvml
        try:
            self._devices = [_Watched(nvml, handle) for handle in _handles(nvml, selection)]
        except nvml.NVMLError as error:
            self.reason = f"{_said(error)}."
        else:
            if not self._devices:
                self.reason = "The driver reports no GPU."

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(device.name for device in self._devices)

    @property
    def lost(self) -> str | None:
        """The GPU that vanished while it was watched, by its index."""
        return next((device.name for device in self._devices if device.lost), None)

    def read(self, pids: frozenset[int]) -> tuple[GpuSample, ...]:
        """One sample per device; `pids` are the trial's processes."""
        return tuple(device.read(pids) for device in self._devices)

    def close(self) -> None:
        if self._nvml is not None:
            _shut_down(self._nvml)
            self._nvml = None
            self._devices = []


class _Watched:
    """One device, the questions its driver can answer, and its energy so far."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._silent: set[str] = set()
        self.lost = False
        index = self._ask("nvmlDeviceGetIndex")
        self.name = str(0 if index is None else index)
        self._energy_start: int | None = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        self._energy_j = 0.0
        self._power_before: tuple[float, float] | None = None

    def read(self, pids: frozenset[int]) -> GpuSample:
        nvml = self._nvml
        rates = self._ask("nvmlDeviceGetUtilizationRates")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        milliwatts = self._ask("nvmlDeviceGetPowerUsage")
        power = None if milliwatts is None else milliwatts / 1000.0
        return GpuSample(
            gpu=self.name,
            util_percent=None if rates is None else float(rates.gpu),
            memory_bytes=None if memory is None else int(memory.used),
            process_memory_bytes=self._process_memory(pids),
            power_w=power,
            energy_j=self._energy(power),
            temperature_c=self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            throttle=self._ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
        )

    def _energy(self, power: float | None) -> float | None:
        if self._energy_start is not None:
            total = self._ask("nvmlDeviceGetTotalEnergyConsumption")
            if total is not None and total >= self._energy_start:
                self._energy_j = float(total - self._energy_start) / 1000.0
                return round(self._energy_j, 3)
            # It is no longer told, or begins anew: the GPU was reset. What it used goes on.
            self._energy_start = None
        if power is None:
            return None
        now = time.monotonic()
        if self._power_before is not None:
            then, before = self._power_before
            self._energy_j += (now - then) * (power + before) / 2.0
        self._power_before = now, power
        return round(self._energy_j, 3)

    def _process_memory(self, pids: frozenset[int]) -> int | None:
        if not pids:
            return None
        processes = _running(self._ask)
        if processes is None:
            return None
        mine = [process.usedGpuMemory for process in processes if process.pid in pids]
        known = [used for used in mine if used is not None]
        # The driver lists the process but may not say how much it uses: that is not nothing.
        return None if mine and not known else sum(known)

    def _ask(self, question: str, *arguments: Any) -> Any:
        """The driver's answer; None if it has none, after which it is not asked again."""
        if question in self._silent:
            return None
        try:
            return getattr(self._nvml, question)(self._handle, *arguments)
        except self._nvml.NVMLError as error:
            lasting = (
                self._nvml.NVML_ERROR_NOT_SUPPORTED,
                self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
                self._nvml.NVML_ERROR_NO_PERMISSION,
                self._nvml.NVML_ERROR_GPU_IS_LOST,
            )
            code = getattr(error, "value", None)
            self.lost = self.lost or code == self._nvml.NVML_ERROR_GPU_IS_LOST
            if code in lasting:
                self._silent.add(question)
            return None
        except AttributeError:
            self._silent.add(question)
            return None


def _initialise() -> tuple[Any, _Why]:
    """The ready library, or None and why."""
    try:
        import pynvml
    except ImportError:
        return None, _Why("The package nvidia-ml-py is not installed.", "Install it with pip.")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return None, _why(pynvml, error)
    return pynvml, _Why()


def _why(nvml: Any, error: Any) -> _Why:
    """Why the driver, or a GPU, can't be asked, and what to do about it."""
    code = getattr(error, "value", None)
    if "microsoft" in platform.release().lower() and (why := _why_in_wsl(nvml, error)):
        return why
    if code == nvml.NVML_ERROR_LIBRARY_NOT_FOUND and _DRIVER.exists():
        return _Why(
            "The NVIDIA driver is loaded, but libnvidia-ml.so.1 was not found.",
            "Install the driver's libraries, or name their folder in LD_LIBRARY_PATH.",
        )
    if code == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return _Why(
            "No NVIDIA driver is installed (libnvidia-ml.so.1 was not found).",
            "Install NVIDIA's driver if this machine has one of its GPUs.",
        )
    if code == nvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return _Why(
            "The NVIDIA driver is installed but not loaded.",
            "`sudo modprobe nvidia` loads it, or says why not.",
        )
    if code == nvml.NVML_ERROR_NO_PERMISSION:
        return _Why(
            "This user may not open the GPU's device files.",
            "`ls -l /dev/nvidia*` shows the group that may: join it, then log in again.",
        )
    if code == nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return _Why(
            "The NVIDIA driver was updated, and the one before is still loaded.",
            "Restart this machine.",
        )
    return _Why(f"{_said(error)}.", _SMI)


def _said(error: Any) -> str:
    """In the words of the library, some of which end in a full stop."""
    return f"NVML: {error}".rstrip(".")


def _why_in_wsl(nvml: Any, error: Any) -> _Why | None:
    """As `_why`, in Windows' Subsystem for Linux: its driver is that of Windows, and one that is
    installed in Linux would hide it."""
    code = getattr(error, "value", None)
    if code == nvml.NVML_ERROR_LIBRARY_NOT_FOUND and (_OF_WINDOWS / "libnvidia-ml.so.1").exists():
        return _Why(
            f"libnvidia-ml.so.1 is in {_OF_WINDOWS}, where the loader does not look.",
            f"Name that folder in LD_LIBRARY_PATH: `export LD_LIBRARY_PATH={_OF_WINDOWS}`.",
        )
    unseen = {
        nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "libnvidia-ml.so.1 was not found",
        nvml.NVML_ERROR_DRIVER_NOT_LOADED: _said(error),
        nvml.NVML_ERROR_OPERATING_SYSTEM: _said(error),
    }
    if code not in unseen:
        return None
    return _Why(
        f"WSL shows no NVIDIA driver of Windows ({unseen[code]}).",
        "If this machine has one of NVIDIA's GPUs, install or update the driver in Windows, not in"
        " Linux, then run `wsl --update` and `wsl --shutdown` there.",
    )


def _shut_down(nvml: Any) -> None:
    # A failure can neither be mended nor matters: nothing is read afterwards.
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()


def _openable(nvml: Any) -> tuple[list[Any], _Why]:
    """The GPUs that can be asked, and why there are no more: a broken one hides no other."""
    handles, why = [], _Why()
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handles.append(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            why = _why(nvml, error)
    return handles, why if handles or why.reason else _Why("The driver reports no GPU.", _SMI)


def _handles(nvml: Any, selection: Sequence[str]) -> list[Any]:
    selection = [choice.rpartition("=")[2] for choice in selection]  # of a CDI name, its end
    if "all" in selection:
        return _openable(nvml)[0]
    return [
        nvml.nvmlDeviceGetHandleByIndex(int(choice))
        if choice.isdigit()
        else nvml.nvmlDeviceGetHandleByUUID(choice)
        for choice in selection
        if choice != "none"
    ]


def _describe(nvml: Any, handle: Any) -> Device:
    device = _described(nvml, handle)
    mode = _ask(nvml, "nvmlDeviceGetMigMode", handle)
    if mode is None or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return device
    places = range(_ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle) or 0)
    found = (_ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, place) for place in places)
    parts = (_described(nvml, part) for part in found if part is not None)
    own = tuple(
        replace(part, index=device.index, compute=part.compute or device.compute) for part in parts
    )
    return replace(device, divided=True, parts=own)


def _described(nvml: Any, handle: Any) -> Device:
    memory = _ask(nvml, "nvmlDeviceGetMemoryInfo", handle)
    compute = _ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle)
    persistence = _ask(nvml, "nvmlDeviceGetPersistenceMode", handle)
    ecc = _ask(nvml, "nvmlDeviceGetEccMode", handle)
    running = _running(lambda question: _ask(nvml, question, handle))
    return Device(
        index=int(_ask(nvml, "nvmlDeviceGetIndex", handle) or 0),
        name=str(_ask(nvml, "nvmlDeviceGetName", handle) or "unknown"),
        uuid=str(_ask(nvml, "nvmlDeviceGetUUID", handle) or ""),
        memory_bytes=None if memory is None else int(memory.total),
        compute=None if compute is None else f"{compute[0]}.{compute[1]}",
        processes=None if running is None else len(running),
        persistence=None if persistence is None else bool(persistence),
        ecc=None if ecc is None else bool(ecc[0]),
        clock_mhz=_ask(nvml, "nvmlDeviceGetClockInfo", handle, nvml.NVML_CLOCK_SM),
        clock_limit_mhz=_ask(nvml, "nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_SM),
    )


def _running(ask: Callable[[str], Any]) -> list[Any] | None:
    """The programs that compute on a GPU; older drivers know the question by another name."""
    for question in (
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetComputeRunningProcesses_v2",
    ):
        processes = ask(question)
        if processes is not None:
            return list(processes)
    return None


def _ask(nvml: Any, question: str, *arguments: Any) -> Any:
    """The driver's answer to one question; None: it has none."""
    try:
        return getattr(nvml, question)(*arguments)
    except (nvml.NVMLError, AttributeError):
        return None
