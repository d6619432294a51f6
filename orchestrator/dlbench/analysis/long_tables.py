"""Steps, phases and samples: the long tables, read only when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from dlbench.analysis.columns import PHASES as STRETCHES
from dlbench.analysis.columns import SAMPLES, STEPS, Column, schema
from dlbench.campaigns.bulk_lines import events_in_bulk, samples_in_bulk
from dlbench.event_fields import LONGEST_S, PHASES

_EPOCH = {"event": pl.String, "epoch": pl.Int32, "first": pl.Int32, "steps_ms": pl.List(pl.Float64)}
_PHASE = {"event": pl.String, "t": pl.Float64, "phase": pl.String, "seconds": pl.Float64}


def read_steps(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every step time of every trial."""
    parts = []
    for epochs in events_in_bulk(folders, "epoch", _EPOCH):
        within = pl.int_ranges(0, pl.col("steps_ms").list.len(), dtype=pl.Int32)
        steps = pl.col("steps_ms").list
        # as `formats.parse_event` has it: a line with a value that can't be true is not read
        true = (
            (steps.min() >= 0) & (steps.max() <= 1000 * LONGEST_S),
            (pl.col("epoch") >= 0) & pl.col("first").is_between(0, steps.len()),
        )
        parts.append(
            epochs.filter(*true)
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
    true = pl.col("seconds", "t").is_between(0, LONGEST_S), pl.col("phase").is_in(PHASES)
    parts = [
        phases.filter(*true).select(
            "id",
            "phase",
            (pl.col("t") - pl.col("seconds")).alias("start"),
            pl.col("t").alias("end"),
        )
        for phases in events_in_bulk(folders, "phase", _PHASE)
    ]
    return _joined(parts, STRETCHES)


def read_samples(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every sample of every trial."""
    rate = pl.col("cpu_s").diff() / pl.col("t").diff()
    percent = (100 * rate / pl.col("cores")).fill_nan(None)
    same_trial = pl.col("id") == pl.col("id").shift()
    true = (
        pl.col("t", "cpu_s").is_between(0, LONGEST_S).fill_null(True),
        (pl.col("memory_bytes") >= 0).fill_null(True),
    )
    parts = [
        samples.filter(*true).with_columns(cpu_percent=pl.when(same_trial).then(percent))
        for samples in samples_in_bulk(folders)
    ]
    return _joined(parts, SAMPLES)


def _joined(parts: Iterable[pl.DataFrame], columns: tuple[Column, ...]) -> pl.DataFrame:
    types = schema(columns)
    empty = pl.DataFrame(schema=types)
    kept = [part.select(pl.col(name).cast(kind) for name, kind in types.items()) for part in parts]
    return pl.concat([empty, *kept])
