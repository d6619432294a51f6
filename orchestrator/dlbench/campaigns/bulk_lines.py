"""The events and samples of many trials at once, as data frames.

This is the bulk form of `event_file.read_events` and of `monitor.samples.read_samples`. Lines of
many files are joined and given to polars' reader together, which makes millions of numbers a
matter of seconds. A batch that polars refuses (a torn line, a NaN) is read line by line instead.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.campaigns.event_file import event_mark
from dlbench.campaigns.plain_files import read_file
from dlbench.plain_json import NotPlain, parse_json
from dlbench.shapes import number, record

_BATCH = 1000
_BATCH_BYTES = 256 << 20
_TOTALS = 4096
"""The last line of a samples file is shorter."""
_CORES = record({"cpus": number(1e-3, 1e6)}, required=["cpus"])
_GPU = dict.fromkeys(
    ("util_percent", "memory_bytes", "process_memory_bytes", "power_w", "energy_j"), pl.Float64
)
_SAMPLE = {
    "t": pl.Float64,
    "cpu_s": pl.Float64,
    "memory_bytes": pl.Int64,
    "rss_bytes": pl.Int64,
    "anon_bytes": pl.Int64,
    "system_cpu_percent": pl.Float64,
}


def events_in_bulk(
    folders: Mapping[str, Path], kind: str, wanted: Mapping[str, Any]
) -> Iterator[pl.DataFrame]:
    """The events of one kind, with the trial's id, a batch of trials at a time."""
    mark = event_mark(kind)
    for names, files in _files(folders, "events.jsonl"):
        lines, counts = [], []
        for file in files:
            own = [line for line in file.split(b"\n") if mark in line]
            lines += own
            counts.append(len(own))
        frame = _parsed(b"\n".join(lines), len(lines), wanted)
        # The mark may also stand inside another event's fields.
        yield frame.with_columns(_repeated("id", names, counts)).filter(pl.col("event") == kind)


def samples_in_bulk(folders: Mapping[str, Path]) -> Iterator[pl.DataFrame]:
    """The samples, with the trial's id and the cores it was allotted, a batch of trials at a time.

    One row a sample: what several GPUs report is taken together.
    """
    for names, files in _files(folders, "samples.jsonl"):
        bodies, counts, cores = [], [], []
        for file in files:
            header, body = _parts(file)
            bodies += [body] if body else []
            counts.append(body.count(b"\n") + 1 if body else 0)
            cores.append(_cores(header))
        frame = _with_gpus(b"\n".join(bodies), sum(counts))
        yield frame.with_columns(
            _repeated("id", names, counts), _repeated("cores", cores, counts)
        ).filter(pl.col("t").is_not_null())


def _files(folders: Mapping[str, Path], name: str) -> Iterator[tuple[list[str], list[bytes]]]:
    """The files of a batch of trials; a trial without one has an empty one."""
    names: list[str] = []
    files: list[bytes] = []
    size = 0
    for trial, folder in folders.items():
        names.append(trial)
        files.append(read_file(folder / name) or b"")
        size += len(files[-1])
        if len(files) == _BATCH or size > _BATCH_BYTES:
            yield names, files
            names, files, size = [], [], 0
    if names:
        yield names, files


def _parts(file: bytes) -> tuple[bytes, bytes]:
    """The first line, and those between it and the totals, copied once."""
    start = file.find(b"\n") + 1 or len(file)
    end = file.rfind(b'{"totals"', max(start, len(file) - _TOTALS))
    end = len(file) if end < 0 else end
    return file[:start], file[start : end - file.endswith(b"\n", start, end)].strip()


def _cores(header: bytes) -> float:
    try:
        return float(_CORES(json.loads(header))["cpus"])
    except (ValueError, RecursionError):
        return math.nan


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
        pl.col("util_percent").max().alias(names[0]),
        *(
            pl.when(value.count() > 0).then(value.sum()).alias(name)
            for name, value in zip(names[1:], sums, strict=True)
        ),
    )
    return frame.join(together, on="row", how="left", maintain_order="left")


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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return frame if frame.height == count else None


def _row(line: bytes) -> dict[str, Any]:
    try:
        content = parse_json(line)
    except NotPlain:
        return {}
    return content if isinstance(content, dict) else {}


def _fitting(value: Any, kind: Any) -> Any:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == pl.Float64:
        return float(value) if numeric else None
    if kind in (pl.Int32, pl.Int64):
        most = 2**31 if kind == pl.Int32 else 2**63
        return int(value) if numeric and abs(value) < most else None
    if kind == pl.String:
        return value if isinstance(value, str) else None
    if isinstance(kind, pl.Struct):
        known = value if isinstance(value, dict) else {}
        return {field.name: _fitting(known.get(field.name), field.dtype) for field in kind.fields}
    return [_fitting(item, kind.inner) for item in value] if isinstance(value, list) else None


def _repeated(name: str, values: Sequence[Any], counts: Sequence[int]) -> pl.Series:
    """Each value as often as its count says."""
    each = pl.DataFrame({name: values, "count": counts}, schema_overrides={"count": pl.UInt32})
    some = each.filter(pl.col("count") > 0)
    return some.select(pl.col(name).repeat_by("count").explode())[name]
