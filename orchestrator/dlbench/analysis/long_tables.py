"""Steps, phases and samples: the long tables, read only when asked for.

Lines of many files are joined and given to polars' reader at once, which is what makes millions of
numbers a matter of seconds. A batch it refuses (a torn line, a NaN) is read line by line instead.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.analysis.columns import PHASES, SAMPLES, STEPS, schema
from dlbench.analysis.opened import read_files

_BATCH = 1000
_TOTALS = 4096
"""A samples' last line is shorter."""
_GPU = dict.fromkeys(
    ("util_percent", "memory_bytes", "process_memory_bytes", "power_w", "energy_j"), pl.Float64
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
        bodies, counts, cores = [], [], []
        for file in files:
            header, body = _parts(file)
            bodies += [body] if body else []
            counts.append(body.count(b"\n") + 1 if body else 0)
            cores.append(_cores(header))
        frame = _with_gpus(b"\n".join(bodies), sum(counts))
        frame = frame.with_columns(
            _identity(names, counts), _repeated("cores", cores, counts)
        ).filter(pl.col("t").is_not_null())
        rate = pl.col("cpu_s").diff() / pl.col("t").diff()
        percent = (100 * rate / pl.col("cores")).fill_nan(None)
        follows = pl.col("id") == pl.col("id").shift()
        parts.append(frame.with_columns(cpu_percent=pl.when(follows).then(percent)))
    return _joined(parts, SAMPLES)


def _parts(file: bytes) -> tuple[bytes, bytes]:
    """The first line, and those between it and the totals, copied once."""
    start = file.find(b"\n") + 1 or len(file)
    end = file.rfind(b'{"totals"', max(start, len(file) - _TOTALS))
    end = len(file) if end < 0 else end
    return file[:start], file[start : end - file.endswith(b"\n", start, end)].strip()


def _with_gpus(text: bytes, count: int) -> pl.DataFrame:
    """One row a sample, all its GPUs together; null where nothing is known."""
    names = ("gpu_util_percent", "gpu_memory_bytes", "gpu_power_w", "gpu_energy_j")
    if b'"gpus":[{' not in text:
        nothing = [pl.lit(None).alias(name) for name in names]
        return _parsed(text, count, _SAMPLE).with_columns(nothing)
    # Objects inside lists are slow to read. With one GPU a sample the lists' brackets can go; with
    # several, or none in a list, what is left without them can't be read at all.
    flat = text.translate(None, b"[]")
    frame = _at_once(flat, count, {**_SAMPLE, "gpus": pl.Struct(_GPU)})
    if frame is None:
        return _with_several_gpus(text, count, names)
    own = pl.col("gpus").struct
    values = (
        own.field("util_percent"),
        pl.coalesce(own.field("process_memory_bytes"), own.field("memory_bytes")),
        own.field("power_w"),
        own.field("energy_j"),
    )
    return frame.with_columns(v.alias(name) for v, name in zip(values, names, strict=True))


def _with_several_gpus(text: bytes, count: int, names: Sequence[str]) -> pl.DataFrame:
    frame = _parsed(text, count, {**_SAMPLE, "gpus": pl.List(pl.Struct(_GPU))}).with_row_index(
        "row"
    )
    each = frame.select("row", "gpus").explode("gpus").unnest("gpus")
    memory = pl.coalesce("process_memory_bytes", "memory_bytes")
    sums = (memory, pl.col("power_w"), pl.col("energy_j"))
    together = each.group_by("row").agg(
        pl.col("util_percent").mean().alias(names[0]),
        *(
            pl.when(value.count() > 0).then(value.sum()).alias(name)
            for name, value in zip(names[1:], sums, strict=True)
        ),
    )
    return frame.join(together, on="row", how="left", maintain_order="left")


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
        frame = _parsed(b"\n".join(lines), len(lines), wanted)
        # The mark may also stand inside another event's fields.
        yield frame.with_columns(_identity(names, counts)).filter(pl.col("event") == kind)


def _files(folders: Mapping[str, Path], name: str) -> Iterator[tuple[list[str], list[bytes]]]:
    """The files of a batch of trials; a trial without one has an empty one."""
    names = list(folders)
    for start in range(0, len(names), _BATCH):
        some = names[start : start + _BATCH]
        yield some, [file or b"" for file in read_files([folders[n] / name for n in some])]


def _parsed(text: bytes, count: int, wanted: Mapping[str, Any]) -> pl.DataFrame:
    """One row a line, always: null where a line is not what it ought to be."""
    frame = _at_once(text, count, wanted)
    if frame is not None:
        return frame
    rows = [_row(line) for line in text.split(b"\n")] if count else []
    columns = {
        name: pl.Series(name, [_fitting(row.get(name), kind) for row in rows], dtype=kind)
        for name, kind in wanted.items()
    }
    return pl.DataFrame(columns)


def _at_once(text: bytes, count: int, wanted: Mapping[str, Any]) -> pl.DataFrame | None:
    """One row a line; None where any line is not what it ought to be."""
    if not count:
        return None
    try:
        frame = pl.read_ndjson(io.BytesIO(text), schema=dict(wanted))
    except pl.exceptions.PolarsError:
        return None
    return frame if frame.height == count else None


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
    if isinstance(kind, pl.Struct):
        known = value if isinstance(value, dict) else {}
        return {field.name: _fitting(known.get(field.name), field.dtype) for field in kind.fields}
    return [_fitting(item, kind.inner) for item in value] if isinstance(value, list) else None


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
