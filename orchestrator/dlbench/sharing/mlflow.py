"""Trials in the file layout that MLflow reads (`mlruns/`), written without MLflow.

One experiment a workload, one run a trial: parameters say what it was, metrics what it measured,
with curves by epoch. Newer MLflow keeps its runs in a database: it reads this layout after
`mlflow migrate-filestore`, or directly with MLFLOW_ALLOW_FILE_STORE=true.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from dlbench.analysis.columns import TRIALS
from dlbench.formats import digest

_FINISHED, _FAILED = 3, 4
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_.\- ]")
_TAGS = ("id", "campaign", "outcome", "reason", "certified", "confounds", "machine", "lock",
         "notes")  # fmt: skip
_NEITHER = frozenset({*_TAGS, "started", "wall_s"})


def write_mlflow(trials: pl.DataFrame, curves: pl.DataFrame, folder: Path) -> int:
    """Write the runs into a new folder; returns how many."""
    points = curves.partition_by("id", as_dict=True)
    (folder / ".trash").mkdir(parents=True)
    numbers = {name: str(1 + i) for i, name in enumerate(trials["workload"].unique().sort())}
    for name, number in numbers.items():
        (folder / number).mkdir()
        started = _milliseconds(trials.filter(pl.col("workload") == name)["started"].min())
        meta = {
            "artifact_location": f"mlflow-artifacts:/{number}",
            "creation_time": started,
            "experiment_id": number,
            "last_update_time": started,
            "lifecycle_stage": "active",
            "name": name,
        }
        _yaml(folder / number / "meta.yaml", meta)
    for row in trials.iter_rows(named=True):
        _run(folder / numbers[row["workload"]], numbers[row["workload"]], row, points)
    return trials.height


def _run(
    experiment: Path, number: str, row: Mapping[str, Any], curves: Mapping[Any, pl.DataFrame]
) -> None:
    # MLflow wants 32 hexadecimal digits.
    name = digest([row["id"], row["campaign"]])[:32]
    folder = experiment / name
    for part in ("metrics", "params", "tags", "artifacts"):
        (folder / part).mkdir(parents=True)
    started = _milliseconds(row["started"])
    ended = started + round(1000 * (row["wall_s"] or 0.0))
    point = f" {row['point']}" if row["point"] else ""
    label = f"{row['release']} {row['workload']}{point} seed {row['seed']}"
    meta = {
        "artifact_uri": f"mlflow-artifacts:/{number}/{name}/artifacts",
        "end_time": ended,
        "entry_point_name": "",
        "experiment_id": number,
        "lifecycle_stage": "active",
        "run_id": name,
        "run_name": label,
        "run_uuid": name,
        "source_name": "",
        "source_type": 4,
        "source_version": "",
        "start_time": started,
        "status": _FINISHED if row["outcome"] == "ok" else _FAILED,
        "tags": [],
        "user_id": "dlbench",
    }
    _yaml(folder / "meta.yaml", meta)
    fixed = {column.name for column in TRIALS}
    for key, value in row.items():
        if value is None:
            continue
        if key in _TAGS:
            (folder / "tags" / f"dlbench.{key}").write_text(str(value), encoding="utf-8")
        elif key in fixed and key not in _NEITHER:
            (folder / "params" / key).write_text(str(value), encoding="utf-8")
        elif isinstance(value, int | float) and math.isfinite(value):
            line = f"{ended} {value!r} 0\n"
            (folder / "metrics" / _name(key)).write_text(line)
    (folder / "tags" / "mlflow.runName").write_text(label, encoding="utf-8")
    curve = curves.get((row["id"],))
    if curve is not None:
        _curve(folder / "metrics", curve, started)


def _curve(folder: Path, curve: pl.DataFrame, started: int) -> None:
    """Under names of their own: `epoch.accuracy`, so that the final values stay single."""
    times = [started + round(1000 * (t or 0.0)) for t in curve["train_s"]]
    for key in curve.columns:
        if key in ("id", "epoch"):
            continue
        points = zip(times, curve[key], curve["epoch"], strict=True)
        lines = [f"{at} {value!r} {epoch}\n" for at, value, epoch in points if value is not None]
        if lines:
            (folder / f"epoch.{_name(key)}").write_text("".join(lines))


def _name(key: str) -> str:
    """Of a metric: what a workload calls it, without what a file's name must not hold."""
    return _NOT_ALLOWED.sub("_", key).lstrip(".")[:200] or "_"


def _milliseconds(when: Any) -> int:
    return round(1000 * when.timestamp()) if isinstance(when, datetime) else 0


def _yaml(path: Path, content: Mapping[str, Any]) -> None:
    # JSON's strings and numbers are YAML's too.
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in content.items()]
    path.write_text("".join(lines), encoding="utf-8")
