"""A study's tables: fixed and varied seeds are told apart, and each counts what it is about."""

from __future__ import annotations

import pytest

from dlbench.analysis.metrics import ACCURACY, Metric
from dlbench.statistics.measurements import LOSS
from dlbench.studies import reading
from dlbench.studies.runs import StudyRuns
from dlbench.studies.tables import BEST, study_tables
from tests.orchestrator.studies.in_memory import group, runs_of

SEEDS = [1234567, 1, 12, 123, 1234, *[1234567] * 5]
MAE = [0.5, 0.4, 0.6, 0.7, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_fixed_and_varied_seeds_are_two_tables() -> None:
    study = reading.find("gupta2023")
    key = ("jarvis-fcrn-10", "gpu", "PyTorch")
    runs = runs_of(study, {key: {"mae": MAE, "seed": SEEDS}})
    tables = {table.title: table for table in study_tables(study, runs)}
    cells = {}
    for seeds in ("fixed", "varied"):
        (title,) = [t for t in tables if "absolute error" in t.lower() and f"{seeds} seeds" in t]
        cells[seeds] = dict(tables[title].rows)["PyTorch"][0]
    assert (cells["fixed"].runs, cells["varied"].runs) == (6, 5)
    assert cells["fixed"].measured.startswith("0.5") and "±" in cells["fixed"].measured
    assert cells["fixed"].measured != cells["varied"].measured


def test_a_claim_on_quality_counts_one_run_a_seed() -> None:
    study = reading.find("gupta2023")
    key = ("jarvis-fcrn-10", "gpu", "PyTorch")
    own = group(study, key, {"mae": MAE, "seed": SEEDS, "accuracy": MAE})
    values = own.measurements(Metric("mae", "mae", "the error", LOSS)).values
    assert values == (0.5, 0.4, 0.6, 0.7, 0.3)
    assert len(own.values(ACCURACY)) == 5


@pytest.mark.parametrize("source", ["synthetic", "real"])
def test_a_column_says_that_data_are_synthetic_and_none_is_best_on_them(source: str) -> None:
    study = reading.find("elshawi2021")
    groups = {
        ("cifar10-cnn", "cpu", name): (
            group(study, ("cifar10-cnn", "cpu", name),
                  {"accuracy": [0.5 + k / 10] * 3, "train_s": [10.0 + k] * 3}, data_source=source),
        )
        for k, name in enumerate(("keras", "pytorch"))
    }  # fmt: skip
    tables = {table.title: table for table in study_tables(study, StudyRuns(study, groups))}
    accuracy, time = tables["Accuracy (CPU)"], tables["Training time (CPU)"]
    assert ("synthetic data" in accuracy.columns[0]) is (source == "synthetic")
    assert dict(accuracy.rows)["pytorch"][0].measured.startswith("60")
    assert dict(accuracy.rows)[BEST][0].measured == ("" if source == "synthetic" else "pytorch")
    assert dict(time.rows)[BEST][0].measured == "keras"
