"""`trial.json` files to the tables of trials and of curves, in one pass."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.analysis.columns import CURVES, METRICS, RESOURCES, TIMESTAMP, TRIALS, schema
from dlbench.campaigns.plain_files import read_file
from dlbench.campaigns.plan_file import PlannedTrial
from dlbench.campaigns.sources import CampaignSource
from dlbench.campaigns.trial_files import RESULT
from dlbench.campaigns.trial_result import VERSION
from dlbench.errors import damaged
from dlbench.formats import check_version

_PLAIN = (
    "release", "workload", "device", "engine", "setting", "variant", "seed", "repeat", "round",
    "index", "outcome", "reason", "certified", "certificate", "machine", "started", "wall_s",
    "lock",
)  # fmt: skip
_SCALE = {
    "budget_epochs": "epochs",
    "budget_steps": "steps",
    "batch": "batch",
    "data": "data",
    "data_source": "source",
    "threads": "threads",
    "cpus": "cpus",
    "memory_limit_bytes": "memory_bytes",
}
_KERNEL_PEAK = "memory_peak_bytes"
"""In trial.json: the peak of all of a trial's processes, by the kernel."""
_RESOURCE = {"resource_source": "source", "resource_samples": "samples"}
_TAKEN = frozenset(column.name for column in (*TRIALS, *RESOURCES))


@dataclass(frozen=True)
class Tables:
    """What the `trial.json` files hold."""

    trials: pl.DataFrame
    curves: pl.DataFrame
    folders: dict[str, Path]
    """Where each trial's files are, by its id in the tables."""


def read_trials(sources: Sequence[CampaignSource]) -> Tables:
    """All trials that have ended, campaign by campaign in order of execution."""
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    owners: list[str] = []
    folders: dict[str, Path] = {}
    for planned, name, content in _distinct(_read(sources)):
        rows.append(_row(name, planned.campaign, content))
        folders[name] = planned.folder
        curve = [point for point in _list(content.get("curve")) if isinstance(point, dict)]
        points += curve
        owners += [name] * len(curve)
    fixed = schema((*TRIALS, *METRICS, *RESOURCES))
    trials = _frame(rows, {**fixed, "started": pl.String, _KERNEL_PEAK: pl.Float64})
    trials = trials.with_columns(
        # A control group is not charged for libraries that were in memory already, its main process
        # is; a control group counts all processes, the main process is one.
        pl.max_horizontal(_KERNEL_PEAK, "rss_main_peak_bytes").alias("peak_memory_bytes"),
        pl.col("started").str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        if len(rows)
        else pl.col("started").cast(TIMESTAMP),
    ).drop(_KERNEL_PEAK)
    curves = _frame(points, schema(CURVES)).with_columns(pl.Series("id", owners, dtype=pl.String))
    return Tables(trials, curves, folders)


def _read(sources: Sequence[CampaignSource]) -> list[tuple[PlannedTrial, bytes]]:
    """The files of the trials that have ended."""
    every = [planned for source in sources for planned in source.planned]
    files = ((planned, read_file(planned.folder / RESULT)) for planned in every)
    return [(planned, file) for planned, file in files if file is not None]


def _distinct(
    files: Sequence[tuple[PlannedTrial, bytes]],
) -> Iterator[tuple[PlannedTrial, str, dict[str, Any]]]:
    """Each trial once, under a name of its own.

    A trial's id says what was run, not where or when: campaigns of two machines share their ids. A
    copy of the same run is left out; another run of the same trial gets a running number.
    """
    often = Counter(planned.id for planned, _ in files)
    seen: dict[str, list[str]] = {}
    for planned, file in files:
        try:
            content = json.loads(file)
        except (ValueError, RecursionError) as error:
            raise damaged(planned.folder / RESULT, error) from error
        if not isinstance(content, dict):
            raise damaged(planned.folder / RESULT, "not an object")
        check_version(content, VERSION, planned.folder / RESULT)
        if often[planned.id] == 1:
            yield planned, planned.id, content
            continue
        alike = seen.setdefault(planned.id, [])
        # What was measured, not every word: packing an archive takes secrets out of those.
        run = repr([content.get(key) for key in ("machine", "started", "wall_s", "metrics")])
        if run in alike:
            continue
        alike.append(run)
        name = planned.id if len(alike) == 1 else f"{planned.id}-{len(alike)}"
        yield planned, name, content


def _row(name: str, campaign: str, content: dict[str, Any]) -> dict[str, Any]:
    framework, _, version = str(printable(content.get("release", ""))).partition("@")
    scale, resources = _dict(content.get("scale")), _dict(content.get("resources"))
    model, stack = _dict(content.get("model")), _dict(content.get("stack"))
    row = _renamed(_dict(content.get("metrics")), _TAKEN)
    row |= {key: value for key, value in resources.items() if key not in ("per_phase", "samples")}
    row |= {own: resources.get(theirs) for own, theirs in _RESOURCE.items()}
    row |= {key: printable(content.get(key)) for key in _PLAIN}
    row |= {own: scale.get(theirs) for own, theirs in _SCALE.items()}
    row |= {
        "id": name,
        "campaign": campaign,
        "framework": framework,
        "version": version,
        "threads_used": stack.get("threads"),
        "parameters": model.get("parameters"),
        "weights_sha256": model.get("weights_sha256"),
    }
    row.pop("source", None)
    return row


def _renamed(metrics: dict[str, Any], taken: Iterable[str]) -> dict[str, Any]:
    """Metrics are named by workloads: one that is called like a column of ours gives way."""
    return {f"metric_{key}" if key in taken else key: value for key, value in metrics.items()}


def _frame(rows: list[dict[str, Any]], fixed: dict[str, Any]) -> pl.DataFrame:
    """The fixed columns first and always; others as they come, as numbers."""
    alike = dict.fromkeys(map(tuple, rows))  # most rows have the same keys
    others = dict.fromkeys(key for keys in alike for key in keys if key not in fixed)
    types = {**fixed, **dict.fromkeys(others, pl.Float64)}
    return pl.DataFrame([_series(key, _column(rows, key), kind) for key, kind in types.items()])


def _column(rows: list[dict[str, Any]], key: str) -> list[Any]:
    try:
        return list(map(itemgetter(key), rows))
    except KeyError:
        return [row.get(key) for row in rows]


def _series(name: str, values: list[Any], kind: Any) -> pl.Series:
    """As polars makes it where every value is of the right type, else one by one."""
    try:
        return pl.Series(name, values, dtype=kind)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [_fitting(value, kind) for value in values], dtype=kind)


def _fitting(value: Any, kind: Any) -> Any:
    """The value, or null where it is of another type than it ought to be."""
    if value is None:
        return None
    if kind == pl.Float64:
        return float(value) if isinstance(value, int | float) else None
    if kind == pl.Boolean:
        return value if isinstance(value, bool) else None
    if kind == pl.Int64:
        whole = isinstance(value, int | float) and value == value and abs(value) < 2**63
        return int(value) if whole else None
    return value if isinstance(value, str) else None


def printable(value: Any) -> Any:
    """Without what would act on a terminal: a campaign may be somebody else's."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in value)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
