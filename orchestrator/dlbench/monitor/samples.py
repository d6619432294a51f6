"""What the monitor measures, and how `samples.jsonl` holds it.

The file is described in bench/FORMATS.md. It is appended to line by line while a trial runs, so a
reader must cope with a file that ends in the middle of a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dlbench.engines.outfolder import open_regular
from dlbench.formats import check_version
from dlbench.monitor.rate import DEFAULT_HZ
from dlbench.shapes import BYTES, SECONDS, instance_of, label, list_of, number, optional, record

VERSION = 1
_MOST_BYTES = 512 << 20
"""Of a file, that are read: a day at 20 samples a second."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a source's counters, for all of the trial's processes together."""

    cpu_s: float
    """CPU time used so far; never falls."""
    memory_bytes: int
    peak_bytes: int | None
    """The kernel's own high-water mark, where it keeps one."""


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One look at one GPU. What the driver does not tell is None."""

    gpu: str
    """The device's index."""
    util_percent: float | None = None
    memory_bytes: int | None = None
    """Used on the whole device, by any program."""
    process_memory_bytes: int | None = None
    """Used by the trial's own processes."""
    power_w: float | None = None
    energy_j: float | None = None
    """Since the monitor began."""
    temperature_c: int | None = None
    throttle: int | None = None
    """NVML's bits for why the clocks are lowered; 0: they are not."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timestamped reading of a running trial."""

    t: float
    """Seconds since the trial's launch, by the monotonic clock."""
    cpu_s: float
    memory_bytes: int
    rss_bytes: int | None = None
    """Resident memory of the main process alone; None when it is not visible or has ended."""
    system_cpu_percent: float | None = None
    """The whole machine's, since it was last given; read once a second at most."""
    anon_bytes: int | None = None
    """The part of the memory that is not file cache; read once a second at most."""
    gpus: tuple[GpuSample, ...] = ()
    cpu_energy_j: float | None = None
    """Of the machine's processors since the monitor began; read once a second at most."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What closes a trial: the kernel's own totals, and how far the samples were from them."""

    source: str
    origin: str
    """Who gave the totals: `cgroup`, `rusage` or, where neither outlived the trial, `samples`."""
    cpu_s: float | None
    memory_peak_bytes: int | None
    rss_peak_bytes: int | None
    anon_peak_bytes: int | None
    sampled_cpu_s: float | None
    """As the last sample taken during the run had it."""
    sampled_memory_peak_bytes: int | None
    cpu_deviation: float | None
    """Sampled over kernel's, less one."""
    memory_deviation: float | None
    samples: int
    skipped: int
    """Readings that were due but not taken, because the machine was late."""
    monitor_cpu_s: float
    error: str | None = None
    """Why samples are missing from the file, if some are."""
    gpu_reason: str | None = None
    """Why GPUs that were asked for were not sampled."""
    cpu_energy_reason: str | None = None
    """Why there is no energy of the processors."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The content of one `samples.jsonl`."""

    source: str
    hz: float
    cpus: float
    gpus: tuple[str, ...]
    samples: tuple[Sample, ...]
    totals: Totals | None
    """None: the orchestrator was killed before the trial ended."""
    torn: int = 0
    """Lines that could not be read."""


def header_line(source: str, hz: float, cpus: float, gpus: tuple[str, ...]) -> bytes:
    """The file's first line."""
    return _line({"v": VERSION, "source": source, "hz": hz, "cpus": cpus, "gpus": list(gpus)})


def sample_line(sample: Sample) -> bytes:
    """One sample's line."""
    content: dict[str, Any] = {
        "t": round(sample.t, 4),
        "cpu_s": round(sample.cpu_s, 6),
        "memory_bytes": sample.memory_bytes,
        "rss_bytes": sample.rss_bytes,
        "system_cpu_percent": sample.system_cpu_percent,
    }
    if sample.anon_bytes is not None:
        content["anon_bytes"] = sample.anon_bytes
    if sample.cpu_energy_j is not None:
        content["cpu_energy_j"] = sample.cpu_energy_j
    if sample.gpus:
        content["gpus"] = [_plain(gpu) for gpu in sample.gpus]
    return _line(content)


def totals_line(totals: Totals) -> bytes:
    """The file's last line."""
    return _line({"totals": True, **_plain(totals)})


def read_samples(path: Path) -> Samples | None:
    """The samples in `path`; None if there is no such file or not even its first line is whole.

    The file may be somebody else's: a line that is not what it must be is not read."""
    try:
        with open_regular(path) as file:
            lines = file.read(_MOST_BYTES).split(b"\n")
    except OSError:
        return None
    header: dict[str, Any] | None = None
    samples: list[Sample] = []
    totals: Totals | None = None
    torn = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            if header is None:
                if not isinstance(content, dict) or "v" not in content:
                    raise ValueError("not a header")
                check_version(content, VERSION, path)
                header = _HEADER(content)
            elif isinstance(content, dict) and content.get("totals"):
                totals = _TOTALS(content)
            else:
                samples.append(_SAMPLE(content))
        except (ValueError, RecursionError):
            torn += 1
    if header is None:
        return None
    return Samples(
        source=header.get("source", ""),
        hz=float(header.get("hz", DEFAULT_HZ)),
        cpus=float(header.get("cpus", 1.0)),
        gpus=tuple(header.get("gpus", ())),
        samples=tuple(samples),
        totals=totals,
        torn=torn,
    )


def parse_sample(line: bytes) -> Sample | None:
    """One line of a file that is still growing; None for the first, the last and a torn one."""
    try:
        sample: Sample = _SAMPLE(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return sample


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _plain(record: GpuSample | Totals) -> dict[str, Any]:
    # dataclasses.asdict copies deeply, which costs more than the readings themselves.
    return {field.name: getattr(record, field.name) for field in fields(record)}


_BYTES, _SECONDS, _PERCENT = optional(BYTES), optional(SECONDS), optional(number(0.0, 1e6))
_POSITIVE, _ANY = optional(number(0.0)), optional(number())
_GPU = instance_of(
    GpuSample, gpu=label, util_percent=_PERCENT, memory_bytes=_BYTES, process_memory_bytes=_BYTES,
    power_w=_POSITIVE, energy_j=_POSITIVE, temperature_c=_ANY, throttle=_ANY,
)  # fmt: skip
_SAMPLE = instance_of(
    Sample, t=SECONDS, cpu_s=SECONDS, memory_bytes=BYTES, rss_bytes=_BYTES, anon_bytes=_BYTES,
    system_cpu_percent=_PERCENT, gpus=list_of(_GPU, 64), cpu_energy_j=_POSITIVE,
)  # fmt: skip
_TOTALS = instance_of(
    Totals, source=label, origin=label, cpu_s=_SECONDS, memory_peak_bytes=_BYTES,
    rss_peak_bytes=_BYTES, anon_peak_bytes=_BYTES, sampled_cpu_s=_SECONDS,
    sampled_memory_peak_bytes=_BYTES, monitor_cpu_s=SECONDS,
)  # fmt: skip
_HEADER = record(
    {"source": label, "hz": number(0.0, 1e6), "cpus": number(0.0, 1e6), "gpus": list_of(label, 64)}
)
