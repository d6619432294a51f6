"""Confusion matrices from predictions that are not to be trusted."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dlbench
from dlbench import report
from dlbench.analysis.confusion import sentence
from dlbench.report.charts.confusion import confusion
from tests.orchestrator.analysis.campaigns import Cell, write
from tests.orchestrator.command import Command

_LABELS = np.array([0, 1, 2, 2], dtype=np.int64)


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One trial, scored by accuracy on four rows whose labels are in the cache."""
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "cache" / "data" / "toys-synthetic"
    data.mkdir(parents=True)
    file = io.BytesIO()
    np.save(file, _LABELS)
    (data / "y.npy").write_bytes(file.getvalue())
    checksum = hashlib.sha256(file.getvalue()).hexdigest()
    manifest = {"digest": "abc", "files": {"y.npy": {"sha256": checksum}}}
    (data / "manifest.json").write_text(json.dumps(manifest))
    return write(tmp_path / "c", [Cell("a@1", [0.75], metric="accuracy")])


def predicted(campaign: Path, digest: str = "abc", **more: object) -> Path:
    """Where the trial's predictions belong; its job is written."""
    (trial,) = (campaign / "trials").iterdir()
    scored = {"name": "accuracy", "mask": None, "target": "y", "output": "out"}
    data = {"name": "toys", "source": "synthetic", "digest": digest,
            "splits": {"test": {"y": "y.npy"}}, **more}  # fmt: skip
    job = {"v": 1, "data": data, "recipe": {"metrics": [scored]}}
    (trial / "job.json").write_text(json.dumps(job))
    return trial / "out" / "predictions.npz"


def test_predictions_are_counted_by_class(campaign: Path) -> None:
    raw = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 2, 0]], dtype=np.float32)
    np.savez(predicted(campaign), out=raw)
    chart, left_out = confusion(report.load(campaign))
    assert chart is not None and left_out == []
    table = chart.columns
    counts = dict(
        zip(zip(table["label"], table["predicted"], strict=True), table["count"], strict=True)
    )
    assert len(counts) == 9
    assert {pair for pair, count in counts.items() if count} == {(0, 0), (1, 1), (2, 2), (2, 1)}


def test_the_matrix_is_that_of_the_rows_that_were_used(campaign: Path, command: Command) -> None:
    """With --rows 3 the third row is left out; the matrix gives the trial's accuracy again."""
    drawn = np.sort(np.random.RandomState(4).permutation(4)[:3])
    path = predicted(campaign, rows={"test": 3})
    chosen = _LABELS[drawn].copy()
    chosen[0] = 1 - chosen[0]
    np.savez(path, out=np.eye(3, dtype=np.float32)[chosen])
    assert confusion(report.load(campaign)) == (None, []), "another accuracy than the trial's"
    (trial,) = (campaign / "trials").iterdir()
    content = json.loads((trial / "trial.json").read_text())
    content["metrics"]["accuracy"] = 2 / 3
    (trial / "trial.json").write_text(json.dumps(content))
    chart, _ = confusion(report.load(campaign))
    assert chart is not None and sum(chart.columns["count"]) == 3
    said = " ".join(command("show", campaign, "--verbose").out.split())
    label = _LABELS[drawn][0]
    assert f"1 of 3 rows were taken for another class, most often {label} for {1 - label}" in said
    matrix = dlbench.open(campaign).trial(trial.name).confusion()
    assert matrix.sum() == 3 and np.trace(matrix) == 2


def test_what_is_said_of_a_matrix() -> None:
    assert sentence(np.diag([3, 4])) == "each of 7 rows got its class."
    assert sentence(np.array([[0, 3], [0, 4]])) == "each of 7 rows was taken for class 1."
    counts = np.array([[5, 1, 0], [0, 6, 2], [0, 0, 9]])
    assert sentence(counts) == (
        "3 of 23 rows were taken for another class, most often 1 for 2 (2 of 8) and 0 for 1"
        " (1 of 6)."
    )


def test_labels_of_other_data_are_not_used(campaign: Path) -> None:
    np.savez(predicted(campaign, digest="other"), out=np.eye(4, 3, dtype=np.float32))
    chart, left_out = confusion(report.load(campaign))
    assert chart is None
    assert "`dlbench data fetch toys` brings them" in left_out[0]


def header(rows: int) -> bytes:
    file = io.BytesIO()
    claimed = {"descr": "<f4", "fortran_order": False, "shape": (rows, 10)}
    np.lib.format.write_array_header_1_0(file, claimed)
    return file.getvalue()


def test_a_header_that_claims_a_terabyte_costs_only_its_own_chart(campaign: Path) -> None:
    with zipfile.ZipFile(predicted(campaign), "w") as members:
        members.writestr("out.npy", header(2**40) + bytes(64))
    material = report.load(campaign)
    assert confusion(material) == (None, [])
    assert "a@1" in report.html(material)


def test_predictions_that_unpack_to_too_much_cost_only_their_own_chart(campaign: Path) -> None:
    rows = 2_000_000
    with (
        zipfile.ZipFile(predicted(campaign), "w", zipfile.ZIP_DEFLATED) as members,
        members.open("out.npy", "w") as member,
    ):
        member.write(header(rows))
        for _ in range(80):
            member.write(bytes(rows * 40 // 80))
    assert confusion(report.load(campaign)) == (None, [])


@pytest.mark.parametrize(
    "odd",
    [
        np.full((4, 3), np.nan, dtype=np.float32),
        np.zeros((3, 3), dtype=np.float32),
        np.zeros((4, 2), dtype=np.float32),
        np.zeros(4, dtype=np.float32),
        np.array([["a"] * 3] * 4),
    ],
)
def test_what_does_not_fit_the_labels_is_left_out(campaign: Path, odd: np.ndarray) -> None:
    np.savez(predicted(campaign), out=odd)
    assert confusion(report.load(campaign)) == (None, [])


def test_too_many_classes_are_said(campaign: Path) -> None:
    raw = np.zeros((4, 31), dtype=np.float32)
    raw[np.arange(4), [0, 1, 2, 30]] = 1
    np.savez(predicted(campaign), out=raw)
    chart, left_out = confusion(report.load(campaign))
    assert chart is None
    assert "31 classes, too many for a confusion matrix" in left_out[0]
