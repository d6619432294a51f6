"""The processors' energy, from a stand-in for the kernel's folder of counters."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlbench.engines.base import Scope
from dlbench.monitor import rapl
from dlbench.monitor.rapl import CpuEnergy
from dlbench.monitor.resources import Stretch, summarise
from dlbench.monitor.sampler import Monitor
from dlbench.monitor.samples import Sample, Samples, read_samples


def zone(root: Path, place: str, name: str, energy: int = 0, full: int = 262_143_000_000) -> Path:
    folder = root / place
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "max_energy_range_uj").write_text(f"{full}\n")
    (folder / "energy_uj").write_text(f"{energy}\n")
    return folder / "energy_uj"


def test_packages_are_added_up_and_nothing_is_counted_twice(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    core = zone(tmp_path, "intel-rapl:0:0", "core", 1_000_000)
    whole = zone(tmp_path, "intel-rapl:2", "psys", 1_000_000)
    energy = CpuEnergy(tmp_path)
    assert (energy.reason, energy.joules()) == (None, 0.0)
    for counter, amount in ((first, 8_000_000), (second, 7_500_000), (core, 9e6), (whole, 99e6)):
        counter.write_text(str(int(amount)))
    assert energy.joules() == 3.5


def test_a_counter_that_begins_again_goes_on(tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", "package-0", 9_000_000, full=10_000_000)
    energy = CpuEnergy(tmp_path)
    for value, total in ((9_500_000, 0.5), (500_000, 1.5), (400_000, 11.4), (400_000, 11.4)):
        counter.write_text(str(value))
        assert energy.joules() == pytest.approx(total)


def test_where_there_is_none_the_reason_says_why(tmp_path: Path) -> None:
    assert CpuEnergy(tmp_path / "nothing").reason == (
        "The kernel offers no energy counters (powercap) here."
    )
    zone(tmp_path, "intel-rapl:0", "psys")
    energy = CpuEnergy(tmp_path)
    assert energy.joules() is None
    assert energy.reason == "The kernel has no energy counter of a processor package here."


@pytest.mark.parametrize("content", ["", "not a number", "\xff"])
def test_a_counter_that_makes_no_sense_is_none(content: str, tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", "package-0")
    counter.write_text(content)
    energy = CpuEnergy(tmp_path)
    assert energy.joules() is None
    assert "can't be read" in (energy.reason or "")


def test_a_counter_that_goes_away_is_not_an_error(tmp_path: Path) -> None:
    counter = zone(tmp_path, "intel-rapl:0", "package-0")
    energy = CpuEnergy(tmp_path)
    counter.unlink()
    assert energy.joules() is None and energy.joules() is None
    assert "can no longer be read" in (energy.reason or "")


def test_counters_for_root_alone_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0")

    def refuse(path: Path) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return path.read_text()

    monkeypatch.setattr(rapl, "_text", refuse)
    energy = CpuEnergy(tmp_path)
    assert energy.joules() is None
    assert energy.reason == "Only root may read the kernel's energy counters here."


def test_a_trial_s_energy_is_sampled_and_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = zone(tmp_path / "rapl", "intel-rapl:0", "package-0")
    monkeypatch.setattr(rapl, "ROOT", tmp_path / "rapl")
    file = tmp_path / "samples.jsonl"
    trial = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    try:
        with Monitor(Scope(trial.pid, 1.0), file, hz=20) as monitor:
            while monitor.latest is None:
                time.sleep(0.02)
            counter.write_text("12500000")
            totals = monitor.stop()
    finally:
        trial.kill()
        trial.wait()
    recorded = read_samples(file)
    assert recorded is not None and totals.cpu_energy_reason is None
    assert recorded.samples[-1].cpu_energy_j == 12.5
    assert summarise(recorded, []).cpu_energy_j == 12.5


def test_energy_for_a_thousand_rows_is_that_of_training() -> None:
    samples = tuple(
        Sample(t=float(t), cpu_s=0.0, memory_bytes=1, cpu_energy_j=20.0 * t) for t in range(11)
    )
    recorded = Samples("tree", 1.0, 1.0, (), samples, None)
    found = summarise(recorded, [Stretch("load", 0, 2), Stretch("train", 2, 7)], rows=500)
    # 20 W for 5 s of training on 500 rows
    assert found.cpu_energy_j == 200.0
    assert found.cpu_energy_j_per_thousand == 200.0
    assert found.gpu_energy_j_per_thousand is None
    assert summarise(recorded, [Stretch("train", 2, 7)]).cpu_energy_j_per_thousand is None
    assert summarise(recorded, [Stretch("train", 2, 7)], 0).cpu_energy_j_per_thousand is None
