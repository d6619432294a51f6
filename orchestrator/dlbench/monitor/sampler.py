"""The monitor: one thread that samples one trial from its launch to its end.

It must never harm what it watches. It takes the readings on a fixed schedule (a late one is left
out, not made up for), it ends by itself when the trial's main process has ended, and neither a full
disk nor a vanished counter is an error: the totals say what is missing.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from dlbench.engines.base import Exit, Scope
from dlbench.monitor.gpu import Gpus
from dlbench.monitor.lines import Lines
from dlbench.monitor.main_process import MainProcess, SystemCpu
from dlbench.monitor.rapl import CpuEnergy
from dlbench.monitor.rate import DEFAULT_HZ, check_rate
from dlbench.monitor.samples import (
    GpuSample,
    Reading,
    Sample,
    Totals,
    header_line,
    sample_line,
    totals_line,
)
from dlbench.monitor.source import CounterSource, Gone, StatsStream, choose

_SECOND = 0.999
"""Costly readings and the writing are this far apart at least: a little less than a second, so that
at 1 Hz each sample has everything. At 10 Hz this halves what the monitor costs."""
_YOUNG, _OFTEN = 5.0, 0.1
"""So long, and so often, the high-water mark is read between samples, in seconds: a short trial may
be over before the next one is taken."""


class Monitor:
    """Samples the trial in `scope` into `file` until `stop`. A context manager."""

    def __init__(
        self,
        scope: Scope,
        file: Path,
        hz: float = DEFAULT_HZ,
        zero: float | None = None,
        gpus: tuple[str, ...] = (),
        stats: StatsStream | None = None,
    ) -> None:
        check_rate(hz)
        self.latest: Sample | None = None
        """The newest sample, for a live view."""
        self.previous: Sample | None = None
        self._scope = scope
        self._hz = hz
        self._zero = time.monotonic() if zero is None else zero
        self._selection = gpus
        self._file = Lines(file)
        self._source: CounterSource = choose(scope, stats)
        self._main = MainProcess(scope.pid)
        self._system = SystemCpu()
        self._energy = CpuEnergy()
        self._gpus: Gpus | None = None
        self._seen = _Seen()
        self._unwritten: list[Sample] = []
        self._slow_due = 0.0
        self._broken: str | None = None
        self._thread_cpu_s = 0.0
        self._totals: Totals | None = None
        # Held while sampling goes on: waiting for a lock costs less than waiting for an Event.
        self._sampling = threading.Lock()
        self._sampling.acquire()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    def start(self) -> Monitor:
        """Begin to sample; the first reading is taken at once."""
        self._thread.start()
        return self

    def cpu_percent(self) -> float | None:
        """CPU use between the two newest samples, in percent of one core, for a live view."""
        before, now = self.previous, self.latest
        if before is None or now is None or now.t <= before.t:
            return None
        return 100.0 * (now.cpu_s - before.cpu_s) / (now.t - before.t)

    @property
    def lost_gpu(self) -> str | None:
        """The GPU that vanished while the trial ran, by its index."""
        return self._gpus.lost if self._gpus is not None else None

    def stop(self, exit: Exit | None = None) -> Totals:
        """End the sampling, take the last reading, close the file. `exit` adds what wait() knew."""
        if self._totals is not None:
            return self._totals
        self._sampling.release()
        if self._thread.ident is not None:
            # Only a driver that hangs could hold the thread up; it must not hold up the campaign.
            self._thread.join(10.0)
        began = time.thread_time()
        during = replace(self._seen)
        kernel = self._last_reading()
        self._write_samples()
        self._totals = self._sum_up(during, kernel, exit, began)
        self._file.write(totals_line(self._totals))
        self._file.close()
        if not self._thread.is_alive():
            self._source.close()
            self._main.close()
            self._system.close()
            if self._gpus is not None:
                self._gpus.close()
        return self._totals

    def __enter__(self) -> Monitor:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._gpus = Gpus(self._selection)
            self._file.write(
                header_line(self._source.name, self._hz, self._scope.cpus, self._gpus.names)
            )
            start, due = time.monotonic(), 0
            while self._sample():
                # The next moment of the schedule that is still to come: late ones are left out.
                next_due = math.floor((time.monotonic() - start) * self._hz) + 1
                self._seen.skipped += next_due - due - 1
                due = next_due
                if self._ends_before(start + due / self._hz, start + _YOUNG):
                    break
        except Gone:
            pass
        except Exception as error:
            # Nobody waits for this thread's errors; the trial's record is where they are seen.
            self._broken = f"The monitor ended early: {error!r}."
        finally:
            self._thread_cpu_s = time.thread_time()

    def _ends_before(self, due: float, grown: float) -> bool:
        """Wait until the next sample is due; True: no more are wanted."""
        while (pause := due - time.monotonic()) > _OFTEN and due - pause < grown:
            if self._sampling.acquire(timeout=_OFTEN):
                return True
            self._seen.keep_rss(self._main.peak())
        return self._sampling.acquire(timeout=max(0.0, pause))

    def _sample(self) -> bool:
        """Take one sample; False when the trial's main process has ended."""
        now = time.monotonic()
        reading = self._source.read()
        rss = self._main.rss()
        if reading is not None:
            self._record(now, reading, rss)
        return rss is not None or not self._main.visible

    def _record(self, now: float, reading: Reading, rss: int | None) -> None:
        anon = system = energy = None
        if slow := now >= self._slow_due:
            self._slow_due = now + _SECOND
            anon = self._source.anon()
            system = self._system.percent()
            energy = self._energy.joules()
            self._seen.keep_rss(self._main.peak())
        gpus: tuple[GpuSample, ...] = ()
        if self._gpus is not None and self._gpus.names:
            gpus = self._gpus.read(self._source.pids())
        sample = Sample(
            t=now - self._zero,
            cpu_s=reading.cpu_s,
            memory_bytes=reading.memory_bytes,
            rss_bytes=rss,
            system_cpu_percent=system,
            anon_bytes=anon,
            gpus=gpus,
            cpu_energy_j=energy,
        )
        self._seen.keep(sample, reading)
        self.previous, self.latest = self.latest, sample
        self._unwritten.append(sample)
        if slow:
            self._write_samples()

    def _write_samples(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        self._file.write(b"".join(map(sample_line, unwritten)))

    def _last_reading(self) -> Reading | None:
        """What the counters say after the trial's end; None where they went with it."""
        if self._thread.is_alive():
            return None
        now = time.monotonic()
        self._slow_due = now
        try:
            reading = self._source.read()
            if reading is not None:
                self._record(now, reading, self._main.rss())
        except Gone:
            return None
        return reading

    def _sum_up(
        self, during: _Seen, kernel: Reading | None, exit: Exit | None, began: float
    ) -> Totals:
        seen = self._seen
        cpu_s, peak, origin = seen.cpu_s, seen.peak_bytes, "samples"
        rss_peak = seen.rss_bytes
        if kernel is not None and self._source.origin == "cgroup":
            origin = "cgroup"
        elif exit is not None and exit.cpu_seconds is not None:
            origin = "rusage"
            # Its sum lacks processes nobody waited for, the samples lack the last moments.
            cpu_s = max(cpu_s or 0.0, exit.cpu_seconds)
        if exit is not None and exit.rss_peak_bytes is not None:
            # Growth in the last moments: the high-water mark was last read up to a second ago.
            rss_peak = max(rss_peak or 0, exit.rss_peak_bytes)
            if self._source.origin != "cgroup":
                peak = max(peak or 0, exit.rss_peak_bytes)
        gpu_reason = self._gpus.reason if self._gpus is not None else None
        return Totals(
            source=self._source.name,
            origin=origin,
            cpu_s=cpu_s,
            memory_peak_bytes=peak,
            rss_peak_bytes=rss_peak,
            anon_peak_bytes=seen.anon_bytes,
            sampled_cpu_s=during.cpu_s,
            sampled_memory_peak_bytes=during.memory_bytes,
            cpu_deviation=_deviation(during.cpu_s, cpu_s),
            memory_deviation=_deviation(during.memory_bytes, peak),
            samples=seen.samples,
            skipped=seen.skipped,
            monitor_cpu_s=round(
                self._thread_cpu_s + self._source.cpu_seconds() + time.thread_time() - began, 6
            ),
            error=self._broken or self._file.error,
            gpu_reason=gpu_reason,
            cpu_energy_reason=self._energy.reason,
        )


@dataclass
class _Seen:
    """The highest values so far: all that must be remembered of past samples."""

    samples: int = 0
    skipped: int = 0
    cpu_s: float | None = None
    memory_bytes: int | None = None
    peak_bytes: int | None = None
    rss_bytes: int | None = None
    anon_bytes: int | None = None

    def keep(self, sample: Sample, reading: Reading) -> None:
        self.samples += 1
        self.cpu_s = max(self.cpu_s or 0.0, sample.cpu_s)
        self.memory_bytes = max(self.memory_bytes or 0, sample.memory_bytes)
        self.peak_bytes = max(self.peak_bytes or 0, self.memory_bytes, reading.peak_bytes or 0)
        if sample.anon_bytes is not None:
            self.anon_bytes = max(self.anon_bytes or 0, sample.anon_bytes)
        self.keep_rss(sample.rss_bytes)

    def keep_rss(self, rss: int | None) -> None:
        if rss is not None:
            self.rss_bytes = max(self.rss_bytes or 0, rss)


def _deviation(sampled: float | None, total: float | None) -> float | None:
    return None if sampled is None or not total else round(sampled / total - 1.0, 6)
