"""Steps, phases and samples: the long tables, read only when asked for.

Lines of many files are joined and given to polars' reader at once, which is what makes millions of
numbers a matter of seconds. A batch it refuses (a torn line, a NaN) is read line by line instead.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.analysis.columns import PHASES, SAMPLES, STEPS, schema

_BATCH = 1000
_GPUS = pl.List(
    pl.Struct(
        {
            "util_percent": pl.Float64,
            "memory_bytes": pl.Float64,
            "process_memory_bytes": pl.Float64,
            "power_w": pl.Float64,
            "energy_j": pl.Float64,
        }
    )
)
_EPOCH = {"event": pl.String, "epoch": pl.Int32, "first": pl.Int32, "steps_ms": pl.List(pl.Float64)}
_PHASE = {"event": pl.String, "t": pl.Float64, "phase": pl.String, "seconds": pl.Float64}
_SAMPLE = {
    "t": pl.Float64,
    "cpu_s": pl.Float64,
    "memory_bytes": pl.Int64,
    "rss_bytes": pl.Int64,
    "anon_bytes": pl.Int64,
    "system_cpu_percent": pl.Float64,
    "gpus": _GPUS,
}


def read_steps(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every step time of every trial."""
    parts = []
    for epochs in _events(folders, "epoch", _EPOCH):
        within = pl.int_ranges(0, pl.col("steps_ms").list.len(), dtype=pl.Int32)
        parts.append(
            epochs.with_columns(within=within, ms=pl.col("steps_ms"))
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
    parts = [
        phases.select(
            "id",
            "phase",
            (pl.col("t") - pl.col("seconds")).alias("start"),
            pl.col("t").alias("end"),
        )
        for phases in _events(folders, "phase", _PHASE)
    ]
    return _joined(parts, PHASES)


def read_samples(folders: Mapping[str, Path]) -> pl.DataFrame:
    """Every sample of every trial."""
    parts = []
    for names, files in _files(folders, "samples.jsonl"):
        lines, counts, cores = [], [], []
        for file in files:
            every = file.split(b"\n")
            own = [line for line in every if line.startswith(b'{"t":')]
            lines += own
            counts.append(len(own))
            cores.append(_cores(every[0]))
        frame = _parsed(lines, _SAMPLE)
        gpus = pl.col("gpus").list
        own_memory = pl.element().struct.field("process_memory_bytes")
        used_memory = pl.element().struct.field("memory_bytes")
        memory = gpus.eval(pl.coalesce(own_memory, used_memory)).list
        before, last = pl.col("cpu_s").shift(1), pl.col("t").shift(1)
        rate = (pl.col("cpu_s") - before) / (pl.col("t") - last)
        parts.append(
            frame.with_columns(_identity(names, counts), _repeated("cores", cores, counts))
            .filter(pl.col("t").is_not_null())
            .with_columns(
                cpu_percent=(100 * rate / pl.col("cores")).over("id"),
                gpu_util_percent=gpus.eval(pl.element().struct.field("util_percent")).list.mean(),
                gpu_memory_bytes=_sum(memory).cast(pl.Int64),
                gpu_power_w=_sum(gpus.eval(pl.element().struct.field("power_w")).list),
                gpu_energy_j=_sum(gpus.eval(pl.element().struct.field("energy_j")).list),
            )
            .with_columns(pl.col("cpu_percent").fill_nan(None))
        )
    return _joined(parts, SAMPLES)


def _sum(values: Any) -> pl.Expr:
    """The sum of a list; null where nothing in it is known."""
    known = values.drop_nulls().list
    return pl.when(known.len() > 0).then(known.sum())


def _cores(header: bytes) -> float:
    try:
        cores = float(json.loads(header)["cpus"])
    except (ValueError, TypeError, KeyError):
        return math.nan
    return cores if cores > 0 else math.nan


def _events(
    folders: Mapping[str, Path], kind: str, wanted: Mapping[str, Any]
) -> Iterator[pl.DataFrame]:
    """The events of one kind, with the trial's id, a batch of trials at a time."""
    mark = f'"event":"{kind}"'.encode()
    for names, files in _files(folders, "events.jsonl"):
        lines, counts = [], []
        for file in files:
            own = [line for line in file.split(b"\n") if mark in line]
            lines += own
            counts.append(len(own))
        frame = _parsed(lines, wanted)
        # The mark may also stand inside another event's fields.
        yield frame.with_columns(_identity(names, counts)).filter(pl.col("event") == kind)


def _files(folders: Mapping[str, Path], name: str) -> Iterator[tuple[list[str], list[bytes]]]:
    """The files of a batch of trials; a trial without one has an empty one."""

    def content(folder: Path) -> bytes:
        try:
            return (folder / name).read_bytes()
        except OSError:
            return b""

    names = list(folders)
    with ThreadPoolExecutor(4) as pool:
        for start in range(0, len(names), _BATCH):
            some = names[start : start + _BATCH]
            yield some, list(pool.map(content, [folders[name] for name in some]))


def _parsed(lines: Sequence[bytes], wanted: Mapping[str, Any]) -> pl.DataFrame:
    """One row a line, always: null where a line is not what it ought to be."""
    if lines:
        try:
            frame = pl.read_ndjson(io.BytesIO(b"\n".join(lines)), schema=dict(wanted))
            if frame.height == len(lines):
                return frame
        except pl.exceptions.PolarsError:
            pass
    rows = [_row(line) for line in lines]
    columns = {
        name: pl.Series(name, [_fitting(row.get(name), kind) for row in rows], dtype=kind)
        for name, kind in wanted.items()
    }
    return pl.DataFrame(columns)


def _row(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _fitting(value: Any, kind: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if kind == pl.Float64:
        return float(value) if number else None
    if kind in (pl.Int32, pl.Int64):
        most = 2**31 if kind == pl.Int32 else 2**63
        return int(value) if number and abs(value) < most else None
    if kind == pl.String:
        return value if isinstance(value, str) else None
    if kind == _GPUS:
        fields = [field.name for field in _GPUS.inner.fields]  # type: ignore[union-attr]
        gpus = value if isinstance(value, list) else []
        known = [gpu for gpu in gpus if isinstance(gpu, dict)]
        return [{name: _fitting(gpu.get(name), pl.Float64) for name in fields} for gpu in known]
    return [_fitting(item, pl.Float64) for item in value] if isinstance(value, list) else None


def _identity(names: Sequence[str], counts: Sequence[int]) -> pl.Series:
    return _repeated("id", names, counts)


def _repeated(name: str, values: Sequence[Any], counts: Sequence[int]) -> pl.Series:
    """Each value as often as its count says."""
    each = pl.DataFrame({name: values, "count": counts}, schema_overrides={"count": pl.UInt32})
    some = each.filter(pl.col("count") > 0)
    return some.select(pl.col(name).repeat_by("count").explode())[name]


def _joined(parts: Sequence[pl.DataFrame], columns: Any) -> pl.DataFrame:
    types: Mapping[str, Any] = schema(columns)
    empty = pl.DataFrame(schema=dict(types))
    kept = [part.select(pl.col(name).cast(kind) for name, kind in types.items()) for part in parts]
    return pl.concat([empty, *kept])
