"""`dlbench.open`: the tables say what the files say."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dlbench
from dlbench.analysis.columns import TABLES, TIMESTAMP
from dlbench.errors import UserError
from dlbench.monitor.samples import read_samples
from tests.orchestrator.analysis.campaigns import Cell, around, write

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of the generator: events, samples and GPUs as in life."""
    folder = tmp_path_factory.mktemp("invented") / "campaign"
    make = [sys.executable, str(ROOT / "scripts" / "make_campaign.py"), str(folder)]
    subprocess.run([*make, "--trials", "100", "--steps", "60", "--samples", "8"], check=True)
    return folder


def test_trials_are_what_trial_json_says(invented: Path) -> None:
    trials = dlbench.open(invented).trials()
    assert trials.height == 100
    for row in trials.head(5).iter_rows(named=True):
        content = json.loads((invented / "trials" / row["id"] / "trial.json").read_text())
        assert row["release"] == content["release"] == f"{row['framework']}@{row['version']}"
        assert row["step_ms_median"] == content["metrics"]["step_ms_median"]
        assert row["samples"] == content["metrics"]["samples"]
        assert row["resource_samples"] == content["resources"]["samples"]
        assert row["memory_peak_bytes"] == content["resources"]["memory_peak_bytes"]
        assert row["started"].isoformat(timespec="seconds") == content["started"]
    assert trials.schema["started"] == TIMESTAMP
    assert trials["index"].to_list() == list(range(100))


def test_every_table_has_its_documented_columns(invented: Path) -> None:
    results = dlbench.open(invented)
    for name, columns in TABLES.items():
        schema = getattr(results, name)().schema
        assert {c.name: c.dtype for c in columns}.items() <= dict(schema).items(), name


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


def test_several_gpus_are_added_up(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    trial = dlbench.open(folder).trials()["id"][0]
    gpu = '{"gpu":"%d","util_percent":%d,"memory_bytes":9,"process_memory_bytes":%s,"power_w":%s}'
    both = ",".join([gpu % (0, 50, "4", "10.5"), gpu % (1, 100, "null", "null")])
    (folder / "trials" / trial / "samples.jsonl").write_text(
        '{"v":1,"source":"x","hz":1.0,"cpus":2.0,"gpus":["0","1"]}\n'
        f'{{"t":1.0,"cpu_s":1.0,"memory_bytes":5,"gpus":[{both}]}}\n'
    )
    row = dlbench.open(folder).samples().row(0, named=True)
    assert row["gpu_util_percent"] == 75.0
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


def test_a_value_of_the_wrong_type_is_null_not_a_traceback(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0, 2.0])])
    path = next((folder / "trials").glob("*/trial.json"))
    content = json.loads(path.read_text())
    content |= {"seed": "x", "certified": "yes", "metrics": {"train_s": [], "release": 3.0}}
    content["reason"] = "\x1b[31mred"
    path.write_text(json.dumps(content))
    results = dlbench.open(folder)
    row = results.trials().filter(pl.col("id") == content["id"]).row(0, named=True)
    assert row["seed"] is row["certified"] is row["train_s"] is None
    assert row["release"] == "a@1"
    assert row["metric_release"] == 3.0
    assert "\x1b" not in row["reason"]


def test_damage_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    path = next((folder / "trials").glob("*/trial.json"))
    path.write_text("{")
    with pytest.raises(UserError, match=r"trial\.json is damaged"):
        dlbench.open(folder).trials()
    (folder / "plan.jsonl").write_text('{"id": "../../etc"}\n')
    with pytest.raises(UserError, match="no trial's id"):
        dlbench.open(folder)
    with pytest.raises(UserError, match="holds no campaign"):
        dlbench.open(tmp_path)


def test_find_by_any_field_within_a_tolerance(tmp_path: Path) -> None:
    cells = [Cell("a@1", [1.23456789, 2.0]), Cell("b@1", [1.3, 2.1], certified=None)]
    results = dlbench.open(write(tmp_path / "c", cells))
    assert results.find(train_s=1.2346, tolerance=1e-4)["release"].to_list() == ["a@1"]
    assert results.find(train_s=1.2346).height == 0
    assert results.find(release=["a@1", "b@1"], seed=2).height == 2
    assert results.find(certified=None)["release"].unique().to_list() == ["b@1"]
    with pytest.raises(UserError, match="Did you mean 'release'"):
        results.find(relase="a@1")
    with pytest.raises(UserError, match="holds numbers"):
        results.find(seed="one")


def test_one_trial_with_its_weights(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0], log="hello\n")])
    results = dlbench.open(folder)
    trial = results.trial(results.trials()["id"][0][:6])
    assert trial.log() == "hello\n"
    assert trial.result.release == "a@1"
    with pytest.raises(UserError, match="kept no weights"):
        trial.weights()
    kernel = np.arange(12, dtype=np.float32).reshape(3, 4)
    saved = {"dense.kernel": kernel, "column.major": np.asfortranarray(kernel), "none": np.empty(0)}
    np.savez_compressed(trial.folder / "out" / "weights.npz", **saved)  # type: ignore[arg-type]
    found = trial.weights()
    assert found.keys() == saved.keys()
    for name, array in saved.items():
        np.testing.assert_array_equal(found[name], array)


def test_hostile_weights_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    results = dlbench.open(folder)
    trial = results.trial(results.trials()["id"][0])
    path = trial.folder / "out" / "weights.npz"
    np.savez(path, objects=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="can't be read"):
        trial.weights()
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="can't be read"):
        trial.weights()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="not a regular file"):
        trial.weights()


def test_weights_that_claim_to_be_huge_are_refused(tmp_path: Path) -> None:
    import io
    import zipfile

    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    results = dlbench.open(folder)
    trial = results.trial(results.trials()["id"][0])
    header = io.BytesIO()
    huge = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(header, huge)
    with zipfile.ZipFile(trial.folder / "out" / "weights.npz", "w") as members:
        members.writestr("big.npy", header.getvalue())
    with pytest.raises(UserError, match="claims more numbers than it holds"):
        trial.weights()


def test_the_same_run_counts_once_and_another_run_of_it_twice(tmp_path: Path) -> None:
    cells = [Cell("a@1", around(1.0))]
    one = write(tmp_path / "one", cells)
    other = write(tmp_path / "two", [Cell("a@1", around(1.1))], machine="b" * 16, name="two")
    assert dlbench.open(one, one).trials().height == 10
    both = dlbench.open([one, other]).trials()
    assert both.height == both["id"].n_unique() == 20
    assert both["machine"].n_unique() == both["campaign"].n_unique() == 2


def test_importing_dlbench_imports_nothing_heavy() -> None:
    code = "import sys, dlbench; print(sorted({'polars', 'numpy', 'scipy'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "orchestrator")}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_the_example_runs(invented: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "analyse.py"))
    example["main"](str(invented))
    said = capsys.readouterr().out
    assert "too few runs to tell jax@0.12.0.1" in said
    assert "Trial " in said
