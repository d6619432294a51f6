"""`dlbench data`: what it says of the rows that are here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dlbench import datasets
from dlbench.cli import app
from dlbench.cli.data import _counted


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a part of CIFAR-10, of whose test rows one is a training row."""
    monkeypatch.setenv("DLBENCH_CACHE", str(tmp_path / "cache"))
    images = np.random.RandomState(1).randint(0, 256, (60, 32, 32, 3)).astype(np.uint8)
    labels = np.arange(60, dtype=np.uint8) % 10
    np.savez(
        tmp_path / "cifar10.npz",
        x_train=images[:40],
        y_train=labels[:40],
        x_test=np.concatenate([images[40:], images[:1]]),
        y_test=np.concatenate([labels[40:], labels[:1]]),
    )
    return tmp_path


def _said(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["data", *arguments])
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split())


def test_a_sample_is_called_one_with_its_rows_and_the_official_ones(sample: Path) -> None:
    said = _said("fetch", "cifar10", "--from", str(sample))
    assert "40 and 21 rows where the official data have 50,000 and 10,000: marked as a" in said
    assert "cifar10: 1 test row is a training row, too" in said
    words = "a sample of 40 training and 21 test rows; the official data have 50,000 and 10,000"
    listed = _said("list")
    assert f"cifar10: {words}." in listed
    assert "cifar10: 1 test row is a training row, too." in listed
    verified = _said("verify", "cifar10")
    assert f"cifar10 (sample): unchanged since it was made: {words}; 1 test row is a" in verified
    row = next(row for row in json.loads(_said("list", "--json")) if row["name"] == "cifar10")
    assert (row["here"], row["rows_here"], row["repeated"]) == ("sample", [40, 21], 1)


def test_data_that_was_changed_or_is_not_here_is_not_called_unchanged(sample: Path) -> None:
    assert "mnist (real): It is not here." in _said("verify", "mnist", code=1)
    _said("fetch", "cifar10", "--from", str(sample))
    folder = Path(_said("path", "cifar10"))
    np.save(folder / "test-label.npy", np.zeros(21, np.uint8))
    said = _said("verify", "cifar10", code=1)
    assert "has been changed" in said
    assert "unchanged" not in said
    (folder / "manifest.json").write_text('{"files": {}, "splits": {"train": {}}}')
    row = next(row for row in json.loads(_said("list", "--json")) if row["name"] == "cifar10")
    assert row["here"] == "damaged"


def test_more_rows_than_the_official_ones_are_another_edition() -> None:
    assert _counted(datasets.find("jarvis"), (22_767, 2_811), sample=True) == (
        "another edition, taken for a sample: 22,767 training and 2,811 test rows; the official"
        " data have 20,998 and 2,592"
    )
