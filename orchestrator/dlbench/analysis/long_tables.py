"""Steps, phases and samples: the long tables, read only when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from dlbench.analysis.columns import PHASES as STRETCHES
from dlbench.analysis.columns import SAMPLES, STEPS, Column, schema
from dlbench.campaigns.bulk_lines import events_in_bulk, samples_in_bulk
from dlbench.event_fields import LONGEST_S, PHASES
from dlbench.formats import MOST_STEPS

_EPOCH = {
    "event": pl.String, "epoch": pl.Int32, "first": pl.Int32, "steps": pl.Int64, "every": pl.Int64,
    "steps_ms": pl.List(pl.Float64),
}  # fmt: skip
_PHASE = {"event": pl.String, "t": pl.Float64, "phase": pl.String, "seconds": pl.Float64}


def read_steps(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every step time that the trials wrote."""
    parts = []
    # of a long trial every k-th behind the first ones: bench/step_sample.py
    first, every = pl.col("first").cast(pl.Int64), pl.col("every").fill_null(1)
    behind = pl.col("within") - first
    sampled = first + every // 2 + behind * every
    place = pl.when(behind < 0).then(pl.col("within")).otherwise(sampled)
    for epochs in events_in_bulk(folders, "epoch", _EPOCH):
        within = pl.int_ranges(0, pl.col("steps_ms").list.len(), dtype=pl.Int32)
        steps = pl.col("steps_ms").list
        number = pl.coalesce("steps", steps.len().cast(pl.Int64))
        written = first + ((number - first - every // 2 + every - 1) // every).clip(0)
        # as `formats.parse_event` has it: a line with a value that can't be true is not read
        true = (
            (steps.min() >= 0) & (steps.max() <= 1000 * LONGEST_S),
            (pl.col("epoch") >= 0) & pl.col("first").is_between(0, steps.len()),
            (every >= 1) & (number <= MOST_STEPS) & (steps.len() == written),
            pl.col("steps").is_null() == pl.col("every").is_null(),
        )
        parts.append(
            epochs.filter(*true)
            .with_columns(
                within=within,
                ms=pl.col("steps_ms"),
                before=(number.cum_sum() - number).over("id"),
            )
            .select("id", "epoch", "first", "every", "before", "within", "ms")
            .explode("within", "ms")
            .filter(pl.col("ms").is_not_null())
            .select(
                "id",
                "epoch",
                (pl.col("before") + place + 1).alias("step"),
                "ms",
                (pl.col("within") >= pl.col("first")).alias("steady"),
            )
        )
    return _joined(parts, STEPS)


def read_phases(folders: Mapping[str, Path]) -> pl.DataFrame:
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
