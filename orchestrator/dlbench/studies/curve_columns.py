"""What the studies read off a trial's curve, as columns of the trials' table: one value a trial."""

from __future__ import annotations

import numpy as np
import polars as pl

EARLY = 20
"""Epochs that count as the beginning."""
_FEWEST = 3
"""Epochs that make a curve."""
COLUMNS = {
    "peak_epoch": "the first epoch with the highest accuracy",
    "curve_accuracy": "mean accuracy over the epochs",
    "early_accuracy": f"mean accuracy over the first {EARLY} epochs of more",
    "epoch_tau": "Kendall's tau of epoch and accuracy",
    "epoch_time_growth": "mean time of an epoch in the second half over that in the first",
    "first_epoch_s": "training time of the first epoch",
    "first_epoch_excess_s": "the same less the median of the others",
}


def with_curve_columns(trials: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    """Those columns that the table does not have already; null where a curve is too short."""
    by_trial = curves.sort("epoch").group_by("id", maintain_order=True)
    made = by_trial.agg(
        pl.col("epoch").filter(pl.col("accuracy") == pl.col("accuracy").max()).first()
        .cast(pl.Float64).alias("peak_epoch"),
        pl.col("accuracy").mean().alias("curve_accuracy"),
        pl.when(pl.len() > EARLY).then(pl.col("accuracy").head(EARLY).mean())
        .alias("early_accuracy"),
        pl.col("accuracy").drop_nulls().alias("_accuracies"),
        _seconds().tail(pl.len() // 2).mean().truediv(_seconds().head(pl.len() // 2).mean())
        .alias("epoch_time_growth"),
        pl.col("train_s").first().alias("first_epoch_s"),
        pl.when(pl.len() > 1).then(pl.col("train_s").first() - _seconds().slice(1).median())
        .alias("first_epoch_excess_s"),
    )  # fmt: skip
    taus = pl.Series("epoch_tau", map(_tau, made["_accuracies"]), dtype=pl.Float64)
    made = made.with_columns(taus)
    new = [name for name in COLUMNS if name not in trials.columns]
    return trials.join(made.select("id", *new), on="id", how="left", maintain_order="left")


def _seconds() -> pl.Expr:
    """Of each epoch: `train_s` is the time so far."""
    return pl.col("train_s").diff().fill_null(pl.col("train_s").first())


def _tau(accuracies: pl.Series) -> float | None:
    """Kendall's tau-a with their order: pairs that rise less those that fall, as a share."""
    values = accuracies.to_numpy()
    n = len(values)
    if n < _FEWEST:
        return None
    rising = sum(float(np.sign(values[i + 1 :] - x).sum()) for i, x in enumerate(values))
    return 2 * rising / (n * (n - 1))
