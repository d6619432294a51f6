"""Steps and samples in bulk: what one file after the other gives, only sooner."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dlbench
from dlbench.monitor.samples import read_samples
from tests.orchestrator.analysis.campaigns import Cell, write


def test_steps_are_every_step_in_order(invented: Path) -> None:
    results = dlbench.open(invented)
    steps = results.steps()
    for trial in results.trials()["id"].head(5):
        events = [e.fields for e in results.trial(trial).events() if e.kind == "epoch"]
        own = steps.filter(pl.col("id") == trial)
        assert own["ms"].to_list() == [ms for epoch in events for ms in epoch["steps_ms"]]
        assert own["step"].to_list() == list(range(1, own.height + 1))
        assert own.filter(~pl.col("steady")).height == sum(epoch["first"] for epoch in events)


def test_samples_are_every_sample(invented: Path) -> None:
    results = dlbench.open(invented)
    samples = results.samples()
    for trial, device in results.trials().select("id", "device").head(8).iter_rows():
        recorded = read_samples(invented / "trials" / trial / "samples.jsonl")
        assert recorded is not None
        own = samples.filter(pl.col("id") == trial)
        assert own["t"].to_list() == [sample.t for sample in recorded.samples]
        assert own["memory_bytes"].to_list() == [s.memory_bytes for s in recorded.samples]
        one, two = recorded.samples[:2]
        rate = 100 * (two.cpu_s - one.cpu_s) / (two.t - one.t) / recorded.cpus
        assert own["cpu_percent"][1] == pytest.approx(rate)
        if device == "gpu":
            power = [sum(gpu.power_w or 0 for gpu in s.gpus) for s in recorded.samples]
            assert own["gpu_power_w"].to_list() == pytest.approx(power)
        else:
            assert own["gpu_power_w"].null_count() == own.height


_GPU = (
    '{"gpu":"0","util_percent":50,"memory_bytes":7,"process_memory_bytes":5,"power_w":1.5,'
    '"energy_j":2}'
)


@pytest.mark.parametrize(
    ("lines", "power"),
    [
        ([f'{{"t":1,"gpus":[{_GPU}]}}', '{"t":2}'], [1.5, None]),
        ([f'{{"t":1,"gpus":[{_GPU},{_GPU}]}}', '{"t":2,"gpus":[]}'], [3.0, None]),
        ([f'{{"t":1,"x":[1,2],"gpus":[{_GPU}]}}', f'{{"t":2,"gpus":[{_GPU}]}}'], [1.5, 1.5]),
        ([f'{{"t":1,"gpus":[{_GPU}]}}', f'{{"t":2,"gpus":[{_GPU}', '{"t":3}'], [1.5, None]),
        ([f'{{"t":1,"gpus":[{_GPU}]}}', '{"t":2,"gpus":[3]}'], [1.5, None]),
    ],
)
def test_odd_lists_of_gpus_spoil_no_other_sample(
    tmp_path: Path, lines: list[str], power: list[float | None]
) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    (trial,) = (folder / "trials").iterdir()
    (trial / "samples.jsonl").write_text("\n".join(['{"v":1,"cpus":2.0}', *lines, ""]))
    assert dlbench.open(folder).samples()["gpu_power_w"].to_list() == power


def test_several_gpus_are_put_together(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    trial = dlbench.open(folder).trials()["id"][0]
    gpu = '{"gpu":"%d","util_percent":%d,"memory_bytes":9,"process_memory_bytes":%s,"power_w":%s}'
    both = ",".join([gpu % (0, 50, "4", "10.5"), gpu % (1, 100, "null", "null")])
    (folder / "trials" / trial / "samples.jsonl").write_text(
        '{"v":1,"source":"x","hz":1.0,"cpus":2.0,"gpus":["0","1"]}\n'
        f'{{"t":1.0,"cpu_s":1.0,"memory_bytes":5,"gpus":[{both}]}}\n'
    )
    row = dlbench.open(folder).samples().row(0, named=True)
    assert row["gpu_util_percent"] == 100.0
    assert row["gpu_memory_bytes"] == 13
    assert row["gpu_power_w"] == 10.5


def test_torn_lines_and_nan_cost_only_themselves(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0, 2.0], steps_ms=[5.0, 6.0])])
    first, second = dlbench.open(folder).trials()["id"]
    path = folder / "trials" / first / "events.jsonl"
    path.write_text(
        path.read_text() + '{"v":1,"t":3,"event":"epoch","epoch":2,"loss":NaN,"steps_ms":[7.0,8],'
        '"metrics":{},"train_s":1,"first":0}\n{"v":1,"t":4,"event":"epoch","steps_'
    )
    steps = dlbench.open(folder).steps()
    assert steps.filter(pl.col("id") == first)["ms"].to_list() == [99.0, 5.0, 6.0, 7.0, 8.0]
    assert steps.filter(pl.col("id") == second)["ms"].to_list() == [99.0, 5.0, 6.0]


def test_steps_of_a_long_trial_have_the_numbers_that_they_had(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    trial = dlbench.open(folder).trials()["id"][0]
    common = '"v":1,"event":"epoch","loss":1,"metrics":{},"train_s":1,"steps_s":1'
    sampled = '"steps":10,"every":3,"steps_ms":'
    (folder / "trials" / trial / "events.jsonl").write_text(
        f'{{{common},"t":1,"epoch":1,{sampled}[9,9,1,2,3],"first":2}}\n'
        f'{{{common},"t":2,"epoch":2,{sampled}[4,5,6],"first":0}}\n'
        f'{{{common},"t":3,"epoch":3,{sampled}[7,8],"first":0}}\n'  # one is missing
        f'{{{common},"t":3,"epoch":3,"steps":{2**53},"every":{2**53},"steps_ms":[],"first":0}}\n'
        f'{{{common},"t":3,"epoch":3,"steps":1,"every":0,"steps_ms":[1],"first":0}}\n'
    )
    steps = dlbench.open(folder).steps()
    assert steps["step"].to_list() == [1, 2, 4, 7, 10, 12, 15, 18]
    assert steps["ms"].to_list() == [9, 9, 1, 2, 3, 4, 5, 6]
    assert steps["steady"].to_list() == [False, False, True, True, True, True, True, True]
    assert len([e for e in dlbench.open(folder).trial(trial).events() if e.kind == "epoch"]) == 2
