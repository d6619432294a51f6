"""One registry of metrics: names, kinds and words."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dlbench
from dlbench.analysis.columns import TABLES
from dlbench.analysis.metrics import CPU, KNOWN, find_metric
from dlbench.errors import UserError
from dlbench.report.material import load
from dlbench.report.matrix import matrices
from tests.orchestrator.analysis.campaigns import Cell, around, write
from tests.orchestrator.command import Command

SCHEMA = {column.name: column.dtype for column in TABLES["trials"]}


def test_every_metric_is_a_documented_column_with_one_name() -> None:
    assert {metric.column for metric in KNOWN} <= SCHEMA.keys()
    names = [metric.column for metric in KNOWN] + [m.alias for m in KNOWN if m.alias]
    assert len(set(names)) == len(names)
    assert len({metric.title for metric in KNOWN}) == len(KNOWN)


@pytest.mark.parametrize(
    ("column", "kind"),
    [("anon_peak_bytes", "memory"), ("load_s", "time"), ("step_ms_p95", "time"), ("mae", "loss"),
     ("monitor_cpu_seconds", "cpu-time"), ("gpu_power_w_mean", "use"), ("top5", "score"),
     ("perplexity", "loss"), ("gpu_energy_j", "energy"), ("cpu_percent_mean", "use"),
     ("train_mae", "loss"), ("train_accuracy", "share"), ("peak_epoch", "epoch"),
     ("best_epoch", "epoch"), ("first_epoch_excess_s", "excess"), ("first_epoch_s", "time"),
     ("inference_s_per_thousand", "time"), ("latency_ms_p99", "time"),
     ("test_peak_perplexity", "loss"), ("greedy_accuracy", "share")],
)  # fmt: skip
def test_metrics_are_known_by_their_column(column: str, kind: str) -> None:
    metric = find_metric(column, {**SCHEMA, column: pl.Float64()})
    assert (metric.column, metric.kind.name) == (column, kind)
    assert metric.from_steps == column.startswith("step_ms")


def test_what_describes_a_trial_is_not_compared() -> None:
    with pytest.raises(UserError, match="describes a trial"):
        find_metric("seed", SCHEMA)
    with pytest.raises(UserError, match="There is no metric 'memory_peak_bytes'"):
        find_metric("memory_peak_bytes", SCHEMA)


def test_costs_are_worded_as_costs(tmp_path: Path, command: Command) -> None:
    metrics = (("gpu_energy_j", "energy"), (CPU.column, "CPU time"))
    for column, noun in metrics:
        cells = [Cell(f"{name}@1", around(middle), metrics={"train_s": 1.0}, metric=column)
                 for name, middle in (("a", 1.0), ("b", 1.5))]  # fmt: skip
        folder = write(tmp_path / column, cells)
        said = command("compare", folder, "--metric", f"metric_{column}")
        assert said.code == 0, said.err
        best = f"a@1 uses the least {noun}: less {noun} than b@1 by a factor of 1.5"
        assert best in said.out


@pytest.mark.parametrize(
    ("column", "noun"),
    [("perplexity", "perplexity"), ("mae", "mean absolute error"), ("mse", "mean squared error"),
     ("train_perplexity", "perplexity")],
)  # fmt: skip
def test_errors_are_worded_as_errors(
    tmp_path: Path, command: Command, column: str, noun: str
) -> None:
    cells = [Cell(f"{name}@1", around(middle), metrics={"train_s": 1.0}, metric=column)
             for name, middle in (("a", 60.0), ("b", 90.0), ("c", 90.0))]  # fmt: skip
    folder = write(tmp_path / "c", cells)
    said = command("compare", folder, "--metric", column)
    assert said.code == 0, said.err
    out = " ".join(said.out.split())
    assert f"a@1 has the lowest {noun}: lower {noun} than b@1 by 29.97" in out
    assert f"lower {noun} than c@1" in out or "and than c@1 by 29.97" in out
    assert "accuracy" not in out and "better" not in out and "worse" not in out
    (matrix,) = matrices(load(folder))
    title = next(metric.title for metric in KNOWN if metric.column == column)
    place = [one.title for one in matrix.columns].index(title)
    rows = {row.contender: row.cells[place] for row in matrix.rows}
    assert rows["a@1"].state == "best"
    assert rows["b@1"].main.startswith("+29.97") and rows["b@1"].main.endswith(f" higher {noun}")


def test_an_excess_may_be_below_zero(tmp_path: Path, command: Command) -> None:
    cells = [Cell(f"{name}@1", [middle + value for value in around(0.1)], metrics={"train_s": 1.0},
                  metric="first_epoch_excess_s")
             for name, middle in (("a", -0.2), ("b", 0.7))]  # fmt: skip
    said = command("compare", write(tmp_path / "c", cells), "--metric", "first_epoch_excess_s")
    assert said.code == 0, said.err
    assert "a@1 is shortest: shorter than b@1 by 0.90" in " ".join(said.out.split())


def test_what_only_describes_has_no_best(tmp_path: Path, command: Command) -> None:
    metrics = {"train_s": 1.0, "peak_epoch": 3.0, "test_peak_accuracy": 0.9, "accuracy": 0.8}
    material = load(write(tmp_path / "c", [Cell("a@1", [1.0], metrics=metrics)]))
    shown = {metric.column for metric in material.metrics}
    drawn = {metric.column for metric in material.drawn}
    described = {"peak_epoch", "test_peak_accuracy", "cpu_percent_mean"}
    assert described <= drawn and not described & shown
    listed = {row["column"]: row["better"] for row in command("list", "metrics", "--json").json}
    assert {listed[column] for column in described} == {"neither"}
    assert (listed["perplexity"], listed["greedy_accuracy"]) == ("less", "more")


def test_peak_memory_is_the_larger_of_both_peaks(tmp_path: Path) -> None:
    import json

    folder = write(tmp_path / "c", [Cell("a@1", [1.0, 2.0, 3.0])])
    peaks = [{"memory_peak_bytes": 7}, {"memory_peak_bytes": 7, "rss_main_peak_bytes": 9},
             {"rss_main_peak_bytes": 5}]  # fmt: skip
    trials = dlbench.open(folder).trials()["id"].to_list()
    for trial, own in zip(trials, peaks, strict=True):
        path = folder / "trials" / trial / "trial.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"resources": own}))
    table = dlbench.open(folder).trials()
    assert table["peak_memory_bytes"].to_list() == [7.0, 9.0, 5.0]
    assert "memory_peak_bytes" not in table.columns
