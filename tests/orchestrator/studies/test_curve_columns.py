"""What is read off a curve: one value a trial, null where it is too short."""

from __future__ import annotations

import polars as pl
import pytest

from dlbench.studies.curve_columns import with_curve_columns


def made(accuracies: list[float | None], seconds: list[float]) -> dict[str, float | None]:
    curves = pl.DataFrame(
        {
            "id": ["a"] * len(accuracies),
            "epoch": list(range(1, 1 + len(accuracies))),
            "train_s": pl.Series(seconds).cum_sum(),
            "accuracy": pl.Series(accuracies, dtype=pl.Float64),
        }
    )
    trials = pl.DataFrame({"id": ["a", "without a curve"]})
    row, empty = with_curve_columns(trials, curves.reverse()).rows(named=True)
    assert set(empty.values()) == {"without a curve", None}
    return row


def test_a_curve() -> None:
    row = made([0.5, 0.8, 0.7, 0.8], [5.0, 2.0, 2.0, 2.0])
    assert row["curve_accuracy"] == pytest.approx(0.7)
    assert row["epoch_tau"] == pytest.approx((4 - 1) / 6)
    assert row["epoch_correlation"] == pytest.approx(0.4 / (5 * 0.06) ** 0.5)
    assert row["epoch_time_growth"] == pytest.approx(2 / 3.5)
    assert row["early_accuracy"] is None


def test_a_single_epoch_and_no_accuracy() -> None:
    row = made([None], [5.0])
    assert (row["epoch_tau"], row["epoch_time_growth"]) == (None, None)
    assert made([0.5] * 4, [1.0] * 4)["epoch_correlation"] is None, "what never changes has none"


def test_the_beginning_of_a_long_curve() -> None:
    row = made([0.1] * 20 + [0.9] * 5, [1.0] * 25)
    assert row["early_accuracy"] == pytest.approx(0.1)
