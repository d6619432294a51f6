"""Cuts a trial's samples to its phases and sums them up.

CPU use of a phase is the difference of the cumulative counter at its two ends, interpolated between
the samples around each end; so a phase shorter than the sampling period gets a figure too, and no
figure depends on which moments the readings happened to hit. The mean of memory or of GPU use needs
a reading within the phase.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

from dlbench.monitor.samples import Sample, Samples

_Number = TypeVar("_Number", int, float)
TRAINING = frozenset({"first-step", "warm-up", "train"})
_LEAST_COVERED = 0.5
"""A phase of which the samples cover less than this share gets no figure."""


class Stretch(NamedTuple):
    """One stretch of one phase, in seconds since launch. A phase may have many."""

    phase: str
    start: float
    end: float


@dataclass(frozen=True)
class PhaseUse:
    """What one phase used."""

    cpu_percent: float | None
    """Averaged over the allotted cores."""
    memory_peak_bytes: int | None


@dataclass(frozen=True)
class Resources:
    """What a trial used. None: it is not known."""

    source: str
    samples: int
    cpu_percent_mean: float | None = None
    """During training, averaged over the allotted cores: the studies' definition."""
    cpu_percent_of_one_core: float | None = None
    """During training; may exceed 100."""
    cpu_seconds: float | None = None
    """The whole trial's, by the kernel."""
    memory_peak_bytes: int | None = None
    """The whole trial's, all processes, by the kernel."""
    memory_mean_bytes: int | None = None
    """During training."""
    anon_peak_bytes: int | None = None
    """The peak without file cache, as sampled."""
    rss_main_mean_bytes: int | None = None
    """During training, the main process alone: what memory-profiler reports."""
    rss_main_peak_bytes: int | None = None
    system_cpu_percent_mean: float | None = None
    """During training, the whole machine: what psutil.cpu_percent reports."""
    gpu_util_percent_mean: float | None = None
    """During training, of the GPU that was used most: a trial trains on one of those it is given,
    and the idle ones would halve what that one did."""
    gpu_memory_peak_bytes: int | None = None
    """Of all GPUs together; of the trial's own processes where the driver tells them apart, else
    what all programs use more than at its launch."""
    gpu_power_w_mean: float | None = None
    """During training, of all GPUs together, other programs' share included."""
    gpu_energy_j: float | None = None
    """The whole trial's, of all GPUs together, other programs' share included."""
    gpu_energy_j_per_thousand: float | None = None
    """During training, for a thousand rows."""
    cpu_energy_j: float | None = None
    """The whole trial's, of all processors of the machine, other programs' share included."""
    cpu_energy_j_per_thousand: float | None = None
    """During training, for a thousand rows."""
    monitor_cpu_seconds: float | None = None
    per_phase: dict[str, PhaseUse] = field(default_factory=dict)


def summarise(recorded: Samples, phases: Iterable[Stretch], rows: float | None = None) -> Resources:
    """The figures of one trial; `rows`: how many it trained on."""
    samples = sorted(recorded.samples, key=lambda sample: sample.t)
    totals, cores = recorded.totals, recorded.cpus
    intervals = list(phases)
    training = [interval for interval in intervals if interval.phase in TRAINING]

    # All counters begin at 0 when the trial is launched.
    cpu = _Line([(0.0, 0.0)] + [(s.t, s.cpu_s) for s in samples if s.t > 0.0])
    memory = _Line([(s.t, float(s.memory_bytes)) for s in samples])
    rss = _line_of(samples, lambda s: s.rss_bytes)
    rates = [(s.t, s.system_cpu_percent) for s in samples]
    gpu_energy = _line_of(samples, lambda s: _sum(g.energy_j for g in s.gpus))
    cpu_energy = _line_of(samples, lambda s: s.cpu_energy_j)
    busy = cpu.rate(training)
    return Resources(
        source=recorded.source,
        samples=len(samples),
        cpu_percent_mean=_percent(busy, cores),
        cpu_percent_of_one_core=_percent(busy, 1.0),
        cpu_seconds=totals.cpu_s if totals else _highest(s.cpu_s for s in samples),
        memory_peak_bytes=(
            totals.memory_peak_bytes if totals else _highest(s.memory_bytes for s in samples)
        ),
        memory_mean_bytes=_whole(memory.mean(training)),
        anon_peak_bytes=(
            totals.anon_peak_bytes if totals else _highest(s.anon_bytes for s in samples)
        ),
        rss_main_mean_bytes=_whole(rss.mean(training)),
        rss_main_peak_bytes=(
            totals.rss_peak_bytes if totals else _highest(s.rss_bytes for s in samples)
        ),
        system_cpu_percent_mean=_rounded(_accumulated(rates).rate(training)),
        gpu_util_percent_mean=_gpu_use(samples, training),
        gpu_memory_peak_bytes=_gpu_memory_peak(samples),
        gpu_power_w_mean=_rounded(
            _line_of(samples, lambda s: _sum(g.power_w for g in s.gpus)).mean(training)
        ),
        gpu_energy_j=_highest(_sum(g.energy_j for g in s.gpus) for s in samples),
        gpu_energy_j_per_thousand=_per_thousand(gpu_energy, training, rows),
        cpu_energy_j=_highest(s.cpu_energy_j for s in samples),
        cpu_energy_j_per_thousand=_per_thousand(cpu_energy, training, rows),
        monitor_cpu_seconds=totals.monitor_cpu_s if totals else None,
        per_phase={
            phase: PhaseUse(
                _percent(cpu.rate(parts), cores),
                _whole(_highest(memory.peak(part.start, part.end) for part in parts)),
            )
            for phase, parts in _by_phase(intervals).items()
        },
    )


class _Line:
    """A quantity over time: straight between the points, unknown outside them."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self._times = [t for t, _ in points]
        self._values = [value for _, value in points]

    def at(self, t: float) -> float:
        right = min(max(bisect_right(self._times, t), 1), len(self._times) - 1)
        t0, t1 = self._times[right - 1], self._times[right]
        v0, v1 = self._values[right - 1], self._values[right]
        return v1 if t1 <= t0 else v0 + (v1 - v0) * (t - t0) / (t1 - t0)

    def rate(self, intervals: Iterable[Stretch]) -> float | None:
        """The rise per second over all the intervals together."""
        return self._average(intervals, lambda a, b: self.at(b) - self.at(a))

    def mean(self, intervals: Sequence[Stretch]) -> float | None:
        """The average height over all the intervals together; unknown where no point is in any:
        what was read before a short phase and after it says little of the phase."""
        inside = (bisect_left(self._times, one.start) < bisect_right(self._times, one.end)
                  for one in intervals)  # fmt: skip
        return self._average(intervals, self._area) if any(inside) else None

    def peak(self, start: float, end: float) -> float | None:
        """The highest point of an interval, its ends included."""
        known = self._known(start, end)
        return None if known is None else max(value for _, value in self._within(*known))

    def _average(
        self, intervals: Iterable[Stretch], measure: Callable[[float, float], float]
    ) -> float | None:
        wanted = covered = amount = 0.0
        for interval in intervals:
            wanted += interval.end - interval.start
            known = self._known(interval.start, interval.end)
            if known is not None:
                covered += known[1] - known[0]
                amount += measure(*known)
        return amount / covered if covered > 0.0 and covered >= _LEAST_COVERED * wanted else None

    def _known(self, start: float, end: float) -> tuple[float, float] | None:
        """The part of an interval that the points cover."""
        if len(self._times) < 2:
            return None
        start, end = max(start, self._times[0]), min(end, self._times[-1])
        return (start, end) if start < end else None

    def _within(self, start: float, end: float) -> list[tuple[float, float]]:
        inner = slice(bisect_right(self._times, start), bisect_right(self._times, end))
        between = zip(self._times[inner], self._values[inner], strict=True)
        return [(start, self.at(start)), *between, (end, self.at(end))]

    def _area(self, start: float, end: float) -> float:
        points = self._within(start, end)
        return sum((t1 - t0) * (v0 + v1) / 2.0 for (t0, v0), (t1, v1) in pairwise(points))


def _line_of(samples: Sequence[Sample], pick: Callable[[Sample], float | None]) -> _Line:
    points = [(sample.t, pick(sample)) for sample in samples]
    return _Line([(t, value) for t, value in points if value is not None])


def _accumulated(rates: list[tuple[float, float | None]]) -> _Line:
    """The integral of values that each hold for the time since the value before."""
    points = [(t, 0.0) for t, _ in rates[:1]]
    for t, value in rates[1:]:
        if value is not None:
            before, total = points[-1]
            points.append((t, total + value * (t - before)))
    return _Line(points)


def _by_phase(intervals: Iterable[Stretch]) -> dict[str, list[Stretch]]:
    phases: dict[str, list[Stretch]] = {}
    for interval in intervals:
        phases.setdefault(interval.phase, []).append(interval)
    return phases


def _gpu_use(samples: Sequence[Sample], training: Sequence[Stretch]) -> float | None:
    names = dict.fromkeys(gpu.gpu for sample in samples for gpu in sample.gpus)
    return _rounded(_highest(_use_of(name, samples).mean(training) for name in names))


def _use_of(name: str, samples: Sequence[Sample]) -> _Line:
    return _line_of(samples, lambda s: _highest(g.util_percent for g in s.gpus if g.gpu == name))


def _gpu_memory_peak(samples: Sequence[Sample]) -> int | None:
    """What the driver says of the trial's processes; where it lists none of them, as in a virtual
    machine or with process numbers of its own, what came to all programs' since the launch."""
    own = _highest(_sum(gpu.process_memory_bytes for gpu in sample.gpus) for sample in samples)
    if own:
        return _whole(own)
    every = [
        used
        for sample in samples
        if (used := _sum(gpu.memory_bytes for gpu in sample.gpus)) is not None
    ]
    return _whole(max(every) - every[0]) if every and max(every) > every[0] else None


def _per_thousand(energy: _Line, training: Sequence[Stretch], rows: float | None) -> float | None:
    watts = energy.rate(training)
    if watts is None or not rows:
        return None
    seconds = sum(part.end - part.start for part in training)
    return round(1000.0 * watts * seconds / rows, 4)


def _highest(values: Iterable[_Number | None]) -> _Number | None:
    return max((value for value in values if value is not None), default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _percent(rate: float | None, cores: float) -> float | None:
    return None if rate is None or cores <= 0.0 else round(100.0 * rate / cores, 2)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
