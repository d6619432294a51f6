"""The monitor on real processes, in control groups and without."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from dlbench.engines.base import Exit, Scope
from dlbench.engines.control_group import ControlGroup
from dlbench.errors import UserError
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import read_samples
from tests.orchestrator.monitor.load import Start, go, scope_of

BURN = """
import time
def burn(seconds):
    while time.process_time() < seconds: pass
"""


def kernel_cpu_s(group: ControlGroup) -> float:
    if unified := group.folders.get("unified"):
        return int((unified / "cpu.stat").read_text().split()[1]) / 1e6
    return int((group.folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9


def kernel_peak(group: ControlGroup) -> int:
    if unified := group.folders.get("unified"):
        return int((unified / "memory.peak").read_text())
    return int((group.folders["memory"] / "memory.max_usage_in_bytes").read_text())


def test_totals_of_a_control_group_are_the_kernels(
    start: Start, group: ControlGroup, tmp_path: Path
) -> None:
    process = start(BURN + "b = bytearray(150 << 20); burn(0.7); del b; time.sleep(0.3)")
    with Monitor(scope_of(process, group), tmp_path / "samples.jsonl", hz=10) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    assert totals.source in ("cgroup-v1", "cgroup-v2")
    assert totals.origin == "cgroup"
    assert totals.cpu_s == pytest.approx(kernel_cpu_s(group), rel=0.02)
    assert totals.memory_peak_bytes == pytest.approx(kernel_peak(group), rel=0.02)
    assert totals.memory_peak_bytes > 150 << 20
    assert totals.anon_peak_bytes is not None
    assert totals.sampled_cpu_s == pytest.approx(totals.cpu_s, rel=0.1)
    assert totals.rss_peak_bytes is not None and totals.rss_peak_bytes > 150 << 20
    assert 0.0 < totals.monitor_cpu_s < totals.cpu_s


def test_a_trial_that_ends_between_two_samples_has_a_peak(
    start: Start, group: ControlGroup, tmp_path: Path
) -> None:
    """The group is not charged for libraries that were in memory; the main process is."""
    process = start("import time; b = bytearray(60 << 20); time.sleep(0.6)")
    with Monitor(scope_of(process, group), tmp_path / "samples.jsonl", hz=0.5) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    assert totals.samples <= 2
    assert totals.rss_peak_bytes is not None and totals.rss_peak_bytes > 60 << 20


def test_the_file_holds_what_was_sampled(start: Start, group: ControlGroup, tmp_path: Path) -> None:
    process = start(BURN + "burn(0.6)")
    file = tmp_path / "samples.jsonl"
    with Monitor(scope_of(process, group), file, hz=10) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    recorded = read_samples(file)
    assert recorded is not None
    assert recorded.totals == totals
    assert recorded.torn == 0
    assert len(recorded.samples) == totals.samples >= 4
    times = [sample.t for sample in recorded.samples]
    used = [sample.cpu_s for sample in recorded.samples]
    assert times == sorted(times) and used == sorted(used)
    assert recorded.samples[-1].cpu_s == pytest.approx(totals.cpu_s, abs=1e-6)
    assert any(sample.system_cpu_percent for sample in recorded.samples)
    assert not any(sample.gpus for sample in recorded.samples)


def test_time_is_counted_from_the_launch(start: Start, tmp_path: Path) -> None:
    process = start("import time; time.sleep(60)")
    file = tmp_path / "samples.jsonl"
    zero = time.monotonic() - 1000.0
    with Monitor(scope_of(process), file, zero=zero):
        pass
    recorded = read_samples(file)
    assert recorded is not None
    assert 1000.0 <= recorded.samples[0].t <= time.monotonic() - zero


def test_waited_children_count_in_a_tree(start: Start, tmp_path: Path) -> None:
    process = start(
        """
        import subprocess, sys, time
        burn = "import time\\nwhile time.process_time() < 0.12: pass"
        for _ in range(6):
            subprocess.run([sys.executable, "-c", burn])
        time.sleep(0.5)
        """
    )
    monitor = Monitor(scope_of(process), tmp_path / "samples.jsonl", hz=10).start()
    go(process)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    totals = monitor.stop()
    assert totals.source == "process-tree"
    spent = usage.ru_utime + usage.ru_stime
    assert spent >= 0.72
    assert totals.sampled_cpu_s == pytest.approx(spent, abs=0.06)


def test_children_nobody_waits_for_count_too(start: Start, tmp_path: Path) -> None:
    process = start(
        BURN
        + """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets what such children used
for _ in range(2):
    done, end = os.pipe()
    if os.fork() == 0:
        burn(time.process_time() + 0.6)
        time.sleep(1)
        os._exit(0)
    os.close(end)
    os.read(done, 1)
time.sleep(0.3)
"""
    )
    file = tmp_path / "samples.jsonl"
    with Monitor(scope_of(process), file, hz=20) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    recorded = read_samples(file)
    assert recorded is not None
    used = [sample.cpu_s for sample in recorded.samples]
    assert used == sorted(used)
    assert totals.cpu_s is not None and totals.cpu_s >= 1.15


def test_orphans_stay_in_the_tree(start: Start, tmp_path: Path) -> None:
    process = start(
        BURN
        + """
import os
done, end = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.1)
        burn(time.process_time() + 0.6)
        time.sleep(1)
    os._exit(0)
os.close(end)
os.wait()
os.read(done, 1)
time.sleep(0.3)
"""
    )
    with Monitor(scope_of(process), tmp_path / "samples.jsonl", hz=10) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    assert totals.cpu_s is not None and totals.cpu_s >= 0.55


def test_what_wait_knew_closes_a_tree(start: Start, tmp_path: Path) -> None:
    process = start(BURN + "burn(0.3)")
    monitor = Monitor(scope_of(process), tmp_path / "samples.jsonl", hz=0.1).start()
    go(process)
    process.wait()
    totals = monitor.stop(Exit(0, cpu_seconds=0.3123, rss_peak_bytes=1 << 40))
    assert totals.origin == "rusage"
    assert totals.cpu_s == 0.3123
    assert totals.memory_peak_bytes == totals.rss_peak_bytes == 1 << 40
    assert totals.cpu_deviation is not None and totals.cpu_deviation < 0.0


@pytest.mark.parametrize("grouped", [True, False])
def test_it_ends_by_itself_with_the_trial(
    grouped: bool, start: Start, group: ControlGroup, tmp_path: Path
) -> None:
    process = start("")
    scope = scope_of(process, group if grouped else None)
    before = threading.active_count()
    monitor = Monitor(scope, tmp_path / "samples.jsonl", hz=20).start()
    assert threading.active_count() == before + 1
    go(process)
    process.wait()
    end = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.02)
    assert threading.active_count() == before
    assert monitor.stop() is monitor.stop()


def test_a_group_that_vanishes_is_no_error(
    start: Start, group: ControlGroup, tmp_path: Path
) -> None:
    # So does a container's when it ends: the daemon removes it at once.
    process = start(BURN + "burn(0.3); time.sleep(60)")
    with Monitor(scope_of(process, group), tmp_path / "samples.jsonl", hz=20) as monitor:
        go(process)
        while monitor.latest is None or monitor.latest.cpu_s < 0.2:
            time.sleep(0.05)
        group.remove()
        process.wait()
        totals = monitor.stop()
    assert totals.origin == "samples"
    assert totals.cpu_s is not None and totals.cpu_s >= 0.2
    assert totals.error is None


def test_it_ends_when_the_orchestrator_fails(start: Start, tmp_path: Path) -> None:
    process = start("import time; time.sleep(60)")
    before = threading.active_count()
    file = tmp_path / "samples.jsonl"
    with pytest.raises(RuntimeError), Monitor(scope_of(process), file):
        raise RuntimeError
    assert threading.active_count() == before
    recorded = read_samples(file)
    assert recorded is not None and recorded.totals is not None


def test_twenty_readings_a_second_keep_to_the_schedule(start: Start, tmp_path: Path) -> None:
    process = start("import time; time.sleep(60)")
    file = tmp_path / "samples.jsonl"
    with Monitor(scope_of(process), file, hz=20) as monitor:
        time.sleep(1.5)
        totals = monitor.stop()
    recorded = read_samples(file)
    assert recorded is not None
    during = recorded.samples[:-1]
    start_t = during[0].t - 0.001
    slots = [int((sample.t - start_t) * 20) for sample in during]
    # One reading a slot at most, and what is missing was counted.
    assert len(set(slots)) == len(slots) >= 10
    assert slots[-1] + 1 == len(slots) + totals.skipped


@pytest.mark.parametrize("hz", [0.0, 0.05, 21.0, -1.0])
def test_impossible_rates_are_refused(hz: float, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Hz"):
        Monitor(Scope(os.getpid(), 1.0), tmp_path / "samples.jsonl", hz=hz)


@pytest.mark.parametrize(
    ("file", "reason"), [("/dev/full", "No space left"), ("/nowhere/samples.jsonl", "No such file")]
)
def test_a_file_that_cannot_be_written_is_said_and_no_more(
    file: str, reason: str, start: Start, tmp_path: Path
) -> None:
    process = start(BURN + "burn(0.3); time.sleep(0.3)")
    with Monitor(scope_of(process), Path(file), hz=20) as monitor:
        go(process)
        process.wait()
        totals = monitor.stop()
    assert totals.error is not None and reason in totals.error
    assert totals.cpu_s is not None and totals.cpu_s >= 0.25
    assert totals.samples > 5


def test_a_live_view_sees_the_present(start: Start, group: ControlGroup, tmp_path: Path) -> None:
    process = start(BURN + "burn(60)")
    with Monitor(scope_of(process, group), tmp_path / "samples.jsonl", hz=10) as monitor:
        go(process)
        end = time.monotonic() + 20.0
        while (monitor.cpu_percent() or 0.0) < 20.0 and time.monotonic() < end:
            time.sleep(0.1)
        percent = monitor.cpu_percent()
        assert percent is not None and 20.0 <= percent < 150.0
        assert monitor.latest is not None and monitor.latest.rss_bytes
