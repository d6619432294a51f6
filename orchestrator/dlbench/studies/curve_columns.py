"""What the studies read off a trial's curve, as columns of the trials' table: one value a trial.

The peak and the first epoch are metrics of every trial (campaigns/trial_result.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

EARLY = 20
"""Epochs that count as the beginning."""
_FEWEST = 3
"""Epochs that make a curve."""
COLUMNS = {
    "curve_accuracy": "mean accuracy over the epochs",
    "early_accuracy": f"mean accuracy over the first {EARLY} epochs of more",
    "epoch_tau": "Kendall's tau of epoch and accuracy",
    "epoch_correlation": "Pearson's correlation of epoch and accuracy",
    "epoch_time_growth": "mean time of an epoch in the second half over that in the first",
}


def with_curve_columns(trials: pl.DataFrame, curves: pl.DataFrame) -> pl.DataFrame:
    """The table with these columns; null where a curve is too short."""
    by_trial = curves.sort("epoch").group_by("id", maintain_order=True)
    made = by_trial.agg(
        pl.col("accuracy").mean().alias("curve_accuracy"),
        pl.when(pl.len() > EARLY).then(pl.col("accuracy").head(EARLY).mean())
        .alias("early_accuracy"),
        pl.col("accuracy").drop_nulls().alias("_accuracies"),
        _seconds().tail(pl.len() // 2).mean().truediv(_seconds().head(pl.len() // 2).mean())
        .alias("epoch_time_growth"),
    )  # fmt: skip
    taus = pl.Series("epoch_tau", map(_tau, made["_accuracies"]), dtype=pl.Float64)
    pearson = map(_correlation, made["_accuracies"])
    made = made.with_columns(taus, pl.Series("epoch_correlation", pearson, dtype=pl.Float64))
    return trials.join(made.select("id", *COLUMNS), on="id", how="left", maintain_order="left")


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


def _correlation(accuracies: pl.Series) -> float | None:
    """Pearson's, with their order; None also where all are the same: then there is none."""
    values = accuracies.to_numpy()
    if len(values) < _FEWEST or values.max() <= values.min():
        return None
    return float(np.corrcoef(np.arange(len(values)), values)[0, 1])
