"""Samples cut to phases: every figure worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlbench.monitor.resources import Stretch, summarise
from dlbench.monitor.samples import GpuSample, Sample, Samples, Totals

MIB = 1 << 20


def samples_of(*samples: Sample, totals: Totals | None = None, cpus: float = 2.0) -> Samples:
    return Samples("cgroup-v1", 1.0, cpus, (), samples, totals)


def trial() -> Samples:
    """Ten seconds: idle, then from 2 to 8 on 1.5 cores with 100 to 400 MiB, then idle."""
    return samples_of(
        *(
            Sample(
                t=float(t),
                cpu_s=1.5 * min(max(t - 2, 0), 6),
                memory_bytes=(100 + 50 * min(max(t - 2, 0), 6)) * MIB,
                rss_bytes=80 * MIB,
                system_cpu_percent=None if t == 0 else (90.0 if 2 < t <= 8 else 10.0),
            )
            for t in range(11)
        )
    )


def test_training_is_cut_out() -> None:
    found = summarise(trial(), [Stretch("load", 0, 2), Stretch("train", 2, 8)])
    assert found.cpu_percent_of_one_core == 150.0
    assert found.cpu_percent_mean == 75.0
    assert found.memory_mean_bytes == 250 * MIB
    assert found.rss_main_mean_bytes == found.rss_main_peak_bytes == 80 * MIB
    assert found.system_cpu_percent_mean == 90.0
    assert found.per_phase["load"].cpu_percent == 0.0
    assert found.per_phase["load"].memory_peak_bytes == 100 * MIB
    assert found.per_phase["train"].memory_peak_bytes == 400 * MIB
    assert found.samples == 11


def test_training_is_first_step_warm_up_and_steady_steps_and_nothing_else() -> None:
    phases = [
        Stretch("first-step", 2, 3),
        Stretch("warm-up", 3, 4),
        Stretch("train", 4, 6),
        Stretch("evaluate", 8, 9),
        Stretch("train", 6, 7),
        Stretch("evaluate", 9, 10),
    ]
    found = summarise(trial(), phases)
    assert found.cpu_percent_mean == 75.0
    assert found.per_phase["evaluate"].cpu_percent == 0.0
    assert found.per_phase["train"].memory_peak_bytes == 350 * MIB


def test_a_mean_needs_a_reading_within_training() -> None:
    found = summarise(trial(), [Stretch("train", 4.1, 4.3), Stretch("train", 4.6, 4.9)])
    assert found.cpu_percent_mean == 75.0
    assert found.memory_mean_bytes is found.rss_main_mean_bytes is None
    found = summarise(trial(), [Stretch("train", 4.1, 4.3), Stretch("train", 4.6, 5.0)])
    assert found.memory_mean_bytes == pytest.approx((210 * 0.2 + 240 * 0.4) / 0.6 * MIB, rel=1e-6)


def test_boundaries_between_samples_are_interpolated() -> None:
    found = summarise(trial(), [Stretch("train", 1.5, 2.5)])
    assert found.cpu_percent_of_one_core == pytest.approx(75.0)
    assert found.per_phase["train"].memory_peak_bytes == 125 * MIB


def test_a_phase_between_two_samples_gets_a_figure() -> None:
    found = summarise(trial(), [Stretch("save", 4.2, 4.21)])
    assert found.per_phase["save"].cpu_percent == 75.0
    assert found.per_phase["save"].memory_peak_bytes == pytest.approx(210.5 * MIB, rel=1e-6)
    assert found.cpu_percent_mean is None


def test_the_counter_begins_at_nought_with_the_launch() -> None:
    late = samples_of(Sample(4.0, 2.0, MIB), Sample(5.0, 3.0, MIB))
    found = summarise(late, [Stretch("import", 0.0, 4.0)])
    assert found.per_phase["import"].cpu_percent == 25.0
    assert found.per_phase["import"].memory_peak_bytes is None


def test_what_the_samples_do_not_cover_is_not_made_up() -> None:
    phases = [Stretch("train", 9, 30), Stretch("save", 40, 41), Stretch("build", 1, 1)]
    found = summarise(trial(), phases)
    assert found.cpu_percent_mean is None
    assert found.memory_mean_bytes is None
    assert found.per_phase["save"].cpu_percent is None
    assert found.per_phase["save"].memory_peak_bytes is None
    assert found.per_phase["build"].cpu_percent is None


def test_a_missing_last_moment_does_no_harm() -> None:
    assert summarise(trial(), [Stretch("train", 5, 11)]).cpu_percent_mean == pytest.approx(45.0)


def test_no_samples_no_figures() -> None:
    found = summarise(samples_of(), [Stretch("train", 0, 1)])
    assert found.cpu_percent_mean is found.cpu_seconds is found.memory_peak_bytes is None
    assert found.gpu_util_percent_mean is found.gpu_energy_j is None


def test_totals_are_the_kernels_where_there_are_any() -> None:
    totals = Totals(
        "cgroup-v1", "cgroup", 9.5, 777, 666, 555, 9.0, 700, -0.05, -0.1, 11, 0, monitor_cpu_s=0.02
    )
    found = summarise(samples_of(*trial().samples, totals=totals), [])
    assert (found.cpu_seconds, found.memory_peak_bytes) == (9.5, 777)
    assert (found.rss_main_peak_bytes, found.anon_peak_bytes) == (666, 555)
    assert found.monitor_cpu_seconds == 0.02
    without = summarise(trial(), [])
    assert (without.cpu_seconds, without.memory_peak_bytes) == (9.0, 400 * MIB)


def test_use_is_of_the_cores_allotted() -> None:
    assert summarise(replace(trial(), cpus=1.5), [Stretch("train", 2, 8)]).cpu_percent_mean == 100.0


def test_gpus_are_put_together() -> None:
    def at(t: float, energy: float, own: int | None) -> Sample:
        gpus = (
            GpuSample("0", 90.0, 3000, own, 70.0, energy),
            GpuSample("1", 50.0, 1000, own, 30.0, energy),
        )
        return Sample(t, t, MIB, gpus=gpus)

    phases = [Stretch("train", 0, 2)]
    found = summarise(samples_of(at(0, 0.0, 10), at(1, 50.0, 20), at(2, 100.0, 15)), phases)
    assert found.gpu_util_percent_mean == 90.0  # an idle one does not halve it
    assert found.gpu_power_w_mean == 100.0
    assert found.gpu_energy_j == 200.0
    assert found.gpu_memory_peak_bytes == 40


@pytest.mark.parametrize("own", [None, 0])
@pytest.mark.parametrize(("in_use", "peak"), [((500, 700, 600), 200), ((500, 400, 500), None)])
def test_what_other_programs_hold_of_a_gpu_is_not_the_trial_s(
    own: int | None, in_use: tuple[int, ...], peak: int | None
) -> None:
    """Where the driver does not list the trial's processes, or lists others alone."""
    samples = [
        Sample(t, t, MIB, gpus=(GpuSample("0", memory_bytes=used, process_memory_bytes=own),))
        for t, used in enumerate(in_use)
    ]
    found = summarise(samples_of(*samples), [Stretch("train", 0, 2)])
    assert found.gpu_memory_peak_bytes == peak


def test_readings_taken_less_often_hold_since_the_last() -> None:
    # At 10 Hz the machine's CPU use is read only once a second.
    samples = [
        Sample(i / 10, 0.0, MIB, system_cpu_percent={10: 20.0, 20: 80.0}.get(i)) for i in range(21)
    ]
    found = summarise(samples_of(*samples), [Stretch("train", 0.5, 1.5)])
    assert found.system_cpu_percent_mean == pytest.approx(50.0)
