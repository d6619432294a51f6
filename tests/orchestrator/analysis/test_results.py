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
from tests.orchestrator.analysis.campaigns import Cell, around, write

ROOT = Path(__file__).resolve().parents[3]


def test_trials_are_what_trial_json_says(invented: Path) -> None:
    trials = dlbench.open(invented).trials()
    assert trials.height == 100
    for row in trials.head(5).iter_rows(named=True):
        content = json.loads((invented / "trials" / row["id"] / "trial.json").read_text())
        assert row["release"] == content["release"] == f"{row['framework']}@{row['version']}"
        assert row["step_ms_median"] == content["metrics"]["step_ms_median"]
        assert row["samples"] == content["metrics"]["samples"]
        assert row["resource_samples"] == content["resources"]["samples"]
        assert row["peak_memory_bytes"] == content["resources"]["memory_peak_bytes"]
        assert row["started"].isoformat(timespec="seconds") == content["started"]
    assert trials.schema["started"] == TIMESTAMP
    assert trials["index"].to_list() == list(range(100))


def test_every_table_has_its_documented_columns(invented: Path) -> None:
    results = dlbench.open(invented)
    for name, columns in TABLES.items():
        schema = getattr(results, name)().schema
        assert {c.name: c.dtype for c in columns}.items() <= dict(schema).items(), name


def test_a_metric_may_be_called_like_a_column_and_text_is_printable(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0, 2.0])])
    path = next((folder / "trials").glob("*/trial.json"))
    content = json.loads(path.read_text())
    content |= {"metrics": {"train_s": None, "release": 3.0}, "reason": "\x1b[31mred\ud800"}
    path.write_text(json.dumps(content))
    results = dlbench.open(folder)
    row = results.trials().filter(pl.col("id") == content["id"]).row(0, named=True)
    assert (row["train_s"], row["release"], row["metric_release"]) == (None, "a@1", 3.0)
    assert row["reason"] == r"\x1b[31mred\ud800"


def test_damage_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", [Cell("a@1", [1.0])])
    path = next((folder / "trials").glob("*/trial.json"))
    path.write_text("{")
    with pytest.raises(UserError, match=r"trial\.json is damaged"):
        dlbench.open(folder).trials()
    (folder / "plan.jsonl").write_text('{"id": "../../etc"}\n')
    with pytest.raises(UserError, match=r"line 1: id is '../../etc'"):
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
