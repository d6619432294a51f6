"""Which class was taken for which: from the raw predictions of a trial and the labels in the cache.

A campaign keeps predictions, not data. Without the very labels that the trial was tested on (by
their digest) there is no matrix; nor one that does not give the trial's own accuracy again.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dlbench import paths
from dlbench.analysis.record import TrialRecord
from dlbench.campaigns.array_file import array_of, read_arrays
from dlbench.campaigns.plain_files import read_file
from dlbench.errors import UserError
from dlbench.statistics.words import count, listing

_MOST_CLASSES = 1000
_MOST_BYTES = 64_000_000
"""Of predictions, unpacked: they are counted in so many cells."""
_MOST_NAMED = 3

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """Where the labels are that a job is scored by, and the model's output for them."""

    output: str
    file: str
    data: str
    source: str
    digest: str
    rows: int | None
    """How many of the test rows were used; None: all."""

    @cached_property
    def values(self) -> Counts | None:
        """None: the cache does not hold the very data that the trial used."""
        truth = _read(self)
        if truth is None or self.rows is None:
            return truth
        # as bench/data.py draws them
        drawn = np.random.RandomState(len(truth) % 2**32).permutation(len(truth))[: self.rows]
        return truth[np.sort(drawn)]


def labels_of(record: TrialRecord) -> Labels | None:
    """The labels of a job that is scored by accuracy; None: it is not, or has no predictions."""
    if not _file_of(record).is_file():
        return None
    try:
        content = record.job()
        data = content["data"]
        for metric in content["recipe"]["metrics"]:
            if metric["name"] in ("accuracy", "binary-accuracy") and metric["mask"] is None:
                file = data["splits"]["test"][metric["target"]]
                rows = (data.get("rows") or {}).get("test")
                return Labels(
                    str(metric["output"]),
                    str(file),
                    str(data["name"]),
                    str(data["source"]),
                    str(data["digest"]),
                    None if rows is None else int(rows),
                )
    except (KeyError, TypeError, ValueError, AttributeError):  # of another version, or no training
        pass
    return None


def counts_of(record: TrialRecord, labels: Labels) -> Counts | None:
    """How often each class (a row) was taken for each; None where the predictions do not fit the
    labels, or are those of other rows: a confound may have drawn others."""
    found = _counts(_file_of(record), labels.output, labels.values)
    accuracy = record.result.metrics.get("accuracy")
    if found is None or accuracy is None:
        return None
    same = math.isclose(np.trace(found) / found.sum(), accuracy, rel_tol=1e-6, abs_tol=1e-9)
    return found if same else None


def sentence(counts: Counts) -> str:
    """Which classes are taken for others most often."""
    rows, right = int(counts.sum()), int(np.trace(counts))
    answered = np.flatnonzero(counts.sum(axis=0))
    if right == rows:
        return f"each of {count(rows, 'row')} got its class."
    if len(answered) == 1:
        return f"each of {count(rows, 'row')} was taken for class {answered[0]}."
    wrong = counts - np.diag(np.diag(counts))
    most = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_NAMED]
    named = [
        f"{label} for {taken} ({wrong[label, taken]} of {counts[label].sum()})"
        for label, taken in zip(*np.unravel_index(most, wrong.shape), strict=True)
        if wrong[label, taken]
    ]
    return (
        f"{rows - right} of {rows} rows were taken for another class, most often {listing(named)}."
    )


def _file_of(record: TrialRecord) -> Path:
    return record.folder / "out" / "predictions.npz"


def _read(labels: Labels) -> Counts | None:
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


def _counts(predictions: Path, output: str, truth: Counts | None) -> Counts | None:
    if truth is None:
        return None
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
