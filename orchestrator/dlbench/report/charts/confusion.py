"""Confusion matrices, from the raw predictions of a trial and the labels in the data cache.

A campaign keeps predictions, not data. Without the very labels that the trial was tested on (by
their digest) there is no matrix, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dlbench import paths
from dlbench.analysis.metrics import ACCURACY
from dlbench.analysis.record import TrialRecord
from dlbench.campaigns.array_file import array_of, read_arrays
from dlbench.campaigns.plain_files import read_file
from dlbench.errors import UserError
from dlbench.report.material import Material
from dlbench.report.tables import Chart, Row

_MOST_CLASSES = 30
_MOST_BYTES = 64_000_000
"""Of predictions, unpacked: they are shown in a few hundred cells."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Labels:
    """Where the labels are that a job is scored by, and the model's output for them."""

    output: str
    file: str
    data: str
    source: str
    digest: str


def confusion(material: Material) -> tuple[Chart | None, list[str]]:
    """(the chart, what had to be left out)."""
    rows: list[Row] = []
    left_out: dict[str, None] = {}
    known: dict[_Labels, Counts | None] = {}
    for group in material.groups:
        trial = group.typical(ACCURACY)
        if trial is None:
            continue
        record = material.results.trial(trial["id"])
        predictions = record.folder / "out" / "predictions.npz"
        wanted = _labels_of(record) if predictions.is_file() else None
        if wanted is None:
            continue
        if wanted not in known:
            known[wanted] = _read(wanted)
        labels = known[wanted]
        if labels is None:
            left_out[
                f"The labels of {wanted.data} are not in the data cache, so there is no confusion"
                f" matrix of {trial['workload']}. `dlbench data fetch {wanted.data}` brings them."
            ] = None
            continue
        counts = _counts(predictions, wanted.output, labels)
        if counts is not None:
            rows += [
                (group, label, predicted, int(number))
                for (label, predicted), number in np.ndenumerate(counts)
            ]
    note = "Test split, the trial with the middle accuracy. Shade: share of the true class."
    columns = "group label predicted count"
    chart = Chart.of("confusion", "confusion", "Confusion matrices", columns, rows, note)
    return chart, list(left_out)


def _labels_of(record: TrialRecord) -> _Labels | None:
    """The labels of a job that is scored by accuracy; None: it is not."""
    try:
        content = record.job()
        if any(one["name"] == "test-is-training" for one in content.get("confounds", ())):
            return None  # its predictions are of other rows
        data = content["data"]
        for metric in content["recipe"]["metrics"]:
            if metric["name"] in ("accuracy", "binary-accuracy") and metric["mask"] is None:
                file = data["splits"]["test"][metric["target"]]
                named = (metric["output"], file, data["name"], data["source"], data["digest"])
                return _Labels(*map(str, named))
    except (KeyError, TypeError):  # of another version, or not of a training
        pass
    return None


def _read(labels: _Labels) -> Counts | None:
    """The labels, if the cache holds the very data that the trial used."""
    if any(Path(part).name != part for part in (labels.data, labels.source, labels.file)):
        return None
    folder = paths.cache() / "data" / f"{labels.data}-{labels.source}"
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["digest"] != labels.digest:
            return None
        path = folder / labels.file
        content = read_file(path, _MOST_BYTES) or b""
        if hashlib.sha256(content).hexdigest() != manifest["files"][labels.file]["sha256"]:
            return None
        return array_of(content, path).reshape(-1).astype(np.int64)
    except (UserError, OSError, ValueError, KeyError, TypeError):
        return None


def _counts(predictions: Path, output: str, truth: Counts) -> Counts | None:
    """How often each class was taken for each; None where the predictions do not fit the labels."""
    try:
        raw = read_arrays(predictions, _MOST_BYTES)[output]
    except (UserError, KeyError):
        return None
    if raw.ndim != 2 or raw.dtype.kind != "f" or len(raw) != len(truth):
        return None
    classes = max(2, raw.shape[1])
    if not len(truth) or not np.isfinite(raw).all() or classes > _MOST_CLASSES:
        return None
    if truth.min() < 0 or truth.max() >= classes:
        return None
    chosen = (raw[:, 0] > 0).astype(np.int64) if raw.shape[1] == 1 else raw.argmax(axis=1)
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (truth, chosen), 1)
    return counts
