"""Confusion matrices, from the raw predictions of a trial and the labels in the data cache.

A campaign keeps predictions, not data. Without the very labels that the trial was tested on (by
their digest) there is no matrix, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlbench import paths
from dlbench.report.groups import Group
from dlbench.report.material import Material
from dlbench.report.metrics import ACCURACY
from dlbench.report.tables import Cell, Chart, Table

_MOST_CLASSES = 30
_MOST_BYTES = 64_000_000


def confusion(material: Material) -> tuple[Chart | None, list[str]]:
    """(the chart, what had to be left out)."""
    rows: list[Sequence[Cell]] = []
    left_out: dict[str, None] = {}
    known: dict[str, Any] = {}
    for group in material.groups:
        trial = group.typical(ACCURACY)
        if trial is None:
            continue
        folder = group.folders[trial.id]
        if not (folder / "out" / "predictions.npz").is_file():
            continue
        target = _target(folder / "job.json")
        if target is None:
            continue
        output, file, name, source, digest = target
        if file not in known.setdefault(digest, {}):
            known[digest][file] = _labels(name, source, digest, file)
        labels = known[digest][file]
        if labels is None:
            left_out[
                f"The labels of {name} are not in the data cache, so there is no confusion matrix"
                f" of {group.workload}. `dlbench data fetch {name}` brings them."
            ] = None
            continue
        counts = _counts(folder / "out" / "predictions.npz", output, labels)
        if counts is not None:
            rows += _rows(group, counts)
    if not rows:
        return None, list(left_out)
    columns = ("workload", "contender", "framework", "label", "predicted", "count")
    note = "Test split, the trial with the middle accuracy. Shade: share of the true class."
    return Chart("confusion", "confusion", "Confusion matrices", Table.of_rows(columns, rows),
                 note), list(left_out)  # fmt: skip


def _rows(group: Group, counts: Any) -> list[Sequence[Cell]]:
    return [
        (group.place, group.contender, group.framework, label, predicted, int(number))
        for label, line in enumerate(counts)
        for predicted, number in enumerate(line)
    ]


def _target(job: Path) -> tuple[str, str, str, str, str] | None:
    """(output, labels' file, data set, source, digest) of a job that is scored by accuracy."""
    try:
        content = json.loads(job.read_text(encoding="utf-8"))
        data = content["data"]
        for metric in content["recipe"]["metrics"]:
            if metric["name"] in ("accuracy", "binary-accuracy") and metric["mask"] is None:
                file = data["splits"]["test"][metric["target"]]
                return metric["output"], file, data["name"], data["source"], data["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _labels(name: str, source: str, digest: str, file: str) -> Any:
    """The labels, if the cache holds the very data that the trial used; else None."""
    import numpy as np

    if any(Path(part).name != part for part in (name, source, file)):
        return None
    folder = paths.cache() / "data" / f"{name}-{source}"
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["digest"] != digest:
            return None
        content = (folder / file).read_bytes()
        if hashlib.sha256(content).hexdigest() != manifest["files"][file]["sha256"]:
            return None
        return np.load(folder / file, allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _counts(path: Path, output: str, labels: Any) -> Any:
    import zipfile

    import numpy as np

    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        with np.load(path, allow_pickle=False) as arrays:
            raw = arrays[output]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    truth = np.asarray(labels).reshape(-1).astype(np.int64)
    if raw.ndim != 2 or len(raw) != len(truth) or not np.isfinite(raw).all():
        return None
    chosen = (raw[:, 0] > 0).astype(np.int64) if raw.shape[1] == 1 else raw.argmax(axis=1)
    classes = max(2, raw.shape[1])
    if classes > _MOST_CLASSES or truth.min() < 0 or truth.max() >= classes:
        return None
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (truth, chosen), 1)
    return counts
