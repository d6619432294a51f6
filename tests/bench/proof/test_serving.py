"""Data that is not what the job names, or that is served wrongly."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from bench import data
from tests.bench.proof.faulty import adapter, certificate, failed, job_of


def test_training_data_served_as_test_data(tmp_path: Path) -> None:
    job, folder = job_of("digits-cnn")
    job["data"]["splits"]["test"] = job["data"]["splits"]["train"]
    faults = failed(certificate(job, folder, adapter()))
    assert "not those that the job's digest names" in faults["data"]["detail"]

    job, folder = job_of("digits-cnn")  # the same in the files, with a digest that fits
    copied = Path(shutil.copytree(folder, tmp_path / "data"))
    for name in ("image", "label"):
        np.save(copied / f"test-{name}.npy", np.load(copied / f"train-{name}.npy")[:256])
    job["data"]["digest"] = _digest(copied)
    faults = failed(certificate(job, copied, adapter()))
    assert list(faults) == ["data"]
    assert "100% of the test rows are training rows" in faults["data"]["detail"]


def _digest(folder: Path) -> str:
    lines = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n"
        for file in sorted(folder.glob("*.npy"))
    )
    return hashlib.sha256(lines.encode()).hexdigest()


def test_the_training_split_is_evaluated() -> None:
    job, folder = job_of("digits-cnn")
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    faults = failed(certificate(job, folder, adapter(), dict(splits, test=splits["train"])))
    assert "of test" in faults["data"]["node"]


def test_labels_shifted_in_the_data(tmp_path: Path) -> None:
    job, folder = job_of("digits-cnn")

    class Shifted(data.Split):
        def batch(self, rows: Any) -> Any:
            found = super().batch(rows)
            return dict(found, label=(found["label"] + 1) % 10)

    splits = {
        split: Shifted({k: np.load(folder / f) for k, f in files.items()}, job["data"]["divide"])
        for split, files in job["data"]["splits"].items()
    }
    faults = failed(certificate(job, folder, adapter(), splits))
    assert faults["data"]["node"] == "label of test"

    copied = Path(shutil.copytree(folder, tmp_path / "data"))
    np.save(copied / "train-label.npy", np.roll(np.load(copied / "train-label.npy"), 1))
    assert "digest" in failed(certificate(job, copied, adapter()))["data"]["detail"]


def test_values_divided_twice() -> None:
    job, folder = job_of("digits-cnn")
    splits = data.load(str(folder), job["data"], job["graph"], job["recipe"])
    twice = data.load(
        str(folder), dict(job["data"], divide={"image": 256.0}), job["graph"], job["recipe"]
    )
    assert not failed(certificate(job, folder, adapter(), splits))
    assert "image of" in failed(certificate(job, folder, adapter(), twice))["data"]["node"]
