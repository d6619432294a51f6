"""Read a campaign from Python: tables, a comparison in words, one trial in detail.

python examples/analyse.py results/2026-11-16_0312-quick
"""

from __future__ import annotations

import sys

import polars as pl

import dlbench


def main(path: str) -> None:
    results = dlbench.open(path)  # a folder, an archive, or several: dlbench.open(a, b)

    # One row a trial. Every column is explained in dlbench.analysis.columns.
    complete = results.trials().filter(pl.col("outcome") == "ok")
    print(
        complete.group_by("workload", "release")
        .agg(
            pl.len().alias("n"),
            pl.col("train_s").median(),
            pl.col("step_ms_median").median(),
            pl.col("accuracy").mean(),
            (pl.col("peak_memory_bytes").median() / 1e6).alias("memory_mb"),
        )
        .sort("workload", "train_s")
    )

    # Which differences are real: words for people, tables for programs.
    comparison = results.compare("time", by="release", alpha=0.05)
    print(comparison.sentence)
    print(comparison.pairs().select("workload", "first", "second", "estimate", "p_holm", "verdict"))
    for case in comparison.cases:
        for warning in case.warnings:
            print(f"! {warning}")

    # The long tables are read when they are asked for; `id` joins them to the trials.
    first = complete.row(0, named=True)
    slowest = (
        results.steps()
        .filter("steady")
        .join(complete.select("id", "release"), on="id")
        .group_by("release")
        .agg(pl.col("ms").quantile(0.99).alias("p99_ms"))
        .sort("release")
    )
    print(slowest)
    curve = results.curves().filter(pl.col("id") == first["id"])
    print(curve.select("epoch", "train_s", "loss"))

    # A number from a report leads back to its trial: floats match within a tolerance.
    found = results.find(
        release=first["release"], train_s=round(first["train_s"], 3), tolerance=1e-2
    )
    trial = results.trial(found["id"][0])
    print(f"Trial {trial.id}: {len(trial.events())} events, {trial.result.outcome.value}")


if __name__ == "__main__":
    main(sys.argv[1])
