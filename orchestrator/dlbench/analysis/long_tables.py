"""Steps, phases and samples: the long tables, read only when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from dlbench.analysis.columns import PHASES, SAMPLES, STEPS, Column, schema
from dlbench.campaigns.bulk_lines import events_in_bulk, samples_in_bulk
from dlbench.plain_json import printable
from dlbench.shapes import MOST_MS, MOST_SECONDS

_EPOCH = {"event": pl.String, "epoch": pl.Int32, "first": pl.Int32, "steps_ms": pl.List(pl.Float64)}
_PHASE = {"event": pl.String, "t": pl.Float64, "phase": pl.String, "seconds": pl.Float64}


def read_steps(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every step time of every trial."""
    parts = []
    for epochs in events_in_bulk(folders, "epoch", _EPOCH):
        within = pl.int_ranges(0, pl.col("steps_ms").list.len(), dtype=pl.Int32)
        steps = pl.col("steps_ms").list
        true = (steps.min() >= 0) & (steps.max() <= MOST_MS) & (pl.col("epoch") >= 0)
        parts.append(
            epochs.filter(true & (pl.col("first") >= 0))
            .with_columns(within=within, ms=pl.col("steps_ms"))
            .select("id", "epoch", "first", "within", "ms")
            .explode("within", "ms")
            .filter(pl.col("ms").is_not_null())
            .select(
                "id",
                "epoch",
                pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("id").alias("step"),
                "ms",
                (pl.col("within") >= pl.col("first")).alias("steady"),
            )
        )
    return _joined(parts, STEPS)


def read_phases(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every stretch of every phase."""
    possible = pl.col("seconds").is_between(0, MOST_SECONDS) & (pl.col("t").abs() <= MOST_SECONDS)
    parts = [
        phases.filter(possible).select(
            "id",
            "phase",
            (pl.col("t") - pl.col("seconds")).alias("start"),
            pl.col("t").alias("end"),
        )
        for phases in events_in_bulk(folders, "phase", _PHASE)
    ]
    table = _joined(parts, PHASES)
    names = table["phase"].unique().drop_nulls().to_list()
    return table.with_columns(pl.col("phase").replace({one: printable(one) for one in names}))


def read_samples(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every sample of every trial."""
    rate = pl.col("cpu_s").diff() / pl.col("t").diff()
    percent = (100 * rate / pl.col("cores")).fill_nan(None)
    same_trial = pl.col("id") == pl.col("id").shift()
    possible = (
        pl.col("t", "cpu_s").is_between(0, MOST_SECONDS).fill_null(True),
        (pl.col("memory_bytes") >= 0).fill_null(True),
    )
    parts = [
        samples.filter(*possible).with_columns(cpu_percent=pl.when(same_trial).then(percent))
        for samples in samples_in_bulk(folders)
    ]
    return _joined(parts, SAMPLES)


def _joined(parts: Iterable[pl.DataFrame], columns: tuple[Column, ...]) -> pl.DataFrame:
    types = schema(columns)
    empty = pl.DataFrame(schema=types)
    kept = [part.select(pl.col(name).cast(kind) for name, kind in types.items()) for part in parts]
    return pl.concat([empty, *kept])
