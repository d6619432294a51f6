"""Petrol: standardised by the training rows; copies with altered rows are found."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlbench.datasets import find, petrol, store
from dlbench.errors import UserError

OTHER = replace(find("petrol"), digest="")
TABLE = np.round(np.random.RandomState(1).uniform(1, 900, (48, 5)), 3)


@pytest.fixture(autouse=True)
def this_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The original can't be bundled: these rows stand for it."""
    raw = np.rint(TABLE * 1000).astype("<i8").tobytes()
    monkeypatch.setattr(petrol, "_DIGEST", hashlib.sha256(raw).hexdigest())


def _csv(path: Path, table: np.ndarray) -> None:
    lines = [",".join(f"{value:g}" for value in row) for row in table]
    path.write_text("\r\n".join(["Tax,Income,Highways,Licence(%),Consumption", *lines, ""]))


def test_a_table_and_the_original_give_the_same(tmp_path: Path) -> None:
    _csv(tmp_path / "petrol_consumption.csv", TABLE)
    prepared = store.prepare_from(OTHER, tmp_path)
    assert prepared.source == "real"
    features, value = (np.load(prepared.folder / f"train-{n}.npy") for n in ("features", "value"))
    assert (features.shape, value.shape) == ((38, 4), (38, 1))
    assert np.allclose(features.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(value.std(axis=0), 1, atol=1e-4)
    lines = [f"{n}  " + "  ".join(f"{v:.4f}" for v in row) for n, row in enumerate(TABLE, 1)]
    (tmp_path / "x16.txt").write_text("\n".join(["# Reference: 1991", "48 rows", *lines]))
    assert store.prepare_from(OTHER, tmp_path).digest == prepared.digest


def test_altered_and_truncated_copies_are_found(tmp_path: Path) -> None:
    _csv(tmp_path / "petrol_consumption.csv", TABLE[:46])
    with pytest.raises(UserError, match="46 rows of five numbers where 48 were expected"):
        store.prepare_from(find("petrol"), tmp_path)
    altered = TABLE.copy()
    altered[34, 0] += 1
    _csv(tmp_path / "petrol_consumption.csv", altered)
    with pytest.raises(UserError, match="not the original table: some of its numbers differ"):
        store.prepare_from(find("petrol"), tmp_path)
