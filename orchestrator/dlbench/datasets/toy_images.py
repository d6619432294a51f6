"""Small made-up images with a class and a place, for certificates only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dlbench.datasets import Dataset

if TYPE_CHECKING:
    from dlbench.datasets import Arrays


def _make(train: int, test: int) -> Arrays:
    import numpy as np

    from dlbench.datasets import _synthetic

    return {
        split: {
            **arrays,
            "value": arrays["image"][:, 4, 4:6, 0].astype(np.float32) / 255,
        }
        for split, arrays in _synthetic.images(train, test, (9, 9, 3), 5).items()
    }


def _convert(_files: Mapping[str, Path]) -> Arrays:
    return _make(1024, 256)


DATASET = Dataset(
    name="toy-images",
    title="Made-up images for certificates",
    licence="CC0 1.0",
    rows=(1024, 256),
    convert=_convert,
    synthetic=_make,
    divide={"image": 255.0},
)
